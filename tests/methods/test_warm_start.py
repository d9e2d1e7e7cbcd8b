"""Public trials help where they agree, whatever their level and spread, and are dropped where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest

import tacit
from tacit.errors import BadInput
from tacit.methods.warm_start import MOST, WarmStart, read_public
from tacit.privacy.noise import Simulation
from tacit.space import Space

N, D = 2000, 5
SPACE = Space({f"x{j}": tacit.Float(0.0, 1.0) for j in range(D)})
BEST = np.array([0.2, 0.7, 0.4, 0.85, 0.3])


def loss(params: dict[str, Any], best: Any = BEST) -> float:
    return float(((np.array([params[f"x{j}"] for j in range(D)]) - best) ** 2).mean())


def public_trials(best: Any = BEST, n: int = 40) -> list[tuple[dict[str, Any], float]]:
    """Of another level and spread than the private losses."""
    return [(p, 7.0 + 20 * loss(p, best)) for p in SPACE.sobol(n, seed=9)]


def regret(seed: int, public: Any) -> float:
    asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": tacit.Budget.gdp(0.5), "trials": 12}
    asked |= {"noise": Simulation(seed), "progress": False, "seed": seed, "method": "observed", "public": public}
    return loss(tacit.tune(lambda p: np.full(N, 0.2 + loss(p)), SPACE, **asked).value.params)


def test_public_trials_of_another_level_and_spread_help() -> None:
    """Deterministic by its seeds."""
    seeds = range(4)
    assert sum(regret(s, public_trials()) for s in seeds) < 0.5 * sum(regret(s, None) for s in seeds)


def test_public_trials_are_translated_into_the_units_of_what_was_observed() -> None:
    start = WarmStart(SPACE, public_trials(n=64), -1.0)
    X = SPACE.sobol(20, seed=1)
    made = start.translate(SPACE.features(X), -np.array([0.2 + loss(p) for p in X]))
    assert made is not None
    values, noise = made
    assert np.abs(values + np.array([0.2 + loss(p) for p, _ in public_trials(n=64)])).max() < 0.05
    assert noise < 0.01
    assert start.best(0) == min(public_trials(n=64), key=lambda pair: pair[1])[0]


@pytest.mark.parametrize("kind", ["opposite", "chance", "constant", "few"])
def test_public_trials_that_do_not_agree_are_left_out(kind: str) -> None:
    rng = np.random.default_rng(0)
    X = SPACE.sobol(2 if kind == "few" else 30, seed=1)
    y = {"opposite": [loss(p) for p in X], "constant": [0.5] * len(X)}.get(kind, list(rng.normal(size=len(X))))
    assert WarmStart(SPACE, public_trials(), -1.0).translate(SPACE.features(X), np.array(y)) is None


def test_a_study_and_a_release_are_read_and_what_has_no_place_is_left_out() -> None:
    study = optuna.create_study()
    for params, value in public_trials(n=3):
        study.add_trial(optuna.trial.create_trial(params=params, distributions=SPACE.distributions, value=value))
    study.tell(study.ask(), state=optuna.trial.TrialState.FAIL)
    assert read_public(study, SPACE) == public_trials(n=3)
    release = tacit.tune(
        lambda p: np.full(N, loss(p)), SPACE, records=N, bounds=(0.0, 1.0), budget=tacit.Budget.gdp(1.0), trials=4,
        method="observed", noise=Simulation(0), progress=False,
    )  # fmt: skip
    assert read_public(release, SPACE) == [(t["params"], t["value"]) for t in release.value.trials]
    narrow = Space({**SPACE.distributions, "x0": tacit.Float(0.0, 0.5)})
    assert all(p["x0"] <= 0.5 for p, _ in read_public(public_trials(), narrow))
    assert len(read_public(public_trials(n=MOST + 50), SPACE)) == MOST


@pytest.mark.parametrize("public", [3, [1, 2], [({"x0": 0.1}, "high")], [({"x0": 0.1}, float("nan"))]])
def test_what_is_no_trial_is_refused(public: Any) -> None:
    with pytest.raises(BadInput, match="Nothing was spent"):
        read_public(public, SPACE)


def test_methods_that_have_no_use_for_them_say_so() -> None:
    asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": tacit.Budget.gdp(1.0), "trials": 4}
    with pytest.raises(BadInput, match="no public"):
        tacit.tune(lambda p: np.full(N, loss(p)), SPACE, **asked, method="pool", public=public_trials(n=3))
