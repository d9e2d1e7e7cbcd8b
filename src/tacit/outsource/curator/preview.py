"""What publishing would do, before it is done: the noise in the units of the columns, the epsilon of it all.

Only public inputs go in. No row is looked at, nothing is drawn and nothing is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy.typing as npt

from tacit.errors import BadInput, ExcessiveNoise
from tacit.outsource.curator.payments import answer_mechanism, whole
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.outsource.curator.transform import NoisyProjection, distance_unit
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.noise import EXACT

EXCESSIVE = 1.001
"""Noise on an answer, as a share of the width of its bounds, beyond which an answer is little more than noise."""


@dataclass(frozen=True)
class TablePreview:
    """What a table with noise, and its answers, would carry."""

    columns: dict[str, float]  # noise on each column, in its own units
    noise: float  # in scaled units
    answer_noise: float
    answer_width: float  # of the bounds of answers; 0 if answers are given as they are
    guarantee: Guarantee  # of the table and all answers

    @property
    def remarks(self) -> list[str]:
        """In words, for the curator."""
        listed = ", ".join(f"{name} ±{size:.3g}" for name, size in self.columns.items())
        lines = [f"noise on each number of the table (standard deviation): {listed}"]
        if self.answer_width:
            share = self.answer_noise / self.answer_width
            lines.append(
                f"noise on each answer: ±{self.answer_noise:.3g}, {share:.3g} times the width of its bounds. Table and "
                f"answers together: {self.guarantee.budget}"
            )
        return lines


def preview(
    names: Sequence[str],
    *,
    epsilon: float,
    delta: float,
    scale: npt.ArrayLike | None = None,
    distance: float = 1.0,
    dimensions: int | None = None,
    answers: PrivateAnswers | None = None,
    queries: int = 100,
) -> TablePreview:
    """The noise that a curator with these terms would publish with.

    >>> seen = preview(["amount", "rate"], epsilon=3.0, delta=1e-5, scale=[9000, 0.04])
    >>> {name: round(size, 3) for name, size in seen.columns.items()}
    {'amount': 12515.341, 'rate': 0.056}
    """
    projection = NoisyProjection(
        len(names), epsilon=epsilon, delta=delta, scale=scale, distance=distance, dimensions=dimensions
    )
    mechanism = answer_mechanism(answers, distance_unit(distance), EXACT)
    sizes = (projection.divisor * projection.scale_of_noise).tolist()
    wide = answers.bounds[1] - answers.bounds[0] if answers else 0.0
    together = whole(projection.guarantee, answers, mechanism, queries)
    noise = mechanism.scale if mechanism else 0.0
    return TablePreview(dict(zip(names, sizes, strict=True)), projection.scale_of_noise, noise, wide, together)


def private_answers(
    bounds: tuple[float, float] | None, mu: float | None, charged: str = "each"
) -> PrivateAnswers | None:
    """Answers clipped to these bounds with this privacy; None if there are no bounds."""
    if bounds is None:
        if mu is not None:
            raise BadInput("answer-mu is the privacy of answers that have --bounds LOW HIGH; give both, or neither")
        return None
    wide = bounds[1] - bounds[0]
    if mu is None:
        raise BadInput(
            f"private answers need --answer-mu, the privacy of one answer: its noise is the width of the bounds, "
            f"{wide:g}, divided by mu. mu 0.1 gives ±{10 * wide:g}, mu 1 ±{wide:g}, mu 4 ±{wide / 4:g}. Nothing was "
            "published"
        )
    return PrivateAnswers(bounds, Budget.gdp(mu), charged)


def refuse_excessive_noise(seen: TablePreview, accepted: bool) -> None:
    """Refuse answers that are noise, unless that was accepted."""
    if seen.answer_noise > EXCESSIVE * seen.answer_width and not accepted:
        raise ExcessiveNoise(
            f"each answer would carry noise of standard deviation {seen.answer_noise:.3g}, on bounds of width "
            f"{seen.answer_width:g}: a modeler would learn next to nothing. Take a larger --answer-mu (noise is "
            "width/mu), narrower --bounds, or answers that need no noise; or accept it (--yes). Nothing was "
            "published"
        )


def refuse_no_scale(names: Sequence[str], accepted: bool) -> None:
    """Refuse a table whose columns count in whatever units they have, unless that was meant."""
    if not accepted:
        example = ",".join(["..."] * len(names))
        raise BadInput(
            f"no --scale is given: then a row that moves by 1 is hidden, 1 in the units of {', '.join(names)}, and no "
            f"more. Give --scale {example}, for each column the change that shall count as 1, a public number that "
            "does not come from the rows; or --scale 1 if the columns are in such units already. Nothing was published"
        )
