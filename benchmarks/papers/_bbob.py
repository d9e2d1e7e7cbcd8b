"""BBOB functions (Hansen et al. 2009, by ``ioh``) as losses of records: surfaces that nobody here chose.

    f       the function, f* its least value, on [-5, 5]^d      q       95% quantile of f - f* over random points

"raw" is the loss min(1, (f - f*) / q), "log" is log(1 + 1000 raw) / log(1001). Regret is the mean loss as a share of
that of a random point: 0 at the optimum, 1 at a typical point. Records differ: each adds a slope of its own, up to 0.15
in all, and the slopes cancel over the records, so that the mean loss is 0.15 + 0.7 g exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks import Missing
from tacit.space import Float, Space

CHOOSING = (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23)
CONFIRMING = (2, 6, 8, 10, 14, 18, 20, 22)
SCALES = ("raw", "log")
STEEP, FLOOR = 1000.0, 0.15


@dataclass(frozen=True)
class Surface:
    """One function in d dimensions, raw or log-scaled; ``instance`` moves its optimum."""

    function: int
    d: int
    scale: str
    instance: int = 1

    @cached_property
    def _problem(self) -> Any:
        try:
            import ioh
        except ImportError:
            raise Missing("BBOB functions need ioh: pip install 'tacit[bench]'") from None
        return ioh.get_problem(self.function, self.instance, self.d, ioh.ProblemClass.BBOB)

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """q, and the mean loss of a random point."""
        rng = np.random.default_rng((self.function, self.d, self.instance, 77))
        raw = np.array([self._above(u) for u in rng.random((500, self.d))])
        q = float(np.quantile(raw, 0.95))
        return q, float(self._scaled(raw / q).mean())

    def _above(self, u: np.ndarray) -> float:
        return max(0.0, float(self._problem((10 * u - 5).tolist())) - float(self._problem.optimum.y))

    def _scaled(self, raw: Any) -> Any:
        raw = np.minimum(1.0, raw)
        return raw if self.scale == "raw" else np.log1p(STEEP * raw) / math.log1p(STEEP)

    @property
    def typical(self) -> float:
        """The mean loss of a random point."""
        return self._sizes[1]

    def loss(self, u: np.ndarray) -> float:
        """In [0, 1], at a point (d,) of the unit cube."""
        return float(self._scaled(self._above(u) / self._sizes[0]))

    def regret(self, u: np.ndarray) -> float:
        return self.loss(u) / self._sizes[1]

    @property
    def space(self) -> Space:
        return Space({f"x{j}": Float(0.0, 1.0) for j in range(self.d)})

    def slopes(self, records: int) -> np.ndarray:
        """(records, d): they cancel, and none moves a loss by more than ``FLOOR`` anywhere in the cube."""
        rng = np.random.default_rng((self.function, self.d, self.instance, 78))
        b = rng.normal(size=(records // 2, self.d))
        b *= 2 * FLOOR / np.abs(b).sum(axis=1, keepdims=True)
        return np.concatenate([b, -b, np.zeros((records % 2, self.d))])

    def losses(self, records: int) -> Any:
        """The objective of ``tacit.tune``: one loss for each record."""
        slopes = self.slopes(records)

        def at(params: dict[str, Any]) -> np.ndarray:
            u = self.point(params)
            return FLOOR + (1 - 2 * FLOOR) * self.loss(u) + slopes @ (u - 0.5)

        return at

    def point(self, params: dict[str, Any]) -> np.ndarray:
        return np.array([params[f"x{j}"] for j in range(self.d)])
