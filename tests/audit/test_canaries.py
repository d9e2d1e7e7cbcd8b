"""One run, many canaries: the bound holds, is not simulated, and codes keep canaries apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.audit.canaries import best_one_run, codes, count_guesses, one_run_bound
from tacit.errors import BadInput


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_one_run_bound_fails_no_more_often_than_it_says(epsilon: float) -> None:
    """Randomised response on each canary: the worst that is epsilon-DP. Not simulated: a finite sum."""
    from scipy.stats import binom

    m, level = 200, 0.05
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    wrong = [
        v for v in range(m + 1) if one_run_bound(v, m, canaries=m, delta=0.0, confidence=1 - level) > epsilon + 1e-9
    ]
    assert binom.pmf(wrong, m, p).sum() <= level
    seen = one_run_bound(round(p * m), m, canaries=m, delta=0.0)
    assert 0 < seen < epsilon


def test_a_larger_delta_shows_less() -> None:
    bounds = [one_run_bound(95, 100, canaries=100, delta=d) for d in (0.0, 1e-5, 1e-3, 0.1)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == 0.0


def test_guesses_are_made_where_the_attacker_is_surest() -> None:
    assert count_guesses([5.0, -4.0, 0.1, -0.1], [1, 0, 0, 1], share=0.5) == (2, 2)
    assert count_guesses([5.0, -4.0, 0.1, -0.1], [1, 0, 0, 1], share=1.0) == (2, 4)
    assert best_one_run(np.r_[np.ones(50), -np.ones(50)], np.r_[np.ones(50), np.zeros(50)], delta=0.0)["guesses"] == 100


def test_codes_are_orthogonal() -> None:
    assert (codes(16) @ codes(16).T == 16 * np.eye(16)).all()
    with pytest.raises(BadInput, match="power of two"):
        codes(12)
    with pytest.raises(BadInput, match="right <= guesses"):
        one_run_bound(5, 4, canaries=10, delta=0.0)
