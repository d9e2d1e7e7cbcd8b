"""A source of no noise for what is counted with noise: it shows what was counted, and by which scales."""

from __future__ import annotations

import numpy as np


class Spy:
    """Records what is counted and by which scales, and adds nothing; or gives the answers of another one."""

    simulated = True

    def __init__(self, answers: list[np.ndarray] | None = None) -> None:
        self.seen: list[np.ndarray] = []
        self.scales: list[float] = []
        self.answers = answers

    def gaussian_whole_array(self, values: np.ndarray, scale: float) -> np.ndarray:
        number = len(self.seen)
        self.seen.append(np.array(values, float))
        self.scales.append(scale)
        return values if self.answers is None else self.answers[number]
