"""The public half of DP-GIBO: its settings, and where each step evaluates. Nothing here depends on a data value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tacit.errors import BadInput, choice, count, positive, probability, real
from tacit.files import Json
from tacit.gp.design import Design, best_radius, fewest_places, optimise_places, symmetric_design
from tacit.gp.gradient import GradientPosterior
from tacit.gp.kernels import RBF, Kernel, Matern32, Matern52, Polynomial
from tacit.gp.threads import one_thread
from tacit.methods.gibo.steps import RULES
from tacit.methods.optimiser import sobol_points
from tacit.privacy.gradient_mean import Clipped, bounded_clip
from tacit.space import Array, Space

KERNELS: dict[str, type[Kernel]] = {"rbf": RBF, "matern32": Matern32, "matern52": Matern52, "polynomial": Polynomial}
DESIGNS = ("cross", "simplex", "optimised", "adaptive")
CENTRING = ("mean", "theta", "none")
# Measured by python -m benchmarks gibo_defaults; its figures are in benchmarks/results/gibo_defaults.json.
RADIUS, LENGTHSCALE, RATES, CLIP, AVERAGE, STARTS, SCAN = (0.3, 0.05), 0.5, (0.1, 0.2), 0.25, 0.5, 1, 64
DIAGONAL = 15  # of the places where a descent may begin: those with all coordinates equal
# Shares of the squared budget, if nothing else was said: for choosing where to begin, and for the score.
SCANNED, SCORED = 0.2, 0.1
QUIET = 0.05  # a first point is drawn if the draw's noise is at most this share of the bounds' width
LOUD_STEPS = 0.1  # noise of a gradient above this share of the clipping norm: the smaller rate


@dataclass(frozen=True, kw_only=True)
class DescentSettings:
    """The options of ``tacit.tune(..., method="gibo")``: all public. Lengths are in the unit cube of the space.

    clip             B, the norm to which each record's gradient (loss per unit of the cube) is clipped. Default: a
                     quarter of the width of the bounds; ``suggest_clip`` finds one from public data
    design           "cross" (2d places around theta) or "simplex" (d + 1), both in closed form; "optimised"
                     (Algorithm 1: ``batch`` new places, at most ``reuse`` earlier ones); "adaptive" (Algorithm 2: as
                     few as reach ``tolerance``)
    radius           of a cross or simplex: one number, or two, from which and to which it shrinks over the steps.
                     Default (0.3, 0.05), or the best one for ``evaluation_noise`` if that is given
    kernel           "rbf", "matern52", "matern32", "polynomial" (of degree two, about the middle of the cube)
    lengthscale      of the kernel, one number or one for each parameter
    evaluation_noise standard deviation of noise on evaluations, for a kernel of variance 1 (section 3.4)
    centring         subtract from each record's losses their own mean over the places ("mean"), the record's own
                     loss at theta ("theta": one more evaluation), or nothing ("none", as published)
    step, rate       "adagrad", "adam", "momentum" or "plain", and its rate. Default 0.2, or 0.1 where the norm of a
                     gradient's noise, 2 sqrt(T d) / (n mu'), is above 0.1 of the clip
    starts, start    number of descents that share the budget; where they begin, if you know better than a draw
    scan             number of places, on the diagonal of the cube and scattered, among which one draw of the
                     exponential mechanism names where a descent begins. Default 64; 0 if ``start`` is given, or if
                     the draw's noise would be above 5% of the bounds' width
    scan_budget      share of the squared budget for that draw; default 0.2
    score_budget     share of the squared budget for scoring final points; default 0.1
    average          share of a descent's last points whose mean is its final point; 0 takes the last one
    """

    clip: float
    design: str = "cross"
    radius: float | tuple[float, float] | None = None
    kernel: str = "rbf"
    lengthscale: float | tuple[float, ...] = LENGTHSCALE
    evaluation_noise: float = 0.0
    batch: int | None = None
    reuse: int | None = None
    tolerance: float | None = None
    centring: str = "mean"
    step: str = "adagrad"
    rate: float | None = None
    starts: int = STARTS
    start: Any = None
    scan: int | None = None
    scan_budget: float | None = None
    score_budget: float | None = None
    average: float = AVERAGE

    @classmethod
    def of(cls, options: Mapping[str, Any], bounds: tuple[float, float], space: Space) -> DescentSettings:
        """Checked settings, with every default filled in."""
        unknown = sorted(set(options) - set(cls.__dataclass_fields__))
        if unknown:
            raise BadInput(f"method 'gibo' takes no option {', '.join(unknown)}")
        given = {k: v for k, v in options.items() if v is not None}
        settings = cls(**{"clip": CLIP * (bounds[1] - bounds[0]), **given})
        return settings._check(space)

    def _check(self, space: Space) -> DescentSettings:
        categorical = [n for n, d in space.distributions.items() if hasattr(d, "choices")]
        if categorical:
            raise BadInput(
                f"method 'gibo' follows gradients, which a choice has none of: fix {', '.join(map(repr, categorical))} "
                "to one option, or use method 'observed'"
            )
        bounded_clip(self.clip)
        choice("design", self.design, DESIGNS)
        choice("kernel", self.kernel, tuple(KERNELS))
        choice("centring", self.centring, CENTRING)
        choice("step", self.step, RULES)
        if self.rate is not None:
            positive("rate", self.rate)
        count("starts", self.starts)
        if not 0 <= real("average", self.average) <= 1:
            raise BadInput(f"average must be in [0, 1], got average={self.average!r}")
        if real("evaluation_noise", self.evaluation_noise) < 0:
            raise BadInput(f"evaluation_noise must not be negative, got {self.evaluation_noise!r}")
        d = space.dimensions
        try:
            lengths = np.broadcast_to(np.asarray(self.lengthscale, float), (d,))
        except ValueError:
            raise BadInput(f"lengthscale must be one number or {d} of them, one for each parameter") from None
        settled = replace(self, lengthscale=tuple(positive("lengthscale", float(l)) for l in lengths))
        share = settled.score_budget
        share = SCORED if share is None else probability("score_budget", share, zero=True)
        if self.starts > 1 and not share:
            raise BadInput("several starts need score_budget > 0: the best of them is chosen by a paid score")
        return replace(settled, score_budget=share)._with_scan()._with_places(space)

    def settle(self, deviation: float) -> DescentSettings:
        """With a scan or without, where that was left open: by its noise, as a share of the bounds' width."""
        if self.scan is not None:
            return self
        return replace(self, scan=SCAN) if deviation <= QUIET else replace(self, scan=0, scan_budget=0.0)

    def with_rate(self, loudness: float) -> DescentSettings:
        """With a step rate, where that was left open: by the norm of a gradient's noise, as a share of the clip."""
        if self.rate is not None:
            return self
        return replace(self, rate=RATES[0] if loudness > LOUD_STEPS else RATES[1])

    def _with_scan(self) -> DescentSettings:
        scan = (SCAN if self.start is None else 0) if self.scan is None else count("scan", self.scan, least=0)
        if scan and self.start is not None:
            raise BadInput("give start or scan, not both: a scan chooses where to begin")
        if scan and scan < self.starts:
            raise BadInput(f"a scan of {scan} places cannot give {self.starts} starts; use scan >= starts, or scan=0")
        share = SCANNED if self.scan_budget is None else probability("scan_budget", self.scan_budget)
        share = share if scan else 0.0
        if not share + float(self.score_budget or 0.0) < 1:
            raise BadInput("scan_budget and score_budget together must leave something to the steps: less than 1")
        still_open = self.scan is None and self.start is None
        return replace(self, scan=None if still_open else scan, scan_budget=share)

    def _with_places(self, space: Space) -> DescentSettings:
        d = space.dimensions
        if self.design in ("cross", "simplex"):
            extra = [n for n in ("batch", "reuse", "tolerance") if getattr(self, n) is not None]
            if extra or self.kernel == "polynomial":
                raise BadInput(
                    f"design {self.design!r} has its own places and a stationary kernel: no "
                    f"{', '.join(extra) or 'polynomial'}. Use design='optimised'"
                )
            return replace(self, radius=self._radii())
        if self.radius is not None:
            raise BadInput(f"design {self.design!r} finds its own places: no radius")
        batch = d + 1 if self.batch is None else count("batch", self.batch)
        if self.design == "adaptive":
            if batch > d + 1:
                raise BadInput(f"Algorithm 2 needs at most d + 1 = {d + 1} new places, got batch={batch}")
            if self.tolerance is None:
                raise BadInput("design 'adaptive' needs tolerance, the trace of the gradient's covariance to reach")
            positive("tolerance", self.tolerance)
        elif self.tolerance is not None:
            raise BadInput("tolerance belongs to design 'adaptive'")
        reuse = 4 * (d + 1) if self.reuse is None else count("reuse", self.reuse, least=0)
        return replace(self, batch=batch, reuse=reuse)

    def _radii(self) -> tuple[float, float]:
        """The first and the last radius."""
        given = self.radius
        if given is None and self.evaluation_noise:
            given = best_radius(self.design, self.prior(), self.evaluation_noise**2) * float(np.min(self.lengthscale))
        if given is None:
            given = RADIUS
        first, last = (given, given) if isinstance(given, int | float) else _pair(given)
        return min(0.5, positive("radius", first)), min(0.5, positive("radius", last))

    def most_places(self, dimensions: int) -> int:
        """How many evaluations a step makes at most."""
        fixed = {"cross": 2 * dimensions, "simplex": dimensions + 1}
        return fixed.get(self.design) or int(self.batch or 1) + (self.centring == "theta")

    def prior(self) -> Kernel:
        return KERNELS[self.kernel](self.lengthscale)  # type: ignore[arg-type]

    def to_json(self) -> Json:
        return asdict(self)


