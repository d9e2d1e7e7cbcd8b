"""Fronts as one chart: staircases over epsilon, bands from worst to best run, tested points, and who may see it."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.charts.svg import (
    COLOURS,
    DASHES,
    ROW,
    Ruler,
    element,
    frame,
    legend,
    legend_places,
    mark,
    paper,
    path,
    plain_ticks,
    round_powers,
    round_values,
    words,
)
from tacit.errors import BadInput, extra
from tacit.files import write_file

HEIGHT, LEFT, RIGHT, TOP, BELOW = 420, 64, 20, 18, 96
BROAD, NARROW = 760, 360  # letters keep their size, so a phone needs a drawing of its own
NEAR = 1.0  # heights of the fronts: lines across within this are drawn
BEYOND = 100.0  # times the largest epsilon of the fronts: tests further right are drawn at the border
SMALLEST = 1e-4  # epsilons below, and 0, are drawn here: a logarithm has no zero


@dataclass(frozen=True)
class FrontLine:
    """One front by rising epsilon: (epsilon, value, best, worst) each, and dots (epsilon, value) of all tests."""

    name: str
    points: tuple[tuple[float, float, float, float], ...]
    dots: tuple[tuple[float, float], ...] = ()
    longer_name: str = ""


@dataclass(frozen=True)
class FrontChart:
    """Fronts on one axis. ``svg`` stands alone, ``save(path)`` writes it, and a notebook shows it.

    ``who`` says who may see it; a narrow drawing leaves what follows its colon to the page around it.
    """

    fronts: tuple[FrontLine, ...]
    title: str
    about: str
    labels: tuple[str, str]  # of epsilon and of the values
    who: str
    levels: tuple[tuple[str, float], ...] = ()  # lines across: what no privacy, or no model, would reach

    @property
    def svg(self) -> str:
        return self.draw(BROAD)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, target: str | Path) -> Path:
        """Write the chart as .svg, or as .png with tacit[plot]."""
        kind = Path(target).suffix
        if kind not in (".svg", ".png"):
            raise BadInput(f"a drawing is saved as .svg or .png, got {Path(target).name}")
        return write_file(target, self.svg + "\n" if kind == ".svg" else self.png())

    def draw(self, width: int) -> str:
        """The chart as SVG."""
        broad, floor, ends = width == BROAD, HEIGHT - BELOW, self.ends
        x = Ruler(ends[0], ends[1], LEFT, width - RIGHT, log=True)
        y = Ruler(ends[2], ends[3], floor, TOP)
        ticks = plain_ticks(round_powers(*ends[:2])), plain_ticks(round_values(*ends[2:]))
        labels = (self.labels[0] if broad else "epsilon", self.labels[1])
        parts = frame((LEFT, TOP, width - RIGHT, floor), (x, y), ticks, labels, grid=True)
        for name, value in self.levels:
            place = min(max(y(value), TOP + 12), floor)
            if y.low <= value <= y.high:
                parts.append(path([(LEFT, place), (width - RIGHT, place)], opacity=".55", stroke_dasharray="1 4"))
            far = " ↓" if value < y.low else " ↑" if value > y.high else ""
            parts.append(words(LEFT + 6, place - 5, f"{name} {value:.3g}{far}", font_size=11, opacity=".8"))
        for i, front in enumerate(self.fronts):
            parts += _front(front, x, y, i)
        names = [(f.longer_name or f.name) if broad else f.name for f in self.fronts]
        parts += legend(names, (LEFT, width, floor + 58), lambda i, a, b: mark(a + 6, b, i))
        last = self.who if broad else self.who.split(":")[0]
        height = HEIGHT + ROW * legend_places(names, LEFT, width)[-1][1] if names else HEIGHT
        parts.append(words(LEFT, height - 8, last, font_size=11, font_weight=600))
        size = "broad" if broad else "narrow"
        return paper(parts, (width, height), title=self.title, about=f"{self.about} {self.who}", class_=size)

    @property
    def ends(self) -> tuple[float, float, float, float]:
        """Least and largest epsilon and value: room for every front, its bands and air; tenfold epsilons at least."""
        points = [p for f in self.fronts for p in f.points]
        if not points:
            return 0.1, 10.0, 0.0, 1.0
        epsilons = [max(p[0], SMALLEST) for p in points]
        right = [e for f in self.fronts for e, _ in f.dots if e <= BEYOND * max(epsilons)]
        low, high = min(epsilons) / 1.15, max(*epsilons, *right) * 1.15 if right else max(epsilons) * 1.15
        wide = math.sqrt(max(1.0, 10.0 / (high / low)))
        values = [v for p in points for v in p[1:]]
        least, most = min(values), max(values)
        room = NEAR * (most - least) + 0.01  # a line across further away than this is named at the border
        values += [v for _, v in self.levels if least - room <= v <= most + room]
        air = 0.06 * (max(values) - min(values)) + 0.01
        return low / wide, high * wide, max(0.0, min(values) - air), min(1.0, max(values) + air)

    @property
    def geometry(self) -> dict[str, float]:
        """Where things stand, for a script that marks points on the chart."""
        paper = {"left": LEFT, "right": RIGHT, "ceiling": TOP, "floor": HEIGHT - BELOW, "smallest": SMALLEST}
        return {**paper, **dict(zip(("low", "high", "bottom", "top"), self.ends, strict=True))}

    def png(self, dots: int = 160) -> bytes:
        """The same by matplotlib, for slides and documents that take no SVG. Who may see it is in its description."""
        extra("matplotlib", "plot", "drawing a PNG")
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.6, 4.4), dpi=dots, layout="constrained")
        FigureCanvasAgg(figure)
        axes, ends = figure.subplots(), self.ends
        for i, front in enumerate(self.fronts):
            _plot(axes, front, i, ends[1])
        for name, value in self.levels:
            axes.axhline(value, color="grey", linestyle=":", linewidth=1)
            axes.annotate(f"{name} {value:.3g}", (ends[0], value), (4, 3), textcoords="offset points", fontsize=7)
        ticks = round_powers(*ends[:2])
        axes.set_xscale("log")
        axes.set(xlim=ends[:2], ylim=ends[2:], ylabel=self.labels[1], xlabel=f"{self.labels[0]}\n{self.who}")
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower right" if self.labels[1] == "utility" else "upper right")
        file = io.BytesIO()
        figure.savefig(file, format="png", metadata={"Software": "tacit", "Description": self.who})
        return file.getvalue()


def draw_third(chart: FrontChart, points: Sequence[Sequence[tuple[float, float]]], name: str, width: int) -> str:
    """A third objective over the epsilons of a chart, on an axis of its own: (epsilon, value) of each point."""
    values = [v for front in points for _, v in front]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    air = 0.08 * (high - low) or 0.5
    floor, ends = 180, chart.ends
    x = Ruler(ends[0], ends[1], LEFT, width - RIGHT, log=True)
    y = Ruler(max(0.0, low - air), high + air, floor, TOP)
    ticks = plain_ticks(round_powers(*ends[:2])), plain_ticks(round_values(y.low, y.high, 5))
    parts = frame((LEFT, TOP, width - RIGHT, floor), (x, y), ticks, ("epsilon", name), grid=True)
    for i, front in enumerate(points):
        parts += [mark(x(min(max(e, SMALLEST, x.low), x.high)), y(v), i) for e, v in front]
    size = "broad" if width == BROAD else "narrow"
    about = f"{name} of the points of the front against epsilon. {chart.who}"
    return paper(parts, (width, floor + 48), title=f"{name} against epsilon", about=about, class_=size)


def _front(front: FrontLine, x: Ruler, y: Ruler, i: int) -> list[str]:
    colour = COLOURS[i % len(COLOURS)]
    parts = [_dot(e, v, x, y) for e, v in front.dots if math.isfinite(e)]
    if not front.points:
        return parts
    line, upper, lower = (_stairs(front.points, x, y, k) for k in (1, 2, 3))
    parts.append(path([*upper, *reversed(lower)], close=True, fill=colour, opacity=".18"))
    parts.append(path(line, stroke=colour, stroke_width=2, stroke_dasharray=DASHES[i % len(DASHES)]))
    return parts + [mark(a, b, i) for a, b in line[::2]]


def _dot(epsilon: float, value: float, x: Ruler, y: Ruler) -> str:
    """A test, hollow at the border if it lies beyond."""
    e, v = min(max(epsilon, SMALLEST, x.low), x.high), min(max(value, y.low), y.high)
    inside = e == max(epsilon, SMALLEST) and v == value
    look = {} if inside else {"fill": "none", "stroke": "currentColor"}
    return element("circle", cx=x(e), cy=y(v), r="2", opacity=".3" if inside else ".45", **look)


def _stairs(
    points: Sequence[tuple[float, float, float, float]], x: Ruler, y: Ruler, k: int
) -> list[tuple[float, float]]:
    """A step to the right from each point to the next: what was reached at a smaller epsilon is reached here too."""
    ends = [*(p[0] for p in points[1:]), x.high]
    return [corner for p, e in zip(points, ends, strict=True) for corner in ((x(p[0]), y(p[k])), (x(e), y(p[k])))]


def _plot(axes: Any, front: FrontLine, i: int, high: float) -> None:
    colour, name = COLOURS[i % len(COLOURS)], front.longer_name or front.name
    dash = tuple(map(int, DASHES[i % len(DASHES)].split()))
    if front.dots:
        dots = [(max(e, SMALLEST), v) for e, v in front.dots]
        axes.plot(*zip(*dots, strict=True), ".", color="black", alpha=0.3, markersize=3)
    marks = {"marker": ("o", "s", "^")[i % 3], "color": colour, "markersize": 5, "linestyle": "", "label": name}
    x = [max(p[0], SMALLEST) for p in front.points]
    axes.plot(x, [p[1] for p in front.points], **marks)
    if x:
        line, upper, lower = ([p[k] for p in (*front.points, front.points[-1])] for k in (1, 2, 3))
        axes.fill_between([*x, high], lower, upper, step="post", color=colour, alpha=0.18, linewidth=0)
        axes.step([*x, high], line, where="post", color=colour, linestyle=(0, dash) if dash else "-")
