"""What a curator publishes instead of the rows: a noisy projection, or the projection as published.

X    rows, (n, d), after the public scaling         Z      the published table, (n, r)
P    public matrix, (d, r)                          omega  the published threshold on singular values
M    secret matrix of normals, (d, r)

Blocki2012       Blocki, Blum, Datta, Sheffet: The Johnson-Lindenstrauss transform itself preserves privacy
Kenthapadi2013   Kenthapadi, Korolova, Mironov, Mishra: Privacy via the Johnson-Lindenstrauss transform
Kharkovskii2020  Kharkovskii, Dai, Low: Private outsourced Bayesian optimization
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tacit.errors import BadInput, count, positive, probability, type_and_shape
from tacit.files import Json
from tacit.privacy.guarantee import UNTIMED, Budget, Guarantee, loose
from tacit.privacy.mechanisms import SIMULATED, Gaussian
from tacit.privacy.noise import EXACT, Source

Array = npt.NDArray[np.float64]

RADIUS = 1e6
"""Coordinates beyond this are cut, so that rounding has a public bound. Far outside any sensible public scale."""

BLOCK = 1 << 16
"""Numbers drawn at a time."""

ATTACK = "whoever knows d + 1 rows recovers every row"
"""The words in which a caller insists on the published projection when it protects nothing."""

HALF_ULP = 2.0**-53

FINER = (1.0, 2.0**-18)
"""Scales of the noise that M is the sum of: the second hides the steps of the first, which would show what X was."""

BITS = 24  # of a number of a table that is published as projected, where that promises anything


class NoisyProjection:
    """Z = X P + Gaussian noise: rows that may be shown, whatever the rows are.

    ``scale`` divides the columns and is public (length-scales, units); a row may move by ``distance`` after that
    division. ``dimensions`` r < d projects on r random orthonormal directions, or ``matrix`` gives P; both are public.

    Guarantee. mu-GDP, calibrated to (epsilon, delta) by the analytic Gaussian mechanism, for one row moved by at most
    ``distance``; unconditional. Nothing here is fitted to the rows: scale and P are public inputs, and there is no
    centring, since a kernel of distances does not see it. Floating point: coordinates are cut to the public radius,
    the rounding of X P is added to the sensitivity, and the noise is exact
    (docs/proofs/noise.md).
    Follows. Kenthapadi2013, Algorithm 1, named as future work by Kharkovskii2020; Balle and Wang (2018), Theorem 8.
    Proof: docs/proofs/noisy-projection.md.
    Differs. P has orthonormal columns and the default is the identity. A neighbour moves a row in any direction, not in
    one attribute, so the sensitivity does not shrink with r while the signal does: r < d makes a smaller table, and
    estimates squared distances with sqrt(d/r) times the error. Take it when d is large and the table must be small.
    Edges. A column that is constant, or rows that are duplicates, change nothing in the guarantee.

    >>> made = NoisyProjection(2, epsilon=3.0, delta=1e-5)
    >>> round(made.scale_of_noise, 2), made.guarantee.kind
    (1.39, 'unconditional')
    """

    kind = "noisy"

    def __init__(
        self,
        columns: int,
        *,
        epsilon: float,
        delta: float,
        dimensions: int | None = None,
        matrix: npt.ArrayLike | None = None,
        scale: npt.ArrayLike | None = None,
        radius: float = RADIUS,
        distance: float = 1.0,
        unit: str = "",
        noise: Source = EXACT,
    ) -> None:
        d = count("columns", columns)
        self.columns, self.radius, self.noise = d, positive("radius", radius), noise
        self.distance = positive("distance", distance)
        self.divisor = _divisor(scale, d)
        self.matrix = _matrix(matrix, dimensions, d)
        self.dimensions = d if self.matrix is None else self.matrix.shape[1]
        self.sensitivity = self.distance * _stretch(self.matrix) + self.rounding
        self._block = max(1, BLOCK // self.dimensions)
        mechanism = Gaussian(  # of one row: the others are rounded alike and have the same noise
            self.sensitivity,
            budget=Budget.approximate(epsilon, delta),
            size=self.dimensions,
            unit=unit or distance_unit(self.distance),
            noise=noise,
        )
        self.scale_of_noise = mechanism.scale
        stated = mechanism.guarantee
        inputs = "scale and matrix are public inputs, nothing is fitted to the rows"
        source = "noisy projection (Kenthapadi2013; Gaussian mechanism, Balle and Wang 2018, Theorem 8); " + inputs
        if stated.budget is not None:
            stated = replace(stated, source=source, premises=(UNTIMED,)).at(delta)
        self.guarantee = stated

    @property
    def rounding(self) -> float:
        """How far apart the computed images of two rows can be beyond their true distance: rounding alone.

        Dividing errs by one half-ulp a coordinate, of at most ``radius``; a product with P by d of them an entry
        (Higham 2002, Lemma 3.1, with the norm of P at most 2). Both rows err, hence twice; doubled again for safety.
        """
        d, r = self.columns, 0 if self.matrix is None else self.dimensions
        norm = self.radius * math.sqrt(d)
        return 2 * 2 * HALF_ULP * norm * (1 + 2 * d * math.sqrt(r))

    def blocks(self, rows: Array) -> Iterator[Array]:
        """The published table, a block of rows at a time: charge first, these are draws."""
        for start in range(0, len(rows), self._block):
            part = np.clip(rows[start : start + self._block] / self.divisor, -self.radius, self.radius)
            yield self.noise.gaussian(part if self.matrix is None else part @ self.matrix, self.scale_of_noise)

    def about(self) -> Json:
        """What may be published of the transformation: all of it is public."""
        matrix = None if self.matrix is None else self.matrix.tolist()
        return {"scale": self.divisor.tolist(), "radius": self.radius, "distance": self.distance, "matrix": matrix}


class PublishedProjection:
    """Z = X M / sqrt(r) of the centred rows, their singular values raised first if one is below omega.

    Guarantee. **None when n > d.** The columns of Z lie in the column space of X, in both branches, and whoever knows
    d + 1 rows solves for the affine map and recovers every row. When n <= d, conditional: Z's columns are normal with
    covariance X X' + omega^2 I, of full rank, and the argument of Blocki2012, Theorem 4.1, made for multiplying on the
    record side, has what it needs; the paper does not carry it out for this side, and neither do we. Its composition
    step wants epsilon <= 1. Centring makes the rows' mean zero, so the smallest singular value is then zero and the
    branch that raises is always taken: no branch depends on the data.
    Follows. Kharkovskii2020, Algorithm 1.
    Differs. M is drawn exactly, not from a seeded generator, in steps of 2^-38, and for n <= d the table is
    rounded to 24 bits: with M in steps of 2^-20, anyone who solves Z = X M for M would see which X leads to such steps.
    ``scale`` is a public input; the paper divides by fitted length-scales and by the largest norm.
    Edges. ``insist`` must be the words of ``ATTACK`` when n > d, or nothing is published.

    >>> PublishedProjection(100, 2, epsilon=3.0, delta=1e-5, dimensions=10, insist=ATTACK).guarantee.kind
    'none'
    """

    kind = "projection"
    scale_of_noise = 0.0

    def __init__(
        self,
        rows: int,
        columns: int,
        *,
        epsilon: float,
        delta: float,
        dimensions: int = 10,
        scale: npt.ArrayLike | None = None,
        insist: str | None = None,
        unit: str = "",
        noise: Source = EXACT,
    ) -> None:
        n, self.columns, self.noise = count("rows", rows), count("columns", columns), noise
        self.dimensions = r = count("dimensions", dimensions)
        if r > n:
            raise BadInput(f"dimensions must be at most the number of rows, got dimensions={r} with {n} rows")
        self.omega = threshold(r, epsilon, delta)
        self.divisor = _divisor(scale, self.columns)
        self.smallest: float | None = None
        self.raised: bool | None = None
        where = unit or distance_unit(1.0)
        if n > self.columns:
            if insist != ATTACK:
                raise BadInput(
                    f"the published projection does not protect {n} rows of {self.columns} columns: {ATTACK} (the "
                    f"known-row attack), in both branches. Use transform='noisy', or insist in these words: "
                    f"insist={ATTACK!r}. Nothing was published"
                )
            why = f"{ATTACK}: the projection of n = {n} > d = {self.columns} rows keeps their column space"
            self.guarantee = Guarantee.none(f"{why} (known-row attack); centring reads the rows, uncharged", where)
        elif noise.simulated:
            self.guarantee = Guarantee.none(SIMULATED, where)
        else:
            assumed = "the argument of Blocki2012, Theorem 4.1, made for the record side, carries over to this side"
            small = () if epsilon <= 1 else (f"its composition step holds beyond epsilon = 1, at {epsilon:g}",)
            source = "Kharkovskii2020, Theorem 1, for n <= d; centring is part of the argument, not charged apart"
            budget = Budget.approximate(epsilon, delta)
            self.guarantee = Guarantee(budget, where, (assumed, *small), source)

    def blocks(self, rows: Array) -> Iterator[Array]:
        """The published table, in one block: the singular values need all rows at once."""
        X = rows / self.divisor
        X = X - X.mean(axis=0)  # line 2
        M = np.zeros((self.columns, self.dimensions))
        for scale in FINER:  # line 3
            M = self.noise.gaussian(M, scale)
        U, s, Vt = np.linalg.svd(X, full_matrices=False)  # line 4
        self.smallest = float(s.min())
        self.raised = not self.smallest >= self.omega  # line 6
        if self.raised:
            X = (U * np.sqrt(s**2 + self.omega**2)) @ Vt  # line 9
        Z = X @ M / math.sqrt(self.dimensions)  # lines 7 and 10
        mantissa, exponent = np.frexp(Z)
        rounded = np.ldexp(np.rint(np.ldexp(mantissa, BITS)), exponent - BITS)
        yield rounded if len(rows) <= self.columns else Z  # with more rows nothing is promised

    def about(self) -> Json:
        """What may be published of the transformation. Neither M nor the branch: both come from what is private."""
        return {"scale": self.divisor.tolist(), "omega": self.omega}


def threshold(dimensions: int, epsilon: float, delta: float) -> float:
    """omega of Kharkovskii2020, Algorithm 1, line 5: 16 sqrt(r log(2/delta)) / epsilon * log(16 r/delta).

    >>> round(threshold(10, math.exp(1.1), 1e-5), 1)
    976.1
    """
    r, eps, dlt = count("dimensions", dimensions), positive("epsilon", epsilon), probability("delta", delta)
    return 16 * math.sqrt(r * math.log(2 / dlt)) / eps * math.log(16 * r / dlt)


def distance_unit(distance: float) -> str:
    """The unit of privacy here."""
    return f"one row moved by norm at most {distance:g} after the public scaling"


def usable(rows: npt.ArrayLike, delta: float) -> Array:
    """Rows (n, d) that can be transformed, or BadInput; warns the curator of what is suspicious, once."""
    try:
        X = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"rows must be numbers in a table, got {type_and_shape(rows)}") from None
    if X.ndim != 2 or 0 in X.shape:
        raise BadInput(f"rows must have shape (n, d) with at least one row and one column, got {type_and_shape(X)}")
    low, high = X.min(axis=0), X.max(axis=0)  # both are NaN where a column has one; nothing as large as the rows
    bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if len(bad):
        raise BadInput(
            f"rows must be finite; columns {bad.tolist()} have missing or infinite values. Fill or drop them"
        )
    if remark := loose(probability("delta", delta), len(X)):
        warnings.warn(remark, stacklevel=3)
    constant = np.flatnonzero(low == high)
    if len(constant):
        warnings.warn(f"columns {constant.tolist()} are constant: they tell a modeler nothing", stacklevel=3)
    return np.ascontiguousarray(X)


def _divisor(scale: npt.ArrayLike | None, d: int) -> Array:
    divisor = np.ones(d) if scale is None else np.asarray(scale, dtype=np.float64)
    divisor = np.full(d, float(divisor)) if divisor.ndim == 0 else divisor
    if divisor.shape != (d,) or not (np.isfinite(divisor).all() and (divisor > 0).all()):
        raise BadInput(
            f"scale must be a positive number, or one for each of the {d} columns, got {type_and_shape(divisor)}"
        )
    return divisor


def _matrix(matrix: npt.ArrayLike | None, dimensions: int | None, d: int) -> Array | None:
    """None for the identity, or (d, r) with orthonormal columns."""
    if matrix is not None:
        P = np.asarray(matrix, dtype=np.float64)
        if P.ndim != 2 or P.shape[0] != d or P.shape[1] < 1 or not np.isfinite(P).all():
            raise BadInput(f"matrix must have shape ({d}, r), got {type_and_shape(P)}")
        if dimensions not in (None, P.shape[1]):
            raise BadInput(f"dimensions={dimensions} does not fit a matrix of {P.shape[1]} columns")
        if _stretch(P) > 2:
            raise BadInput("matrix must not stretch a row by more than 2; make its columns orthonormal")
        return P
    r = d if dimensions is None else count("dimensions", dimensions)
    if r > d:
        raise BadInput(f"dimensions must be at most the {d} columns of the rows, got dimensions={r}")
    if r == d:
        return None
    normals = np.random.default_rng().normal(size=(d, r))  # public: any generator will do
    return np.asarray(np.linalg.qr(normals)[0], dtype=np.float64)


def _stretch(P: Array | None) -> float:
    """An upper bound on how much P lengthens a row."""
    return 1.0 if P is None else float(np.linalg.norm(P, 2)) * (1 + 1e-12)
