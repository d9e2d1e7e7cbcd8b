"""Games of the methods of the registry, and of what is built on private observations. Each runs end to end."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tacit.audit.game import Game, Outputs
from tacit.audit.games.mechanisms import means
from tacit.methods.kusner.problem import NearlyUniform
from tacit.methods.neighbours import ENDS, Neighbours
from tacit.methods.observed import ObservationTerms
from tacit.methods.registry import METHODS, load
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import Simulation, Source
from tacit.space import Int


def _ends(side: int, records: int) -> Any:
    return np.r_[float(side), np.full(records - 1, 0.5)]


def observations(trials: int = 10, records: int = 20) -> Game:
    """The observations of a study, without the optimiser around them: many runs at once."""
    terms = ObservationTerms(records, (0.0, 1.0), Budget.gdp(1.0), trials)
    mean = terms.mechanism()
    assert isinstance(mean, BoundedMean)  # no constraint

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        total = mean.prepare(_ends(side, records))
        return means(mean, total, runs * trials, noise).reshape(runs, trials)

    about = f"{trials} noisy means over {records} records; {ENDS}"
    return Game("observations", about, terms.guarantee().budget, draw)


def of_method(name: str) -> Game:
    """``tacit.tune`` with this method from end to end, on the neighbours that the registry names for it."""
    data: Neighbours = load(METHODS[name].neighbours)()

    def once(side: int, noise: Source) -> list[float]:
        return data.outputs(data.tune(name, side, noise))

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NearlyUniform)
            return np.array([once(side, noise) for _ in range(runs)])

    about = f"tune(method={name!r}): {data.about}"
    return Game(name, about, data.budget, draw, runs=data.runs, exact=data.exact, conditional=data.conditional)


def optuna_users(trials: int = 4, records: int = 20) -> Game:
    """``tacit.private`` in a study of Optuna's own: every value that the study holds."""
    import optuna

    from tacit.integrations.optuna import private

    terms = ObservationTerms(records, (0.0, 1.0), Budget.gdp(2.0), trials)

    def once(side: int, noise: Source) -> list[float]:
        def losses(trial: Any) -> Any:
            trial.suggest_float("x", 0.0, 1.0)
            return _ends(side, records)

        agreed: dict[str, Any] = {"records": records, "bounds": (0.0, 1.0), "budget": terms.budget, "trials": trials}
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler())
        study.optimize(private(losses, **agreed, accept_noise=True, noise=noise), n_trials=trials)
        return [float(t.value or 0.0) for t in study.trials]

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        return np.array([once(side, noise) for _ in range(runs)])

    about = f"a study of {trials} trials with tacit.private over {records} records; {ENDS}"
    return Game("optuna", about, terms.guarantee().budget, draw, runs=600, exact=True)


def search_cv(trials: int = 2, records: int = 20) -> Game:
    """``tacit.PrivateSearchCV`` from end to end: everything that a fitted search shows."""
    from sklearn.dummy import DummyClassifier

    from tacit.data.split import hold_out
    from tacit.integrations.sklearn import PrivateSearchCV

    epsilon, delta = 7.0, 1e-5
    budget = Budget.gdp(Budget.approximate(epsilon, delta).mu())
    hidden = np.sort(hold_out(2 * records, 0.5, np.random.RandomState(0))[1].rows)  # the split is public
    X = np.zeros((2 * records, 1))
    labels = np.zeros((2, 2 * records), int)  # the estimator always says 0
    labels[:, hidden[1::2]] = 1
    labels[1, hidden[0]] = 1

    def once(side: int, noise: Source) -> list[float]:
        if isinstance(noise, Simulation):  # fit copies its noise: two fits with the same one would draw the same
            noise = type(noise)(int(noise.generator.integers(2**62)))
        search = PrivateSearchCV(
            DummyClassifier(strategy="most_frequent"),
            {"random_state": Int(0, 1000)},
            epsilon=epsilon,
            delta=delta,
            trials=trials,
            method="random",
            accept_noise=True,
            random_state=0,
            noise=noise,
        ).fit(X, labels[side])
        values = [t["value"] for t in search.release_.value.trials]  # their mean holds all that they tell
        return [float(np.mean(values)), float(search.best_score_)]

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return np.array([once(side, noise) for _ in range(runs)])

    about = (
        f"PrivateSearchCV, {trials} trials, {records} of {2 * records} rows held out, the mean of its noisy values "
        "and the best score; one held-out row goes from always right to always wrong"
    )
    return Game("search-cv", about, budget, draw, runs=600, exact=True)
