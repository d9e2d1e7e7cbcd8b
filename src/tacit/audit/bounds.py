"""Lower bounds on epsilon from the outputs of a mechanism on two neighbouring data sets. Arrays in, a number out.

    p, q    probabilities of an event E on the one data set and on the other
    TPR     p, FPR    q: E is the attacker's "it was the first"

If the mechanism is (epsilon, delta)-DP then p <= e^epsilon q + delta. So a lower confidence bound on p and an upper one
on q give a lower confidence bound on epsilon. If it is mu-GDP then Phi^-1(p) - Phi^-1(q) <= mu in the same way.

The outputs are split at random into three: a quarter teaches scores, a quarter chooses one score and one event, and the
half that is left counts that one event. Nothing was chosen by what is counted, so the bounds hold for every mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

from tacit.audit.scores import Score, learn_scores
from tacit.errors import BadInput, choice, probability, type_and_shape
from tacit.privacy.conversions import gdp_epsilon

Array = NDArray[np.float64]
FAMILIES = ("any", "gdp")
LEAST = 40  # outputs of each side, below which the three parts say nothing
THRESHOLDS = 600
CAUTION = 1e-3  # in choosing: the best of many thresholds is a lucky one, and luckiest where counts are small


@dataclass(frozen=True)
class CountedEvent:
    """The one event that was counted, and what follows from it.

    ``separated`` says that the event always happened on one data set and never on the other: the bound is then as
    large as this many runs can show, and grows with their number.
    """

    epsilon: float
    mu: float
    seen: int
    of: int
    seen_of_neighbour: int
    of_neighbour: int
    score: str
    separated: bool


def lower_bound(
    outputs: ArrayLike,
    outputs_of_neighbour: ArrayLike,
    *,
    delta: float,
    confidence: float = 0.99,
    family: str = "any",
) -> float:
    """A lower confidence bound on the epsilon at delta of the mechanism that made these outputs.

    Args:
        outputs: Numbers (runs,), vectors (runs, size) or labels (runs,) of a finite choice, one for each run.
        outputs_of_neighbour: The same on the neighbouring data set.
        delta: At which epsilon is stated.
        confidence: That the bound holds.
        family: "any" assumes nothing. "gdp" is the epsilon at delta of mu-GDP for a lower confidence bound on mu: far
            tighter for a mechanism that claims mu-GDP, where it refutes every smaller mu.

    Returns:
        The bound; 0 where nothing was detected.

    Guarantee. With probability at least ``confidence`` over the runs, the mechanism is not (epsilon, delta)-DP for any
    epsilon below the answer ("any"), or not mu-GDP for any mu whose epsilon is below it ("gdp").
    Edges. 0 says that nothing was found, not that there is nothing. n runs cannot show more than about log(n / 11).

    >>> rng = np.random.default_rng(0)
    >>> here, there = rng.laplace(1, 1, 20_000), rng.laplace(0, 1, 20_000)
    >>> 0.8 < lower_bound(here, there, delta=0.0) <= 1.0
    True
    """
    probability("delta", delta, zero=choice("family", family, FAMILIES) == "any")  # mu-GDP has no epsilon at 0
    event = counted(outputs, outputs_of_neighbour, delta=delta, confidence=confidence, family=family)
    if family == "any":
        return event.epsilon
    return gdp_epsilon(event.mu, delta) if event.mu > 0 else 0.0


def mu_bound(outputs: ArrayLike, outputs_of_neighbour: ArrayLike, *, confidence: float = 0.99) -> float:
    """A lower confidence bound on the mu of the smallest Gaussian-DP statement that could hold.

    Args:
        outputs: As for ``lower_bound``.
        outputs_of_neighbour: The same on the neighbouring data set.
        confidence: That the bound holds.

    >>> rng = np.random.default_rng(0)
    >>> 0.9 < mu_bound(rng.normal(1, 1, 20_000), rng.normal(0, 1, 20_000)) <= 1.0
    True
    """
    return counted(outputs, outputs_of_neighbour, delta=0.0, confidence=confidence, family="gdp").mu


def counted(
    outputs: ArrayLike, outputs_of_neighbour: ArrayLike, *, delta: float, confidence: float = 0.99, family: str = "any"
) -> CountedEvent:
    """The event that was counted, and the bounds on epsilon and mu that follow from it.

    Args:
        outputs: As for ``lower_bound``.
        outputs_of_neighbour: The same on the neighbouring data set.
        delta: At which epsilon is stated.
        confidence: That the bounds hold.
        family: Which bound the event was chosen for, "any" or "gdp".
    """
    here, there = _outputs(outputs, outputs_of_neighbour)
    delta, level = probability("delta", delta, zero=True), (1 - probability("confidence", confidence)) / 2
    choice("family", family, FAMILIES)
    first, second = _parts(here, 0), _parts(there, 1)
    best: tuple[float, Score, float, bool, bool] | None = None
    for score in learn_scores(first[0], second[0]):
        a, b = score(first[1]), score(second[1])
        for value, threshold, above, swapped in _events(a, b, delta, level, family):
            if best is None or value > best[0]:
                best = (value, score, threshold, above, swapped)
    assert best is not None  # there is always a score and an event
    _, score, threshold, above, swapped = best
    p_outputs, q_outputs = (second[2], first[2]) if swapped else (first[2], second[2])
    p_seen, q_seen = (int(_event_mask(score(x), threshold, above).sum()) for x in (p_outputs, q_outputs))
    low, high = _low(p_seen, len(p_outputs), level), _high(q_seen, len(q_outputs), level)
    epsilon = max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    mu = max(0.0, float(ndtri(low) - ndtri(high))) if low > 0 and high < 1 else 0.0
    apart = p_seen == len(p_outputs) and q_seen == 0
    return CountedEvent(epsilon, mu, p_seen, len(p_outputs), q_seen, len(q_outputs), score.name, apart)


def clopper_pearson(seen: int, of: int, level: float) -> tuple[float, float]:
    """Bounds on a probability, each wrong with probability at most ``level``.

    >>> low, high = clopper_pearson(0, 100, 0.005)
    >>> low, round(high, 4)
    (0.0, 0.0516)
    """
    return float(_low(seen, of, level)), float(_high(seen, of, level))


def _low(seen: Any, of: Any, level: float) -> Any:
    seen = np.asarray(seen, float)
    return np.where(seen > 0, betaincinv(np.maximum(seen, 1e-9), of - seen + 1, level), 0.0)[()]


def _high(seen: Any, of: Any, level: float) -> Any:
    seen = np.asarray(seen, float)
    return np.where(seen < of, betaincinv(seen + 1, np.maximum(of - seen, 1e-9), 1 - level), 1.0)[()]


def _events(a: Array, b: Array, delta: float, level: float, family: str) -> Iterator[tuple[float, float, bool, bool]]:
    """(expected bound, threshold, above, swapped) of the best threshold each way, for twice as many outputs to come."""
    pooled = np.unique(np.concatenate([a, b]))
    cuts = (pooled[1:] + pooled[:-1]) / 2 if len(pooled) > 1 else pooled
    if len(cuts) > THRESHOLDS:  # evenly, and more finely towards both ends, where rare events are
        tail = np.unique(np.geomspace(1, len(cuts), THRESHOLDS // 4).astype(int) - 1)
        middle = np.linspace(0, len(cuts) - 1, THRESHOLDS // 2).astype(int)
        cuts = cuts[np.unique(np.concatenate([tail, middle, len(cuts) - 1 - tail]))]
    sa, sb = np.sort(a), np.sort(b)
    for above in (True, False):
        in_a, in_b = np.searchsorted(sa, cuts, "right"), np.searchsorted(sb, cuts, "right")
        if above:
            in_a, in_b = len(a) - in_a, len(b) - in_b
        for swapped in (False, True):
            p, n, q, m = (in_b, len(b), in_a, len(a)) if swapped else (in_a, len(a), in_b, len(b))
            low, high = _low(2 * p, 2 * n, CAUTION * level), _high(2 * q, 2 * m, CAUTION * level)
            odds = np.log(np.maximum(low - delta, 1e-300) / high)
            value = ndtri(low) - ndtri(high) if family == "gdp" else odds
            i = int(np.argmax(value))
            yield float(value[i]), float(cuts[i]), above, swapped


def _event_mask(scores: Array, threshold: float, above: bool) -> Any:
    return scores > threshold if above else scores <= threshold


def _parts(outputs: Array, side: int) -> tuple[Array, Array, Array]:
    """A quarter, a quarter and a half, at random: the order of runs must not matter."""
    order = np.random.default_rng(side).permutation(len(outputs))
    quarter = len(outputs) // 4
    return outputs[order[:quarter]], outputs[order[quarter : 2 * quarter]], outputs[order[2 * quarter :]]


def _outputs(here: ArrayLike, there: ArrayLike) -> tuple[Any, Any]:
    """Both as (runs, size): floats as they are; labels, words too, as numbers of one list."""
    first, second = np.asarray(here), np.asarray(there)
    if first.ndim not in (1, 2) or first.shape[1:] != second.shape[1:] or not first.size:
        shapes = f"{type_and_shape(first)} and {type_and_shape(second)}"
        raise BadInput(f"outputs must be (runs,) or (runs, size), of one size on both data sets, got {shapes}")
    if min(len(first), len(second)) < LEAST:
        raise BadInput(f"at least {LEAST} runs on each data set are needed, got {len(first)} and {len(second)}")
    if first.dtype.kind not in "fiub" or second.dtype.kind not in "fiub":
        _, labels = np.unique(np.concatenate([first.ravel(), second.ravel()]).astype(str), return_inverse=True)
        first, second = labels[: first.size].reshape(first.shape), labels[first.size :].reshape(second.shape)
    arrays = [np.nan_to_num(x.astype(float), nan=np.inf, posinf=1e300, neginf=-1e300) for x in (first, second)]
    arrays = [np.where(np.isinf(x), 1e300, x) for x in arrays]  # "not a number" is an answer too: an event like another
    return tuple(x[:, None] if x.ndim == 1 else x for x in arrays)