class Designs:
    """Where the steps of one descent evaluate. Remembers earlier places, if they are to be used again."""

    def __init__(self, settings: DescentSettings, space: Space, steps: int = 1) -> None:
        self._steps = steps
        self._s, self._d, self._kernel = settings, space.dimensions, settings.prior()
        # A whole number is rounded in the objective's view: reach at least to the next one.
        self._least = np.array([_whole_step(d) for d in space.distributions.values()])
        self._model = GradientPosterior(self._kernel, noise=settings.evaluation_noise**2)
        self._box = np.full(self._d, -0.5), np.full(self._d, 0.5)
        self._warm: Array | None = None

    def at(self, theta: Array, t: int) -> Design:
        """Places in the unit cube (m, d), weights (d, m) and the trace that remains, for step t at theta."""
        at = theta - 0.5  # the kernel sees the cube about its middle, which matters to the polynomial only
        with one_thread():
            design = (
                self._symmetric_design(at, t) if self._s.design in ("cross", "simplex") else self._modelled_design(at)
            )
        return replace(design, points=np.clip(design.points + 0.5, 0.0, 1.0))

    def _symmetric_design(self, theta: Array, t: int) -> Design:
        """A symmetric design. Near a wall it gets smaller, down to a fifth, and is then centred inside."""
        s, (first, last) = self._s, self._s._radii()
        most = first * (last / first) ** (t / max(1, self._steps - 1))
        radii = np.clip(0.5 - np.abs(theta), most / 5, most)
        radii = np.minimum(np.maximum(radii, self._least), 0.5)
        centre = np.clip(theta, radii - 0.5, 0.5 - radii)
        design = symmetric_design(s.design, self._kernel, np.zeros(self._d), noise=s.evaluation_noise**2, radius=radii)
        sign = -1.0 if s.design == "simplex" and t % 2 else 1.0  # mirrored simplices cancel each other's bend
        return replace(design, points=centre + sign * design.points, weights=sign * design.weights)

    def _modelled_design(self, theta: Array) -> Design:
        s = self._s
        model = (
            self._model.nearest(theta, s.reuse or 0)
            if s.reuse
            else GradientPosterior(self._kernel, noise=self._model.noise)
        )
        if s.design == "adaptive":
            fresh, _ = fewest_places(model, theta, float(s.tolerance or 0), int(s.batch or 1), self._box)
        else:
            fresh, _ = optimise_places(model, theta, int(s.batch or 1), self._box, self._warm)
            self._warm = fresh - theta
        new = model.append(fresh) if len(fresh) else 0
        self._model = model
        weights, points = model.weights(theta), np.array(model.points)
        if s.centring == "mean":
            weights = weights - weights.mean(axis=1, keepdims=True)
        elif s.centring == "theta":
            weights = np.concatenate([weights, -weights.sum(axis=1, keepdims=True)], axis=1)
            points, new = np.concatenate([points, theta[None]]), new + 1
        return Design(points, weights, model.trace(theta), new)


