"""Audit a mechanism of your own: does it keep the epsilon it claims?

Two ways to publish a mean of incomes with (what is meant to be) epsilon = 1. One clips each income first; the other
clips the mean. They look alike, and their outputs on ordinary data look alike. An audit tells them apart.
"""

import numpy as np

import tacit
from tacit.audit import Game

RECORDS, MOST, CLAIM = 100, 100_000.0, tacit.Budget.pure(1.0)
NOISE = MOST / RECORDS  # one income between 0 and MOST moves the mean by at most this

# Neighbours: the same people but for one. The worst case is thought out, not drawn: one income at either end.
ORDINARY = np.r_[0.0, np.full(RECORDS - 1, 30_000.0)]
NEIGHBOUR = np.r_[5_000_000.0, ORDINARY[1:]]


def sound(incomes: np.ndarray, noise: tacit.Simulation) -> float:
    return noise.laplace(np.array([np.clip(incomes, 0, MOST).mean()]), NOISE)[0]


def broken(incomes: np.ndarray, noise: tacit.Simulation) -> float:
    return noise.laplace(np.array([np.clip(incomes.mean(), 0, MOST)]), NOISE)[0]


def game(mechanism) -> Game:
    def draw(side: int, runs: int, noise: tacit.Simulation) -> np.ndarray:
        return np.array([mechanism((ORDINARY, NEIGHBOUR)[side], noise) for _ in range(runs)])

    return Game(mechanism.__name__, "one of 100 incomes goes from 0 to 5,000,000", CLAIM, draw)


def main() -> None:
    for mechanism in (sound, broken):
        print(tacit.audit.run_game(game(mechanism), 20_000), "\n")

    # The same by hand: outputs in, a number out.
    noise = tacit.Simulation(1)
    outputs = [[broken(data, noise) for _ in range(5000)] for data in (ORDINARY, NEIGHBOUR)]
    print(f"By hand: epsilon is at least {tacit.audit.lower_bound(*outputs, delta=0.0):.2f}.\n")

    # Two runs are enough for the recorder, which sees what enters the noise.
    for mechanism in (sound, broken):
        found = tacit.audit.compared(mechanism, ORDINARY, NEIGHBOUR)
        print(f"{mechanism.__name__}: the mean moves by {found.epsilon:.2g} scales of its noise;", end=" ")
        print("; ".join(found.within(CLAIM)) or "nothing contradicts the claim")


if __name__ == "__main__":
    main()
