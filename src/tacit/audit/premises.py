"""Does each loss depend on its own record alone? Replace single records, and see whether another loss moves.

Every guarantee of tacit about an objective assumes it, whatever the data are: if all losses looked at all records,
one record could move them all. A counterexample is named by its index, never by what a record holds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput, ObjectiveError, count, type_and_shape
from tacit.files import Json
from tacit.objective import call_without_message
from tacit.space import Params, Space

TOLERANCE = 1e-9  # of the losses' own range: what rounding may do, and the noise covers
FAR = 1e3  # by which numbers of a replacement are multiplied, the second time


@dataclass(frozen=True)
class Counterexample:
    """Replacing this record moved losses of others: how many, and the first of them."""

    replaced: int
    moved: int
    first: int

    def __str__(self) -> str:
        return f"replacing record {self.replaced} moved the losses of {self.moved} others, that of {self.first} first"


@dataclass(frozen=True)
class ObjectiveCheck:
    """What was tried of an objective, and what was found. Indices only."""

    records: int
    settings: int
    replacements: int
    counterexamples: tuple[Counterexample, ...] = ()
    failures: tuple[int, ...] = ()  # records whose replacement made the objective fail
    repeatable: bool = True
    moved: int = 0  # replacements after which the replaced record's own loss was another

    @property
    def holds(self) -> bool:
        """Nothing contradicts the premises, and something was tested."""
        return not self.counterexamples and not self.failures and self.repeatable and self.moved > 0

    def __str__(self) -> str:
        tried = f"{self.replacements} of {self.records} records replaced, at {self.settings} settings"
        if not self.repeatable:
            return f"Cannot be judged: the objective gives other losses for the same records. Fix its seeds ({tried})."
        lines = [f"BROKEN: {c}." for c in self.counterexamples[:5]]
        if len(self.counterexamples) > 5:
            lines.append(f"... and so did {len(self.counterexamples) - 5} other replacements.")
        lines += [f"BROKEN: the objective fails because of what record {i} holds." for i in self.failures[:5]]
        if not self.moved and not lines:
            return (
                f"Cannot be judged: no loss moved, not even that of a replaced record ({tried}). Does it read the data?"
            )
        if lines:
            why = "So the guarantee does not hold for this objective: compute each loss from its own record alone."
            return "\n".join([*lines, f"{why} ({tried})"])
        return f"No other loss moved: {tried}. This contradicts nothing, and proves nothing for other records."

    def to_json(self) -> Json:
        return {"holds": self.holds, **asdict(self)}


def check_objective(
    objective: Callable[..., Any],
    records: Any,
    space: Mapping[str, Any] | Space,
    *,
    replacements: int = 20,
    settings: int = 2,
    seed: int = 0,
) -> ObjectiveCheck:
    """Replace single records by others and see that no other loss moves.

    Args:
        objective: ``objective(params, records)`` returns one loss per record.
        records: An array, a DataFrame or a list; a tuple or a dict of such stands for columns side by side: (X, y).
        space: Where parameters are taken from.
        replacements: Records that become a copy of another, and then a copy with numbers a thousand times as large.
        settings: Points of the space at which this is tried.
        seed: Of which records and points.

    Returns:
        What was tried and what contradicts the premise, by indices alone.

    Edges. It is for those who may see the records: whether a counterexample exists is not protected. Nothing that an
    objective raises is quoted. Losses may move by 1e-9 of their range, for rounding.

    >>> import numpy as np, tacit
    >>> data, space = np.linspace(0, 1, 50), {"x": tacit.Float(0.0, 1.0)}
    >>> check_objective(lambda params, rows: abs(rows - params["x"]), data, space).holds
    True
    >>> print(check_objective(lambda params, rows: rows - rows.mean(), data, space, replacements=1))
    BROKEN: replacing record ... moved the losses of 49 others, that of ... first.
    ...
    """
    n, generator = length(records), np.random.default_rng(count("seed", seed, least=0))
    points: list[Params] = Space(space).sobol(count("settings", settings), seed)
    places = generator.permutation(n)[: min(count("replacements", replacements), n)]
    counterexamples, failed, moved = [], [], 0
    base = [_losses(objective, p, records, n) for p in points]
    if any((_losses(objective, p, records, n) != b).any() for p, b in zip(points, base, strict=True)):
        return ObjectiveCheck(n, len(points), 0, repeatable=False)
    for place in places.tolist():
        other = int((place + generator.integers(1, n)) % n) if n > 1 else place
        for changed, (params, before) in product(
            [replace_record(records, place, other, far=far) for far in (False, True)], zip(points, base, strict=True)
        ):
            try:
                after = _losses(objective, params, changed, n)
            except ObjectiveError:
                failed.append(place)
                break
            apart = _differs(before, after)
            moved += bool(apart[place])
            apart[place] = False
            if apart.any():
                counterexamples.append(Counterexample(place, int(apart.sum()), int(np.argmax(apart))))
                break
    return ObjectiveCheck(n, len(points), len(places), tuple(counterexamples), tuple(failed), moved=moved)


def _losses(objective: Callable[..., Any], params: Params, records: Any, n: int) -> NDArray[np.float64]:
    answer = call_without_message(lambda p: np.asarray(objective(dict(p), records), float), params)
    if answer.shape != (n,):
        raise BadInput(f"the objective must return one loss for each of {n} records, got {type_and_shape(answer)}")
    return np.asarray(answer)


def _differs(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.bool_]:
    there = np.isfinite(before)
    width = float(np.ptp(before[there])) if there.any() else 0.0
    with np.errstate(invalid="ignore"):
        near = np.abs(before - after) <= TOLERANCE * max(width, 1e-300)
    return np.asarray(~(near | (before == after) | (np.isnan(before) & np.isnan(after))))


def length(records: Any) -> int:
    """How many records there are."""
    if isinstance(records, (tuple, dict)):
        parts = list(records.values() if isinstance(records, dict) else records)
        sizes = {len(part) for part in parts}
        if len(sizes) != 1:
            raise BadInput(f"columns side by side must be equally long, got {sorted(sizes)}")
        return sizes.pop()
    try:
        return len(records)
    except TypeError:
        raise BadInput(f"records must be an array, a DataFrame or a list, got {type_and_shape(records)}") from None


def replace_record(records: Any, place: int, other: int, *, far: bool) -> Any:
    """The same records but for one, which is a copy of another; with ``far`` of numbers a thousand times as large."""
    if isinstance(records, tuple):
        return tuple(replace_record(part, place, other, far=far) for part in records)
    if isinstance(records, dict):
        return {name: replace_record(part, place, other, far=far) for name, part in records.items()}
    if hasattr(records, "iloc"):
        order = np.arange(len(records))
        order[place] = other
        changed = records.iloc[order].copy()
        changed.index = records.index
        return changed
    if isinstance(records, np.ndarray):
        array = records.copy()
        array[place] = array[other] * FAR if far and array.dtype.kind == "f" else array[other]
        return array
    return [records[other] if i == place else record for i, record in enumerate(records)]


def takes_records(objective: Callable[..., Any]) -> bool:
    """Whether it is a function of the parameters and the records; else of the parameters alone."""
    try:
        parameters = inspect.signature(objective).parameters.values()
    except (TypeError, ValueError):
        return False
    free = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(free) > 1 and free[1].default is inspect.Parameter.empty


def reading(module: Any, name: str, objective: Callable[..., Any]) -> Callable[[Params, Any], Any]:
    """An objective of the parameters alone, which reads its records from a global name of its module."""

    def losses(params: Params, records: Any) -> Any:
        before = getattr(module, name)
        setattr(module, name, records)
        try:
            return objective(params)
        finally:
            setattr(module, name, before)

    return losses
