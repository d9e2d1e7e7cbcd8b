"""Choose epsilon by looking: the privacy-utility front of the sparse vector technique.

A data officer must say which of 100 yes/no questions are true, privately, and asks: what does epsilon buy? The front
answers before anything is spent. It is measured, so it is NOT private: here it is simulated, and anyone may see it.
"""

from pathlib import Path

import tacit
from tacit.report.pages.front import write
from tacit.training.sparse_vector import SparseVector


def main() -> None:
    algorithm = SparseVector()
    print("Testing 48 settings, 4 runs each; epsilon is computed, only the utility is modelled.")
    front = tacit.pareto.discover(
        algorithm, delta=0.0, trials=48, repeats=4, reference=(100.0, 1.0), progress=True
    ).value
    print(front)

    print("\nWhat does epsilon = 50 buy?")
    tested, expected = front.at(epsilon=50.0), front.predict(algorithm, epsilon=50.0)
    print(f"  tested     F1 {tested.utility:.3f} ({tested.worst:.3f} to {tested.best:.3f}) with {tested.params}")
    print(f"  predicted  F1 {expected.utility:.3f} ({expected.low:.3f} to {expected.high:.3f}) with {expected.params}")
    print(f"  exactly    F1 {algorithm.expected_utility(expected.params):.3f}, which this algorithm happens to know")

    print("\nWhat does F1 = 0.5 cost?")
    print(f"  epsilon {front.predict(algorithm, utility=0.5).epsilon:.1f}")

    out = Path("front-out")
    out.mkdir(exist_ok=True)
    front.to_csv(out / "front.csv")
    front.plot().save(out / "front.svg")
    print(f"\nOpen {write(front, out / 'front.html')} and move the slider; front.csv and front.svg lie beside it.")


if __name__ == "__main__":
    main()