def suggest_clip(
    objective: Any,
    space: Mapping[str, Any] | Space,
    *,
    quantile: float = 0.5,
    places: int = 16,
    seed: int = 0,
    **options: Any,
) -> float:
    """A clipping norm from PUBLIC or simulated records: a quantile of their gradients' norms at scattered points.

    ``objective(params)`` returns one loss per public record. Never give it private records: the answer has no noise,
    and B must not depend on them. ``options`` are those of the method that shape gradients (design, radius, ...).

    >>> from tacit.space import Float
    >>> round(suggest_clip(lambda p: np.full(50, 3 * p["x"]), {"x": Float(0.0, 2.0)}), 1)    # slope 6, seen widely
    6.1
    """
    space = Space(space)
    settings = DescentSettings.of(options, (0.0, 1.0), space)
    designs, norms = Designs(settings, space, count("places", places)), []
    for t, theta in enumerate(np.random.default_rng(seed).random((places, space.dimensions))):
        design = designs.at(theta, t)
        losses = np.array([np.asarray(objective(p), float) for p in space.params(design.points)])
        result = np.linalg.norm(design.weights @ losses, axis=0)
        norms.append(result[np.isfinite(result)])
    chosen = float(np.quantile(np.concatenate(norms), probability("quantile", quantile)))
    return positive("clip", chosen)


