"""What a tuning run releases."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from tacit.data.metrics.reading import ANYTHING, Interval, Reading, clip_interval
from tacit.files import Json
from tacit.methods.intervals import reach_new_data
from tacit.methods.registry import METHODS
from tacit.privacy.release import plain
from tacit.space import Params

LATER = ("law", "sampling", "settings", "reading")
NOISE = "noise of privacy"


@dataclass(frozen=True)
class Tuned:
    """The chosen parameters, their score where there is one, and what else was released on the way.

    ``loss`` is the mean loss, within the bounds: what was minimised. ``score`` is the same in the metric that was asked
    for, by ``reading``. ``deviation`` is the standard deviation of the loss as the method knows it; ``noise`` that of
    one noisy observation. ``trials`` are released observations: [{"params": ..., "value": ...}, ...]. ``details`` holds
    what a method adds, such as the bounds of its theorems. ``law`` is that of the loss's noise, "gaussian" or
    "laplace", where the method has both. ``sampling`` bounds the standard deviation of the loss over data sets of so
    many records: for new data it counts besides the noise; so does that the best of ``settings`` was chosen on the same
    records. ``earlier`` marks a document of a release that called the loss its score: it keeps its digest.
    """

    __released__ = True

    params: Params
    loss: float | None
    method: str
    direction: str
    deviation: float | None = None
    noise: float | None = None
    trials: list[Json] = field(default_factory=list)
    details: Json = field(default_factory=dict)
    law: str = ""
    sampling: float | None = None
    settings: int = 0
    reading: Reading | None = None
    earlier: bool = field(default=False, repr=False)

    @property
    def metric(self) -> str:
        """What the score is: the name of a metric, or "score"."""
        return self.reading.name if self.reading is not None else "score"

    @property
    def score(self) -> float | None:
        """The metric that was asked for, in its own units; the loss where no metric was named.

        >>> Tuned({}, 0.25, "pool", "minimize", reading=Reading("accuracy", 1.0, -1.0, higher=True)).score
        0.75
        """
        return self.loss if self.loss is None or self.reading is None else self.reading.read(self.loss)

    @property
    def half_width(self) -> float | None:
        """Of the score's 95% interval, by the noise alone.

        >>> round(Tuned({}, 0.5, "kusner1", "minimize", deviation=1.0).half_width or 0, 3)
        2.118
        """
        return next((wide for _, wide in self.intervals()), None)

    @property
    def loss_half_width(self) -> float | None:
        """Of the loss's 95% interval: by the method's noise, Laplace or Gaussian."""
        if self.deviation is None:
            return None
        return self.deviation * (math.log(20) / math.sqrt(2) if self._laplace else 1.96)

    @property
    def _laplace(self) -> bool:
        known = METHODS.get(self.method)
        return self.law == "laplace" if self.law else known is not None and known.laplace

    def intervals(self) -> list[tuple[str, float]]:
        """What the score may be off by, at 95%, and what each is about; the last one is for new data.

        >>> released = Tuned({}, 0.5, "observed", "minimize", deviation=3.0, sampling=4.0)
        >>> [round(wide, 2) for _, wide in released.intervals()]
        [5.88, 7.84, 9.8]
        """
        if self.loss is None or self.loss_half_width is None or self.deviation is None:
            return []
        parts = [(NOISE, self.loss_half_width)]
        if self.sampling is not None:
            luck = f" and the luck of the best of {self.settings:,} settings" if self.settings > 1 else ""
            new = reach_new_data(self.deviation, self.sampling, max(1, self.settings), laplace=self._laplace)
            parts += [("sampling of the records, at most", 1.96 * self.sampling), (f"both{luck}, for new data", new)]
        if self.reading is None:
            return parts
        rates = " and class rates" if self.reading.spread else ""
        return [(what + rates * (what == NOISE), self.reading.reach(self.loss, wide)) for what, wide in parts]

    @property
    def possible(self) -> Interval:
        """The ends of what the score can be."""
        return ANYTHING if self.reading is None else self.reading.possible

    @property
    def interval(self) -> Interval | None:
        """Of the score for new data, at 95%, within what is possible; None where nothing is known of its error.

        >>> reading = Reading("accuracy", 1.0, -1.0, higher=True, unit=True)
        >>> Tuned({}, 0.1, "pool", "minimize", deviation=1.0, law="gaussian", reading=reading).interval
        (0.0, 1.0)
        """
        if self.score is None or not (parts := self.intervals()):
            return None
        return clip_interval(self.score, parts[-1][1], self.possible)

    @property
    def _against(self) -> str:
        """A word where the score is not better than what is reached without a model, as far as it is known."""
        assert self.reading is not None
        if self.score is None or self.reading.baseline is None:
            return ""
        better = (self.score - self.reading.baseline) * (1 if self.reading.higher else -1)
        wide = math.hypot(max([w for _, w in self.intervals()], default=0.0), self.reading.baseline_reach)
        return "" if better > wide else ". The model is not shown to be better"

    def __str__(self) -> str:
        """The parameters, the score and what it may be off by, in lines."""
        limit = self.details.get("constraint")
        width = max([len(self.metric), len("to beat"), *map(len, self.params), len(limit["name"]) if limit else 0])
        lines = ["Released", *(f"  {name:{width}}  {_few_digits(v)}" for name, v in self.params.items())]
        if self.score is not None:
            lines.append(f"  {self.metric:{width}}  {self.score:.4g}")
            lines += [f"  {'':{width}}  ± {wide:.2g} (95%): {what}" for what, wide in self.intervals()]
            if self.reading is not None and self.reading.baseline is not None:
                off = f" ± {self.reading.baseline_reach:.2g}" if self.reading.baseline_reach else ""
                constant = f"{self.reading.baseline:.4g}{off}: {self.reading.baseline_of}"
                lines.append(f"  {'to beat':{width}}  {constant}{self._against}")
            if self.reading is not None and self.reading.about:
                lines.append(f"  {self.metric}: {self.reading.about}")
        if limit:
            wide, beyond = 1.96 * limit["deviation"], limit["value"] - limit["bound"]
            beyond *= 1 if limit["relation"] == ">=" else -1
            verdict = "kept" if beyond >= wide else "not kept" if beyond <= -wide else "not shown to be kept"
            lines.append(f"  {limit['name']:{width}}  {limit['value']:.4g}")
            lines.append(
                f"  {'':{width}}  ± {wide:.2g} (95%): {NOISE}; {limit['relation']} {limit['bound']:g} is {verdict}"
            )
        if self.noise is not None:
            many = f"{len(self.trials)} observation{'' if len(self.trials) == 1 else 's'}"
            lines.append(f"  noise of one observation: standard deviation {self.noise:.2g}, {many}")
        return "\n".join(lines)

    def to_json(self) -> Json:
        """Fields that came after the first release are left out where they say nothing: its digests stay."""
        document = {name: plain(value) for name, value in self.__dict__.items() if name not in LATER or value}
        loss = document.pop("loss")
        document.pop("earlier", None)
        if self.earlier or self.reading is None:
            return {**document, "score": loss}
        return {**document, "score": self.score, "loss": loss}

    @classmethod
    def from_json(cls, document: Json) -> Tuned:
        given = dict(document)
        score, reading = given.pop("score"), given.pop("reading", None)
        earlier = bool(reading) and "loss" not in given
        given = {"loss": score, **given, "reading": Reading(**reading) if isinstance(reading, dict) else reading}
        return cls(**given, earlier=earlier)


def _few_digits(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
