"""One noisy sum over a random batch as a discrete privacy loss: two discrete pairs, one on either side of the true one.

    q      sampling rate                        s     noise over the distance between the Gaussians of the pair
    P, Q   the dominating pair of one step (tacit.privacy.dominating_pairs)
    x      e^loss, the ratio P/Q                H(x)  hockey stick of (P, Q), convex and decreasing in x

A discrete pair is made of knots x_j = e^(h k_j). From above: the chord of H over each cell between knots (connect the
dots: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). From below: every knot of the chord is lowered by the most
that the chord exceeds H in the cells beside it, at most w a b / (a + b) for a cell of width w that gives a to its left
knot and b to its right one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from tacit.privacy.dominating_pairs import (
    POISSON,
    POISSON_REPLACE,
    UNIT,
    WITHOUT,
    Cells,
    mirror_cells,
    one_sided_cells,
    two_sided_cells,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FINE = 128  # knots are h apart up to FINE h, then 2 h up to 2 FINE h, and so on: at most 2/FINE of the loss
HIGHEST = 600.0  # losses above count as infinite
FARTHEST = 14.0  # standard deviations after which a tail, 8e-45, counts as infinite loss


@dataclass(frozen=True)
class StepLosses:
    """Discrete laws of the loss of one step, for (B,) settings at once, on knots symmetric about zero.

    ``log_p`` (B, M): log of the P-mass at loss ``spacing * knots``; the Q-mass is that times e^-loss.
    ``endless`` (B,): P-mass of infinite loss; ``endless_back``: Q-mass of loss minus infinity.
    """

    knots: Integers
    spacing: Floats
    log_p: Floats
    endless: Floats
    endless_back: Floats
    lower: bool
    symmetric: bool  # whether the reversed pair is the same

    @property
    def losses(self) -> Floats:
        return np.multiply.outer(self.spacing, self.knots)

    def rows(self, which: Integers) -> StepLosses:
        """Some of the settings."""
        ends = self.endless[which], self.endless_back[which]
        return StepLosses(self.knots, self.spacing[which], self.log_p[which], *ends, self.lower, self.symmetric)

    @property
    def reversed(self) -> StepLosses:
        """The pair with its two sides exchanged."""
        log_q = (self.log_p - self.losses)[:, ::-1]
        return StepLosses(self.knots, self.spacing, log_q, self.endless_back, self.endless, self.lower, self.symmetric)


def loss_scale(pair: str, s: Floats, q: Floats) -> Floats:
    """About one standard deviation of the loss of a step; grows with q and 1/s."""
    with np.errstate(over="ignore"):
        a = s**-2
        variance = np.minimum(q * q * np.expm1(np.minimum(a, 700.0)), q * (a * a / 4 + a))
        if pair == POISSON_REPLACE:
            variance *= 2
    return np.sqrt(variance)


def default_spacing(pair: str, s: Floats, q: Floats, fineness: float = 8.0) -> Floats:
    """A power of two, at most 1/fineness of `loss_scale`: grids nest, so that epsilon is monotone where it changes."""
    return np.asarray(np.exp2(np.floor(np.log2(loss_scale(pair, s, q) / fineness))))


def _align(h: Floats, q: Floats) -> Floats:
    """Spacing with a knot at the least loss, log(1-q), and 16 between it and zero: much of Q gathers there."""
    least = -np.log1p(-np.minimum(q, 1 - 1e-9))
    fine = least / np.maximum(np.ceil(least / h), 16.0)
    return np.where(fine > h / 256, fine, h)


def highest_loss(pair: str, s: Floats, q: Floats) -> Floats:
    """Loss beyond which less than 1e-40 of either side is left."""
    with np.errstate(over="ignore", divide="ignore"):
        farthest = 1 + FARTHEST * s
        highest = np.logaddexp(np.log1p(-q), np.log(q) + (farthest - 0.5) * s**-2)
        if pair == POISSON_REPLACE:
            highest -= np.logaddexp(np.log1p(-q), np.log(q) - (farthest + 0.5) * s**-2)
    return np.minimum(np.maximum(highest, -np.log1p(-np.minimum(q, 0.999))), HIGHEST)


def make_knots(reach: float, fine: int = FINE) -> Integers:
    """Symmetric integers up to ``reach`` at least: steps of 1 up to ``fine``, of 2 up to twice that, and so on."""
    parts, start, step = [np.arange(1, fine + 1)], fine, 1
    while start < reach:
        step *= 2
        parts.append(np.arange(start + step, 2 * start + 1, step))
        start *= 2
    positive = np.concatenate(parts)
    positive = positive[: 1 + int(np.searchsorted(positive, reach))]
    return np.concatenate([-positive[::-1], [0], positive]).astype(np.int64)


def step_losses(
    pair: str,
    s: Floats,
    q: Floats,
    *,
    lower: bool = False,
    spacing: Floats | None = None,
    fineness: float = 8.0,
    fine: int = FINE,
) -> StepLosses:
    """Discrete losses of one step from above, or from below if ``lower``; s, q of shape (B,).

    ``fineness``: knots for each standard deviation of the loss, at least; ``fine``: how many until they spread.

    >>> law = step_losses("without_replacement/replace_one", np.array([1.0]), np.array([0.01]))
    >>> float(np.exp(law.log_p).sum().round(9))
    1.0
    """
    h = default_spacing(pair, s, q, fineness) if spacing is None else spacing
    if lower and pair == POISSON:
        h = _align(h, q)
    knots = make_knots(float(np.max(highest_loss(pair, s, q) / h)), fine)
    losses = np.multiply.outer(h, knots)
    # knots serve all settings: past HIGHEST a setting has no cells, and what is there counts as infinite
    limit = losses.max(axis=1, where=losses <= HIGHEST, initial=0.0)[:, None]
    losses, s, q = np.clip(losses, -limit, limit), s[:, None], q[:, None]
    half = losses[:, len(knots) // 2 :]
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        if pair == POISSON:
            cells, edges = one_sided_cells(losses, s, q, whole=True)
            atom = np.zeros(len(h))
        elif pair == WITHOUT:
            cells, edges = mirror_cells(half, *one_sided_cells(half, s, q, whole=False))
            atom = ((1 - q) * erf(1 / (np.sqrt(8) * s)) * (1 + (-8 if lower else 8) * UNIT))[:, 0]
        else:
            cells, edges = mirror_cells(half, *two_sided_cells(half, s, q))
            atom = np.zeros(len(h))
        x = np.exp(losses)
        log_p = np.log((_masses_from_below if lower else _masses_from_above)(cells, x, atom)) + losses
    nothing = np.zeros(len(h))
    P, Q = (nothing, nothing) if lower else edges
    return StepLosses(knots, h, log_p, P, Q, lower, pair.endswith("replace_one"))


def _at_zero(x: Floats, atom: Floats) -> Floats:
    mass = np.zeros_like(x)
    mass[:, x.shape[1] // 2] = atom
    return mass


def _masses_from_above(cells: Cells, x: Floats, atom: Floats) -> Floats:
    """Q-mass at each knot of the chord, errors added."""
    mass = _at_zero(x, atom)
    mass[:, :-1] += cells.left + cells.left_error
    mass[:, 1:] += cells.right + cells.right_error
    return mass * (1 + 4 * UNIT)


def _masses_from_below(cells: Cells, x: Floats, atom: Floats) -> Floats:
    """Q-mass at each knot of the lowered chord, errors taken away.

    The lowered chord must stay convex and above both 0 and 1 - x: outwards from the last knots that leave room for the
    lowering it is 1 - x on the left and 0 on the right. It then has the total and the mean of the chord.
    """
    chord, width = _at_zero(x, atom), np.diff(x)
    chord[:, :-1] += np.maximum(cells.left - cells.left_error, 0.0)
    chord[:, 1:] += np.maximum(cells.right - cells.right_error, 0.0)
    a, b = cells.left + cells.left_error, cells.right + cells.right_error
    excess = np.pad(np.where(a + b > 0, width * a * (b / (a + b)), 0.0), ((0, 0), (1, 1)))
    lowering = np.maximum(excess[:, :-1], excess[:, 1:]) * (1 + 1e-9)
    out = np.zeros_like(chord)
    for row, (mass, w, g) in enumerate(zip(chord, width, lowering, strict=True)):
        above = np.cumsum(mass[:0:-1])[::-1]  # Q-mass right of each cell
        below = np.cumsum(mass[:-1])
        call = np.append(np.cumsum((above * w)[::-1])[::-1], 0.0)  # the chord over 0
        put = np.insert(np.cumsum(below * w), 0, 0.0)  # the chord over 1 - x
        room = np.flatnonzero((call >= g) & (put >= g) & (np.minimum(call, put) > 1e-40))
        if len(room) < 3:
            continue
        first, last = room[0], room[-1]
        g[first], g[last] = put[first], call[last]
        slope = np.diff(g) / w
        change = np.diff(slope, prepend=0.0, append=0.0)
        mass = mass - change
        mass[first], mass[last] = below[first] - slope[first], above[last - 1] + slope[last - 1]
        mass[:first], mass[last + 1 :] = 0.0, 0.0
        steep = np.append(np.abs(slope), 0.0) + np.insert(np.abs(slope), 0, 0.0)
        steep[:first], steep[last + 1 :] = 0.0, 0.0
        mass -= 16 * UNIT * (steep + mass)
        out[row] = _without_negative(mass, x[row]) if (mass < 0).any() else mass
    return out


def _without_negative(mass: Floats, x: Floats) -> Floats:
    """Flatten each concave kink into the chord over it: a negative mass goes to the knots beside it, moments kept."""
    mass, used = mass.copy(), [0]
    for k in range(1, len(x)):
        while len(used) > 1 and mass[used[-1]] < 0:
            j = used.pop()
            share = (x[k] - x[j]) / (x[k] - x[used[-1]])
            mass[used[-1]] += share * mass[j]
            mass[k] += (1 - share) * mass[j]
            mass[j] = 0.0
        used.append(k)
    if mass[0] < 0 or mass[-1] < 0:  # no pair of this kind: nothing is the bound
        return np.zeros_like(mass)
    return mass
