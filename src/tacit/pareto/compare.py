"""Several fronts on one axis: models, optimisers, data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.charts.fronts import FrontChart
from tacit.errors import BadInput, type_and_shape
from tacit.files import Json, write_file
from tacit.pareto.chart import chart_of
from tacit.pareto.front import Front, table_of


class Comparison:
    """Fronts whose epsilons are the same quantity: one sampling scheme, one neighbour relation, one delta.

    Fronts of different labels or deltas are refused unless ``mixed=True``; then each is labelled wherever it is shown.

    Guarantee. That of its fronts composed: one exact front makes the whole not private, and several private ones may
    have looked at the same test records, whose epsilon is then that of all together.
    """

    def __init__(self, fronts: Mapping[str, Front] | Sequence[Front], *, mixed: bool = False) -> None:
        named = fronts.items() if isinstance(fronts, Mapping) else [(f.name, f) for f in fronts]
        self.fronts = [replace(front, name=str(name)) for name, front in named if _is_front(front)]
        if not self.fronts:
            raise BadInput("a comparison needs at least one front")
        kinds = list(dict.fromkeys(f"{f.label} at delta = {f.delta:g}" for f in self.fronts))
        if len(kinds) > 1 and not mixed:
            raise BadInput(
                f"these epsilons are different quantities: {'; '.join(kinds)}. Compare fronts of one kind, or say "
                "mixed=True to see them side by side, each with its label"
            )
        self.mixed = len(kinds) > 1

    @property
    def private(self) -> bool:
        return all(f.private for f in self.fronts)

    @property
    def audience(self) -> str:
        return next((f.audience for f in self.fronts if not f.private), self.fronts[0].audience)

    def plot(self, *, show: str = "error") -> FrontChart:
        """All fronts in one chart."""
        return chart_of(self.fronts, show=show)

    def to_csv(self, path: str | Path) -> Path:
        """One table of all tested points."""
        return write_file(path, table_of(self.fronts))

    def at(self, *, epsilon: float) -> dict[str, Any]:
        """The best tested point of each front at most ``epsilon``; None where there is none."""
        found: Json = {}
        for front in self.fronts:
            fits = any(p.epsilon <= epsilon for p in front.points)
            found[front.name] = front.at(epsilon=epsilon) if fits else None
        return found

    def hypervolumes(self, reference: Sequence[float] | None = None) -> dict[str, float]:
        """Hypervolume of each front up to one reference; refused for different kinds of epsilon."""
        if self.mixed:
            raise BadInput("hypervolumes of different kinds of epsilon are different quantities")
        shared = tuple(reference) if reference is not None else self.fronts[0].reference
        return {f.name: f.hypervolume(shared) for f in self.fronts}

    def to_json(self) -> Json:
        return {"private": self.private, "audience": self.audience, "fronts": [f.to_json() for f in self.fronts]}


def _is_front(front: Any) -> bool:
    if not isinstance(front, Front):
        raise BadInput(f"a comparison is made of fronts, got {type_and_shape(front)}")
    return True
