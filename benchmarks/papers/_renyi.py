"""Epsilon of noisy sums over random lots by Rényi divergences: the accounting of the DPareto paper.

The library states the lesser epsilons of privacy loss distributions; this bound is what they are compared with.

    q   sampling rate, lot / records                      a   1 / sigma^2
    sigma  noise over the sensitivity of the sum           L   likelihood ratio of N(1, sigma^2) to N(0, sigma^2) under
    alpha  order of a Rényi divergence                         the latter: lognormal, E[L^k] = exp(a k(k-1)/2), E[L] = 1
    A   exp((alpha-1) x divergence), the moment bounded    D_k E[(L-1)^k], the k-th forward difference of E[L^x] at 0
    T   A - 1, kept apart because it can be 1e-15          R_k D_k / E[L^k]

Both schemes have A = 1 + sum_{i>=2} binomial(alpha, i) s^i E[L^i] B_i x (a factor), every term positive:

    without replacement, one record replaced: s = q, B_i = min(4 sqrt(R_{2 floor(i/2)} R_{2 ceil(i/2)}), 2), factor 1
        [Wang, Balle, Kasiviswanathan 2019, arXiv:1808.00087, Theorem 27; for alpha > 256 B_i = 2 from i = 3 on]
    Poisson, one record added or removed: s = q / (1-q), B_i = 1 - exp(-a i(i-1)/2), factor (1-q)^alpha
        [Mironov, Talwar, Zhang 2019, arXiv:1908.10530, Section 3.3, with the binomial's total of 1 taken out]

The differences D_k, taken as differences, lose every digit once sigma is large. E[L^k] = (1+u)^(k(k-1)/2), u = e^a - 1,
counts graphs on k vertices by u^edges, and differencing removes those with an isolated vertex. So R_k is the
probability that a random graph, each edge present with probability p = 1 - e^-a, leaves no vertex isolated, and taking
away the last vertex, whose m leaves would be isolated without it, gives a recurrence of positive terms:

    R_k = (1 - v^(k-1)) R_{k-1} + sum_{m>=1} binomial(k-1, m) p^m v^(m(2k-m-3)/2) R_{k-1-m},  v = 1-p.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput
from tacit.privacy.lot_accounting import check_numbers, pair_name
from tacit.space import Params

Floats = NDArray[np.float64]
SENSITIVITIES = {"without_replacement/replace_one": 2, "poisson/add_remove": 1}  # of the sum, in clips

TOP = 63  # orders up to here are evaluated together
INTEGERS = np.arange(2.0, TOP + 1)[:, None]
TENTHS = np.arange(1, 10) / 10
FRACTIONS = np.add.outer(np.arange(1, 11), TENTHS)[..., None]  # 1.1 ... 1.9, ..., 10.1 ... 10.9
LARGE = (128, 256, 512, 1024)
LEAVES = 11  # later terms of the recurrence add less than 1e-13 of R_k, measured for k <= 256 and sigma 0.3 ... 100
CHUNK = 16_384  # configurations at a time, which bounds memory
OVERFLOW = 1e290
LOG_FACTORIAL = np.array([lgamma(i + 1) for i in range(LARGE[-1] + 1)])
# log of alpha! / (alpha - i)! for i = 2 ... top; alphas 2 ... 63 together, the large ones each by itself
SMALL_FALLING = np.array(
    [np.r_[LOG_FACTORIAL[k] - LOG_FACTORIAL[k - 2 :: -1], np.full(TOP - k, -np.inf)] for k in range(2, TOP + 1)]
)


def sampled_gaussian_epsilon(
    *,
    noise: ArrayLike,
    clip: ArrayLike,
    records: ArrayLike,
    lot: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    scheme: str = "without_replacement",
    relation: str = "replace_one",
) -> float | Floats:
    """Epsilon, at delta, of ``steps`` noisy sums over random lots; the arguments broadcast against each other.

    ``noise`` is the standard deviation of the Gaussian noise added to the **sum** over the lot of gradients clipped
    to norm ``clip``. Replacing a record moves that sum by up to 2 x clip, adding one by clip; we divide.
    DPareto's noise on the mean, (2 clip / lot) N(0, sigma^2), is ``noise=2 * clip * sigma``.

    Guarantee: (epsilon, delta), in the relation named, for the whole sequence of sums; no assumption on the data. Lots
        are drawn afresh at each step; for Poisson ``lot`` is the expected size and ``records`` is public.
    Follows: the statements above, and Canonne, Kamath, Steinke 2020, arXiv:2004.00010v4, Proposition 12, minimised
        over dp-accounting's default orders; epsilon 0 where sqrt(1 - exp(-divergence)) < delta (Bretagnolle-Huber).
    Differs: from dp-accounting 0.6 in arithmetic. Without replacement it takes D_k as differences, which have no digits
        left at large sigma and rate, and it does not take plain Gaussian composition where that is less (rates near 1/2
        and above, sigma under 0.5). With Poisson it adds the alternating terms between integer orders as if all were
        positive: its epsilon can be twice ours. Poisson with sigma < 0.1 is an upper bound, not exact.
    Edges: lot = records is plain Gaussian composition; steps = 0 gives 0; noise = 0 gives inf.

    >>> asked = dict(clip=1.0, records=40_000, lot=128, steps=6_250, delta=1e-6)
    >>> sampled_gaussian_epsilon(noise=[1.0, 2.0], **asked).round(2).tolist()
    [19.41, 3.0]
    """
    sensitivity = SENSITIVITIES[pair_name(scheme, relation)]
    poisson = scheme == "poisson"
    noise = check_numbers("noise", noise, least=0.0)
    clip, delta = check_numbers("clip", clip, above=0.0), check_numbers("delta", delta, above=0.0, below=1.0)
    records, steps = (
        check_numbers("records", records, least=1, whole=True),
        check_numbers("steps", steps, least=0, whole=True),
    )
    lot = check_numbers("lot", lot, above=0.0, whole=not poisson)
    try:
        full = np.broadcast_arrays(noise / (sensitivity * clip), lot / records, steps, delta)
    except ValueError:
        shapes = [x.shape for x in (noise, clip, records, lot, steps, delta)]
        raise BadInput(f"noise, clip, records, lot, steps and delta must broadcast, got shapes {shapes}") from None
    if np.any(full[1] > 1):
        raise BadInput(f"lot must be at most records, got lot / records up to {full[1].max():g}")
    sigma, rate, many, allowed = (np.ravel(x) for x in full)
    out = np.full(sigma.shape, np.inf)
    out[many == 0] = 0.0
    todo = np.flatnonzero((many > 0) & (sigma > 1e-150))
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        for at in (todo[i : i + CHUNK] for i in range(0, len(todo), CHUNK)):
            a = np.minimum(sigma[at], 1e150) ** -2
            # Sampling never hurts: the Rényi divergence is jointly quasi-convex (arXiv:1206.2459, Theorem 13).
            plain = _plain_epsilon(a, many[at], allowed[at])
            sampled = _epsilon(a, rate[at], many[at], allowed[at], poisson)
            out[at] = np.where(rate[at] < 1, np.fmin(sampled, plain), plain)
    return float(out[0]) if full[0].ndim == 0 else out.reshape(full[0].shape)


def _convert(alpha: Floats | float, log_moment: Floats, steps: Floats, delta: Floats) -> Floats:
    """Epsilon from log A at order alpha: Canonne et al. 2020, Proposition 12."""
    fixed = np.log1p(-1 / alpha) - np.log(alpha) / (alpha - 1)
    epsilon: Floats = (log_moment * steps - np.log(delta)) / (alpha - 1) + fixed
    return epsilon


def _plain_epsilon(a: Floats, steps: Floats, delta: Floats) -> Floats:
    """Every record in every lot: divergence a alpha / 2 (Mironov 2017, arXiv:1702.07476, Proposition 7)."""
    alpha = np.concatenate([FRACTIONS.ravel(), INTEGERS.ravel(), LARGE])[:, None]
    best = _convert(alpha, alpha * (alpha - 1) * a / 2, steps, delta).min(axis=0)
    return np.where(delta**2 + np.expm1(-steps * a * FRACTIONS.min() / 2) > 0, 0.0, np.maximum(best, 0.0))


def _epsilon(a: Floats, q: Floats, steps: Floats, delta: Floats, poisson: bool) -> Floats:
    """Least epsilon over the orders, for (n,) configurations with q < 1."""
    moment = log_moments(a, q, poisson)
    whole, best = _over_small_orders(moment, steps, delta)
    # An order that overflowed has log A of at least 590 (+ 63 log(1-q) if Poisson): could it still have won?
    first = 1 + np.argmax(moment == np.inf, axis=0)
    floor = 590 + (TOP * np.log1p(-q) if poisson else 0)
    lost = np.flatnonzero((moment[-1] == np.inf) & (steps * floor / first - 1.5 < best))
    if lost.size:
        moment[:, lost] = log_moments(a[lost], q[lost], poisson, wide=True)
        whole[:, lost], best[lost] = _over_small_orders(moment[:, lost], steps[lost], delta[lost])
    # The divergence grows with the order, which shows where larger orders cannot win.
    grown = moment[-1] / (TOP - 1)
    for order in LARGE:
        at = np.flatnonzero(_convert(order, grown * (order - 1), steps, delta) < best)
        reached = large_log_moment(a[at], q[at], order, poisson)
        grown[at] = reached / (order - 1)
        best[at] = np.minimum(best[at], _convert(order, reached, steps[at], delta[at]))
    least = moment[0]  # the divergence at order 1.1, as log A runs straight from 0 at order 1 to order 2
    if poisson:
        between, lower = _between_integers(a, q, steps, delta, 2 + np.argmin(whole, axis=0))
        best, least = np.fmin(best, between), np.fmin(least, lower)
    return np.where(delta**2 + np.expm1(-steps * least) > 0, 0.0, np.maximum(best, 0.0))


def _over_small_orders(moment: Floats, steps: Floats, delta: Floats) -> tuple[Floats, Floats]:
    """Epsilon at orders 2 ... 63, (62, n), and the least of those and of 1.1 ... 10.9, (n,)."""
    whole = _convert(INTEGERS, moment, steps, delta)
    knots = np.vstack([np.zeros_like(moment[:1]), moment[:10]])[:, None]  # log A at orders 1 ... 11
    chords = (1 - TENTHS[:, None]) * knots[:-1] + TENTHS[:, None] * knots[1:]  # Wang et al. Corollary 10
    return whole, np.minimum(whole.min(axis=0), _convert(FRACTIONS, chords, steps, delta).min(axis=(0, 1)))


def log_moments(a: Floats, q: Floats, poisson: bool, *, wide: bool = False) -> Floats:
    """log A at orders 2 ... 63, (62, n); inf where it overflows, unless ``wide``."""
    ceiling, bound = _log_ceilings(a, q, TOP, poisson), _bounds(a, TOP, poisson)
    shrink = INTEGERS * (np.log1p(-q) if poisson else np.zeros_like(q))
    if wide:
        ceiling += np.log(bound)
        sums = np.array([np.logaddexp.reduce(ceiling + row[:, None]) for row in SMALL_FALLING])
        return np.array(np.logaddexp(0.0, sums + shrink), dtype=np.float64)
    # Scaled by 63^i the coefficients lie between 1e-27 and 1, and all orders are one product of matrices.
    powers = INTEGERS * np.log(TOP)
    coefficients = np.exp(SMALL_FALLING - powers.T)
    total: Floats = coefficients @ np.fmin(np.exp(ceiling + powers) * bound, OVERFLOW)
    total[total >= OVERFLOW * np.diag(coefficients)[:, None]] = np.inf
    total *= np.exp(shrink)
    return np.log1p(total)


def large_log_moment(a: Floats, q: Floats, order: int, poisson: bool) -> Floats:
    """log A at one order, (n,), leaving out the terms after the last that could reach e^-40 of the first."""
    ceiling = _log_ceilings(a, q, order, poisson) + (LOG_FACTORIAL[order] - LOG_FACTORIAL[order - 2 :: -1])[:, None]
    if poisson:
        ceiling += order * np.log1p(-q)
    kept = ceiling > ceiling[0] + np.log(-np.expm1(-a)) - 40  # bounds are at most 2, the first is at least p
    last = order - np.argmax(kept[::-1], axis=0)
    total = np.empty_like(a)
    for at in np.array_split(np.argsort(last), 1 + len(a) // 512):
        if at.size:
            top = int(last[at[-1]])
            bound = _bounds(a[at], top, poisson, differences=order <= 256)
            total[at] = np.einsum("in,in->n", np.exp(ceiling[: top - 1, at]), bound)
    return np.log1p(total)


def _log_ceilings(a: Floats, q: Floats, top: int, poisson: bool) -> Floats:
    """log of s^i E[L^i] / i! for i = 2 ... top, (top - 1, n)."""
    i = np.arange(2, top + 1)
    share = np.log(q) - (np.log1p(-q) if poisson else 0)
    ceiling = np.multiply.outer(i * (i - 1) / 2, a)
    ceiling += np.multiply.outer(i, share)
    ceiling -= LOG_FACTORIAL[i, None]
    return ceiling


def _bounds(a: Floats, top: int, poisson: bool, *, differences: bool = True) -> Floats:
    """B_i for i = 2 ... top, (top - 1, n)."""
    if poisson:
        i = np.arange(2, top + 1)
        return -np.expm1(-np.multiply.outer(i * (i - 1) / 2, a))
    bound = np.full((top - 1, len(a)), 2.0)
    if not differences:
        bound[0] = np.minimum(-4 * np.expm1(-a), 2.0)
        return bound
    even = _no_vertex_isolated(a, top + 1)[2::2]
    root = np.sqrt(even)
    bound[::2] = 4 * even[: top // 2]
    bound[1::2] = root[: (top - 1) // 2] * root[1 : (top + 1) // 2] * (4 * np.exp(a / 2))
    np.minimum(bound, 2.0, out=bound)
    return bound


def _no_vertex_isolated(a: Floats, top: int) -> Floats:
    """R_k for k = 0 ... top, (top + 1, n), by the recurrence above."""
    # S_k = R_k 100^k / k! has coefficients without binomials; the power keeps it within the floats up to k = 257.
    scale, m = 100.0, np.arange(1, LEAVES + 1)[:, None]
    start = (-np.expm1(-a) * scale) ** m * np.exp(-a * m * (m - 1) / 2 - LOG_FACTORIAL[m])  # of row m, at k = m + 1
    decay, coefficient = np.exp(-a * m), np.empty_like(start)
    S = np.zeros((top + 1, len(a)))
    S[0] = 1.0
    for k in range(2, top + 1):
        used = min(k - 1, LEAVES)
        np.multiply(coefficient[:used], decay[:used], out=coefficient[:used])
        if k - 1 <= LEAVES:
            coefficient[k - 2] = start[k - 2]
        if k % 8 == 0:
            coefficient[coefficient < 1e-200] = 0.0  # negligible, and slow once they are subnormal
        S[k] = np.einsum("mn,mn->n", coefficient[:used], S[k - 1 - used : k - 1][::-1])
        S[k] -= np.expm1(-a * (k - 1)) * S[k - 1]
        S[k] *= scale / k
    S *= np.exp(LOG_FACTORIAL[: top + 1] - np.arange(top + 1) * np.log(scale))[:, None]
    return S


def _between_integers(
    a: Floats, q: Floats, steps: Floats, delta: Floats, centre: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Poisson: least epsilon over the tenths around the best integer order, ``centre``, and the divergence at 1.1.

    A = 1 + E[(1+X)^alpha - 1 - alpha X], X = q(L-1), L = exp(sqrt(a) z - a/2), z standard normal. The integrand is
    analytic for |Im z| < pi sigma: the trapezium rule at spacings up to min(sigma, 1)/2 errs by about exp(-4 pi^2).
    """
    best, least, root = np.full_like(a, np.inf), np.full_like(a, np.inf), np.sqrt(a)
    sharp = root > 10  # too many nodes: (x+y)^alpha <= x^alpha + alpha x^(alpha-1) y + y^alpha for 1 <= alpha <= 2
    for alpha in 1 + TENTHS if sharp.any() else ():
        apart = alpha * np.log1p(-q) + np.log1p(alpha * q / (1 - q))
        bound = np.where(sharp, np.logaddexp(apart, alpha * np.log(q) + alpha * (alpha - 1) * a / 2), np.inf)
        best, least = np.minimum(best, _convert(alpha, bound, steps, delta)), np.minimum(least, bound / (alpha - 1))
    tenths = np.concatenate([-TENTHS, TENTHS])[:, None]
    for near in (True, False):  # beyond order 11 there are integers only
        end = 8.5 + root * (centre + 1 if near else 1.1)
        nodes = np.ceil((8.5 + end) * 2 * np.maximum(root, 1)) + 1
        group = np.flatnonzero(~sharp & ((centre <= 11) == near))
        group = group[np.argsort(nodes[group])]
        for at in (group[i : i + 256] for i in range(0, len(group), 256)):
            z = np.linspace(-8.5, end[at], int(nodes[at[-1]]))  # (nodes, n)
            density = z**2 / -2 + np.log((z[1] - z[0]) / np.sqrt(2 * np.pi))
            ratio = root[at] * z - a[at] / 2
            growth = np.log1p(q[at] * np.expm1(ratio))
            peak = np.exp(density)
            slope = q[at] * np.where(ratio < 1, peak * np.expm1(np.minimum(ratio, 1)), np.exp(density + ratio) - peak)

            def moment(
                alpha: Floats | float, growth: Floats = growth, slope: Floats = slope, density: Floats = density
            ) -> Floats:
                power = alpha * growth  # exp(power) alone can overflow where its product with the density does not
                total: Floats = (np.exp(power + density) * -np.expm1(-power) - alpha * slope).sum(axis=0)
                return np.log1p(total)

            least[at] = moment(1.1) / (1.1 - 1)
            for alpha in np.clip(centre[at] + tenths, 1.1, 10.9) if near else ():
                best[at] = np.fmin(best[at], _convert(alpha, moment(alpha), steps[at], delta[at]))
    return best, least


class RenyiBound:
    """What makes a front algorithm state the paper's bound: 1.1 to 5 times larger than the library's own."""

    def epsilons(self: Any, params: Sequence[Params], delta: float) -> Floats:
        asked = self._steps(params)
        rest = {"records": asked.records, "lot": asked.lot, "steps": asked.steps, "delta": delta}
        return np.asarray(sampled_gaussian_epsilon(noise=2 * asked.noise, clip=1.0, **rest), float)

    quick_epsilons = epsilons


def by_renyi(algorithm: Any) -> Any:
    """The same algorithm, its epsilons by the paper's bound."""
    kind = type(algorithm)
    algorithm.__class__ = type(kind.__name__, (RenyiBound, kind), {})
    return algorithm
