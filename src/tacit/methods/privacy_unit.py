"""Whose one loss is: what is then protected, what the losses must keep to, and how much noise is too much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tacit.data.units import PersonLosses
from tacit.errors import BadInput, ExcessiveNoise, interval
from tacit.objective import LossFacts, Objective
from tacit.privacy.guarantee import OWN, STEADY
from tacit.privacy.units import VALIDATION as UNIT
from tacit.privacy.units import VALIDATION_PERSON as PERSON
from tacit.run.shards import Shards, shards_of

EXCESSIVE = 0.1  # noise above this share of what mean losses can differ by is refused unless accepted
OWN_ROWS = (
    "each loss is computed from its own person's rows and public things alone: no row of another person, and nothing "
    "trained on one, had a part in it, all rows of a person bear that person's name, and whoever a person is replaced "
    "by has their place among the validation persons"
)
OWN_PAIR = (
    "each score is computed from its own {whose} and public things alone: no other validation record, and nothing "
    "trained on one, had a part in it; a pair of scores and labels makes one loss"
)


class MeasuredLosses(Protocol):
    """How many losses there are, whose, and within which bounds."""

    @property
    def records(self) -> int: ...
    @property
    def basis(self) -> str: ...
    @property
    def bounds(self) -> tuple[float, float]: ...


def unit_of(basis: str) -> str:
    """One unit of privacy. The unit of pairs is what they are made of: one of it moves their mean as one pair does.

    >>> unit_of("pair")
    'one validation record replaced'
    """
    return PERSON if "person" in basis else UNIT


def premises_of(basis: str) -> tuple[str, ...]:
    """What no data can break and tacit cannot see."""
    pair = OWN_PAIR.format(whose="row" if "person" in basis else "record")
    return ({"record": OWN, "person": OWN_ROWS}.get(basis, pair), STEADY)


def plural_of(basis: str) -> str:
    return {"pair of persons": "pairs of persons"}.get(basis, f"{basis}s")


def refuse_excessive_noise(
    noise: float,
    what: str,
    losses: MeasuredLosses,
    *,
    useful: float | None,
    remedy: str,
    accepted: bool,
    size: str = "standard deviation",
) -> None:
    """Refuse noise that drowns the differences between parameters, unless it was accepted.

    ``useful`` is how far mean losses can differ, where that is less than the bounds allow; ``size`` names the number.
    """
    (low, high), plural = losses.bounds, plural_of(losses.basis)
    useful = high - low if useful is None else useful
    if noise <= EXCESSIVE * useful or accepted:
        return
    nearer = f", whose means are no further apart than {useful:.3g}" if useful < high - low else ""
    raise ExcessiveNoise(
        f"{what} over {losses.records} {plural} would carry noise of {size} {noise:.3g}, on losses between {low:g} and "
        f"{high:g}{nearer}: little better than a random choice. Use more {plural}, {remedy}; or accept it with "
        "accept_noise=True (--yes). Nothing was spent"
    )


def make_objective(
    function: Callable[..., Any],
    records: Any,
    bounds: tuple[float, float] | None,
    direction: str,
    groups: Any = None,
    *,
    train: Callable[[Any], Any] | None = None,
    cluster: Any = None,
    columns: int = 1,
) -> Objective:
    """The objective with its public facts: as given, as its function knows them, by person, or where records are."""
    function, records = shards_of(function, records, train, cluster)
    facts = getattr(function, "facts", None)
    if columns > 1 and (isinstance(facts, LossFacts) or isinstance(function, Shards) or groups is not None):
        raise BadInput(
            "a constraint needs a function of your own that returns two columns, losses and the metric's values, for "
            "records that are held here, one a person: no metric's objective, no groups, no shards. Nothing was spent"
        )
    if isinstance(facts, LossFacts):
        if groups is not None:
            raise BadInput("these losses know whose they are: give groups where they are made. Nothing was spent")
        for name, given, known in (("records", records, facts.records), ("bounds", bounds, facts.bounds)):
            if given is not None and given != known:
                raise BadInput(f"these losses have {name}={known!r}, got {name}={given!r}. Nothing was spent")
        if direction != "minimize":
            raise BadInput("a metric's losses are minimised, whatever it is read as: leave direction out")
        return Objective(function, facts.records, facts.bounds, direction, facts.basis, facts.reading, facts.overlaps)
    if bounds is None:
        raise BadInput("give bounds=(low, high), the public bounds of one loss. Nothing was spent")
    if groups is None:
        if records is None:
            raise BadInput("give records, the public number of losses. Nothing was spent")
        return Objective(function, records, bounds, direction, columns=columns)
    by_person = PersonLosses.of(function, groups, interval("bounds", bounds), direction)
    if records is not None and records != len(by_person.owners):
        raise BadInput(
            f"with groups, records counts rows: groups names {len(by_person.owners)}, got records={records}. Nothing "
            "was spent"
        )
    return Objective(by_person, by_person.persons, bounds, direction, "person")
