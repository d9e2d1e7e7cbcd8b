"""For Optuna users: keep the study, the sampler and the dashboard; wrap the objective.

The digits bundled with scikit-learn stand in for records that may not be shown. A third of them trains the model and is
not protected; the rest is the private validation set. Everything in the study is noisy, so the study may be shown.
"""

import tempfile
from pathlib import Path

import numpy as np
import optuna
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import tacit

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
train, private = order[:600], order[600:]


def objective(trial: optuna.Trial) -> np.ndarray:
    """One loss per private record, instead of their mean: was this digit read wrongly?"""
    C = trial.suggest_float("C", 1e-2, 1e3, log=True)
    gamma = trial.suggest_float("gamma", 1e-6, 1e-1, log=True)
    model = SVC(C=C, gamma=gamma).fit(X[train], y[train])
    return model.predict(X[private]) != y[private]


def search(folder: Path) -> None:
    budget = tacit.Budget.approximate(epsilon=2.0, delta=1e-5)
    ledger = tacit.Ledger.open(folder / "ledger.db", "digits", budget, description="digits")
    wrapped = tacit.private(
        objective,
        records=len(private),
        bounds=(0.0, 1.0),
        budget=tacit.Budget.approximate(epsilon=1.0, delta=1e-6),
        trials=30,
        ledger=ledger,
    )
    study = optuna.create_study(storage=f"sqlite:///{folder}/study.db", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(wrapped, n_trials=30)

    release = wrapped.release(study)
    found = release.value
    print(f"Best parameters  {found.params}")
    print(f"Error rate       {found.score:.3f} ± {found.deviation:.3f} (each trial carried noise of {found.noise:.3f})")
    print(f"Guarantee        {release.guarantee}")
    print(f"Ledger           {ledger.remaining()} left")

    try:
        study.optimize(wrapped, n_trials=1)
    except tacit.TacitError as refusal:
        print(f"One trial more   {refusal}")
    ledger.close()


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:  # for your own study: a place that stays
        search(Path(folder))


if __name__ == "__main__":
    main()
