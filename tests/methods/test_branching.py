"""Spaces that branch: a function of a trial is followed, paid for once, confirmed, resumed, refused where it must."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput
from tacit.privacy.noise import Simulation

N = 2000
ASKED: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": tacit.Budget.gdp(1.0), "progress": False}


def kinds(trial: Any) -> None:
    kind = trial.suggest_categorical("kind", ["svm", "forest"])
    if kind == "svm":
        trial.suggest_float("C", 1e-3, 1e3, log=True)
    else:
        trial.suggest_int("depth", 2, 12)


def losses(params: dict[str, Any]) -> Any:
    if params["kind"] == "svm":
        return np.full(N, 0.3 + 0.02 * abs(np.log10(params["C"])))
    return np.full(N, 0.1 + 0.02 * abs(params["depth"] - 6))


@pytest.mark.parametrize("method", ["observed", "random"])
def test_the_better_branch_is_found_and_only_its_parameters_are_released(method: str) -> None:
    release = tacit.tune(losses, kinds, **ASKED, trials=30, method=method, noise=Simulation(3))
    value = release.value
    assert set(value.params) == {"kind", "depth"}
    assert value.params["kind"] == "forest"
    assert abs(value.params["depth"] - 6) <= 3
    assert value.details["score"] == "the mean of 3 observations made after the choice"
    assert abs((value.score or 0) - losses(value.params)[0]) < 4 * (value.deviation or 0)
    assert {tuple(t["params"]) for t in value.trials} == {("kind", "C"), ("kind", "depth")}


def test_a_search_of_branches_goes_on_where_it_stopped_and_pays_once(tmp_path: Path) -> None:
    calls = [0]

    def weary(params: dict[str, Any]) -> Any:
        calls[0] += 1
        if calls[0] == 6:
            raise KeyboardInterrupt
        return losses(params)

    with tacit.Ledger.open(tmp_path / "l.db", "icu", tacit.Budget.gdp(1.0)) as ledger:
        asked = {**ASKED, "trials": 10, "ledger": ledger, "out": tmp_path / "run"}
        with pytest.raises(KeyboardInterrupt):
            tacit.tune(weary, kinds, **asked)
        release = tacit.tune(weary, kinds, **asked)
        assert len(release.value.trials) == 10
        assert sum(e.kind == "charge" for e in ledger.entries()) == 1
        assert ledger.verify_certificate(release.certificate()).paid
        assert tacit.tune(weary, kinds, **asked).value == release.value


def test_several_trials_at_once_follow_the_function() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(3) as pool:
        release = tacit.tune(losses, kinds, **ASKED, trials=12, executor=pool, noise=Simulation(0))
    assert len(release.value.trials) == 12


@pytest.mark.parametrize(("method", "more"), [("pool", {"trials": 60}), ("staged", {"trials": 20, "pool": 40})])
def test_a_hidden_pool_has_settings_of_every_branch(method: str, more: dict[str, Any]) -> None:
    seen: list[dict[str, Any]] = []

    def asked(params: dict[str, Any]) -> Any:
        seen.append(params)
        return losses(params)

    value = tacit.tune(asked, kinds, **ASKED, method=method, noise=Simulation(3), **more).value
    assert {tuple(p) for p in seen[:40]} == {("kind", "C"), ("kind", "depth")}
    assert set(value.params) == {"kind", "depth"}
    assert abs(value.params["depth"] - 6) <= 1
    if method == "staged":  # in the winner's branch, near it
        assert all(set(t["params"]) == {"kind", "depth"} for t in value.trials)
    again = tacit.tune(losses, kinds, **ASKED, method=method, noise=Simulation(3), **more).value
    assert again == value


def nothing(trial: Any) -> None:
    pass


def renamed(trial: Any) -> dict[str, Any]:
    return {"rate": 10 ** trial.suggest_float("log rate", -3, 0)}


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (kinds, {"method": "grid"}, "works with method observed or random or pool or staged"),
    (kinds, {"method": "gibo"}, "works with method observed or random or pool or staged"),
    (kinds, {"candidates": 8}, "candidates are members"),
    (nothing, {}, "at least one parameter"),
    (renamed, {}, "Derive other values in the objective"),
]


@pytest.mark.parametrize(("space", "more", "told"), REFUSED)
def test_what_cannot_be_followed_is_refused_before_anything_is_spent(
    tmp_path: Path, space: Any, more: dict[str, Any], told: str
) -> None:
    with tacit.Ledger.open(tmp_path / "l.db", "icu", tacit.Budget.gdp(1.0)) as ledger:
        with pytest.raises(BadInput, match=told):
            tacit.tune(losses, space, **ASKED, trials=8, ledger=ledger, **more)
        assert ledger.entries() == []
