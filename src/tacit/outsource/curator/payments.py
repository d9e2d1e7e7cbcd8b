"""What a study costs: draws that are paid for once, whenever the curator dies, and the guarantee of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tacit.outsource.curator.rows import PrivateAnswers
from tacit.outsource.curator.state import State
from tacit.privacy.accounting import compose
from tacit.privacy.claim_store import Home
from tacit.privacy.guarantee import STEADY, Guarantee
from tacit.privacy.mechanisms import Gaussian
from tacit.privacy.noise import Source
from tacit.privacy.release import digest

OPEN = "answers are given as they are: they are not sensitive (Kharkovskii2020, section 2)"
OWN = "the evaluation of a row depends on that row alone"


class Recorded:
    """Draws that a curator's state holds, as a store of claims: seen by nobody until they are recorded and settled.

    So a charge of which the ledger knows no draw pays for drawing again. A charge of which it does know one does not:
    the state that held the value was lost or put back. ``known`` is what is recorded of one purpose; without it, all
    answers are of the same purpose, and the state counts them. Of one ``row`` the state is asked at every turn: another
    curator may have recorded it meanwhile.
    """

    shared, hidden = False, True

    def __init__(
        self, state: State, study: str, known: Mapping[Any, Any] | None = None, *, row: int | None = None
    ) -> None:
        self._state, self._study, self._known, self._row = state, study, known, row

    def home(self) -> Home:
        return Home(*self._state.place, f"study {self._study}")

    def runs(self) -> list[str]:
        return [self._study]

    def count_claims(self) -> int:
        if self._row is not None:
            return len(self._state.find_answers([self._row]))
        return self._state.count_answers() if self._known is None else len(self._known)

    def names(self) -> dict[str, str]:
        return name_answers(self._state.load()[1])

    def find(self, key: Any) -> tuple[Any] | None:
        return (self._known[key],) if self._known and key in self._known else None

    def read(self, name: str) -> str | None:
        """The digest of the one value of its purpose. The payment is found in the ledger, by its purpose."""
        if name == "answer" and self._row is not None:
            return next((digest(value) for value in self._state.find_answers([self._row]).values()), None)
        return str(self._known["table"].digest) if name == "answer" and self._known else None

    def write(self, name: str, value: Any) -> None: ...
    def claim(self, key: Any, most: int | None) -> None: ...
    def keep(self, key: Any, value: Any) -> None:
        """The curator records all answers to its requests at once."""


def name_answers(known: Mapping[int, float | None]) -> dict[str, str]:
    """Answers as the ledger notes them: by row, with the digest of what is told."""
    return {f"row {row}": digest(value) for row, value in known.items()}


def answer_mechanism(answers: PrivateAnswers | None, unit: str, noise: Source) -> Gaussian | None:
    """The noise on one answer; None if answers are given as they are."""
    if answers is None:
        return None
    low, high = answers.bounds
    return Gaussian(high - low, budget=answers.budget, unit=unit, noise=noise, premises=(STEADY,))  # it is clipped


def whole(table: Guarantee, answers: PrivateAnswers | None, mechanism: Gaussian | None, queries: int) -> Guarantee:
    """What the table and all answers guarantee together."""
    if mechanism is None or answers is None:
        return replace(table, assumptions=(*table.assumptions, OPEN))
    delta = 2 * table.budget.delta if table.budget and table.budget.delta else None
    if answers.charged == "each":
        return compose([table, *[mechanism.guarantee] * queries], delta=delta)
    once = compose([table, mechanism.guarantee], delta=delta)
    return replace(once, assumptions=(*once.assumptions, OWN))
