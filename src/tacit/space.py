"""Search spaces on Optuna's distributions, seen three ways.

params     {"rate": 0.1, "depth": 3, "loss": "hinge"}    what an objective takes
cube       one coordinate in [0, 1] per parameter        where points are generated
features   what a Gaussian process sees: numbers as in the cube, a choice as one coordinate per option, any two
           options at distance 1
"""

from __future__ import annotations

import itertools
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput, count, interval, positive, type_and_shape

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

Array = NDArray[np.float64]
Params = dict[str, Any]
MOST_CANDIDATES = 1_000_000
SCIPY = ("uniform", "loguniform", "randint", "reciprocal")


def Float(low: float, high: float, *, log: bool = False, step: float | None = None) -> FloatDistribution:  # noqa: N802
    """A real number in [low, high], searched on a log scale with ``log=True``; with ``step`` on a lattice from low."""
    from optuna.distributions import FloatDistribution

    low, high = interval("Float", (low, high))
    if log and low <= 0:
        raise BadInput(f"a log scale needs low > 0, got low={low:g}")
    if step is None:
        return FloatDistribution(low, high, log=log)
    step = positive("step", step)
    _refuse_log_steps(log)
    return FloatDistribution(low, low + step * math.floor((high - low) / step * (1 + 1e-12)), step=step)


def Int(low: int, high: int, *, log: bool = False, step: int = 1) -> IntDistribution:  # noqa: N802
    """A whole number in [low, high]; with ``step`` one of low, low + step, ... up to the last that is not above high.

    >>> Int(10, 100, step=40).high
    90
    """
    from optuna.distributions import IntDistribution

    low, high = count("low", low, least=-(2**62)), count("high", high, least=-(2**62))
    if low > high or (log and low <= 0):
        raise BadInput(f"Int needs low <= high{' and low > 0 on a log scale' * log}, got low={low}, high={high}")
    step = count("step", step)
    if step > 1:
        _refuse_log_steps(log)
    return IntDistribution(low, high - (high - low) % step, log=log, step=step)


def _refuse_log_steps(log: bool) -> None:
    if log:
        raise BadInput("a log scale has no steps: leave out log or step, or list the values with tacit.Choice([...])")


def Choice(options: Sequence[Any]) -> CategoricalDistribution:  # noqa: N802
    """One of several options, without an order."""
    from optuna.distributions import CategoricalDistribution

    if isinstance(options, str) or len(options) == 0:
        raise BadInput(f"Choice needs a list of at least one option, got {options!r}")
    return CategoricalDistribution(tuple(options))


