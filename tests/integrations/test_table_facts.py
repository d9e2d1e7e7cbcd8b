"""What is said of a table before anything is spent: by training rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit.data.schema import Column
from tacit.data.split import hold_out
from tacit.data.units import Persons
from tacit.errors import PrivacyWarning
from tacit.integrations.sklearn import PrivateSearchCV
from tacit.integrations.table import TableObjective, table_objective
from tacit.integrations.table_facts import (
    Identifier,
    TargetLeak,
    TaskUnclear,
    find_identifiers,
    find_target_leaks,
    judge_task,
)
from tacit.privacy.guarantee import Budget
from tacit.space import Float

ROWS = 400


def stays(rows: int = ROWS) -> pd.DataFrame:
    """Hospital stays: a unique number, patients with about three each, and what describes them."""
    rng = np.random.default_rng(0)
    patient = rng.integers(rows // 3, size=rows) * 7919 + 100_000
    age = rng.normal(60, 10, rows)
    sick = np.where(age + rng.normal(0, 10, rows) > 60, "yes", "no")
    return pd.DataFrame(
        {"stay": np.arange(rows) + 5_000_000, "patient_nbr": patient, "age": age, "ward": "w", "sick": sick}
    )


@pytest.mark.parametrize(
    ("answers", "task"),
    [
        (["yes", "no"] * 50, "classification"),
        ([True, False] * 50, "classification"),
        ([0, 1] * 50, "classification"),
        (list(range(10)) * 10, "classification"),
        ([200_000 + 50 * i for i in range(100)], "regression"),  # prices in whole numbers
        (np.linspace(0, 1, 100).tolist(), "regression"),
        (["1.5", "2.5"] * 50, None),  # few numbers with fractions
        (list(range(20)) * 5, None),  # classes or ages?
        ([f"name {i}" for i in range(100)], None),  # as many words as rows
    ],
)
def test_the_task_is_judged_by_how_many_values_there_are_and_of_which_kind(
    answers: list[Any], task: str | None
) -> None:
    if task is not None:
        assert judge_task("y", answers) == task
        return
    with pytest.raises(TaskUnclear, match=r"classes or amounts.*--task.*Nothing was spent"):
        judge_task("y", answers)


def test_identifiers_are_remarked_on() -> None:
    made = table_objective(stays(), "sick", "linear")
    unique, repeating = made.identifiers
    assert (unique.name, unique.unique, repeating.name, repeating.unique) == ("stay", True, "patient_nbr", False)
    assert "--drop stay" in unique.remark(None)
    assert Identifier("stay no", 99, 100, 1).remark(None).endswith("--drop 'stay no'")
    assert "--person 'Größe in m' protects" in Identifier("Größe in m", 50, 100, 3).remark(None)
    said = repeating.remark(Budget.approximate(1.0, 1e-6))
    assert f"up to {repeating.most} training rows each" in said
    assert "--person patient_nbr" in said
    assert f"{repeating.most} rows of one person are worth epsilon" in said


def test_a_remark_does_not_depend_on_private_rows() -> None:
    """Every validation row is of one patient and one stay: nothing of it is said."""
    table = stays()
    hidden = hold_out(ROWS, 0.5, np.random.default_rng(0))[1].rows
    before = table_objective(table, "sick", "linear")
    table.loc[hidden, ["stay", "patient_nbr"]] = 100_000
    table.loc[hidden, "sick"] = [f"name {i}" for i in range(len(hidden))]
    after = table_objective(table, "sick", "linear")
    assert after.identifiers == before.identifiers
    assert after.describe() == before.describe()
    assert after.baseline() == before.baseline()


def test_columns_can_be_left_out() -> None:
    made = table_objective(stays(), "sick", "linear", drop=["stay", "patient_nbr"])
    assert [c.name for c in made.matrix.schema.columns] == ["age", "ward"]
    assert made.identifiers == ()
    assert "left out: stay, patient_nbr" in made.describe()[1]


def by_person(table: pd.DataFrame, **more: Any) -> TableObjective:
    return table_objective(table, "sick", "linear", person="patient_nbr", drop=["stay"], **more)


def test_persons_are_divided_with_all_their_rows_and_have_one_loss_each() -> None:
    table = stays()
    made = by_person(table)
    persons = table["patient_nbr"].nunique()
    assert abs(made.units - persons / 2) < persons / 4  # by a hash of each name
    assert made({"C": 1.0}).shape == (made.units,)
    assert "patient_nbr" not in [c.name for c in made.matrix.schema.columns]
    assert made.facts.basis == "person"
    assert f"{made.units} private persons" in made.describe()[0]
    assert by_person(table, metric="auc").facts.basis == "pair of persons"


def test_how_many_rows_a_private_person_has_is_not_said() -> None:
    table = stays()
    made = by_person(table)
    owner = _hidden_person(table)
    more = pd.concat([table, *[table[table["patient_nbr"] == owner]] * 5])
    again = by_person(more)
    assert again.describe() == made.describe()
    assert again.baseline() == made.baseline()
    moved = np.flatnonzero(again({"C": 1.0}) != made({"C": 1.0}))
    assert len(moved) <= 1


def _hidden_person(table: pd.DataFrame) -> int:
    persons = Persons.of(table["patient_nbr"], len(table))
    hidden = hold_out(len(table), 0.5, np.random.default_rng(0), persons)[1]
    return int(table["patient_nbr"].iloc[hidden.rows[0]])


@pytest.mark.parametrize("cell", ["odd", "n/a", 1e300, "007"])
def test_a_person_moves_their_own_loss_alone(cell: Any) -> None:
    """All cells of a person's rows, their name and the number of their rows changed: one loss moves."""
    table = stays().astype(object)
    owner = _hidden_person(stays())
    before = by_person(table)({"C": 1.0})
    mine = table["patient_nbr"] == owner
    table.loc[mine, ["age", "ward", "sick"]] = cell
    for i in range(100):  # somebody whose name falls in the same part
        table.loc[mine, "patient_nbr"] = f"{cell} {i}"
        persons = Persons.of(table["patient_nbr"], len(table))
        rows = hold_out(len(table), 0.5, np.random.default_rng(0), persons)[1].rows
        if np.flatnonzero(mine)[0] in rows:
            break
    assert len(np.flatnonzero(by_person(table)({"C": 1.0}) != before)) <= 1


