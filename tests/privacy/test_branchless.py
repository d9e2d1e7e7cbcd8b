"""Choices without a branch: what they choose, and that every sampler makes its so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.privacy.branchless import choose, flush
from tacit.privacy.noise import BULK, EXACT

WORDS = st.integers(0, 2**64 - 1)
FLOATS = st.floats(allow_nan=False)


@given(st.lists(st.tuples(st.booleans(), WORDS, WORDS), min_size=1, max_size=9))
def test_one_is_chosen_where_it_is_true_and_the_other_elsewhere(rows: list[tuple[bool, int, int]]) -> None:
    which = np.array([row[0] for row in rows])
    one, other = np.array([row[1:] for row in rows], np.uint64).T
    assert choose(which, one, other).tolist() == np.where(which, one, other).tolist()


@given(st.lists(FLOATS, min_size=1, max_size=9), st.floats(min_value=1e-300))
def test_what_is_nearer_to_zero_is_zero_and_the_rest_is_as_it_was(values: list[float], least: float) -> None:
    for given_, kept in zip(values, flush(np.array(values), least).tolist(), strict=True):
        assert kept.hex() == (given_ if abs(given_) >= least else 0.0).hex()  # and never -0.0


def test_no_sampler_chooses_with_a_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> None:
        raise AssertionError("NumPy's where has a branch for every number")

    values = np.array([0.0, 1.0, 5e-324])
    BULK.gaussian(values, 1.0)  # makes the tables
    monkeypatch.setattr(np, "where", refuse)
    for draw in (EXACT.laplace, EXACT.gumbel_argmax, BULK.laplace, BULK.gaussian):
        draw(values, 1.0)


@pytest.mark.parametrize("scale", [1e-290, 1e-3, 1.0, 1e290])
def test_no_value_makes_noise_overflow_or_underflow(scale: float) -> None:
    """Either is flagged by the processor, which NumPy then takes longer over."""
    most = np.finfo(float).max
    values = np.array([most, -most, 1e300, -1e-300, 2.0**-1022, 5e-324, -0.0, scale, scale * 2.0**-50])
    with np.errstate(all="raise"):
        for draw in (EXACT.laplace, BULK.laplace, BULK.gaussian):
            assert np.isfinite(draw(values, scale)).all()
