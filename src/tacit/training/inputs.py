"""Inputs of a network, many of which are 0: products that skip them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[Any]
RARE = 0.1  # share of rows in which a column is filled, below which sparse products are the quicker ones


class Inputs(NamedTuple):
    """Rows of inputs: some columns as they are, then those seldom filled, sparse; and each row's squared norm.

    >>> rows, order = Inputs.of(np.eye(12) + np.eye(12)[0])
    >>> rows.full.shape, rows.rare.nnz, int(order[0])
    ((12, 1), 11, 0)
    """

    full: Floats  # (m, k)
    rare: csr_matrix | None  # (m, columns - k)
    squares: Floats  # (m,)

    @classmethod
    def whole(cls, x: Floats) -> Inputs:
        """All columns as they are."""
        return cls(x, None, squares(x))

    @classmethod
    def of(cls, x: Floats) -> tuple[Inputs, NDArray[np.intp]]:
        """The rows of x with seldom filled columns last, and the order in which its columns are held."""
        rare = (x != 0).mean(axis=0) < RARE
        order = np.argsort(rare, kind="stable")
        if not rare.any():
            return cls.whole(x), order
        return cls(np.ascontiguousarray(x[:, ~rare]), csr_matrix(x[:, rare]), squares(x)), order

    def lot(self, rows: NDArray[np.int32], out: Floats) -> Inputs:
        """Some of the rows; their full columns are written to ``out``."""
        full = self.full.take(rows, axis=0, out=out, mode="clip")
        return Inputs(full, None if self.rare is None else self.rare[rows], self.squares[rows])

    def times(self, W: Floats, out: Floats | None) -> Floats:
        """x W, shape (m, outputs)."""
        z: Floats = np.matmul(self.full, W[: self.full.shape[1]], out=out)
        if self.rare is not None:
            z += self.rare @ W[self.full.shape[1] :]
        return z

    def transposed_times(self, e: Floats, out: Floats) -> None:
        """x' e, shape (columns, outputs)."""
        np.matmul(self.full.T, e, out=out[: self.full.shape[1]])
        if self.rare is not None:
            out[self.full.shape[1] :] = self.rare.T @ e


def squares(rows: Floats) -> Floats:
    """Squared norm of each row."""
    found: Floats = np.einsum("ij,ij->i", rows, rows)
    return found
