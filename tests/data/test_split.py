"""Parts have the sizes that were asked for, hold every row once, and are refused where they would be too small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.data.split import divide_rows, hold_out
from tacit.data.units import Persons
from tacit.errors import BadInput

NAMED = Persons.of(np.repeat(np.arange(10), 3), 30)


def coin() -> Any:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("validation", "held"), [(0.3, 3), (0.01, 1), (0.99, 9)], ids=["a share", "at least one", "all but one"]
)
def test_what_is_held_out_and_what_is_left_are_all_rows(validation: float, held: int) -> None:
    seen, hidden = hold_out(10, validation, coin())
    assert (seen.units, hidden.units) == (10 - held, held)
    assert sorted([*seen.rows, *hidden.rows]) == list(range(10))


def test_persons_go_with_all_of_their_rows_and_about_as_many_are_held_out() -> None:
    seen, hidden = hold_out(30, 0.5, coin(), NAMED)
    assert sorted([*seen.rows, *hidden.rows]) == list(range(30))
    assert not set(NAMED.owners[seen.rows]) & set(NAMED.owners[hidden.rows])
    assert hidden.units == len(set(NAMED.owners[hidden.rows]))
    places = NAMED.draw_places(coin().bytes(16))
    assert set(NAMED.owners[hidden.rows]) == set(np.flatnonzero(places < 0.5))


def test_just_enough_to_train_on_is_taken_and_one_less_refused() -> None:
    assert hold_out(3, 0.3, coin(), least=2)[0].units == 2
    with pytest.raises(BadInput, match="2 to train on, got 2 and 1"):
        hold_out(3, 0.6, coin(), least=2)
    with pytest.raises(BadInput, match="1 row to validate and 2 to train on, got 0 and 3"):
        hold_out(3, 0.1, coin(), least=2)
    with pytest.raises(BadInput, match="to validate"):
        hold_out(1, 0.5, coin())


@pytest.mark.parametrize("shares", [(0.75, -0.5, 0.75), (0.5, 0.5), (0.0, 0.5, 0.5), (0.5, 0.0, 0.6)])
def test_shares_that_are_none_are_refused(shares: Any) -> None:
    with pytest.raises(BadInput, match="three shares above 0"):
        divide_rows(1000, None, shares, 0)


def test_shares_may_add_up_to_1_but_for_rounding_and_leave_nothing_to_validate_on() -> None:
    assert sum((0.6, 0.3, 0.1)) != 1
    assert [part.units for part in divide_rows(200, None, (0.6, 0.3, 0.1), 0)] == [120, 60, 20]
    parts = divide_rows(40, None, (0.5, 0.0, 0.5), 0)
    assert [part.units for part in parts] == [20, 0, 20]
    assert sorted(row for part in parts for row in part.rows) == list(range(40))
    with pytest.raises(BadInput, match="at least 20 records, got 19"):
        divide_rows(39, None, (0.48, 0.0, 0.52), 0)
