"""Scores against each parameter: noisy observations, and the band in which a model of them expects the mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.charts.svg import Ruler, element, frame, paper, path, plain_ticks, round_powers, round_values

INK = "var(--mark, #0072b2)"
WIDTH, HEIGHT, LEFT, BELOW, PAD = 350, 230, 64, 44, 12


@dataclass(frozen=True)
class Slice:
    """One parameter: its observed values and scores, and the model's mean and band along it (empty if there is none).

    ``chosen`` is the released value; ``log`` says that it is drawn on a logarithmic scale.
    """

    name: str
    values: Sequence[float]
    scores: Sequence[float]
    chosen: float | None
    log: bool = False
    along: Sequence[float] = ()
    mean: Sequence[float] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def slice_panels(slices: Sequence[Slice], label: str, baseline: float | None = None) -> str:
    """A panel for each parameter, side by side where there is room, all on one scale of scores.

    >>> slice_panels([Slice("C", [0.1, 1.0], [0.5, 0.4], 1.0, log=True)], "error").count("<circle")
    2
    """
    every = [v for s in slices for v in (*s.scores, *s.low, *s.high)] + ([] if baseline is None else [baseline])
    return (
        '<div class="panels">'
        + "".join(_panel(s, label, (min(every), max(every)), baseline) for s in slices)
        + "</div>"
    )


def _panel(s: Slice, label: str, ends: tuple[float, float], baseline: float | None) -> str:
    width, floor = WIDTH, HEIGHT - BELOW
    known = [*s.values, *s.along]
    low, high = min(known), max(known)
    x = Ruler(low, high if high > low else low + 1.0, LEFT + PAD, width - 2 * PAD, log=s.log)
    y = Ruler(ends[0], ends[0] + ((ends[1] - ends[0]) or 1.0), floor - PAD, PAD)
    across = round_powers(low, high) if s.log and high > low else round_values(low, high, 4)
    few = across if len(across) <= 5 else across[:: -(-len(across) // 5)]
    ticks = [(v, f"{v:g}") for v in few], plain_ticks(round_values(ends[0], ends[1], 5))
    parts = frame((LEFT, PAD, width - PAD, floor), (x, y), ticks, (s.name, label))
    if s.along:
        around = [*((x(a), y(v)) for a, v in zip(s.along, s.high, strict=True))]
        around += [(x(a), y(v)) for a, v in reversed(list(zip(s.along, s.low, strict=True)))]
        parts.append(path(around, close=True, fill=INK, opacity=".18"))
        parts.append(path([(x(a), y(v)) for a, v in zip(s.along, s.mean, strict=True)], stroke=INK, stroke_width=2))
    if baseline is not None:
        parts.append(path([(LEFT, y(baseline)), (width - PAD, y(baseline))], stroke_dasharray="2 4", opacity=".8"))
    if s.chosen is not None:
        parts.append(path([(x(s.chosen), PAD), (x(s.chosen), floor)], stroke=INK, stroke_dasharray="6 4"))
    parts += [
        element("circle", cx=x(a), cy=y(v), r=3.5, opacity=".75") for a, v in zip(s.values, s.scores, strict=True)
    ]
    about = f"{len(s.values)} noisy observations, {s.name} from {min(s.values):.4g} to {max(s.values):.4g}."
    return paper(parts, (width, HEIGHT), title=f"{label} against {s.name}", about=about, alone=False, class_="panel")
