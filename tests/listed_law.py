"""A law of the number of runs with finitely many values, in fractions: an exact case for tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.run_laws import _polynomial

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Listed:
    """Any law with finitely many values: ``weights`` of K = 0, 1, 2, ..., divided by their exact sum.

    >>> Listed((0, 1, 1)).mean
    1.5
    """

    weights: tuple[int | float | Fraction, ...]

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        exact = [Fraction(w) for w in self.weights]
        total = sum(exact)
        return tuple(w / total for w in exact)

    @cached_property
    def slopes(self) -> Floats:
        return np.array([float(k * p) for k, p in enumerate(self.shares)][1:])

    @property
    def mean(self) -> float:
        return float(sum(k * p for k, p in enumerate(self.shares)))

    @property
    def largest(self) -> int:
        return max(k for k, p in enumerate(self.shares) if p)

    def derivative(self, u: Floats, t: Floats) -> Floats:
        return _polynomial(self.slopes, u)

    def generate(self, u: float) -> float:
        return float(_polynomial(np.array([float(p) for p in self.shares]), np.array(u)))

    def terms(self) -> Iterator[Decimal]:
        for p in self.shares:
            yield Decimal(p.numerator) / Decimal(p.denominator)
        while True:
            yield Decimal(0)
