"""What a tuning run releases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tacit.privacy.release import plain


@dataclass(frozen=True)
class Tuned:
    """The chosen parameters, their score where there is one, and what else was released on the way.

    ``deviation`` is the standard deviation of the score as the method knows it; ``noise`` that of one noisy
    observation. ``trials`` are released observations: [{"params": ..., "value": ...}, ...]. ``details`` holds what a
    method adds, such as the bounds of its theorems.
    """

    params: dict[str, Any]
    score: float | None
    method: str
    direction: str
    deviation: float | None = None
    noise: float | None = None
    trials: list[dict[str, Any]] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in self.__dict__.items()}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Tuned:
        return cls(**document)
