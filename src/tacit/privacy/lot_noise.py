"""Noise of many DP-SGD settings at once, so that each stays below one base profile: by Renyi divergences.

Exact profiles calibrate to less noise, one setting at a time (`tacit.privacy.selection_budget.multiplier_for`). These
bounds are quick: a thousand settings take about a second.

    a       1 / sigma^2, sigma the noise over the sensitivity of the sum over a lot
    A       exp((order - 1) x divergence) of one step; tacit.privacy.subsampling has the formulas and their sources
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy.profiles import SLACK, TINY, RenyiProfile, TableProfile
from tacit.privacy.subsampling import (
    CHUNK,
    LARGE,
    TENTHS,
    TOP,
    check_numbers,
    large_log_moment,
    log_moments,
    sampling_scheme,
)

Floats = NDArray[np.float64]

WHOLE = np.r_[2:20, 20:32:2, 32:TOP:4, TOP]  # of the orders whose moments come together, those used
SMALL = np.concatenate([1 + TENTHS[::2], WHOLE[:9] + 0.5, WHOLE])
MOST = 1e9  # multipliers are searched up to here
PRECISION = 3e-4


def lot_curve(
    *,
    noise: float,
    clip: float,
    records: int,
    lot: float,
    steps: int,
    scheme: str = "without_replacement",
    relation: str = "replace_one",
) -> RenyiProfile:
    """The profile of ``steps`` noisy sums over random lots, from the larger of both directions at each order.

    Arguments and guarantee are those of `sampled_gaussian_epsilon`, at every delta.

    >>> from tacit.privacy.profiles import epsilon_at
    >>> curve = lot_curve(noise=20.0, clip=1.0, records=40_000, lot=128, steps=6_250)
    >>> round(epsilon_at(curve, 1e-6), 3)
    0.222
    """
    unit, rate, many = _broadcast(clip, records, lot, steps, scheme, relation)
    multiplier = check_numbers("noise", noise, above=0.0) / unit
    values = _values(multiplier, rate, many, scheme, LARGE)
    return RenyiProfile((*SMALL.tolist(), *map(float, LARGE)), tuple(values[:, 0].tolist()))


def noise_below(
    base: TableProfile,
    *,
    clip: ArrayLike,
    records: ArrayLike,
    lot: ArrayLike,
    steps: ArrayLike,
    scheme: str = "without_replacement",
    relation: str = "replace_one",
) -> Floats:
    """Least noise on the sum over a lot, to 3 parts in 1e4, (n,), with which each setting stays below ``base``.

    Guarantee: ``base.covers(lot_curve(noise=...))`` for every setting.
    Edges: GuaranteeError if some setting is not covered by noise of 1e9 times its sensitivity.

    >>> from tacit.privacy.profiles import GaussianProfile, tabulate
    >>> base = tabulate(GaussianProfile(0.13).curve(), floor=1e-9)
    >>> noise_below(base, clip=1.0, records=24_000, lot=[64, 256], steps=[3_750, 940]).round().tolist()
    [6.0, 12.0]
    """
    unit, rate, many = _broadcast(clip, records, lot, steps, scheme, relation)
    knots, forward = np.array(base.epsilons), np.array(base.deltas)
    least = forward if base.backward is None else np.minimum(forward, base.backward)
    with np.errstate(divide="ignore"):
        log_least = np.log(least / (1 + 2 * SLACK))
    # At each knot, either one order is enough, or the total variation is. Orders above 63 help if a base is small:
    best = 2 * np.log(1 / np.maximum(least[-1], TINY)) / knots[-1]
    large = tuple(o for o in LARGE if o < 4 * best and best > 50)
    order = np.concatenate([SMALL, large])[:, None]
    enough = knots + (log_least + np.log(order)) / (order - 1) - np.log1p(-1 / order)  # (orders, knots)
    square = np.exp(2 * log_least)
    variation = np.maximum(2 * square, -np.log1p(-np.minimum(square, 1 - 1e-12)))

    def covered(multiplier: Floats, at: NDArray[np.int64]) -> NDArray[np.bool_]:
        values = _values(multiplier, rate[at], many[at], scheme, large)
        fits = values.min(axis=0) <= variation[:, None]  # (knots, n)
        for row, limit in zip(values, enough, strict=True):
            fits |= row <= limit[:, None]
        return np.asarray(fits.all(axis=0))

    everyone = np.arange(len(rate))
    low = np.sqrt(many) * rate / knots[-1] + 0.3  # near the answer; the bracket opens from there
    fits = covered(low, everyone)
    high = np.where(fits, low, np.inf)
    low = np.where(fits, 0.0, low)
    while (at := np.flatnonzero(np.isinf(high))).size:
        if low[at].max() > MOST:
            raise GuaranteeError(
                "some setting does not come below the base profile by noise of 1e9 times its sensitivity: take fewer "
                "steps, or a base table with a larger floor"
            )
        fits = covered(2 * low[at], at)
        high[at] = np.where(fits, 2 * low[at], np.inf)
        low[at] = np.where(fits, low[at], 2 * low[at])
    while (at := np.flatnonzero((low == 0) & (high > 1e-3))).size:
        fits = covered(high[at] / 2, at)
        low[at] = np.where(fits, 0.0, high[at] / 2)
        high[at] = np.where(fits, high[at] / 2, high[at])
    while (at := np.flatnonzero((high > low * (1 + PRECISION)) & (low > 0))).size:
        middle = np.sqrt(low[at] * high[at])
        fits = covered(middle, at)
        low[at], high[at] = np.where(fits, low[at], middle), np.where(fits, middle, high[at])
    return np.asarray(high * unit)


def _broadcast(
    clip: ArrayLike, records: ArrayLike, lot: ArrayLike, steps: ArrayLike, scheme: str, relation: str
) -> tuple[Floats, Floats, Floats]:
    """Sensitivity of the sum, sampling rate and steps, (n,) each."""
    known = sampling_scheme(scheme, relation)
    whole_lot = scheme != "poisson"
    numbers = (
        known.sensitivity * check_numbers("clip", clip, above=0.0),
        check_numbers("lot", lot, above=0.0, whole=whole_lot) / check_numbers("records", records, least=1, whole=True),
        check_numbers("steps", steps, least=1, whole=True),
    )
    try:
        unit, rate, many = (np.ravel(x).astype(np.float64) for x in np.broadcast_arrays(*numbers))
    except ValueError:
        raise BadInput("clip, records, lot and steps must broadcast against each other") from None
    if np.any(rate > 1):
        raise BadInput(f"lot must be at most records, got lot / records up to {rate.max():g}")
    return unit, rate, many


def _values(sigma: Floats, rate: Floats, steps: Floats, scheme: str, large: tuple[int, ...]) -> Floats:
    """Renyi divergences at the orders SMALL and ``large``, (orders, n); between whole ones log A is below its chord."""
    orders, poisson = np.concatenate([SMALL, large]), scheme == "poisson"
    values = np.empty((len(orders), len(rate)))
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        for i in range(0, len(rate), CHUNK):
            q = rate[i : i + CHUNK]
            a = np.minimum(sigma[i : i + CHUNK], 1e150) ** -2
            moment = log_moments(a, q, poisson)
            below_two, halves = TENTHS[::2, None] * moment[0], (moment[:9] + moment[1:10]) / 2
            rest = [large_log_moment(a, q, order, poisson)[None] for order in large]
            sampled = np.concatenate([below_two, halves, moment[WHOLE - 2], *rest]) / (orders - 1)[:, None]
            plain = np.multiply.outer(orders, a / 2)
            values[:, i : i + CHUNK] = np.where(q < 1, np.fmin(sampled, plain), plain)
    return values * steps * (1 + 1e-12)
