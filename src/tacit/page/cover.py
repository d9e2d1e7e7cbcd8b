"""The cover of a release: what an officer reads before signing, on one screen and one printed sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Worth:
    """Whether a release is shown to be useful; ``good`` is None where there is nothing to compare it with."""

    good: bool | None
    headline: str
    reason: str = ""


UNKNOWN = Worth(None, "Not known: nothing to compare the score with.")


def compare_with_baseline(
    score: tuple[float, float], baseline: tuple[float, float], *, higher: bool, of: str = ""
) -> Worth:
    """The verdict from two values, each with the half-width of its 95% interval for new data.

    Args:
        score: The released score and its half-width.
        baseline: What is reached without a model, and its half-width.
        higher: Whether larger is better.
        of: What the baseline predicts.

    >>> compare_with_baseline((0.21, 0.01), (0.20, 0.005), higher=False, of="the most frequent class").good
    False
    """
    gain = (score[0] - baseline[0]) * (1 if higher else -1)
    margin = (score[1] ** 2 + baseline[1] ** 2) ** 0.5
    named = f"predicting {of}" if of else "a constant prediction"
    reason = f"{score[0]:.4g} against {baseline[0]:.4g} for {named}; the difference may be off by ± {margin:.2g} (95%)."
    if gain > margin:
        return Worth(True, f"Better than {named}.", reason)
    worse = "Worse than" if gain < -margin else "Not shown to be better than"
    return Worth(False, f"{worse} {named}.", reason)


def format_interval(value: float, interval: tuple[float, float] | None) -> str:
    """A score with the ends of its 95% interval for new data.

    >>> format_interval(0.986, (0.956, 1.0))
    '0.986 (95%: 0.956 to 1)'
    """
    if interval is None:
        return f"{value:.4g}"
    low, high = interval
    return f"{value:.4g} (95%: {low:.3g} to {high:.3g})"


@dataclass(frozen=True)
class Cover:
    """The cover of a release, as the templates draw it (``ui.release_cover``).

    Attributes:
        title: Of the page.
        released: Names and values.
        verdict: Whether it is worth releasing.
        guarantee: What is protected, on which conditions, and what it cost.
        exposed: What the guarantee does not cover.
        certificate: Who paid, what was left then, digest and signature.
        changes: What shows that the certificate was changed after it was written.
        note: A sentence below the released values.
    """

    title: str
    released: Sequence[tuple[str, Any]]
    verdict: Worth
    guarantee: Guarantee
    exposed: Sequence[str]
    certificate: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[str] = ()
    note: str = ""
