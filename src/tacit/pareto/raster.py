"""The same drawing of fronts as PNG, by matplotlib: for slides and documents that take no SVG. Needs tacit[plot]."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tacit.errors import choice, extra
from tacit.pareto.drawing import COLOURS, SMALLEST, axes_of, epsilon_axis, legend, round_epsilons, value_axis, who

if TYPE_CHECKING:
    from tacit.pareto.front import Front

MARKERS = ("o", "s", "^")
STYLES: tuple[Any, ...] = ("-", (0, (7, 4)), (0, (2, 3)), (0, (9, 3, 2, 3)), (0, (4, 2)), (0, (1, 2)))


def png(fronts: Sequence[Front], *, show: str = "error", dots: int = 160) -> bytes:
    """A PNG of fronts that belong on one axis. It says who may see it, in the picture and in its description."""
    choice("show", show, ("error", "utility"))
    extra("matplotlib", "plot", "drawing a PNG")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 4.4), dpi=dots, layout="constrained")
    FigureCanvasAgg(figure)
    axes, room = figure.subplots(), axes_of(fronts, show)
    for i, (front, name) in enumerate(zip(fronts, legend(fronts), strict=True)):
        _front(axes, front, name, (show, i, room.high))
    ticks = round_epsilons(room)
    axes.set_xscale("log")
    axes.set_xlim(room.low, room.high)
    axes.set_ylim(room.bottom, room.top)
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylabel(value_axis(show))
    axes.set_xlabel(f"{epsilon_axis(fronts)}\n{who(fronts)}")
    axes.legend(frameon=False, loc="lower right" if show == "utility" else "upper right")
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": "tacit", "Description": who(fronts)})
    return file.getvalue()


def _front(axes: Any, front: Front, name: str, where: tuple[str, int, float]) -> None:
    show, i, high = where
    colour = COLOURS[i % len(COLOURS)]
    tested = [(max(p.epsilon, SMALLEST), _value(p.utility, show)) for p in front.tested]
    axes.plot(*zip(*tested, strict=True), ".", color="black", alpha=0.3, markersize=3) if tested else None
    x = [max(p.epsilon, SMALLEST) for p in front.points]
    mark = {"marker": MARKERS[i % len(MARKERS)], "color": colour, "markersize": 5}
    if not x:
        return axes.plot([], [], **mark, label=name)  # type: ignore[no-any-return]

    def stairs(height: Any) -> list[float]:
        return [_value(height(p), show) for p in (*front.points, front.points[-1])]

    ends = [*x, high]
    low, top = stairs(lambda p: p.worst), stairs(lambda p: p.best)
    axes.fill_between(ends, low, top, step="post", color=colour, alpha=0.18, linewidth=0)
    axes.step(ends, stairs(lambda p: p.utility), where="post", color=colour, linestyle=STYLES[i % len(STYLES)])
    axes.plot(x, stairs(lambda p: p.utility)[:-1], linestyle="", **mark, label=name)


def _value(utility: float, show: str) -> float:
    return min(max(utility if show == "utility" else 1.0 - utility, 0.0), 1.0)
