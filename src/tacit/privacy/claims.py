"""Pay, claim, draw, settle, resume: once, for every method and every place where a run is kept.

    pay       the ledger is debited for the whole run, before its first draw
    claim     the draw is noted in the store, before it is made: what is lost in a crash stays claimed
    count     the ledger numbers or names it, so that a copy of the store cannot draw what the original drew
    draw      the noise, and what came out is kept in the store
    settle    the ledger records the digest of what was released

Nothing is evaluated, paid or claimed for what a run has drawn already: it is read from the store.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.data.identity import DataIdentity, agree_on_data
from tacit.errors import BadInput, BudgetRefused, LedgerError, differences
from tacit.privacy.claim_store import MEMORY, Home, Store, exhaustion, older_copy
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.mechanisms import SIMULATED
from tacit.privacy.noise import load_samplers
from tacit.privacy.origin import PAID, describe_origin
from tacit.privacy.release import Payment

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger.draws import Draws

AHEAD = 20  # of a run's draws, one in so many may be numbered ahead of its use, and is lost if the process is killed
SOON = 1.0  # seconds: draws that come slower than this are numbered one by one

_lock = threading.RLock()  # one thread pays and counts; shared, so that what holds Claims can be pickled


@dataclass(frozen=True)
class Promise:
    """What a run promises before its first draw. ``purpose`` has a place for the number of the run, {run}."""

    guarantee: Guarantee  # of all draws together
    draws: int | None  # at most so many; None: each is known by its name, so that none is made twice
    purpose: str
    terms: dict[str, Any]
    data: DataIdentity | None = None  # what the draws are about


class Claims:
    """The paid right to make the draws of one run, kept in a store.

    Guarantee. At most the promised draws, each claimed in the store before it is made, whatever crashes, resumes,
    threads, forks or processes share the store. The run is charged once, before its first draw. With a ledger that
    holds for all copies of the store together, since it is the ledger that numbers the draws.
    Edges. An evaluation that fails before the first draw has cost nothing. A run in memory ends with its process: a
    pickle of it, or a fork, draws nothing. Without a ledger an older copy that is put back in its place is not noticed.
    """

    def __init__(self, store: Store, promise: Promise, *, ledger: Ledger | None = None) -> None:
        if ledger is not None and promise.guarantee.source == SIMULATED:
            raise BadInput(
                "simulated noise has no guarantee, so it is not charged to a ledger; leave out one of the two"
            )
        self.store, self.promise, self._ledger = store, promise, ledger
        self._begun: Home | None = None
        self._counts: Draws | None = None  # of the ledger
        self._exhausted = False  # the ledger has no number left
        self._agree()
        self.payment = self._find_payment()
        if (
            ledger is not None
            and self.payment is None
            and (store.count_claims() or not ledger.can_afford(promise.guarantee))
        ):
            self.pay()  # for what was drawn without this ledger; or refuses now, before anything is evaluated
        if store.shared and self.recorded_digest() and self.left() and self.answer() is None:
            raise older_copy()

    def draw(self, key: Any, exact: Callable[[], Any], draw: Callable[[Any], Any], *, first: bool = False) -> Any:
        """What was drawn under this key, or None if it was lost. If it was never claimed: evaluate, pay, claim, draw.

        ``first``: a draw that is unlike the others of a shared store and comes before them; no other may stand for it.
        An evaluation that fails claims nothing. For a hidden store the value must not be shown before ``count`` or
        ``settle``, which follow when it is recorded.
        """
        found = self.store.find(key)
        if found is not None:
            return found[0]
        total = exact()
        self.begin()
        if not self.store.hidden:
            # Of several processes that claim the last draw at once, one gets it: with a ledger by its numbers.
            self.store.claim(key, self.promise.draws if self._counts is None else None)
            if self.count(key) and first:
                raise older_copy()  # other draws were made before this one
        value = draw(total)
        self.store.keep(key, value)
        return value

    def left(self) -> int:
        """Draws still to be made."""
        if self._exhausted or self.promise.draws is None:
            return 0
        return max(self.in_hand(), self.promise.draws - self.store.count_claims())

    def in_hand(self) -> int:
        """Draws that the ledger has numbered for this process: they are its own, whatever others claim in vain."""
        ahead = _ahead.get((self.payment.ledger, self.payment.entry)) if self.payment is not None else None
        return len(ahead.numbers) if ahead is not None else 0

    def exhaustion(self) -> BudgetRefused:
        """What to raise when no draw is left."""
        return exhaustion(self.promise.draws)

    def begin(self) -> None:
        """Before a draw: the samplers are loaded, this is the store that was paid for, and it is paid for."""
        here = self.store.home()
        if here == self._begun:
            return
        with _lock:
            if here == self._begun:  # by another thread, while this one waited
                return
            if self.promise.guarantee.budget is not None:
                load_samplers()  # takes a moment, in which a claim might be lost
            mark = self.store.read("home")
            if mark is None:
                self.store.write("home", here.mark)
            elif mark != here.mark and (self._ledger is None or MEMORY in (here.kind, mark.split(":")[0])):
                raise _copy_refusal(here)
            self._refuse_without_ledger()
            self.pay()
            if self._ledger is not None and self.payment is not None and not self._single:
                self._counts = self._agree_on_draws(self._ledger.draws(self.payment), here)
            if mark not in (None, here.mark):
                self.store.write("home", here.mark)
            self._begun = here

    def _agree_on_draws(self, counts: Draws, here: Home) -> Draws:
        """Agree with the ledger on where the draws are kept and which were made; refuse a copy."""

        def agree(noted: str) -> None:
            before = Home(*json.loads(noted))
            if not here.continues(before, self.store.runs()):
                raise _copy_refusal(here, before)

        if self.store.shared:
            counts.begin(str(here), self.store.count_claims(), agree)
            return counts
        if not self.store.hidden and self.recorded_digest():
            raise older_copy()
        counts.open(str(here), self.store.names(), agree)
        return counts

    def pay(self) -> Payment | None:
        """Debit and commit the whole run, once; nothing without a ledger."""
        with _lock:
            if self._ledger is not None:
                self.payment = self.payment or self._find_payment() or self._charge(self._ledger)
                if self.store.read("payment") is None:
                    self.store.write("payment", self.payment.to_json())
            return self.payment

    def count(self, key: Any) -> int:
        """Have the ledger count a draw that the store has claimed: how many there were before it, of those that are
        numbered; 0 without a ledger.
        """
        self._refuse_without_ledger()  # looked at after the claim: whoever pays meanwhile counts that claim
        if self._counts is None or self.payment is None:
            return 0
        with _lock:
            if not self.store.shared:
                self._counts.name({str(key): ""}, self.store.count_claims(), self.store.names)
                return 0
            number = _number(self._counts, self.payment, self.promise.draws or 0)
            if number is None:
                self._exhausted = True
                raise self.exhaustion()
            return number

    def name(self, drawn: Mapping[str, str]) -> None:
        """Have the ledger note draws of a hidden store before they are shown: names, and digests of their values.

        LedgerError if the ledger knows another value of one of them, or draws that the store does not hold.
        """
        self.begin()
        if self._counts is not None:
            with _lock:
                self._counts.name(drawn, self.store.count_claims(), self.store.names)

    def _refuse_without_ledger(self) -> None:
        if self._ledger is None and (paid := self.store.read("payment")) is not None:
            raise LedgerError(
                f"this run was paid for by ledger {Payment.from_json(paid).name!r}, which counts its draws. Give that "
                "ledger to go on. Nothing was drawn"
            )

    def answer(self) -> Any:
        """The answer that this run has given, or None; of several, the one that the ledger recorded."""
        digest = self.recorded_digest() or self.store.read("answer")
        return self.store.read(f"answer:{digest}") if digest else None

    def give(self, answer: Any, digest: str) -> None:
        """Store an answer, then have the ledger record it. LedgerError if it recorded another one."""
        self.store.write(f"answer:{digest}", answer)
        self.store.write("answer", digest)
        self.settle(digest)

    @property
    def guarantee(self) -> Guarantee:
        """What a release of this run states: what was paid for, in the words of its charge."""
        if self._ledger is None or self.payment is None:
            return self.promise.guarantee
        return self._ledger.restate(self.payment, self.promise.guarantee)

    def describe_origin(self, chosen: str = PAID) -> dict[str, Any]:
        """What a certificate of this run says beside its value and guarantee."""
        terms = self.store.read("terms") or {}
        return describe_origin(self.promise.guarantee, chosen=chosen, data=terms.get("data"), ledger=self._ledger)

    def settle(self, digest: str) -> None:
        """Have the ledger record what was released; nothing without a ledger."""
        if self._ledger is not None and self.payment is not None:
            self._ledger.settle(self.payment, digest)

    def _agree(self) -> None:
        mine, stored = json.loads(json.dumps(self.promise.terms)), self.store.read("terms")
        if stored is None:
            about = agree_on_data(None, self.promise.data)
            self.store.write("terms", {**mine, **({"data": about} if about else {})})
            return
        stored = dict(stored)
        if about := stored.pop("data", None):  # a run of the first release said nothing of its data
            agree_on_data(about, self.promise.data, "this run")
        if stored != mine:
            other = differences(json.dumps(stored), json.dumps(mine))
            raise BadInput(f"this run was begun under other terms: {other}. Start a new study, or use another folder")

    def _find_payment(self) -> Payment | None:
        stored = self.store.read("payment")
        payment = Payment.from_json(stored) if stored is not None else None
        if payment is not None and self._ledger is not None:
            self._ledger.pays(payment)  # refuses another ledger before anything is drawn, not after
        return payment

    def _charge(self, ledger: Ledger) -> Payment:
        keys = [self.promise.purpose.format(run=run) for run in self.store.runs()]
        again = ""
        while True:
            payment = ledger.charge(self.promise.guarantee, keys[0], key=[key + again for key in keys])
            released = ledger.recorded(payment) if self._single else None
            if released in (None, self.store.read("answer")):
                return payment
            again += " again"  # what it paid for was released and is not here: another draw, another charge

    @property
    def _single(self) -> bool:
        return self.store.hidden and self.promise.draws == 1

    def recorded_digest(self) -> str | None:
        """The digest of what was released, if the ledger has recorded it."""
        return self._ledger.recorded(self.payment) if self._ledger is not None and self.payment is not None else None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_begun": None, "_counts": None}  # a copy begins anew, and is checked


@dataclass
class _Ahead:
    """Numbers that this process has from the ledger and has not used yet."""

    numbers: range = range(0)
    size: int = 1
    time: float = float("-inf")


_ahead: dict[tuple[str, int], _Ahead] = {}


def _number(counts: Draws, payment: Payment, most: int) -> int | None:
    """The number of the next draw, if there is one."""
    ahead = _ahead.setdefault((payment.ledger, payment.entry), _Ahead())
    if not ahead.numbers:
        quick = time.monotonic() - ahead.time < SOON
        ahead.size = max(1, min(2 * ahead.size, most // AHEAD)) if quick else 1
        ahead.numbers = counts.take(ahead.size, most=most)
        ahead.time = time.monotonic()
    if not ahead.numbers:
        return None
    number, ahead.numbers = ahead.numbers[0], ahead.numbers[1:]
    return number


def _forget_numbers() -> None:
    """A fork is another process: it has no numbers, and no lock that a thread of its parent held."""
    global _lock
    _lock = threading.RLock()
    _ahead.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_numbers)


def _copy_refusal(here: Home, before: Home | None = None) -> BadInput:
    if here.kind == MEMORY:
        return BadInput(
            "this study is a copy: the one that was paid for lives in the memory of another process, or in another "
            "object (it was pickled, forked or copied). A copy draws nothing. Go on with the original, or start a new "
            "study; one that shall outlive a process belongs in a database, such as storage='sqlite:///study.db'. "
            "Nothing was drawn"
        )
    original = f"{before.run} at {before.place}" if before is not None else "one in another place, or of another name,"
    return BadInput(
        f"this is a copy: {original} was paid for, not {here.run} at {here.place}. A copy draws nothing. Go on with "
        "the original, or start a new study, which is paid for anew; one that was moved goes on with the ledger that "
        "paid for it. Nothing was drawn"
    )
