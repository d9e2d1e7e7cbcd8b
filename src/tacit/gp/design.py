"""Where to evaluate a function to learn its gradient at a point: closed forms, and an optimiser for the rest.

    theta   where the gradient is wanted (d,)        h    radius of a design in length-scales
    c       2 for a cross, (d + 1)/d for a simplex   s    evaluation noise over prior variance

The 2d points theta +- h e_j, and the d + 1 corners of a regular simplex around theta, are so symmetric that K has one
eigenvalue on everything the gradient depends on. For v g(r^2) with slope g' the weights are then, per unit direction,
2 h |g'(h^2)| / (1 - g(2 c h^2) + s), and with the squared exponential

    alpha = v sum_j l_j^-2 (1 - c h^2 exp(-h^2) / (1 - exp(-c h^2) + s)),

whose best radius solves 1/u = 1 + c exp(-c u) / (1 - exp(-c u) + s) for u = h^2. No inner optimiser is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.errors import BadInput, choice, count, positive
from tacit.gp.form import Array, Kernel
from tacit.gp.gradient import NUGGET, GradientPosterior
from tacit.gp.kernels import RBF, Polynomial

SHAPES = ("cross", "simplex")


@dataclass(frozen=True)
class Design:
    """Places (m, d), the weights (d, m) that turn values there into a gradient, and the alpha that remains.

    The last ``new`` places were not evaluated before.
    """

    points: Array
    weights: Array
    trace: float
    new: int


def directions(shape: str, d: int) -> Array:
    """Unit vectors: (2d, d) along the axes, or the (d + 1, d) corners of a regular simplex.

    >>> (directions("simplex", 2) @ directions("simplex", 2).T).round(6).tolist()
    [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    if choice("design", shape, SHAPES) == "cross":
        return np.concatenate([np.eye(d), -np.eye(d)])
    corners = math.sqrt(1 + 1 / d) * np.eye(d) - d**-1.5 * (math.sqrt(d + 1) + 1)
    return np.concatenate([corners, np.full((1, d), d**-0.5)])


def best_radius(shape: str, kernel: Kernel, noise: float) -> float:
    """The radius in length-scales of smallest alpha, for evaluation noise of this variance.

    Edges. Without noise the best design is infinitely small; the noise is taken to be at least 1e-8 of the variance.

    >>> round(best_radius("cross", RBF((1.0, 1.0)), 0.0), 4)     # near (3 s / 2)^(1/6)
    0.0497
    """
    from scipy.optimize import brentq, minimize_scalar  # here: a plan needs none of it

    s, c = max(noise / kernel.variance, NUGGET), _c(shape, kernel.dimensions)
    if isinstance(kernel, RBF):

        def slope(u: float) -> float:
            return 1 / u - 1 - c * math.exp(-c * u) / (-math.expm1(-c * u) + s)

        return math.sqrt(brentq(slope, 1e-12, 1.0, xtol=1e-14))
    minimum = minimize_scalar(
        lambda x: -_along(shape, kernel, math.exp(x), s)[1], bounds=(math.log(1e-5), math.log(5.0)), method="bounded"
    )
    return math.exp(minimum.x)


def symmetric_design(
    shape: str, kernel: Kernel, theta: Array, *, noise: float = 0.0, radius: npt.ArrayLike | None = None
) -> Design:
    """A cross or simplex around theta with its weights in closed form, for every stationary kernel.

    ``radius`` is in the units of theta, one number or one for each coordinate; the best one if it is not given.

    Edges. A cross may have any radius along each axis. A simplex has one radius in length-scales: given others, the
    kernel's length-scales are bent to them.

    >>> made = symmetric_design("cross", RBF((1.0,)), np.zeros(1), radius=0.1)
    >>> made.points.tolist(), made.weights.round(3).tolist()
    ([[0.1], [-0.1]], [[5.025, -5.025]])
    """
    if isinstance(kernel, Polynomial):
        raise BadInput("a cross or simplex has closed weights for stationary kernels; use design='optimised'")
    d, s = kernel.dimensions, noise / kernel.variance
    lengths, unit = np.asarray(kernel.lengthscales), directions(shape, d)
    radii = best_radius(shape, kernel, noise) * lengths if radius is None else np.broadcast_to(radius, (d,))
    if not (np.isfinite(radii) & (radii > 0)).all():
        raise BadInput("radius must be positive along every coordinate")
    h = radii / lengths
    if shape == "simplex" and np.ptp(h) > 1e-12 * h[0]:
        h = np.full(d, float(h.min()))
        lengths = radii / h
    each = {float(x): _along(shape, kernel, float(x), s) for x in set(h.tolist())}
    lean, explained = np.array([each[x] for x in h.tolist()]).T
    alpha = 2 * _curvature(kernel) * kernel.variance * float(((1 - explained) / lengths**2).sum())
    return Design(theta + unit * radii, unit.T * (lean / lengths)[:, None], max(0.0, alpha), len(unit))


def optimise_places(
    model: GradientPosterior, theta: Array, batch: int, box: tuple[Array, Array], warm: Array | None = None
) -> tuple[Array, float]:
    """The ``batch`` places within the box that bring alpha lowest beside those of the model, and that alpha.

    L-BFGS from up to two starts: ``warm``, offsets from theta that were good before, and a simplex around theta that
    leans away from the walls. Deterministic.
    Follows. Sopa et al. (2025), line 4 of Algorithm 1.
    """
    from scipy.optimize import minimize

    batch, d = count("batch", batch), len(theta)
    low, high = box
    starts = [_scatter_places(model.kernel, theta, batch, box, model.noise)]
    if warm is not None and warm.shape == (batch, d):
        starts.insert(0, theta + warm)
    best, least = starts[0], math.inf
    # In length-scales, so that one step size suits all coordinates.
    scale = np.asarray(model.kernel.lengthscales)
    bounds = list(zip(np.tile(low / scale, batch), np.tile(high / scale, batch), strict=True))

    criterion = model.criterion(theta)

    def alpha(z: Array) -> tuple[float, Array]:
        value, slope = criterion(z.reshape(batch, d) * scale)
        return value, (slope * scale).ravel()

    for start in starts:
        minimum = minimize(
            alpha,
            (np.clip(start, low, high) / scale).ravel(),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 60},
        )
        if minimum.fun < least:
            best, least = np.clip(minimum.x.reshape(batch, d) * scale, low, high), float(minimum.fun)
    return best, max(0.0, least)


