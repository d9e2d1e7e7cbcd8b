"""Where a linear model begins: what one row or person moves, the exactness of sums, and the rates it begins with."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.audit.recorder import Recorder
from tacit.privacy.noise import Simulation
from tacit.training.starts import FEATURES, FINE, RAREST, TARGETS, draw_start, longest_row
from tacit.training.trainer import CLASSES, NUMBERS, EncodedRows, Facts, Span

COLUMNS = (Span(0, 2, True), Span(2, 7, True), Span(7, 10, False))
FACTS = {task: Facts(50, 10, task, 2 if task == CLASSES else 1, COLUMNS) for task in (CLASSES, NUMBERS)}


def entered(rows: EncodedRows, task: str) -> list[tuple[np.ndarray, float]]:
    recorder = Recorder(1)
    draw_start(rows, FACTS[task], 0.7, recorder, odds=True)
    return [(e.value, e.scale) for e in recorder.tape.entered]


def table(task: str, first: list[list[float]], target: list[float]) -> EncodedRows:
    """49 persons of a row each, and one whose rows are given."""
    X, y = np.zeros((49, 10)), np.zeros(49)
    owners = np.concatenate([np.arange(1, 50), np.zeros(len(first), int)])
    return EncodedRows(np.vstack([X, first]), np.concatenate([y, target]), owners)


@pytest.mark.parametrize("task", [CLASSES, NUMBERS])
@pytest.mark.parametrize("many", [1, 7])
def test_a_person_costs_no_more_than_stated_and_some_cost_just_that(task: str, many: int) -> None:
    """A row at one end of all features and of the target, or several, becomes one at the other end."""
    low = [-1e9] * 10
    ends = (1.0, 0.0) if task == CLASSES else (1.0, -1.0)
    here = entered(table(task, [[1e9] * 10] * many, [ends[0]] * many), task)
    there = entered(table(task, [low], [ends[1]]), task)
    losses = [float(np.linalg.norm(a - b)) / scale for (a, scale), (b, _) in zip(here, there, strict=True)]
    assert [scale for _, scale in here] == [scale for _, scale in there]
    for loss, share in zip(losses, (FEATURES, TARGETS), strict=True):
        assert loss <= math.sqrt(share) * 0.7
        assert loss == pytest.approx(math.sqrt(share) * 0.7, rel=1e-4)


def test_a_row_is_as_long_as_its_columns_allow() -> None:
    assert longest_row(FACTS[CLASSES]) == 2.0  # a place, a place with a bin, a word
    assert longest_row(Facts(9, 5, CLASSES, 2)) == math.sqrt(5)


def test_sums_are_whole_and_exact_whatever_the_order() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (50, 10)), rng.integers(2, size=50).astype(float)
    order = rng.permutation(50)
    first, second = (entered(EncodedRows(X[o], y[o]), CLASSES) for o in (np.arange(50), order))
    assert all((a == b).all() for (a, _), (b, _) in zip(first, second, strict=True))
    assert first[1][0].tolist() == (np.bincount(y.astype(int)) * FINE).tolist()


def test_a_rare_class_begins_at_its_odds_and_never_at_none() -> None:
    facts = Facts(20_000, 2, CLASSES, 2)
    X, y = np.zeros((20_000, 2)), np.zeros(20_000)
    y[:200] = 1.0
    start = draw_start(EncodedRows(X, y), facts, 1.0, Simulation(0), odds=True)
    assert start.constants[0] == pytest.approx(math.log(0.01 / 0.99), abs=0.2)
    none = draw_start(EncodedRows(X, 0 * y), facts, 1.0, Simulation(0), odds=True)
    assert none.constants[0] == pytest.approx(math.log(RAREST), abs=0.3)
