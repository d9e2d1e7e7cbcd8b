"""Sums of clipped gradients of linear models that are exact in floating point: whole numbers, added by one product.

    n    records              x    features of a record and a constant 1, whole multiples of 2^-a
    m    records in a lot     r    residuals of a record (k,), cut towards 0 to whole multiples of 2^-b
    D    features + 1         L    clip: the gradient r x has norm |r| |x|, at most L
    k    outputs

A gradient r x is then a whole multiple of 2^-(a+b). Every partial sum of a lot's gradients is a whole number below
2^53, so the matrix product of a linear algebra library adds them exactly, in whatever order it likes. One record
replaced moves the sum by at most 2 L in the L2 norm, floating point included: no room for rounding is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput

Floats = NDArray[np.float64]
FEATURE_BITS = 12  # a
SUM_BITS = 52  # partial sums stay below 2^52
LARGEST_FEATURE = 64.0  # of a coordinate, in absolute value


@dataclass(frozen=True, slots=True, repr=False)
class WholeRows:
    """Features as whole numbers, the constant last, (n, D), and the norms of the rows in natural units, (n,)."""

    X: Floats
    norm: Floats

    @classmethod
    def of(cls, X: NDArray[np.float64]) -> WholeRows:
        """Round features to multiples of 2^-12; those beyond [-64, 64] are cut, missing ones are 0.

        >>> WholeRows.of(np.array([[0.5, np.nan]])).X.tolist()
        [[2048.0, 0.0, 4096.0]]
        """
        whole = np.ones((len(X), X.shape[1] + 1))
        whole[:, :-1] = np.nan_to_num(X, nan=0.0)
        np.clip(whole, -LARGEST_FEATURE, LARGEST_FEATURE, out=whole)
        whole *= 2.0**FEATURE_BITS
        np.rint(whole, out=whole)
        norm = np.sqrt(np.einsum("ij,ij->i", whole, whole)) * 2.0**-FEATURE_BITS
        return cls(whole, norm)

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        return f"<{len(self.X)} rows of {self.X.shape[1] - 1} features>"

    def scores(self, weights: Floats, lot: NDArray[np.intp] | slice = slice(None)) -> Floats:
        """x w for the records of a lot, (m, k); weights (k, D)."""
        found: Floats = (self.X[lot] @ weights.T) * 2.0**-FEATURE_BITS
        return found


@dataclass(frozen=True, slots=True)
class WholeGradients:
    """How the gradients of a lot are counted: the clip L, and the largest lot that is to be summed."""

    clip: float
    lot: int

    def __post_init__(self) -> None:
        if not 2.0**-20 <= self.clip <= 2.0**20:
            raise BadInput(f"clip must be between 1e-6 and 1e6, got clip={self.clip!r}")
        if self.residual_bits < 8:
            raise BadInput(f"a lot of {self.lot} records with clip {self.clip:g} is too large to be summed exactly")

    @property
    def residual_bits(self) -> int:
        """b: as many as keep lot * L * 2^(a+b) below 2^52, and at most 24."""
        room = SUM_BITS - FEATURE_BITS - math.ceil(math.log2(self.lot)) - math.ceil(math.log2(self.clip))
        return min(24, room)

    @property
    def unit(self) -> float:
        """One whole number of a sum, in natural units."""
        return 2.0 ** -(FEATURE_BITS + self.residual_bits)

    @property
    def reach(self) -> float:
        """L in whole numbers: the most that one record adds to a sum, in the L2 norm."""
        return self.clip / self.unit

    def total(
        self,
        rows: WholeRows,
        residual: Floats,
        lot: NDArray[np.intp] | slice = slice(None),
        weights: Floats | None = None,
    ) -> Floats:
        """The sum over a lot of clipped gradients, whole numbers of ``unit``, (k, D); residual (m, k) is overwritten.

        ``weights`` (m, 1) is what each row counts for; those of one person's rows add up to 1.
        Guarantee. One record, or person, adds a vector of whole numbers whose L2 norm is at most ``reach``.
        Edges. A residual that is not a number counts as 0, silently.

        >>> rows, counted = WholeRows.of(np.array([[3.0]])), WholeGradients(clip=1.0, lot=1)
        >>> total = counted.total(rows, np.array([[2.0]])) * counted.unit
        >>> total.round(4).tolist(), bool(np.linalg.norm(total) <= 1.0)
        ([[0.9487, 0.3162]], True)
        """
        np.nan_to_num(residual, copy=False, nan=0.0, posinf=1e100, neginf=-1e100)
        size = np.sqrt(np.einsum("ij,ij->i", residual, residual))
        # |x| and |r| are sums of D and k rounded squares: this covers their roundings and those of the quotient
        shy = 1 - (rows.X.shape[1] + residual.shape[1] + 16) * 2.0**-52
        largest = shy * self.clip / rows.norm[lot]
        residual *= np.minimum(1.0, largest / np.maximum(size, 1e-300))[:, None]
        if weights is not None:
            residual *= weights
        residual *= 2.0**self.residual_bits
        np.trunc(residual, out=residual)  # towards 0, so that no norm grows
        total: Floats = residual.T @ rows.X[lot]
        return total
