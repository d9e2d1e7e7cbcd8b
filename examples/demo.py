"""The main job: tune a model on a private validation set and publish the result.

The digits bundled with scikit-learn stand in for records that may not be shown. A third of them trains the model (and
is not protected); the rest are the private validation set. `make demo` runs this.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import tacit
from tacit.cli.tune import format_release
from tacit.report.pages.tuned import write

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
train, private = order[:600], order[600:]


def losses(params: dict) -> np.ndarray:
    """One loss per private record: was this digit read wrongly?"""
    model = SVC(**params).fit(X[train], y[train])
    return model.predict(X[private]) != y[private]


def main() -> None:
    out = Path("demo-out")
    out.mkdir(exist_ok=True)
    budget = tacit.Budget.approximate(epsilon=1.0, delta=1e-6)
    ledger = tacit.Ledger.open(out / "ledger.db", "digits", budget, description="handwritten digits")
    print(f"Tuning an SVM on {len(private)} private records, 25 trials, {budget} for the whole search.")
    release = tacit.tune(
        losses,
        {"C": tacit.Float(1e-2, 1e3, log=True), "gamma": tacit.Float(1e-6, 1e-1, log=True)},
        records=len(private),
        bounds=(0.0, 1.0),
        budget=budget,
        trials=25,
        method="observed",  # every observation is released, for the report to show
        ledger=ledger,
        out=out,
    )
    print(format_release(release, {"report": str(write(out)), "certificate": str(out / "certificate.json")}))
    print(f"\nLedger 'digits' has {ledger.remaining()} left.")
    print(f"Check the receipt: .venv/bin/tacit verify {out}/certificate.json --ledger {out}/ledger.db")


if __name__ == "__main__":
    main()
