"""Roots by Brent's method, against another author's and against what they must be."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.optimize import brentq

from tacit.privacy.roots import find_root


@given(some.floats(-50.0, 50.0), some.floats(0.1, 5.0), some.floats(1e-3, 100.0), some.floats(1e-3, 100.0))
def test_a_root_of_a_monotone_function_is_found_to_the_asked_precision(
    root: float, steepness: float, left: float, right: float
) -> None:
    def function(x: float) -> float:
        return math.atan(steepness * (x - root))

    found = find_root(function, root - left, root + right)
    assert abs(found - root) <= 1e-12 * max(1.0, abs(root))


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (lambda x: math.cos(x) - x, 0.0, 1.0),
        (lambda x: (x - 0.1) ** 3 + (x - 0.1), -1.0, 3.0),
        (lambda x: math.exp(-x) - 1e-9, 0.0, 700.0),
        (lambda x: (x - 1e-300) * 1e300, 0.0, 1.0),
        (lambda x: -1.0 if x < 0.3 else 1.0, 0.0, 1.0),  # a step
    ],
)
def test_it_agrees_with_another_author(function: object, low: float, high: float) -> None:
    theirs = brentq(function, low, high, xtol=1e-15, rtol=1e-14)
    assert find_root(function, low, high) == pytest.approx(theirs, rel=1e-11, abs=1e-15)  # type: ignore[arg-type]


def test_ends_that_are_roots_are_answers_and_equal_signs_are_refused() -> None:
    assert find_root(lambda x: x, 0.0, 1.0) == 0.0
    assert find_root(lambda x: x - 1, 0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="change its sign"):
        find_root(lambda x: x + 2, 0.0, 1.0)