def test_a_search_warns_of_identifiers_among_its_columns() -> None:
    from sklearn.linear_model import RidgeClassifier

    table = stays()
    search = PrivateSearchCV(
        RidgeClassifier(), {"alpha": Float(0.1, 1.0)}, trials=2, method="random", accept_noise=True, random_state=0
    )
    X, y = table[["patient_nbr", "age"]], table["sick"]
    with pytest.warns(PrivacyWarning, match="'patient_nbr' repeats.*groups="):
        search.fit(X, y)
    fitted = search.fit(X[["age"]], y, groups=table["patient_nbr"])
    assert fitted.guarantee_.unit == "one person replaced, with all their validation rows"
    assert "persons whose rows validate" in fitted.protects_


def test_a_column_that_is_known_only_afterwards_is_remarked_on() -> None:
    rng = np.random.default_rng(0)
    late = rng.random(400) < 0.3
    table = pd.DataFrame({"age": rng.integers(18, 90, 400), "status": np.where(late, "lost", "paid"), "late": late * 1})
    table["fee"] = np.where(late, rng.uniform(5, 50, 400), 0.0)
    found = table_objective(table, "late", "linear").target_leaks
    assert [g.name for g in found] == ["status", "fee"]
    assert "--drop status" in found[0].remark("late")
    assert TargetLeak("loan status", 1.0).remark("late").endswith("--drop 'loan status'")
    rare = np.arange(200) < 1  # whatever is said, nearly all are right
    assert find_target_leaks([Column("x")], [np.arange(200.0)], rare) == ()


def test_amounts_of_which_many_have_none_are_no_identifiers() -> None:
    rng = np.random.default_rng(0)
    amounts = np.where(np.arange(600) % 10 == 0, 0, rng.integers(1, 10**6, 600))
    column = Column("balance")
    assert find_identifiers([column], [amounts]) == ()
    assert find_identifiers([Column("patient_nbr")], [np.repeat(np.arange(200), 3)])
