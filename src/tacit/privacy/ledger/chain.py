"""What a ledger writes down, and how to tell that it still says what was written. No database here.

    genesis = SHA-256 of the header;   hash of entry n = SHA-256 of entry n, which includes the hash of entry n - 1

so an entry cannot be edited, dropped or moved, nor the header edited, without every later hash changing. What this
does not catch: someone who rewrites the header, or every entry from some point to the end, hashes included, makes
another ledger that is sound in itself. Only a hash that they cannot reach exposes them: one in a certificate, or in an
exported copy.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest
from json.encoder import encode_basestring_ascii
from typing import Any

from tacit.errors import BadInput, LedgerTampered, TacitError
from tacit.privacy.any_filter import AnyFilter, filter_over
from tacit.privacy.filters import NOTHING, SLACK, Cost, Filter
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.origin import unit_in_words
from tacit.privacy.release import FORMAT as CERTIFICATE
from tacit.privacy.release import Payment, digest, plain
from tacit.privacy.units import counts_unit

FORMAT = "tacit.ledger/1"
CHARGE, DRAWN, REFUSAL = "charge", "drawn", "refusal"


def canonical(document: Any) -> str:
    """The one JSON text of a document: sorted, without spaces, ASCII."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def sha256(document: Any) -> str:
    return hashlib.sha256(canonical(document).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Header:
    """What was agreed when the ledger was opened; it never changes."""

    id: str
    name: str
    description: str
    budget: Budget
    composition: str
    reserve: float
    unit: str | None  # None: the unit of the first charge
    created: str

    @property
    def filter(self) -> Filter | AnyFilter:
        return filter_over(self.budget, self.composition, self.reserve)

    @property
    def genesis(self) -> str:
        return genesis_of(self)

    def to_json(self) -> dict[str, Any]:
        budget = {"notion": self.budget.notion, "amount": self.budget.amount, "delta": self.budget.delta}
        terms = {"budget": budget, "composition": self.composition, "reserve": self.reserve, "unit": self.unit}
        about = {"id": self.id, "name": self.name, "description": self.description, "created": self.created}
        return {"format": FORMAT, **about, **terms}


@lru_cache(64)
def genesis_of(header: Header) -> str:
    """The hash that a ledger's first entry follows from."""
    return sha256(header.to_json())


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger: a charge, the draw that a charge paid for, or a refusal."""

    number: int  # 1, 2, 3, ... without gaps
    kind: str  # charge, drawn or refusal
    time: str  # UTC, from the clock of the process that wrote it
    purpose: str
    statement: str | None = field(repr=False)  # the guarantee in JSON, kept as it was written
    settles: int | None  # a draw: the number of the charge that paid for it
    digest: str | None  # a draw: SHA-256 of the released value; a charge: of its keys, if it has any
    cost: Cost  # in the currency of the ledger's filter; nothing, but for a charge
    spent: Cost  # all charges so far, this one included
    previous: str = field(repr=False)
    hash: str = ""
    drawn: int | None = None  # a charge: the number of its draw, once there is one; not part of the hash

    @property
    def guarantee(self) -> Guarantee | None:
        if self.statement is None:
            return None
        try:
            return Guarantee.from_json(_parse(self.statement))
        except (TacitError, LookupError, TypeError, ValueError):
            raise LedgerTampered(
                f"entry {self.number} of the ledger is not what was written: its guarantee cannot be read. Release "
                "nothing from it; compare it with an exported copy"
            ) from None

    @property
    def status(self) -> str:
        """drawn, refused, or "debited, not drawn": spent, though perhaps nothing was released for it."""
        if self.kind == CHARGE:
            return "drawn" if self.drawn else "debited, not drawn"
        return "drawn" if self.kind == DRAWN else "refused"

    def compute_hash(self) -> str:
        """The hash that this entry should have: of the canonical text of to_json without its own hash.

        The text is put together by hand, since every charge needs it while others wait for the ledger.
        """
        said = (
            f'{{"cost":{_costs(self.cost)},"digest":{_text(self.digest)},"guarantee":{_statement(self.statement)},'
            f'"kind":{_text(self.kind)},"number":{self.number},"previous":{_text(self.previous)},'
            f'"purpose":{_text(self.purpose)},"settles":{"null" if self.settles is None else self.settles},'
            f'"spent":{_costs(self.spent)},"time":{_text(self.time)}}}'
        )
        return hashlib.sha256(said.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "kind": self.kind,
            "time": self.time,
            "purpose": self.purpose,
            "guarantee": None if self.statement is None else _parse(self.statement),
            "settles": self.settles,
            "digest": self.digest,
            "cost": _cost_to_json(self.cost),
            "spent": _cost_to_json(self.spent),
            "previous": self.previous,
            "hash": self.hash,
        }


def _text(said: str | None) -> str:
    return "null" if said is None else encode_basestring_ascii(said)


def _cost_to_json(cost: Cost) -> dict[str, Any]:
    others = {"others": [list(part) for part in cost.others]} if cost.others else {}
    return {"amount": cost.amount, "delta": cost.delta, **others}


def _costs(cost: Cost) -> str:
    others = ",".join(f"[{_number(amount)},{_number(delta)}]" for amount, delta in cost.others)
    rest = f',"others":[{others}]' if others else ""
    return f'{{"amount":{_number(cost.amount)},"delta":{_number(cost.delta)}{rest}}}'


def _number(number: float) -> str:
    return float.__repr__(number) if type(number) is float else canonical(number)


@lru_cache(256)
def _statement(statement: str | None) -> str:
    """The canonical text of a guarantee; most charges of a ledger are for one of a few."""
    return "null" if statement is None else canonical(_parse(statement))


def _parse(statement: str) -> Any:
    try:
        return json.loads(statement)
    except ValueError:  # edited beyond reading: its hash will differ, which is for check to say
        return statement


def statement_of(guarantee: Guarantee) -> str:
    """A guarantee as an entry keeps it."""
    return _statement_of(guarantee, guarantee.premises)


@lru_cache(64)
def _statement_of(guarantee: Guarantee, premises: tuple[str, ...]) -> str:
    """Guarantees that differ in their premises alone are equal, and yet two statements."""
    return canonical(plain(guarantee.to_json()))


def tampering(name: str, what: str) -> LedgerTampered:
    return LedgerTampered(
        f"ledger {name!r} is not what was written: {what}. Release nothing from it; compare it with an exported copy"
    )


def check(header: Header, length: int, head: str, entries: Sequence[Entry], known: str | None = None) -> None:
    """Raise LedgerTampered at the first entry that is not what was written.

    ``length`` and ``head`` are the number of entries and the last hash as the ledger row keeps them: they catch entries
    cut off the end. ``known`` is a hash kept elsewhere, which must occur in the chain.
    """
    previous, total, terms = header.genesis, list[tuple[Fraction, Fraction]](), header.filter
    unit, charges, settled = header.unit, set[int](), set[int]()
    for number, entry in enumerate(entries, 1):
        if entry.number != number:
            raise tampering(header.name, f"entry {number} is missing")
        if entry.hash != entry.compute_hash():
            raise tampering(header.name, f"entry {number} was edited")
        if entry.previous != previous:
            where = f"entry {number - 1}" if number > 1 else "the ledger's header, which was edited"
            raise tampering(header.name, f"entry {number} does not follow from {where}")
        fault = _fault(header, entry, unit, charges, settled)
        if fault:
            raise tampering(header.name, f"entry {number} {fault}")
        if entry.kind == CHARGE:
            charges.add(number)
            unit = unit or (entry.guarantee.unit if entry.guarantee else None)
        elif entry.settles:
            settled.add(entry.settles)
        first, total = not any(map(any, total)), _add_exactly(total, entry.cost)
        spent = Cost.of([(float(amount), float(delta)) for amount, delta in total])
        if not _close(entry.spent, spent):
            raise tampering(header.name, f"the total of entry {number} is not the sum of the charges up to it")
        alone = first and entry.guarantee is not None and isinstance(terms, AnyFilter) and terms.covers(entry.guarantee)
        if entry.kind == CHARGE and not (alone or terms.holds(spent, 2 * SLACK)):
            raise tampering(header.name, f"entry {number} exceeds the budget")
        previous = entry.hash
    if len(entries) < length:
        raise tampering(header.name, f"entry {len(entries) + 1} is missing: {length} were written")
    if len(entries) > length:
        raise tampering(header.name, f"entry {length + 1} was added past the end")
    if head != previous:
        raise tampering(header.name, "its header was edited")
    if known is not None and known not in {header.genesis, *(e.hash for e in entries)}:
        raise tampering(header.name, f"the known hash {known[:12]}... is not in it, so it was rewritten since")


def _add_exactly(total: list[tuple[Fraction, Fraction]], cost: Cost) -> list[tuple[Fraction, Fraction]]:
    both = zip_longest(total, cost.parts, fillvalue=(0, 0))
    return [(a + Fraction(amount), d + Fraction(delta)) for (a, d), (amount, delta) in both]


def _close(spent: Cost, total: Cost) -> bool:
    both = zip_longest(spent.parts, total.parts, fillvalue=(0.0, 0.0))
    return all(math.isclose(x, y, rel_tol=SLACK) for a, b in both for x, y in zip(a, b, strict=True))


def _fault(header: Header, entry: Entry, unit: str | None, charges: set[int], settled: set[int]) -> str:
    """What is wrong with an entry whose hash is right, in words, or nothing."""
    if entry.kind == CHARGE:
        try:
            guarantee = entry.guarantee
            due = header.filter.cost(guarantee) if guarantee else None
        except TacitError:
            due = None
        if guarantee is None or due is None:
            return "charges for no guarantee"
        if unit and not counts_unit(unit, guarantee.unit):
            return "charges for another unit of privacy"
        # At least what is due: a later version may know a tighter conversion, and the dearer old charge still stands.
        if not entry.cost.covers(due):
            return "charges less than its guarantee costs"
        return ""
    if entry.kind not in (DRAWN, REFUSAL):
        return f"is of the unknown kind {entry.kind!r}"
    if entry.cost != NOTHING:
        return f"is a {entry.kind} that costs something"
    if entry.kind == REFUSAL:
        return ""
    if entry.settles not in charges:
        return "draws without a charge"
    return "draws for a charge that was drawn before" if entry.settles in settled else ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a ledger paid for a certificate, check by check: (name, passed, explanation)."""

    paid: bool
    checks: tuple[tuple[str, bool, str], ...]

    def __str__(self) -> str:
        lines = [f"{'yes' if ok else 'NO ':3}  {name}: {why}" for name, ok, why in self.checks]
        return "\n".join([*lines, "Paid for by this ledger." if self.paid else "NOT paid for by this ledger."])


def judge(document: Any, header: Header, entries: Sequence[Entry], tampered: str) -> Verdict:
    """Hold a certificate against a ledger; ``tampered`` is what its own check found, or nothing."""
    doc = document if isinstance(document, dict) else {}
    known = doc.get("format") == CERTIFICATE
    checks = [("format", known, f"{CERTIFICATE}" if known else f"needs {CERTIFICATE}, got {doc.get('format')!r}")]

    try:
        found = digest(doc.get("value"))
    except (TacitError, TypeError, ValueError):
        found = ""
    same = "value" in doc and found == doc.get("digest")
    checks.append(("value", same, "has the digest it states" if same else "is not the value of the stated digest"))
    checks.append(("chain", not tampered, tampered or f"{len(entries)} entries, unbroken"))

    try:
        payment = Payment.from_json(doc.get("payment") or {})
    except BadInput:
        return Verdict(False, (*checks, ("payment", False, "it names no ledger entry: nobody paid")))
    mine = (payment.ledger, payment.name) == (header.id, header.name)
    who = f"ledger {payment.name!r} ({payment.ledger})"
    checks.append(("ledger", mine, f"paid by {who}" + ("" if mine else f", not by this one ({header.id})")))
    entry = next((e for e in entries if e.number == payment.entry), None)
    match = mine and entry is not None and entry.kind == CHARGE and entry.hash == payment.hash
    checks.append(("entry", match, f"{payment.entry} " + ("is that charge" if match else "is not that charge here")))
    if not (match and entry):
        return Verdict(False, tuple(checks))

    about = doc.get("about")
    if isinstance(about, dict) and "unit" in about:
        stated = entry.guarantee is not None and about["unit"] == unit_in_words(entry.guarantee)
        checks.append(("unit", stated, "is that of the charge" if stated else "is not that of the charge"))
    checks.append(("guarantee", *_compare_guarantee(doc.get("guarantee"), entry)))
    draw = next((e for e in entries if e.kind == DRAWN and e.settles == entry.number), None)
    drawn = draw is not None and draw.digest == found
    why = f"entry {draw.number} records " + ("this value" if drawn else "another value") if draw else entry.status
    checks.append(("drawn", drawn, why))
    return Verdict(all(ok for _, ok, _ in checks), tuple(checks))


def _compare_guarantee(document: Any, entry: Entry) -> tuple[bool, str]:
    """Whether it is the charged guarantee, and quotes its own epsilon and delta, which people read; and why not."""
    charged, other = entry.guarantee, (False, "is not what was charged")
    try:
        guarantee = Guarantee.from_json(document)
    except (TacitError, TypeError, ValueError):
        return other
    quoted = plain(list(guarantee.quoted() or ()))
    shown = [document.get("epsilon"), document.get("delta")]
    honest = quoted == shown or all(
        isinstance(a, (int, float)) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-15)
        for a, b in zip_longest(shown, quoted)
    )
    if charged is None or not honest or not charged.same_amounts(guarantee):
        return other
    if guarantee != charged or (charged.premises and guarantee.premises != charged.premises):
        return False, "has the amounts that were charged, and assumes something else than the charge says"
    return True, "is what was charged"
