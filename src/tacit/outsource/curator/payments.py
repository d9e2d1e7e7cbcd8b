"""What a study costs: payments that survive the death of the curator who made them, and the guarantee of the whole."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.outsource.curator.rows import PrivateAnswers
from tacit.privacy.accounting import compose
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.mechanisms import Gaussian
from tacit.privacy.noise import Source, array_source
from tacit.privacy.release import Payment

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

OPEN = "answers are given as they are: they are not sensitive (Kharkovskii2020, section 2)"
OWN = "the evaluation of a row depends on that row alone"


class Payments:
    """The charges of one study in a ledger, by purpose.

    A value is shown only after it was recorded, and the ledger is told after that. So a charge of which the ledger
    knows no draw pays for drawing again: nobody saw the first draw. A charge of which it does know one does not: the
    state that held the value was lost or put back, and drawing again is paid for again.
    """

    def __init__(self, ledger: Ledger | None, study: str) -> None:
        self.ledger, self.study = ledger, study
        self._made: dict[str, Payment] = {}
        self._drawn: set[int] = set()
        for e in ledger.entries() if ledger else ():
            if e.kind == "charge" and e.purpose.endswith(self._tail):
                self._made[e.purpose] = Payment(ledger.id, ledger.name, e.number, e.hash)  # type: ignore[union-attr]
                if e.drawn is not None:
                    self._drawn.add(e.number)

    @property
    def _tail(self) -> str:
        return f" of study {self.study}"

    def charge(self, guarantee: Guarantee, what: str, *, shared: bool = False) -> int | None:
        """The number of the charge for a draw that is about to be made. None without a ledger.

        ``shared``: one charge covers all draws of this purpose, or what was drawn before this ledger was named.
        """
        if self.ledger is None:
            return None
        purpose = what + self._tail
        made = self._made.get(purpose)
        if made is None or (made.entry in self._drawn and not shared):
            made = self._made[purpose] = self.ledger.charge(guarantee, purpose)
        return made.entry

    def settle(self, what: str, digest: str) -> None:
        """Tell the ledger what was drawn, once it is recorded here."""
        payment = self._made.get(what + self._tail)
        if self.ledger is not None and payment is not None and payment.entry not in self._drawn:
            self.ledger.settle(payment, digest)
            self._drawn.add(payment.entry)


def answer_mechanism(answers: PrivateAnswers | None, unit: str, noise: Source) -> Gaussian | None:
    """The noise on one answer; None if answers are given as they are."""
    if answers is None:
        return None
    low, high = answers.bounds
    return Gaussian(high - low, budget=answers.budget, unit=unit, noise=noise)


def table_source(table: Budget, answers: PrivateAnswers | None, queries: int, ledger: Ledger | None) -> Source:
    """Where the noise of the table comes from: in bulk if the epsilon of the whole study allows it."""
    mu = table.mu()
    if answers is not None:
        mu = math.hypot(mu, answers.budget.mu() * math.sqrt(queries if answers.charged == "each" else 1))
    return array_source(Budget.gdp(mu).epsilon(table.delta), ledger.budget if ledger is not None else None)


def whole(table: Guarantee, answers: PrivateAnswers | None, mechanism: Gaussian | None, queries: int) -> Guarantee:
    """What the table and all answers guarantee together."""
    if mechanism is None or answers is None:
        return replace(table, assumptions=(*table.assumptions, OPEN))
    delta = 2 * table.budget.delta if table.budget and table.budget.delta else None
    if answers.charged == "each":
        return compose([table, *[mechanism.guarantee] * queries], delta=delta)
    once = compose([table, mechanism.guarantee], delta=delta)
    return replace(once, assumptions=(*once.assumptions, OWN))
