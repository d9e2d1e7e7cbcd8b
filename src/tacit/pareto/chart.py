"""What a chart of fronts shows and says: its staircases, the kind of epsilon on its axis, who may see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tacit.charts.fronts import FrontChart, FrontLine
from tacit.errors import TacitError, choice
from tacit.privacy.accounting import compose
from tacit.privacy.operating import at_most

if TYPE_CHECKING:
    from tacit.pareto.front import Front, Point


def chart_of(fronts: Sequence[Front], *, show: str = "error") -> FrontChart:
    """The chart of fronts that belong on one axis. ``show`` is "error", as in the paper, or "utility"."""
    choice("show", show, ("error", "utility"))
    kinds = [f"delta = {f.delta:g}, {f.label}" for f in fronts]
    mixed = len(set(kinds)) > 1
    of = "training epsilon" if all(f.private for f in fronts) else "epsilon"
    epsilon = f"{of} ({'DIFFERENT KINDS of epsilon, see the legend' if mixed else kinds[0]})"
    return FrontChart(
        tuple(_front_line(f, show, f"{f.name} [{kind}]" * mixed) for f, kind in zip(fronts, kinds, strict=True)),
        title=f"Privacy-utility front of {', '.join(f.name for f in fronts)}",
        about=f"{show} against epsilon on a logarithmic scale; {bands_of(fronts)}.",
        labels=(epsilon, "utility" if show == "utility" else "error (1 - utility)"),
        who=_who(fronts),
        levels=tuple(_levels(fronts, show)),
    )


def bands_of(fronts: Sequence[Front]) -> str:
    """What the bands are."""
    return "bands are 95% intervals" if all(f.noise for f in fronts) else "bands run from the worst to the best run"


def _levels(fronts: Sequence[Front], show: str) -> Iterator[tuple[str, float]]:
    """What fronts say of utility without privacy or without a model; told apart by name where they differ."""
    for name in dict.fromkeys(name for f in fronts for name in f.baselines):
        utilities = {f.baselines[name] for f in fronts if name in f.baselines}
        for f in fronts if len(utilities) > 1 else [f for f in fronts if name in f.baselines][:1]:
            if name in f.baselines:
                value = f.baselines[name]
                yield f"{name}{f' ({f.name})' if len(utilities) > 1 else ''}", value if show == "utility" else 1 - value


def _front_line(front: Front, show: str, longer: str) -> FrontLine:
    def value(utility: float) -> float:
        return min(max(utility if show == "utility" else 1.0 - utility, 0.0), 1.0)

    def band(p: Point) -> tuple[float, float]:
        """The best and the worst run; where noise was added to runs, the interval."""
        if front.noise and p.low is not None and p.high is not None:
            return p.high, p.low
        return p.best, p.worst

    steps = front.steps  # with a third objective the front has points beside the stairs
    points = tuple(
        (p.epsilon, value(p.utility), value(best), value(worst))
        for p, (best, worst) in zip(steps, map(band, steps), strict=True)
    )
    return FrontLine(front.name, points, tuple((p.epsilon, value(p.utility)) for p in front.tested), longer)


def _who(fronts: Sequence[Front]) -> str:
    """Who may see it. Private fronts may have looked at the same test records: their costs are added up."""
    if all(f.private for f in fronts):
        several = f", all {len(fronts)} fronts together" if len(fronts) > 1 else ""
        try:
            stated = compose([f.guarantee for f in fronts]) if several else fronts[0].guarantee
        except TacitError:  # of different units, or notions that need a delta to be named
            return "PRIVATE: each front by itself, for its own test records; not for training records."
        epsilon, delta = stated.quoted() or (0.0, 0.0)
        shown = at_most(epsilon * (1 - 1e-9), 4)
        return (
            f"PRIVATE: test epsilon {shown}, delta {delta:g}, for the test records{several}; not for training records."
        )
    return "NOT PRIVATE: only for people who may see the data. Guarantee: none."
