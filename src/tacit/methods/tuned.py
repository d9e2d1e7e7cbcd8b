"""What a tuning run releases."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from tacit.methods.intervals import reach_new_data
from tacit.methods.registry import METHODS
from tacit.metrics.reading import Reading
from tacit.privacy.release import plain

LATER = ("law", "sampling", "settings", "reading")
NOISE = "noise of privacy"


@dataclass(frozen=True)
class Tuned:
    """The chosen parameters, their score where there is one, and what else was released on the way.

    ``deviation`` is the standard deviation of the score as the method knows it; ``noise`` that of one noisy
    observation. ``trials`` are released observations: [{"params": ..., "value": ...}, ...]. ``details`` holds what a
    method adds, such as the bounds of its theorems. ``law`` is that of the score's noise, "gaussian" or "laplace",
    where the method has both. ``sampling`` bounds the standard deviation of the score over data sets of so many
    records: for new data it counts besides the noise; so does that the best of ``settings`` was chosen on the same
    records. ``reading`` says how the score, a mean loss, is read as the
    metric that was asked for: ``metric_score`` is that.
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
    sampling: float | None = None
    settings: int = 0
    reading: Reading | None = None

    @property
    def metric(self) -> str:
        """What the score is read as: the name of a metric, or "score"."""
        return self.reading.name if self.reading is not None else "score"

    @property
    def metric_score(self) -> float | None:
        """The score in the metric that was asked for.

        >>> Tuned({}, 0.25, "pool", "minimize", reading=Reading("accuracy", 1.0, -1.0, higher=True)).metric_score
        0.75
        """
        return self.score if self.score is None or self.reading is None else self.reading.read(self.score)

    @property
    def half_width(self) -> float | None:
        """Of the score's 95% interval: by the method's noise, Laplace or Gaussian.

        >>> round(Tuned({}, 0.5, "kusner1", "minimize", deviation=1.0).half_width or 0, 3)
        2.118
        """
        if self.deviation is None:
            return None
        return self.deviation * (math.log(20) / math.sqrt(2) if self._laplace else 1.96)

    @property
    def _laplace(self) -> bool:
        known = METHODS.get(self.method)
        return self.law == "laplace" if self.law else known is not None and known.laplace

    @property
    def new_data_half_width(self) -> float | None:
        """Of the 95% interval for the mean loss on new data: noise, sampling error and the luck of the choice.

        >>> round(Tuned({}, 0.5, "observed", "minimize", deviation=3.0, sampling=4.0).new_data_half_width or 0, 2)
        9.8
        """
        if self.deviation is None or self.sampling is None:
            return None
        return reach_new_data(self.deviation, self.sampling, max(1, self.settings), laplace=self._laplace)

    def metric_intervals(self) -> list[tuple[str, float]]:
        """What ``metric_score`` may be off by, at 95%, and what each is about."""
        if self.reading is None or self.score is None:
            return self.intervals()
        rates = " and class rates" if self.reading.spread else ""
        return [
            (f"{what}{rates}" if what == NOISE else what, self.reading.reach(self.score, wide))
            for what, wide in self.intervals()
        ]

    def intervals(self) -> list[tuple[str, float]]:
        """What the score may be off by, at 95%, and what each is about."""
        if self.half_width is None:
            return []
        if self.sampling is None or self.new_data_half_width is None:
            return [(NOISE, self.half_width)]
        luck = f" and the luck of the best of {self.settings:,} settings" if self.settings > 1 else ""
        return [
            (NOISE, self.half_width),
            ("sampling of the records, at most", 1.96 * self.sampling),
            (f"both{luck}, for new data", self.new_data_half_width),
        ]

    @property
    def _against(self) -> str:
        """A word where the score is not better than what is reached without a model, as far as it is known."""
        assert self.reading is not None
        if self.metric_score is None or self.reading.baseline is None:
            return ""
        better = (self.metric_score - self.reading.baseline) * (1 if self.reading.higher else -1)
        wide = max([w for _, w in self.metric_intervals()], default=0.0)
        return "" if better > wide else ". The model is not shown to be better"

    def __str__(self) -> str:
        """The parameters, the score and what it may be off by, in lines."""
        width = max([len(self.metric), len("to beat"), *map(len, self.params)])
        lines = ["Released", *(f"  {name:{width}}  {_few_digits(v)}" for name, v in self.params.items())]
        if self.score is not None:
            lines.append(f"  {self.metric:{width}}  {self.metric_score:.4g}")
            lines += [f"  {'':{width}}  ± {wide:.2g} (95%): {what}" for what, wide in self.metric_intervals()]
            if self.reading is not None and self.reading.baseline is not None:
                lines.append(
                    f"  {'to beat':{width}}  {self.reading.baseline:.4g}: {self.reading.baseline_of}{self._against}"
                )
            if self.reading is not None and self.reading.about:
                lines.append(f"  {self.metric}: {self.reading.about}")
        if self.noise is not None:
            many = f"{len(self.trials)} observation{'' if len(self.trials) == 1 else 's'}"
            lines.append(f"  noise of one observation: standard deviation {self.noise:.2g}, {many}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Fields that came after the first release are left out where they say nothing: its digests stay."""
        return {name: plain(value) for name, value in self.__dict__.items() if name not in LATER or value}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Tuned:
        said = document.get("reading")
        return cls(**{**document, "reading": Reading(**said) if isinstance(said, dict) else said})


def _few_digits(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