def first_points(settings: DescentSettings, space: Space, seed: int) -> Array:
    """Where descents may begin (places, d): those given, or the middle of the cube; then scattered ones.

    As many as there are starts, or as there are places to scan, without repeats.
    """
    d, given = space.dimensions, settings.start
    listed = [] if given is None else [given] if isinstance(given, Mapping) else list(given)
    if len(listed) > settings.starts:
        raise BadInput(f"{len(listed)} starting points were given for starts={settings.starts}")
    first = space.cube(listed) if listed else np.full((1, d), 0.5)
    more = (settings.scan or settings.starts) - len(first)
    if not settings.scan:
        return np.concatenate([first, sobol_points(d, more, seed)]) if more else first
    pairs = min(DIAGONAL // 2, more // 4)  # on either side of the middle
    line = [k / (2 * pairs + 2) for k in range(1, 2 * pairs + 2) if k != pairs + 1]
    scattered = sobol_points(d, more - len(line), seed) if more > len(line) else first[:0]
    places = np.concatenate([first, *(np.full((1, d), u) for u in line), scattered])
    distinct = {repr(params): place for params, place in zip(space.params(places), places, strict=True)}
    return np.array(list(distinct.values())) if len(distinct) >= settings.starts else places


def clipping_of(made: Design, settings: DescentSettings, higher_is_better: bool) -> Clipped:
    """The per-record work of a step, as data: descend, or ascend where higher is better."""
    return Clipped(-made.weights if higher_is_better else made.weights, settings.clip)


def _pair(radius: Any) -> tuple[float, float]:
    try:
        first, last = radius
    except (TypeError, ValueError):
        raise BadInput(f"radius must be one number, or the first and the last radius, got {radius!r}") from None
    return first, last


def has_steps(distribution: Any) -> bool:
    """Whether only some numbers of the range can be had."""
    return bool(getattr(distribution, "step", None))


def _whole_step(distribution: Any) -> float:
    """The distance in the cube from one whole number to the next, or 0 for a real number."""
    if not has_steps(distribution):
        return 0.0
    step = distribution.step
    return 1.0 / float(round((distribution.high - distribution.low) / step) + 1)


def shares(settings: DescentSettings, trials: int) -> Sequence[int]:
    """Steps of each start; they add up to trials."""
    if trials < settings.starts:
        raise BadInput(f"{settings.starts} starts need at least as many steps, got trials={trials}")
    return [trials // settings.starts + (i < trials % settings.starts) for i in range(settings.starts)]


def path_share(settings: DescentSettings) -> float:
    """The share of mu that is left for the descents."""
    return math.sqrt(1 - float(settings.score_budget or 0.0) - float(settings.scan_budget or 0.0))
