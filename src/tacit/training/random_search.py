"""How the paper's random search draws hyperparameters of DP-SGD: Avent2020 Tables 3 and 4."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.errors import choice


@dataclass(frozen=True)
class Truncated:
    """Draws again until the value lies in [low, high]; whole values are rounded first.

    ``kind`` is uniform on the range, normal(mean, spread), or exponential: shift + Exp with ``rate``.

    >>> Truncated("uniform", 1, 64, whole=True)(np.random.default_rng(0))
    55
    """

    kind: str
    low: float
    high: float
    first: float = 0.0  # mean or shift
    second: float = 1.0  # spread or rate
    whole: bool = False

    def __post_init__(self) -> None:
        choice("kind", self.kind, ("uniform", "normal", "exponential"))

    def __call__(self, rng: np.random.Generator) -> float:
        while True:
            value = self._draw(rng)
            if self.low <= value <= self.high:
                return round(value) if self.whole else value

    def within(self, most: float) -> Truncated:
        """The same, accepting nothing above ``most``; all of it, if that is below the range."""
        return replace(self, low=min(self.low, most), high=min(self.high, most))

    def _draw(self, rng: np.random.Generator) -> float:
        if self.kind == "uniform":
            return float(
                rng.integers(int(self.low), int(self.high) + 1) if self.whole else rng.uniform(self.low, self.high)
            )
        if self.kind == "normal":
            value = float(rng.normal(self.first, self.second))
        else:
            value = self.first + float(rng.exponential(1 / self.second))
        return float(np.rint(value)) if self.whole else value


RANDOM: dict[str, dict[str, Truncated]] = {
    "adult": {
        "epochs": Truncated("uniform", 1, 64, whole=True),
        "lot": Truncated("normal", 8, 512, 128, 64, whole=True),
        "rate": Truncated("exponential", 1e-3, 1e-1, 1e-3, 10),
        "variance": Truncated("exponential", 0.1, 16.0, 0.1, 0.1),
        "clip": Truncated("exponential", 0.1, 4.0, 0.1, 0.1),
    },
    "mnist": {
        "epochs": Truncated("uniform", 1, 400, whole=True),
        "lot": Truncated("normal", 16, 4000, 800, 800, whole=True),
        "rate": Truncated("exponential", 1e-3, 5e-1, 1e-3, 10),
        "variance": Truncated("exponential", 0.1, 16.0, 0.1, 0.5),
        "clip": Truncated("exponential", 0.1, 12.0, 0.1, 0.5),
    },
}
