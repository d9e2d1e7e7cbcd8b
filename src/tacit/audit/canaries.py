"""One run, many canaries: a membership-style audit of a whole run, for methods too expensive to run a thousand times.

Each of m canaries is put into the data in one of two forms, by a fair coin. The run is made once; the attacker guesses
the coins from its output, abstaining where unsure. If the run is (epsilon, delta)-DP for one record replaced, few
guesses can be right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import BadInput, count, probability, type_and_shape
from tacit.files import Json

GUESSED = (0.1, 0.2, 0.33, 0.5, 1.0)  # shares of the canaries that the attacker may guess, fixed before the run


def one_run_bound(right: int, guesses: int, *, canaries: int, delta: float, confidence: float = 0.99) -> float:
    """A lower confidence bound on epsilon at delta from ``right`` right guesses among ``guesses``.

    Guarantee. With probability at least ``confidence`` over coins and run, the run is not (epsilon, delta)-DP for any
    epsilon below the answer. The number of guesses must be fixed without looking at which were right.
    Follows. Steinke, Nasr and Jagielski (2023), Theorem 5.2.
    Edges. Never more than one fair run of m canaries can show: about log(m / 4.6).

    >>> one_run_bound(50, 100, canaries=100, delta=0.0)
    0.0
    >>> round(one_run_bound(100, 100, canaries=100, delta=0.0), 2)
    3.05
    """
    r, m = count("guesses", guesses), count("canaries", canaries)
    v = count("right", right, least=0)
    delta, level = probability("delta", delta, zero=True), 1 - probability("confidence", confidence)
    if v > r or r > m:
        raise BadInput(f"right <= guesses <= canaries must hold, got {v}, {r} and {m}")
    low, high = 0.0, 50.0
    if _chance(0.0, v, r, m, delta) > level:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _chance(middle, v, r, m, delta) <= level else (low, middle)
    return low


def _chance(epsilon: float, v: int, r: int, m: int, delta: float) -> float:
    """The most likely that v or more of r guesses are right under (epsilon, delta)-DP (Steinke2023, Theorem 5.2)."""
    from scipy.special import expit
    from scipy.stats import binom

    q = expit(epsilon)
    above = float(binom.sf(v - 1, r, q))
    if not delta:
        return above
    below = np.cumsum(binom.pmf(v - 1 - np.arange(min(v, m)), r, q))  # P(v > B >= v - i) for i = 1, 2, ...
    alpha = float(np.max(below * 2 / np.arange(1, len(below) + 1))) if v else 0.0
    return above + alpha * m * delta


def count_guesses(scores: ArrayLike, coins: ArrayLike, *, share: float) -> tuple[int, int]:
    """(right, guesses) of an attacker who calls the sign of a score, on the ``share`` of canaries with the largest.

    ``coins`` are 1 and 0, shape (m,); scores (m,) are positive where the coin looks like 1.
    """
    s, c = np.asarray(scores, float), np.asarray(coins)
    if s.shape != c.shape or s.ndim != 1:
        raise BadInput(
            f"scores and coins must have one shape (canaries,), got {type_and_shape(s)} and {type_and_shape(c)}"
        )
    guesses = max(1, round(share * len(s)))
    sure = np.argsort(-np.abs(s), kind="stable")[:guesses]
    return int(np.sum((s[sure] > 0) == (c[sure] == 1))), guesses


def best_one_run(scores: ArrayLike, coins: ArrayLike, *, delta: float, confidence: float = 0.99) -> Json:
    """The largest of the bounds for a few fixed numbers of guesses, each at its share of the confidence."""
    each = 1 - (1 - probability("confidence", confidence)) / len(GUESSED)
    bounds = []
    for share in GUESSED:
        right, guesses = count_guesses(scores, coins, share=share)
        bound = one_run_bound(right, guesses, canaries=len(np.asarray(coins)), delta=delta, confidence=each)
        bounds.append({"epsilon": bound, "right": right, "guesses": guesses})
    return {**max(bounds, key=lambda f: f["epsilon"]), "canaries": len(np.asarray(coins))}


def codes(canaries: int) -> Any:
    """Orthogonal signs (m, m), m a power of two: canary i writes row i over m observations, and none hides another."""
    from scipy.linalg import hadamard

    m = count("canaries", canaries)
    if m & (m - 1):
        raise BadInput(f"canaries must be a power of two, got canaries={m}")
    return hadamard(m).astype(float)