class Space:
    """Named parameters and their distributions.

    A list is a choice among its members, a ``range`` whole numbers in steps; ``scipy.stats.uniform``, ``loguniform``
    and ``randint`` are taken by their bounds, as scikit-learn's searches take them.

    >>> space = Space({"rate": Float(1e-3, 1.0, log=True), "depth": Int(1, 8)})
    >>> space.params([[0.5, 0.0]])
    [{'rate': 0.0316..., 'depth': 1}]
    """

    def __init__(self, parameters: Mapping[str, Any] | Space) -> None:
        from optuna.distributions import BaseDistribution

        given = parameters.distributions if isinstance(parameters, Space) else parameters
        if isinstance(given, (list, tuple)) and given and all(isinstance(part, Mapping) for part in given):
            raise BadInput(
                "a list of spaces is not searched; where parameters depend on others give a function of a trial: "
                "def space(trial): ... trial.suggest_float(...)"
            )
        if not isinstance(given, Mapping) or not given:
            raise BadInput("a space needs at least one parameter: {'rate': tacit.Float(1e-3, 1.0, log=True), ...}")
        self.distributions: dict[str, BaseDistribution] = {}
        for name, said in given.items():
            distribution = said if isinstance(said, BaseDistribution) else _translate(str(name), said)
            self.distributions[str(name)] = distribution

    def describe(self) -> str:
        """What is searched, to be kept with a study."""
        return repr(self.distributions)

    @property
    def names(self) -> list[str]:
        return list(self.distributions)

    @property
    def dimensions(self) -> int:
        """Number of parameters."""
        return len(self.distributions)

    @cached_property
    def _numbers(self) -> _Numbers:
        return _Numbers({name: d for name, d in self.distributions.items() if not hasattr(d, "choices")})

    @cached_property
    def _choices(self) -> dict[str, tuple[int, tuple[Any, ...]]]:
        """The place of each choice among the parameters, and its options."""
        listed = enumerate(self.distributions.items())
        return {name: (k, d.choices) for k, (name, d) in listed if hasattr(d, "choices")}

    def params(self, cube: ArrayLike) -> list[Params]:
        """Points of the cube, shape (n, dimensions), as parameters."""
        columns = self._numbers.decode(self._numbers_of(points := self._points(cube)))
        for name, (k, options) in self._choices.items():
            columns[name] = [options[i] for i in _stretch(points[:, k], options)]
        rows = zip(*(columns[name] for name in self.names), strict=True)
        return [dict(zip(self.distributions, row, strict=True)) for row in rows]

    def cube(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """Parameters as points of the cube, shape (n, dimensions)."""
        columns = dict(zip(self._numbers.names, self._numbers.encode(params).T, strict=True))
        for name, (_, options) in self._choices.items():
            columns[name] = np.array([(_position(options, v) + 0.5) / len(options) for v in _column(name, params)])
        return np.stack([columns[name] for name in self.distributions], axis=1)

    def features(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """Parameters as a Gaussian process sees them, shape (n, number of features)."""
        blocks = {
            name: np.array([[_same(v, o) for o in options] for v in _column(name, params)], float).reshape(
                len(params), len(options)
            )
            for name, (_, options) in self._choices.items()
        }
        return self._join(self._numbers.encode(params), blocks)

    def features_at(self, cube: Array) -> Array:
        """``features(params(cube))`` for points (n, dimensions) of the cube, but for rounding, and quicker."""
        cube = self._points(cube)
        blocks = {
            name: np.array([[_same(v, o) for o in options] for v in options], float)[_stretch(cube[:, k], options)]
            for name, (k, options) in self._choices.items()
        }
        return self._join(self._numbers.round(self._numbers_of(cube)), blocks)

    def _points(self, cube: ArrayLike) -> Array:
        points = np.atleast_2d(np.asarray(cube, float))
        if points.shape[1] != self.dimensions:
            raise BadInput(f"points must have shape (n, {self.dimensions}), got {points.shape}")
        return points

    def _numbers_of(self, cube: Array) -> Array:
        """The coordinates of numbers, (n, numbers)."""
        if not self._choices:
            return cube
        taken = {k for k, _ in self._choices.values()}
        return cube[:, [k for k in range(self.dimensions) if k not in taken]]

    def _join(self, numbers: Array, blocks: dict[str, Array]) -> Array:
        """Features of numbers (n, numbers), and of choices (n, options) each, in the order of the parameters."""
        if not blocks:
            return numbers
        columns = dict(zip(self._numbers.names, numbers.T[:, :, None], strict=True))
        parts = [columns[name] if name in columns else blocks[name] / math.sqrt(2) for name in self.distributions]
        return np.concatenate(parts, axis=1)

    def sobol(self, n: int, seed: int = 0) -> list[Params]:
        """n scattered candidates from a scrambled Sobol sequence, without repeats."""
        from scipy.stats import qmc

        n = count("candidates", n)
        sampler = qmc.Sobol(self.dimensions, seed=seed)
        points = sampler.random_base2(max(1, math.ceil(math.log2(n))))
        return _distinct(self.params(points))[:n]

    def grid(self, per_axis: int) -> list[Params]:
        """All combinations of ``per_axis`` values of each number and every option of each choice."""
        axes = self._axes(per_axis)
        size = math.prod(len(a) for a in axes)
        if size > MOST_CANDIDATES:
            raise BadInput(
                f"this grid has {size} candidates, at most {MOST_CANDIDATES} are allowed; use fewer per axis"
            )
        return [dict(zip(self.names, row, strict=True)) for row in itertools.product(*axes)]

    def grid_size(self, per_axis: int) -> int:
        """How many candidates ``grid`` would make."""
        return math.prod(len(a) for a in self._axes(per_axis))

    def grid_within(self, most: int) -> list[Params]:
        """The largest grid of at most ``most`` points."""
        best = self.grid(1)
        if len(best) > most:
            raise BadInput(f"the smallest grid of this space has {len(best)} points; give trials >= {len(best)}")
        for per_axis in range(2, most + 1):  # whole numbers may add none at one step and some at the next
            if self.grid_size(per_axis) > most:
                break
            best = max(best, self.grid(per_axis), key=len)
        return best

    def _axes(self, per_axis: int) -> list[list[Any]]:
        return [_axis(d, count("per_axis", per_axis)) for d in self.distributions.values()]

    @classmethod
    def read(cls, path: str | Path) -> Space:
        """A space from a TOML or JSON file: ``rate = {low = 1e-3, high = 1.0, log = true}``, ``loss = ["a", "b"]``.

        A number with ``type = "int"``, or whole low and high without a type, is a whole number. ``FILE#tune.space``
        is the table [tune.space] of a larger file.
        """
        path, _, table = (str(path), "", "") if Path(path).exists() else str(path).partition("#")
        path = Path(path)
        try:
            document = json.loads(path.read_text()) if path.suffix == ".json" else tomllib.loads(path.read_text())
        except OSError as error:
            raise BadInput(f"the space file {path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise BadInput(
                f"the space file {path} is not {'JSON' if path.suffix == '.json' else 'TOML'}: {error}"
            ) from None
        for name in table.split(".") if table else []:
            document = document.get(name) if isinstance(document, dict) else None
        if not isinstance(document, dict):
            raise BadInput(f"the space file {path} has no table [{table}] of parameters")
        return cls({name: _parse_dimension(name, entry) for name, entry in document.items()})


def _translate(name: str, said: Any) -> BaseDistribution:
    """What scikit-learn's users write: lists, ranges and bounded distributions of SciPy."""
    if isinstance(said, range) and len(said):
        ends = sorted((said[0], said[-1]))
        return Int(ends[0], ends[1], step=abs(said.step))
    if isinstance(said, np.ndarray) and said.ndim == 1:
        said = said.tolist()
    if isinstance(said, (list, tuple)):
        return Choice([v.item() if isinstance(v, np.generic) else v for v in said])
    kind = getattr(getattr(said, "dist", None), "name", "")
    if kind in SCIPY:
        low, high = (float(end) for end in said.support())
        return Int(round(low), round(high)) if kind == "randint" else Float(low, high, log=kind != "uniform")
    what = f"scipy.stats.{kind}, whose law has no bounds that a search could keep to" if kind else type_and_shape(said)
    raise BadInput(
        f"parameter {name!r} must be tacit.Float, tacit.Int, tacit.Choice, a list of options, a range, an Optuna "
        f"distribution or scipy.stats.{', '.join(SCIPY[:3])}, got {what}"
    )


def _parse_dimension(name: str, entry: Any) -> Any:
    if isinstance(entry, list):
        return Choice(entry)
    rule = f"parameter {name!r} must be a list of options or have low and high (and log, step, type), got {entry!r}"
    if not isinstance(entry, dict) or not {"low", "high"} <= set(entry) <= {"low", "high", "log", "step", "type"}:
        raise BadInput(rule)
    low, high, log = entry["low"], entry["high"], bool(entry.get("log", False))
    whole = isinstance(low, int) and isinstance(high, int)
    kind = entry.get("type", "int" if whole else "float")
    if kind not in ("int", "float"):
        raise BadInput(rule)
    step = {"step": entry["step"]} if "step" in entry else {}
    if low == high and kind == "float":
        raise BadInput(f"parameter {name!r} must have low < high, got {low!r} and {high!r}; one value is [{low!r}]")
    try:
        return Int(low, high, log=log, **step) if kind == "int" else Float(low, high, log=log, **step)
    except BadInput as broken:
        raise BadInput(f"parameter {name!r}: {broken}") from None


class _Numbers:
    """Numbers of a space, all at once: their values on the one side, coordinates in [0, 1] on the other."""

    def __init__(self, distributions: Mapping[str, Any]) -> None:
        self.names, given = list(distributions), list(distributions.values())
        self.low, self.high = (np.array([getattr(d, end) for d in given], float) for end in ("low", "high"))
        self.step = np.array([d.step or 0.0 for d in given], float)
        self.log = np.array([d.log for d in given], bool)
        self.whole = np.array([isinstance(d.low, int) for d in given], bool)
        # Where coordinates begin and end: each value of a lattice has an equal stretch.
        self.start, self.end = self.low - self.step / 2, self.high + self.step / 2
        self._fixed = self.start == self.end
        self._logs = np.log(np.where(self.log, self.start, 1.0)), np.log(np.where(self.log, self.end, 1.0))
        self._places = np.rint((self.high - self.low) / np.where(self.step > 0, self.step, 1.0))
        self._is_plain = not (self.log.any() or self.step.any() or self.whole.any() or self._fixed.any())

    def at(self, u: Array) -> Array:
        """Values at coordinates u (n, numbers)."""
        raw = self.start + u * (self.end - self.start)
        if not self._is_plain:
            first, last = self._logs
            raw = np.where(self.log, np.exp(first + u * (last - first)), raw)
            step = np.where(self.step > 0, self.step, 1.0)
            on_lattice = self.low + step * np.minimum(np.maximum(np.rint((raw - self.low) / step), 0), self._places)
            raw = np.where(self.step > 0, on_lattice, raw)
        return np.asarray(np.minimum(np.maximum(raw, self.low), self.high))

    def decode(self, u: Array) -> dict[str, list[Any]]:
        """For each parameter its values at coordinates u (n, numbers), of their own types."""
        columns = self.at(u).T.tolist()
        return {
            name: [round(x) for x in column] if whole else column
            for name, whole, column in zip(self.names, self.whole, columns, strict=True)
        }

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """The coordinates of these parameters, (n, numbers); each must be a value that its parameter can have."""
        names = self.names
        try:
            x = np.array([[p[name] for name in names] for p in params], float).reshape(len(params), len(names))
        except (KeyError, TypeError, ValueError, OverflowError):
            for name in names:
                _column(name, params)
            raise self._refusal("{0} must be a number", [not _are_numbers(_column(n, params)) for n in names]) from None
        inside = (x >= self.low) & (x <= self.high)
        if not inside.all():
            k = int(np.argmin(inside.all(axis=0)))
            raise BadInput(f"a value lies outside [{self.low[k]:g}, {self.high[k]:g}]")
        broken = self.whole & (x != np.rint(x)).any(axis=0)
        if broken.any():
            raise self._refusal("{0} must be a whole number", broken)
        return self._place(x)

    def round(self, u: Array) -> Array:
        """Coordinates of the values at coordinates u: others than u on a lattice alone."""
        if not (self.step.any() or self._fixed.any()):
            return u
        return np.where((self.step > 0) | self._fixed, self._place(self.at(u)), u)

    def _place(self, x: Array) -> Array:
        if self._is_plain:
            return np.asarray((x - self.start) / (self.end - self.start))
        width = np.where(self._fixed, 1.0, self.end - self.start)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # of those that are not on a log scale
            logs = np.log(x / self.start) / np.log(self.end / self.start)
        placed = np.where(self.log, logs, (x - self.start) / width)
        return np.asarray(np.where(self._fixed, 0.5, placed))

    def _refusal(self, rule: str, broken: Sequence[bool] | NDArray[np.bool_]) -> BadInput:
        k = int(np.argmax(broken))
        form = ".0f" if self.whole[k] else "g"
        return BadInput(rule.format(f"a value between {self.low[k]:{form}} and {self.high[k]:{form}}"))


def _are_numbers(values: list[Any]) -> bool:
    try:
        return np.asarray(values, float).ndim == 1
    except (TypeError, ValueError, OverflowError):
        return False


def _column(name: str, params: Sequence[Mapping[str, Any]]) -> list[Any]:
    try:
        return [p[name] for p in params]
    except (KeyError, TypeError):
        raise BadInput(f"every candidate needs a value for {name!r}") from None


def _stretch(u: Array, options: Sequence[Any]) -> NDArray[np.intp]:
    """Places in the list of options at coordinates u (n,); each option has an equal stretch."""
    return np.minimum((u * len(options)).astype(np.intp), len(options) - 1)


def _axis(d: BaseDistribution, per_axis: int) -> list[Any]:
    options = getattr(d, "choices", None)
    if options is not None:
        return list(options)
    low, high = d.low, d.high  # type: ignore[attr-defined]
    ends = [low, high] if per_axis > 1 else []
    inner = _Numbers({"x": d}).decode((np.linspace(0, 1, per_axis)[1:-1] if per_axis > 1 else np.array([0.5]))[:, None])
    return [v["x"] for v in _distinct([{"x": v} for v in [*ends[:1], *inner["x"], *ends[1:]]])]


def _position(options: Sequence[Any], value: Any) -> int:
    for i, option in enumerate(options):
        if _same(value, option):
            return i
    raise BadInput(f"{value!r} is not one of the options {list(options)!r}")


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _distinct(params: list[Params]) -> list[Params]:
    return list({tuple(map(repr, p.values())): p for p in params}.values())
