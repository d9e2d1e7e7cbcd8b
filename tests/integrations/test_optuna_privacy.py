"""What tacit.private lets out: the stated noise, the stated sensitivity, and nothing exact by any other way."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import FixedTrial, TrialState
from optuna_bowl import BUDGET, N, bowl, study_in, values, wrapped
from scipy import stats

import tacit
from tacit.errors import BadInput, ObjectiveError


def test_the_noise_has_the_stated_deviation() -> None:
    """Chi-squared over 400 draws; false alarm 1e-6. Noise a fifth too large or too small fails most of the time."""
    study = study_in()
    objective = wrapped(lambda t: np.full(N, 0.5 + 0 * t.suggest_float("x", 0, 1)), trials=400)
    study.optimize(objective, n_trials=400)
    scale = 400**0.5 / (N * BUDGET.mu())
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], 400)
    assert low < (((np.array(values(study)) - 0.5) / scale) ** 2).sum() < high


def test_replacing_a_record_moves_no_observation_by_more_than_its_share() -> None:
    """The same simulated noise on neighbours, with points that do not depend on values; exact but for rounding."""
    seen = []
    for first in (0.0, 1.0, -50.0, np.inf, np.nan):
        study = study_in()

        def neighbour(trial: Any, first: float = first) -> np.ndarray:
            losses = bowl(trial)
            losses[0] = first
            return losses

        study.optimize(wrapped(neighbour, noise=tacit.Simulation(1), trials=10), n_trials=10)
        seen.append(values(study))
    moved = np.abs(np.array(seen) - seen[0]).max()
    assert moved == pytest.approx(1 / N, rel=1e-6)  # reached, and not exceeded


@pytest.mark.parametrize(
    "name",
    ["report", "should_prune", "set_user_attr", "set_system_attr", "study", "storage", "user_attrs", "_trial_id"],
)
def test_what_would_leak_is_refused_in_words(name: str) -> None:
    def leaky(trial: Any) -> np.ndarray:
        losses = bowl(trial)
        used = getattr(trial, name)
        if callable(used):
            used(*{"report": (losses.mean(), 1), "should_prune": ()}.get(name, ("mean", losses.mean())))
        return losses

    study = study_in()
    with pytest.raises(ObjectiveError, match=f"used trial.{name}: .*Nothing was released"):
        study.optimize(wrapped(leaky), n_trials=1)
    assert values(study) == []
    assert study.trials[0].intermediate_values == {}


def test_raising_trial_pruned_is_refused_in_words() -> None:
    def pruned(trial: Any) -> np.ndarray:
        if bowl(trial).mean() > 0:
            raise optuna.TrialPruned("4711 is private")
        return bowl(trial)

    study = study_in()
    with pytest.raises(ObjectiveError, match=r"TrialPruned.*Leave out the pruner") as caught:
        study.optimize(wrapped(pruned), n_trials=1)
    assert "4711" not in str(caught.value)
    assert study.trials[0].state == TrialState.FAIL


def test_a_guarded_trial_still_suggests() -> None:
    seen: dict[str, Any] = {}

    def asking(trial: Any) -> np.ndarray:
        x, k = trial.suggest_float("x", 0.0, 1.0), trial.suggest_int("k", 1, 4)
        c = trial.suggest_categorical("c", ["a", "b"])
        seen.update(params=trial.params, number=trial.number, names=set(trial.distributions), rel=trial.relative_params)
        assert trial.params == {"x": x, "k": k, "c": c}
        assert not hasattr(trial, "__len__")
        return np.zeros(N)

    study = study_in()
    study.optimize(wrapped(asking), n_trials=1)
    assert seen == {"params": study.trials[0].params, "number": 0, "names": {"x", "k", "c"}, "rel": {}}


def test_what_the_objective_said_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    def telling(trial: Any) -> np.ndarray:
        try:
            raise KeyError("patient 4711 has gout")
        except KeyError as error:
            if trial.suggest_float("x", 0, 1) < 2 and trial.number:
                raise ValueError("patient 4711 has gout") from error
            trial.report(0.5, 1)  # refused while a private error is being handled
        return np.zeros(N)

    optuna.logging.enable_propagation()
    optuna.logging.set_verbosity(optuna.logging.INFO)
    try:
        with caplog.at_level(logging.INFO):
            study = study_in()
            study.optimize(wrapped(telling), n_trials=2, catch=(ObjectiveError,))
    finally:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        optuna.logging.disable_propagation()
    assert "raised ValueError" in caplog.text
    assert "used trial.report" in caplog.text
    assert "4711" not in caplog.text


@pytest.mark.parametrize(
    "answer", [0.5, np.zeros(N - 1), np.zeros((N, 1)), None, ["x"] * N], ids=["scalar", "short", "2d", "none", "text"]
)
def test_answers_of_another_shape_are_refused(answer: Any) -> None:
    study = study_in()
    with pytest.raises(ObjectiveError, match="one number per record"):
        study.optimize(wrapped(lambda t: answer), n_trials=1)
    assert values(study) == []


def test_a_list_of_unequal_lists_is_refused_without_its_content() -> None:
    with pytest.raises(ObjectiveError, match="raised ValueError"):
        study_in().optimize(wrapped(lambda t: [[1.0]] * (N - 1) + [[4711.0, 2.0]]), n_trials=1)


def test_bad_arguments_are_refused_before_any_study() -> None:
    for bad in (
        {"records": 0},
        {"bounds": (1.0, 0.0)},
        {"trials": 0},
        {"budget": 1.0},
        {"direction": "up"},
        {"budget": tacit.Budget.approximate(1e-3, 1e-6)},
    ):
        with pytest.raises(BadInput):
            wrapped(**bad)
    with pytest.raises(BadInput):
        wrapped(3)  # type: ignore[arg-type]
    assert wrapped(budget=tacit.Budget.approximate(1e-3, 1e-6), accept_noise=True).payment is None


def test_a_trial_without_a_study_is_refused() -> None:
    with pytest.raises(BadInput, match="needs a trial of a study"):
        wrapped()(FixedTrial({"rate": 0.1}))  # type: ignore[arg-type]


def test_no_exact_mean_and_no_loss_is_ever_stored(tmp_path: Path) -> None:
    """Every cell of every table of the study's file, numbers and text, against every exact mean and loss."""
    secrets = set[float]()
    generator = np.random.default_rng(0)

    def secret(trial: Any) -> np.ndarray:
        losses = np.clip(bowl(trial) + generator.normal(0, 0.01, N), 0, 1)
        secrets.update([*losses.tolist(), float(losses.mean()), float(losses.sum())])
        if trial.number == 7:
            raise ValueError(f"the losses were {losses[:3]}")
        return losses

    path = tmp_path / "s.db"
    study, objective = study_in(f"sqlite:///{path}"), wrapped(secret)
    study.optimize(objective, n_trials=15, catch=(ObjectiveError,))
    objective.release(study)
    cells = list[Any]()
    with sqlite3.connect(path) as database:
        for (table,) in database.execute("select name from sqlite_master where type = 'table'").fetchall():
            cells += [cell for row in database.execute(f'select * from "{table}"') for cell in row]
    numbers = {cell for cell in cells if isinstance(cell, float)}
    text = "\n".join(cell for cell in cells if isinstance(cell, str))
    assert set(values(study)) <= numbers  # the scan does see values
    assert not numbers & secrets
    assert not any(repr(s) in text for s in secrets)
    means = sorted(s for s in secrets if s < 1)
    assert all(np.abs(np.array(means) - v).min() > 0 for v in values(study))
