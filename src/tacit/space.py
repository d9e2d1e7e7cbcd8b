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

    def params(self, cube: ArrayLike) -> list[Params]:
        """Points of the cube, shape (n, dimensions), as parameters."""
        points = np.atleast_2d(np.asarray(cube, float))
        if points.shape[1] != self.dimensions:
            raise BadInput(f"points must have shape (n, {self.dimensions}), got {points.shape}")
        columns = [_decode(d, u) for d, u in zip(self.distributions.values(), points.T, strict=True)]
        names = self.names
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def cube(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """Parameters as points of the cube, shape (n, dimensions)."""
        columns = [_encode(d, self._column(name, params)) for name, d in self.distributions.items()]
        return np.stack(columns, axis=1)

    def features(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """Parameters as a Gaussian process sees them, shape (n, number of features)."""
        columns: list[Array] = []
        for name, d in self.distributions.items():
            values = self._column(name, params)
            options = getattr(d, "choices", None)
            if options is None:
                columns.append(_encode(d, values))
            else:
                columns += [np.array([_same(v, o) for v in values], float) / math.sqrt(2) for o in options]
        return np.stack(columns, axis=1)

    def features_at(self, cube: Array) -> Array:
        """``features(params(cube))`` for points (n, dimensions) of the cube, but for rounding, and quicker."""
        columns: list[Array] = []
        for d, u in zip(self.distributions.values(), cube.T, strict=True):
            options = getattr(d, "choices", None)
            if options is None and d.step is None and d.low < d.high:  # type: ignore[attr-defined]
                columns.append(u)  # there and back again, but for rounding
            elif options is None:
                columns.append(_encode(d, _at(d, u)))
            else:
                same = np.array([[_same(v, o) for o in options] for v in options], float) / math.sqrt(2)
                columns += list(same[_at(d, u)].T)
        return np.stack(columns, axis=1)

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

    def _column(self, name: str, params: Sequence[Mapping[str, Any]]) -> list[Any]:
        try:
            return [p[name] for p in params]
        except (KeyError, TypeError):
            raise BadInput(f"every candidate needs a value for {name!r}") from None

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


def _decode(d: BaseDistribution, u: Array) -> list[Any]:
    """Values at coordinates u in [0, 1], of their own types."""
    options, at = getattr(d, "choices", None), _at(d, u)
    if options is not None:
        return [options[i] for i in at]
    return [round(x) for x in at] if isinstance(d.low, int) else [float(x) for x in at]  # type: ignore[attr-defined]


def _at(d: BaseDistribution, u: Array) -> Any:
    """Numbers at coordinates u in [0, 1], or places in the list of options; each option has an equal stretch."""
    options = getattr(d, "choices", None)
    if options is not None:
        return np.minimum((u * len(options)).astype(int), len(options) - 1)
    low, high, log, step = d.low, d.high, d.log, d.step  # type: ignore[attr-defined]
    half = step / 2 if step else 0.0
    a, b = low - half, high + half
    raw = np.exp(np.log(a) + u * (np.log(b) - np.log(a))) if log else a + u * (b - a)
    if step:
        raw = low + step * np.clip(np.rint((raw - low) / step), 0, round((high - low) / step))
    return np.clip(raw, low, high)


def _encode(d: BaseDistribution, values: list[Any] | Array) -> Array:
    options = getattr(d, "choices", None)
    if options is not None:
        return np.array([(_position(options, v) + 0.5) / len(options) for v in values])
    low, high, log, step = d.low, d.high, d.log, d.step  # type: ignore[attr-defined]
    half = step / 2 if step else 0.0
    a, b = low - half, high + half
    try:
        x = np.asarray(values, float)
    except (TypeError, ValueError):
        raise BadInput(f"a value between {low:g} and {high:g} must be a number") from None
    if not ((x >= low) & (x <= high)).all():
        raise BadInput(f"a value lies outside [{low:g}, {high:g}]")
    if isinstance(low, int) and not (x == np.rint(x)).all():
        raise BadInput(f"a value between {low} and {high} must be a whole number")
    if a == b:
        return np.full(len(x), 0.5)
    return np.asarray(np.log(x / a) / np.log(b / a) if log else (x - a) / (b - a), float)


def _axis(d: BaseDistribution, per_axis: int) -> list[Any]:
    options = getattr(d, "choices", None)
    if options is not None:
        return list(options)
    low, high = d.low, d.high  # type: ignore[attr-defined]
    ends = [low, high] if per_axis > 1 else []
    inner = _decode(d, np.linspace(0, 1, per_axis)[1:-1] if per_axis > 1 else np.array([0.5]))
    return [v["x"] for v in _distinct([{"x": v} for v in [*ends[:1], *inner, *ends[1:]]])]


def _position(options: Sequence[Any], value: Any) -> int:
    for i, option in enumerate(options):
        if _same(value, option):
            return i
    raise BadInput(f"{value!r} is not one of the options {list(options)!r}")


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _distinct(params: list[Params]) -> list[Params]:
    return list({tuple(map(repr, p.values())): p for p in params}.values())
