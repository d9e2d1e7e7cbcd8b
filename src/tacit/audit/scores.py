"""Scores that tell the outputs of two data sets apart, learnt from a part of them. Any score is safe; some see more.

A number is its own score. Numbers with few distinct values, and finely binned ones, are scored by how much more often
they were seen on one side. Vectors are scored by a linear and by a quadratic discriminant, and by their own norm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LABELS = 64  # up to so many distinct values are labels
BINS = 48
FEW = 200  # outputs to learn from, below which the best of many scores would be the luckiest
QUADRATIC = 12  # up to so many coordinates get products of coordinates


@dataclass(frozen=True)
class Score:
    """A function from outputs (runs, size) to scores (runs,)."""

    name: str
    function: Callable[[Array], Array]

    def __call__(self, outputs: Array) -> Array:
        return np.asarray(self.function(outputs), float)


def learn_scores(a: Array, b: Array) -> Iterator[Score]:
    """Scores learnt from outputs a and b of the two data sets, (runs, size) each."""
    if a.shape[1] == 1:
        yield Score("the output itself", _only)
        yield from _frequency_scores(a[:, 0], b[:, 0])
        return
    few = min(len(a), len(b))
    yield _linear("a linear discriminant", a, b, _same)
    if few < FEW:
        return
    if a.shape[1] <= QUADRATIC and few > 2 * a.shape[1] ** 2:
        yield _linear("a quadratic discriminant", a, b, _products)
    elif few > 4 * a.shape[1]:
        yield _linear("a discriminant with squares", a, b, _squares)
    yield Score("the norm", lambda x: np.linalg.norm(np.clip(x, -1e150, 1e150), axis=1))
    if a.shape[1] <= 8:
        for j in range(a.shape[1]):
            yield Score(f"coordinate {j}", lambda x, j=j: x[:, j])  # type: ignore[misc]
            for s in _frequency_scores(a[:, j], b[:, j]):
                yield Score(f"coordinate {j}, {s.name}", lambda x, j=j, s=s: s(x[:, j : j + 1]))  # type: ignore[misc]


def _only(x: Array) -> Array:
    return x[:, 0]


def _frequency_scores(a: Array, b: Array) -> Iterator[Score]:
    """How much more often a value, or its bin, was seen on the one side: the logarithm of smoothed frequencies."""
    pooled = np.concatenate([a, b])
    values = np.unique(pooled)
    if len(values) <= min(LABELS, len(pooled) // 10):
        edges, name = (values[1:] + values[:-1]) / 2, "its label's frequency"
    elif min(len(a), len(b)) < FEW:
        return
    else:
        edges, name = np.unique(np.quantile(pooled, np.linspace(0, 1, BINS + 1)[1:-1])), "its bin's frequency"
    bins = len(edges) + 1
    in_a, in_b = (np.bincount(np.searchsorted(edges, x), minlength=bins) for x in (a, b))
    ratio = np.log((in_a + 1.0) / (len(a) + bins)) - np.log((in_b + 1.0) / (len(b) + bins))
    yield Score(name, lambda x: ratio[np.searchsorted(edges, x[:, 0])])


def _linear(name: str, a: Array, b: Array, features: Callable[[Array], Array]) -> Score:
    """Fisher's discriminant with a ridge, on standardised features."""
    centre, spread = _scales(np.concatenate([a, b]))

    def transform(x: Array) -> Array:
        return features(np.clip((x - centre) / spread, -1e3, 1e3))

    A, B = transform(a), transform(b)
    inside = np.cov(A.T) + np.cov(B.T)
    inside = np.atleast_2d(inside)
    ridge = 1e-6 * np.trace(inside) / len(inside) + 1e-12
    ridge += np.trace(inside) / len(inside) * len(inside) / (50.0 * min(len(a), len(b)))
    w = np.linalg.solve(inside + ridge * np.eye(len(inside)), A.mean(axis=0) - B.mean(axis=0))
    return Score(name, lambda x: transform(x) @ w)


def _scales(x: Array) -> tuple[Array, Array]:
    centre = np.median(x, axis=0)
    spread = np.median(np.abs(x - centre), axis=0)
    return centre, np.where(spread > 0, spread, 1.0)


def _same(x: Array) -> Array:
    return x


def _squares(x: Array) -> Array:
    return np.hstack([x, x * x])


def _products(x: Array) -> Array:
    i, j = np.triu_indices(x.shape[1])
    return np.hstack([x, x[:, i] * x[:, j]])
