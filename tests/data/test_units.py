"""Persons: whose each row is depends on that row's own name, and each person has one loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.data.split import divide
from tacit.data.units import PersonLosses, Persons, mean_by_person, number_persons
from tacit.errors import BadInput, ExcessiveNoise, ObjectiveError
from tacit.methods.privacy_unit import refuse_excessive_noise
from tacit.objective import Objective
from tacit.privacy.guarantee import Budget


@pytest.mark.parametrize(("useful", "most"), [(None, 0.4), (1.0, 0.1)])
def test_noise_above_a_tenth_of_what_can_differ_is_refused(useful: float | None, most: float) -> None:
    losses = Objective(len, 20, (-1.0, 3.0), "minimize", "person")
    asked: dict[str, Any] = {"useful": useful, "remedy": "or rest"}
    refuse_excessive_noise(most, "this", losses, accepted=False, **asked)
    refuse_excessive_noise(9.0, "this", losses, accepted=True, **asked)
    with pytest.raises(ExcessiveNoise, match=r"this over 20 persons .* between -1 and 3.* Use more persons, or rest;"):
        refuse_excessive_noise(1.01 * most, "this", losses, accepted=False, **asked)


@pytest.mark.parametrize("odd", ["odd", "n/a", "1e400", "-", None, ["x"], 3 + 4j, "00012"])
def test_an_odd_name_joins_and_divides_no_other_persons(odd: Any) -> None:
    """One private cell may turn a column of numbers into text: others stay who they are."""
    plain = number_persons(np.array([7, 8, 7, 9, 8]), 5)
    assert number_persons(["7", "8.0", "007", odd, "8"], 5).tolist() == plain.tolist() == [0, 1, 0, 2, 1]


def test_long_numbers_are_told_apart_to_the_last_digit() -> None:
    assert number_persons(["9007199254740993", "9007199254740992", 9007199254740993], 3).tolist() == [0, 1, 0]


def test_rows_without_a_name_are_persons_of_their_own() -> None:
    assert number_persons([None, "a", np.nan, "a", ""], 5).tolist() == [0, 1, 2, 1, 3]
    assert number_persons(pd.Series([None, 1, None], dtype="Int64"), 3).tolist() == [0, 1, 2]


def test_names_held_as_floats_are_refused_whatever_they_are() -> None:
    """By the type of the column: of long names floats make one, and a refusal by their values would tell of one."""
    for held in (np.array([1.0, 2.0]), pd.Series([1, None]), np.array([1, 2j])):
        with pytest.raises(BadInput, match="floating-point numbers"):
            number_persons(held, 2)


def test_a_replaced_person_moves_no_other_to_another_part() -> None:
    """Their place in the table, and their name, may be another."""
    names = [f"p{i}" for i in range(1000)]
    parts = []
    for listed in (names, ["somebody", *names[:500], *names[501:]]):
        persons = Persons.of(listed, 1000)
        where = {}
        for number, part in enumerate(divide([600, 200, 200], np.random.default_rng(0), persons)):
            where |= {listed[row]: number for row in part.rows}
        parts.append(where)
    assert all(parts[0][name] == parts[1][name] for name in names if name != "p500")
    assert sorted({n: list(parts[0].values()).count(n) for n in range(3)}.values())[0] > 150


def test_rows_without_a_name_are_divided_by_their_number() -> None:
    persons = Persons.of([None] * 1000, 1000)
    key = np.random.default_rng(0).bytes(16)
    assert len(set(persons.draw_places(key).tolist())) == 1000


def test_persons_are_counted_as_they_first_appear() -> None:
    assert number_persons([5, 3, 5, 4, 3], 5).tolist() == [0, 1, 0, 2, 1]


def test_names_of_another_number_are_refused() -> None:
    with pytest.raises(BadInput, match="one name per row"):
        number_persons([1, 2], 3)


def test_each_person_has_the_mean_of_their_clipped_losses() -> None:
    made = PersonLosses.of(lambda p: np.array([5.0, 0.5, np.nan, 0.0]), ["a", "b", "a", "b"], (0.0, 1.0), "minimize")
    assert made({}).tolist() == [1.0, 0.25]
    best = PersonLosses.of(lambda p: np.array([5.0, np.nan]), ["a", "a"], (0.0, 1.0), "maximize")
    assert best({}).tolist() == [0.5]
    with pytest.raises(ObjectiveError, match=r"one number per row, shape \(4,\)"):
        PersonLosses.of(lambda p: np.zeros(2), ["a", "b", "a", "b"], (0.0, 1.0), "minimize")({})


def test_the_mean_of_a_person_is_their_own_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    owners, losses = rng.integers(30, size=500), rng.random(500)
    before = mean_by_person(losses, owners, 30)
    losses[owners == 7] = 1e300
    assert np.flatnonzero(mean_by_person(losses, owners, 30) != before).tolist() == [7]


@pytest.mark.parametrize("method", ["observed", "random", "grid", "pool", "staged", "gibo"])
def test_groups_make_the_person_the_unit_of_every_method(method: str) -> None:
    groups = np.repeat(np.arange(500), 3)

    def losses(params: dict[str, Any]) -> Any:
        return (params["x"] - 0.3) ** 2 + 0.01 * np.sin(np.arange(1500))

    release = tacit.tune(
        losses,
        {"x": tacit.Float(0.0, 1.0)},
        bounds=(0.0, 1.0),
        groups=groups,
        budget=Budget.gdp(1.0),
        trials=5,
        method=method,
        progress=False,
        accept_noise=True,
    )
    assert release.guarantee.unit == "one person replaced, with all their validation rows"
    assert "its own person's rows" in release.guarantee.premises[0]
    if method == "observed":
        assert release.value.noise == pytest.approx(np.sqrt(5) / 500, rel=1e-6)  # persons, not rows


def test_groups_and_shards_or_other_counts_are_refused() -> None:
    shards: Any = tacit.Shards([lambda p: np.zeros(4)])
    about: Any = {"bounds": (0.0, 1.0), "budget": Budget.gdp(1.0), "trials": 2}
    with pytest.raises(BadInput, match="do not go with Shards"):
        tacit.tune(shards, {"x": tacit.Float(0, 1)}, groups=["a", "a", "b", "b"], **about)
    with pytest.raises(BadInput, match="must name at least one row's person"):
        tacit.tune(lambda p: np.zeros(0), {"x": tacit.Float(0, 1)}, groups=[], **about)
    with pytest.raises(BadInput, match="names 4, got records=5"):
        tacit.tune(lambda p: np.zeros(4), {"x": tacit.Float(0, 1)}, groups=["a", "a", "b", "b"], records=5, **about)
    with pytest.raises(BadInput, match="give records"):
        tacit.tune(lambda p: np.zeros(4), {"x": tacit.Float(0, 1)}, **about)
