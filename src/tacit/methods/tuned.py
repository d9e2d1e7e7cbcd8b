"""What a tuning run releases."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from tacit.methods.registry import METHODS
from tacit.privacy.release import plain

LATER = ("law",)


@dataclass(frozen=True)
class Tuned:
    """The chosen parameters, their score where there is one, and what else was released on the way.

    ``deviation`` is the standard deviation of the score as the method knows it; ``noise`` that of one noisy
    observation. ``trials`` are released observations: [{"params": ..., "value": ...}, ...]. ``details`` holds what a
    method adds, such as the bounds of its theorems. ``law`` is that of the score's noise, "gaussian" or "laplace",
    where the method has both.
    """

    __released__ = True

    params: dict[str, Any]
    score: float | None
    method: str
    direction: str
    deviation: float | None = None
    noise: float | None = None
    trials: list[dict[str, Any]] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    law: str = ""

    @property
    def half_width(self) -> float | None:
        """Of the score's 95% interval: by the method's noise, Laplace or Gaussian.

        >>> round(Tuned({}, 0.5, "kusner1", "minimize", deviation=1.0).half_width or 0, 3)
        2.118
        """
        if self.deviation is None:
            return None
        known = METHODS.get(self.method)
        laplace = self.law == "laplace" if self.law else known is not None and known.laplace
        return self.deviation * (math.log(20) / math.sqrt(2) if laplace else 1.96)

    def to_json(self) -> dict[str, Any]:
        """Fields that came after the first release are left out where they say nothing: its digests stay."""
        return {name: plain(value) for name, value in self.__dict__.items() if name not in LATER or value}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Tuned:
        return cls(**document)
