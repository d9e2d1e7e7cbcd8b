"""The dominating pair of one noisy sum over a random batch: its profile in closed form, and its mass between knots.

    q      sampling rate, lot / records                 s     standard deviation of the noise, in units named below
    P, Q   the dominating pair of one step              x     e^loss, the likelihood ratio P/Q; under Q, E[x] <= 1
    r      likelihood ratio of N(1, s^2) to N(0, s^2)   H(x)  hockey stick of (P, Q), convex and decreasing in x

    without_replacement/replace_one   s in units of 2 clip; ((1-q) N(0) + q N(1), N(0)) for x >= 1; below, its mirror
                                      image H(x) = 1 - x + x H(1/x): an atom at loss 0 joins the two halves
    poisson/add_remove                s in units of clip; ((1-q) N(0) + q N(1), N(0)), and its reverse
    poisson/replace_one               s in units of clip; ((1-q) N(0) + q N(1), (1-q) N(0) + q N(-1))

Mass between two knots is divided between them so that its P-mass and its Q-mass both stay. Errors of the normal
distribution function are carried along. Proofs: docs/proofs/subsampled-gaussian.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]

UNIT = 2.0**-53  # rounding unit of the floats
WITHOUT = "without_replacement/replace_one"
POISSON = "poisson/add_remove"
POISSON_REPLACE = "poisson/replace_one"


def _two_sided_outcome(s: Floats, q: Floats, loss: Floats) -> Floats:
    """Where the loss is reached. y = e^(outcome / s^2) solves a quadratic: log y = loss/2 + arcsinh(w)."""
    with np.errstate(divide="ignore", over="ignore"):
        log_w = np.log(np.sinh(loss / 2)) + np.log((1 - q) / q) + 0.5 / (s * s)
        large = np.where(log_w > 20, log_w + np.log(2), np.arcsinh(np.exp(np.minimum(log_w, 30))))
    return np.asarray(s * s * (loss / 2 + large))


class Cells(NamedTuple):
    """What each cell between consecutive knots gives to its left and right knot, as Q-mass, and the errors of both."""

    left: Floats
    right: Floats
    left_error: Floats
    right_error: Floats


class Edges(NamedTuple):
    """P-mass and Q-mass beyond the outermost knots, from above; both count as infinite loss in their direction."""

    P: Floats
    Q: Floats


def gaussian_tail(z: Floats) -> tuple[Floats, Floats, Floats]:
    """P(Z > z), P(Z <= z) and the relative error of the smaller: 8 units, and those of forming e^(-z^2/2)."""
    finite = np.clip(z, -40.0, 40.0)  # beyond, tails are zero
    return ndtr(-z), ndtr(z), UNIT * (8 + 2 * finite * finite)


def between(z: Floats) -> tuple[Floats, Floats]:
    """Mass of the standard normal between consecutive z, and a bound on its error, by the tail that cancels less."""
    above, below, error = gaussian_tail(z)
    upper = z[:, :-1] > 0
    near, far = np.where(upper, above[:, :-1], below[:, 1:]), np.where(upper, above[:, 1:], below[:, :-1])
    return np.maximum(near - far, 0.0), np.maximum(error[:, 1:], error[:, :-1]) * (near + far)


def divide(P: Floats, Q: Floats, x: Floats, width: Floats, P_error: Floats, Q_error: Floats) -> Cells:
    """Divide the mass of the cells between knots x, ``width`` apart, so that P and Q stay."""
    low, high, lost = x[:, :-1], x[:, 1:], 4 * UNIT
    right, left = P - low * Q, high * Q - P
    right_error = P_error + np.abs(low) * Q_error + lost * (P + np.abs(low) * Q)
    left_error = P_error + np.abs(high) * Q_error + lost * (P + np.abs(high) * Q)
    parts = (np.maximum(left, 0.0), np.maximum(right, 0.0), left_error, right_error)
    return Cells(*(np.where(width > 0, part / width, 0.0) for part in parts))


def one_sided_cells(losses: Floats, s: Floats, q: Floats, *, whole: bool) -> tuple[Cells, Edges]:
    """((1-q) N(0) + q N(1), N(0)) on the given knots. In units of q, x - (1-q) is r: no digit is lost to a small q."""
    r = 1 + np.expm1(losses) / q
    outcome = 0.5 + s * s * np.log1p(np.maximum(np.expm1(losses) / q, -1.0))  # minus infinity where no outcome is
    (Q, Q_error), (R, R_error) = between(outcome / s), between((outcome - 1) / s)
    width = np.exp(losses[:, :-1]) * np.expm1(np.diff(losses)) / q
    cells = divide(R, Q, r, width, R_error, Q_error)
    first, last = outcome[:, 0], outcome[:, -1]
    s, q = s[:, 0], q[:, 0]
    up = 1 + 1e-12
    Q_out, R_out = up * ndtr(-last / s), up * ndtr((1 - last) / s)
    if whole:
        Q_out, R_out = Q_out + up * ndtr(first / s), R_out + up * ndtr((first - 1) / s)
    return cells, Edges((1 - q) * Q_out + q * R_out, Q_out)


def two_sided_cells(losses: Floats, s: Floats, q: Floats) -> tuple[Cells, Edges]:
    """((1-q) N(0) + q N(1), (1-q) N(0) + q N(-1)) on knots from zero up; its other half is the mirror image."""
    outcome = _two_sided_outcome(s, q, losses)
    (N, N_error), (U, U_error), (D, D_error) = (between((outcome - mean) / s) for mean in (0.0, 1.0, -1.0))
    # (P - x_i Q) / q with x_i - 1 = expm1(loss): the bulk (1-q) N(0) enters only times expm1(loss)/q
    x, excess = np.exp(losses), (1 - q) * np.expm1(losses) / q
    width = np.exp(losses[:, :-1]) * np.expm1(np.diff(losses)) / q
    low, high, low_x, high_x, lost = excess[:, :-1], excess[:, 1:], x[:, :-1], x[:, 1:], 4 * UNIT
    right, left = U - low_x * D - low * N, high_x * D + high * N - U
    right_error = U_error + lost * U + low_x * (D_error + lost * D) + low * (N_error + lost * N)
    left_error = U_error + lost * U + high_x * (D_error + lost * D) + high * (N_error + lost * N)
    parts = (np.maximum(left, 0.0), np.maximum(right, 0.0), left_error, right_error)
    cells = Cells(*(np.where(width > 0, part / width, 0.0) for part in parts))
    last, s, q = outcome[:, -1], s[:, 0], q[:, 0]
    out, up = (1 + 1e-12) * ndtr(-last / s), (1 + 1e-12) * ndtr((1 - last) / s)
    return cells, Edges((1 - q) * out + q * up, out)


def mirror_cells(half: Floats, cells: Cells, edges: Edges) -> tuple[Cells, Edges]:
    """Add the cells of negative losses: their P-masses are the Q-masses of the positive ones, and conversely."""
    near, far = np.exp(half[:, :-1]), np.exp(half[:, 1:])
    left, right, left_error, right_error = cells
    below = Cells(right * far, left * near, right_error * far, left_error * near)
    both = Cells(*(np.concatenate([b[:, ::-1], a], axis=1) for a, b in zip(cells, below, strict=True)))
    return both, Edges(edges.P + edges.Q, edges.P + edges.Q)
