"""The known-row attack: what a table of linear images gives away to someone who knows a few of its rows.

    X    private rows (n, d)          Z    published images (n, r)          k    rows that the attacker knows

If Z = X A for some matrix A (or Z = (X - m) A, where the columns were centred first), then the rows of X are an affine
function of the rows of Z, and d + 1 known rows in general position determine it: every other row follows. It does not
matter what A is, whether it was drawn at random, or what was done to the singular values of X before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput, type_and_shape

Array = NDArray[np.float64]
CLOSE = 1e-6  # an error below this share of the rows' spread is a row given back


@dataclass(frozen=True)
class Recovery:
    """What came back. ``error`` is the largest distance of an unknown row from its guess, over the rows' spread."""

    rows: Array  # (n, d): the attacker's guess of every row
    error: float
    median_error: float
    share: float  # of the unknown rows that came back, to within a millionth of the spread
    known: int

    def __str__(self) -> str:
        return f"{self.known} known rows give back {self.share:.0%} of the others (largest error {self.error:.2g})"


def known_rows(published: ArrayLike, rows: ArrayLike, known: int | ArrayLike) -> Recovery:
    """Attack a published table (n, r) of images of ``rows`` (n, d), of which the attacker knows ``known``.

    ``known`` is a number of rows, taken from the top, or their indices. The attacker uses the published table and the
    known rows only; the rest of ``rows`` is used to say how well it went.

    Edges. With fewer than d + 1 known rows, or with noise on the images, the guess is the affine map of least squares.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> known_rows(X @ rng.normal(size=(2, 5)), X, 3).share
    1.0
    """
    Z, X = np.asarray(published, float), np.asarray(rows, float)
    if Z.ndim != 2 or X.ndim != 2 or len(Z) != len(X):
        raise BadInput(
            f"a published table (n, r) and its rows (n, d) are needed, got {type_and_shape(Z)}, {type_and_shape(X)}"
        )
    index = np.arange(known) if isinstance(known, (int, np.integer)) else np.asarray(known)
    if not 1 <= len(index) < len(X):
        raise BadInput(f"known rows must be at least 1 and fewer than all {len(X)}, got {len(index)}")
    guess = guess_rows(Z, X[index], index)
    hidden = np.setdiff1d(np.arange(len(X)), index)
    spread = float(np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))) or 1.0
    error = np.linalg.norm(guess[hidden] - X[hidden], axis=1) / spread
    share = float(np.mean(error < CLOSE))
    return Recovery(guess, float(error.max()), float(np.median(error)), share, len(index))


def guess_rows(published: Array, known: Array, index: NDArray[Any]) -> Array:
    """The attacker's guess (n, d) of every row, from the published table (n, r) and k known rows (k, d).

    The published rows span few directions if they are images of few columns; only those are used, so that the
    affine map is determined by as few known rows as it can be.
    """
    centre = published[index].mean(axis=0)
    moved = published - centre
    _, s, turn = np.linalg.svd(moved, full_matrices=False)
    directions = turn[s > 1e-9 * s[0]].T if s[0] > 0 else turn[:1].T
    codes = moved @ directions
    mean = known.mean(axis=0)
    solved = np.linalg.lstsq(codes[index], known - mean, rcond=None)[0]
    return np.asarray(mean + codes @ solved)