def fewest_places(
    model: GradientPosterior, theta: Array, tolerance: float, most: int, box: tuple[Array, Array]
) -> tuple[Array, float]:
    """The fewest places that bring alpha within tolerance, at most ``most`` of them; none if it is there already.

    Follows. Sopa et al. (2025), lines 4 and 5 of Algorithm 2.
    Differs. The number is found by bisection, since the best alpha falls as places are added.
    """
    tolerance = positive("tolerance", tolerance)
    alpha = model.trace(theta)
    if alpha <= tolerance:
        return np.empty((0, len(theta))), alpha
    below, placements = 0, {most: optimise_places(model, theta, most, box)}
    above = most
    while placements[above][1] <= tolerance and above - below > 1:
        middle = (below + above) // 2
        placements[middle] = optimise_places(model, theta, middle, box)
        below, above = (below, middle) if placements[middle][1] <= tolerance else (middle, above)
    return placements[above]


def _scatter_places(kernel: Kernel, theta: Array, batch: int, box: tuple[Array, Array], noise: float) -> Array:
    """Corners of simplices of growing radius around theta, moved inside the box."""
    low, high = box
    lengths = np.asarray(kernel.lengthscales)
    h = 0.3 if isinstance(kernel, Polynomial) else best_radius("simplex", kernel, noise)
    corners = directions("simplex", len(theta))
    rounds = [corners * (-1) ** r * h * (1 + r / 2) for r in range(-(-batch // len(corners)))]
    offsets = np.concatenate(rounds)[:batch] * lengths
    inside = np.clip(theta, low + h * lengths, np.maximum(high - h * lengths, low + h * lengths))
    return np.asarray(np.clip(inside + offsets, low, high))


def _c(shape: str, d: int) -> float:
    return 2.0 if shape == "cross" else (d + 1) / d


def _profile(kernel: Kernel, s: float) -> tuple[float, float]:
    g, slope = kernel._profile(np.array([s]))
    return float(g[0]), float(slope[0])


def _lean(kernel: Kernel, h: float) -> float:
    """Covariance of the derivative at the centre with a value at distance h, per unit variance."""
    return -2 * h * _profile(kernel, h * h)[1]


def _spread(shape: str, kernel: Kernel, h: float) -> float:
    """The eigenvalue of K on what the gradient depends on, without noise, per unit variance: 1 - g(2 c h^2)."""
    s = 2 * _c(shape, kernel.dimensions) * h * h
    return -math.expm1(-s / 2) if isinstance(kernel, RBF) else 1 - _profile(kernel, s)[0]


def _curvature(kernel: Kernel) -> float:
    """-g'(0), half the prior variance of a derivative per unit variance and length-scale."""
    return -_profile(kernel, 0.0)[1]


def _along(shape: str, kernel: Kernel, h: float, s: float) -> tuple[float, float]:
    """The weight of a place per unit length-scale, and the share of the gradient's prior variance that is explained."""
    lean, left = _lean(kernel, h), _spread(shape, kernel, h) + s
    return lean / left, _c(shape, kernel.dimensions) * lean**2 / left / (2 * _curvature(kernel))
