"""What is predicted, classes or a number: by public things, or learnt with paid noise; nothing is spent on failing."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from counts_parts import Spy

from tacit.data.schema import Schema
from tacit.errors import BadInput
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import Simulation
from tacit.training.column_counts import ColumnCounts
from tacit.training.learn import count_learnt, learn_labels_or_range
from tacit.training.task import settle_task
from tacit.training.train import train
from tacit.training.trainer import CLASSES, NUMBERS

BUDGET = Budget.approximate(2.0, 1e-5)


def stays(n: int = 4000) -> pd.DataFrame:
    """Days in hospital that grow with age, with numbers, amounts and classes to predict."""
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 95, n)
    days = age / 5 + rng.normal(0, 1.5, n)
    bill = np.where(rng.random(n) < 0.6, 0.0, days * 100)
    return pd.DataFrame({"age": age, "days": days, "bill": bill, "old": (age > 60).astype(int)})


def predicted(column: str, **options: Any) -> Any:
    table = stays()[["age", column]]
    return train("auto", table, target=column, budget=BUDGET, progress=False, noise=Simulation(0), **options).value


def test_a_target_of_numbers_is_trained_as_one_though_nobody_named_a_model() -> None:
    value = predicted("days")
    assert (value.model.preparation.task, value.metric, value.model.trainer) == (
        NUMBERS,
        "absolute",
        "automatic model, numbers",
    )
    assert value.score < 0.6 * value.details["baseline"]
    assert value.model.predict(pd.DataFrame({"age": [20.0, 90.0]})) == pytest.approx([4.0, 18.0], abs=3)


def test_amounts_of_which_most_are_zero_are_numbers() -> None:
    assert predicted("bill").model.preparation.task == NUMBERS


def test_numbers_that_are_classes_stay_classes() -> None:
    value = predicted("old")
    assert (value.metric, value.model.classes_.tolist()) == ("error", [0, 1])
    assert value.score < 0.2


def test_a_rare_class_or_missing_targets_make_no_class_a_number() -> None:
    rng = np.random.default_rng(1)
    rare = pd.DataFrame({"age": rng.uniform(0, 9, 4000), "ill": (rng.random(4000) < 0.01).astype(int)})
    one = train("auto", rare, target="ill", budget=BUDGET, progress=False, noise=Simulation(0)).value
    assert one.model.classes_.tolist() == [0]
    half = rare.assign(ill=np.where(rng.random(4000) < 0.5, None, rare["age"] > 5))
    value = train("auto", half, target="ill", budget=BUDGET, progress=False, noise=Simulation(0)).value
    assert value.model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "task"),
    [
        ({"labels": [0, 1]}, CLASSES),
        ({"metric": "error"}, CLASSES),
        ({"metric": "absolute"}, NUMBERS),
        ({"schema": Schema.declare({"age": (0, 99)}, target="old", range=(0, 1))}, NUMBERS),
        ({"schema": Schema.declare({"age": (0, 99)}, target="old", labels=[0, 1])}, CLASSES),
    ],
)
def test_public_things_settle_the_task_and_nothing_is_paid_for_it(options: dict[str, Any], task: str) -> None:
    asked = {"labels": None, "schema": None, "metric": None} | options
    assert settle_task("auto", **asked) == task
    assert predicted("old", **options).model.preparation.task == task


def test_a_trainer_that_is_named_settles_the_task() -> None:
    assert settle_task("logistic", None, None, None) == CLASSES
    assert settle_task("auto-numbers", None, None, None) == NUMBERS
    assert count_learnt(None, 3, CLASSES) == count_learnt(None, 3, NUMBERS) == 4
    assert count_learnt(None, 3, None) == 5


def test_a_schema_that_says_nothing_of_the_target_but_its_name_is_refused_first() -> None:
    with pytest.raises(BadInput, match=r"declare its labels or its range\. Nothing was spent"):
        predicted("old", schema=Schema.declare({"age": (0, 99)}, target="old"))


def test_too_few_rows_for_labels_are_refused_with_what_would_do() -> None:
    wide = stays(1500).assign(**{f"c{i}": 0 for i in range(80)})
    with pytest.raises(BadInput, match=r"for amounts use auto-numbers.* Nothing was spent"):
        train("auto", wide, target="days", budget=Budget.approximate(1.0, 1e-6), progress=False)


def test_one_charge_pays_for_the_kind_too_and_a_folder_goes_on(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db", "stays", BUDGET)
    release = train(
        "auto",
        stays()[["age", "days"]],
        target="days",
        budget=BUDGET,
        ledger=ledger,
        out=tmp_path / "m",
        progress=False,
    )
    assert release.guarantee.epsilon(1e-5) == 2.0
    assert sum(e.kind == "charge" for e in ledger.entries()) == 1
    assert release.value.model.preparation.task == NUMBERS


MANY = [float(v) for v in range(40)] * 3 + ["x"] * 3
FEW = [0.0, 1.0] * 60 + ["x"] * 3


@pytest.mark.parametrize(("cells", "cost"), [(MANY, 2.0), (FEW, 1.1)], ids=["numbers", "classes"])
def test_a_target_of_unknown_kind_costs_no_more_than_two_columns(cells: list[Any], cost: float) -> None:
    """Squares of what moves, in deviations of its noise, given the same answers: at most 2 mu^2 / d, and up to it."""
    counts, worst = ColumnCounts(7, 0.8, 1e-9), 0.0
    for here, there in itertools.permutations([0.0, 1.0, "x", None], 2):
        first = Spy()
        learn_labels_or_range([here, *cells], counts, first)  # type: ignore[arg-type]
        second = Spy(first.seen)
        learn_labels_or_range([there, *cells], counts, second)  # type: ignore[arg-type]
        assert first.scales == second.scales
        pairs = zip(first.seen, second.seen, first.scales, strict=True)
        worst = max(worst, sum((np.linalg.norm(a - b) / scale) ** 2 for a, b, scale in pairs))
    assert worst <= cost * 0.8**2 / 7
    assert worst == pytest.approx(cost * 0.8**2 / 7, rel=1e-7)
