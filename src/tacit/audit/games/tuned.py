"""Games of tuning methods: private observations, DP-GIBO, Kusner et al. Each runs end to end."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tacit.audit.play import Game, Outputs, means
from tacit.methods.kusner.problem import NearlyUniform
from tacit.methods.kusner.regularised import RegularisedClassifier
from tacit.methods.observed import Terms
from tacit.methods.tune import tune
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Simulation, Source
from tacit.space import Float, Int

ENDS = "every loss of one record goes from the lower to the upper bound, the others stay in the middle"
AVERAGE = (
    "the claim is about functions drawn from a Gaussian process, not about the worst data. These two data sets were "
    "chosen by us: a measured value above the claim would not contradict it, one below says nothing for other data"
)
UNIT = {"x": Float(0.0, 1.0)}


# Private observations


def _ends(side: int, records: int) -> Any:
    return np.r_[float(side), np.full(records - 1, 0.5)]


def observations(trials: int = 10, records: int = 20) -> Game:
    """The observations of a study, without the optimiser around them: many runs at once."""
    terms = Terms(records, (0.0, 1.0), Budget.gdp(1.0), trials)
    mean = terms.mechanism()

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        total = mean.checked(_ends(side, records))
        return means(mean, total, runs * trials, noise).reshape(runs, trials)

    about = f"{trials} noisy means over {records} records; {ENDS}"
    return Game("observations", about, terms.guarantee().budget, draw)


def observed(method: str = "observed", trials: int = 4, records: int = 20) -> Game:
    """``tacit.tune`` from end to end: all that it releases."""
    terms = Terms(records, (0.0, 1.0), Budget.gdp(2.0), trials)

    def once(side: int, noise: Source) -> list[float]:
        data = _ends(side, records)
        about: dict[str, Any] = {"records": records, "bounds": (0.0, 1.0), "method": method}
        about |= {"budget": terms.budget, "trials": trials, "noise": noise, "accept_noise": True, "progress": False}
        value = tune(lambda params: data, UNIT, **about).value
        return [*(t["value"] for t in value.trials), float(value.score or 0.0), value.params["x"]]

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return np.array([once(side, noise) for _ in range(runs)])

    about = f"tune(method={method!r}), {trials} trials over {records} records, all that it releases; {ENDS}"
    return Game(method, about, terms.guarantee().budget, draw, runs=600, exact=True)


def optuna_users(trials: int = 4, records: int = 20) -> Game:
    """``tacit.private`` in a study of Optuna's own: every value that the study holds."""
    import optuna

    from tacit.integrations.optuna import private

    terms = Terms(records, (0.0, 1.0), Budget.gdp(2.0), trials)

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

    from tacit.integrations.sklearn import PrivateSearchCV, _split

    epsilon, delta = 7.0, 1e-5
    budget = Budget.gdp(Budget.approximate(epsilon, delta).mu())
    _, hidden = _split(np.random.RandomState(0), 2 * records, 0.5)  # the split is public
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


# DP-GIBO


def gibo(trials: int = 3, records: int = 10, parameters: int = 2) -> Game:
    """``tacit.tune(method="gibo")``: the noisy means of the scan and every noisy gradient of the path."""
    budget, space = Budget.gdp(2.0), {f"x{i}": Float(0.0, 1.0) for i in range(parameters)}

    def once(side: int, noise: Source) -> list[float]:
        steep = np.r_[(-1e3, 1e3)[side], np.zeros(records - 1)]
        about: dict[str, Any] = {"records": records, "bounds": (0.0, 1.0), "budget": budget, "trials": trials}
        about |= {"method": "gibo", "scan": 2, "noise": noise, "accept_noise": True, "progress": False}
        seen = tune(lambda params: steep * sum(params.values()), space, **about).value.details
        return [float(x) for released in (seen["scan"]["scores"], *seen["gradients"][0]) for x in released]

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return np.array([once(side, noise) for _ in range(runs)])

    about = (
        f"a scan of 2 places and {trials} steps over {records} records and {parameters} parameters, every noisy mean "
        "and gradient; one record's loss goes from bound to bound, its gradient, clipped to norm B, to its opposite"
    )
    return Game("gibo", about, budget, draw, runs=1500, exact=True)


# Kusner et al.


def kusner(number: int, records: int = 4, trials: int = 3) -> Game:
    """Algorithms 1 and 2, parameters and score."""
    budget = Budget.approximate(4.0, 1e-2)
    listed = [{"x": x} for x in np.linspace(0, 1, 8)]
    options: dict[str, Any] = {"A": 1.0, "tau": 1.0} if number == 2 else {}

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        data = _ends(side, records)
        about: dict[str, Any] = {"records": records, "bounds": (0.0, 1.0), "candidates": listed, **options}
        about |= {"budget": budget, "trials": trials, "noise": noise, "accept_noise": True, "progress": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NearlyUniform)
            values = [tune(lambda params: data, UNIT, method=f"kusner{number}", **about).value for _ in range(runs)]
        return np.array([[v.params["x"], v.score] for v in values])

    about = f"Algorithm {number} over {records} records, parameters and score; {ENDS}"
    return Game(f"kusner{number}", about, budget, draw, runs=600, conditional=AVERAGE)


def kusner3() -> Game:
    """Algorithm 3: one validation record, whose label is turned, on a model that is as long as its strength allows."""
    budget, row = Budget.pure(1.0), np.array([[1.0, 0.0]])
    models = [RegularisedClassifier(row, [1], row, [label], loss="hinge") for label in (1, -1)]
    listed = [{"s": s} for s in (10.0, 10.005, 10.01)]

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        about: dict[str, Any] = {"records": 1, "bounds": (0.0, 1.0), "candidates": listed, "accept_noise": True}
        about |= {"budget": budget, "trials": 2, "noise": noise, "method": "kusner3", "progress": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NearlyUniform)
            return np.array([tune(models[side], {"s": Float(10.0, 10.01)}, **about).value.score for _ in range(runs)])

    about = (
        "the best score of a hinge model over strengths 10 to 10.01; the label of the one validation record is turned"
    )
    return Game("kusner3", about, budget, draw, runs=2000, exact=True)
