"""A file of what was drawn, so that an interrupted run goes on without drawing or paying twice.

One JSON document per line, each on disk before the next thing happens:

    {"terms": ..., "run": "..."}      what was promised, and a number for the ledger to know the run by
    {"paid": ...}                     the ledger's entry
    {"claim": "step 3"}               about to draw
    {"keep": "step 3", "value": ...}  drawn, with its noise

Nothing in it is private: a value is written only after its noise was added.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import BadInput, LedgerError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.release import Payment

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger


class Journal:
    """Draws that are claimed before they are made, in a file or, without one, in memory.

    Guarantee. Each name is drawn at most once, whatever crashes: the claim is on disk before the noise is drawn. A draw
    that was claimed and lost counts as made and stays lost. The charge is made once for each file. An older copy of a
    file, put back, is noticed if the ledger has recorded the release, and not before: keep no copies of a running one.
    Edges. A line cut short by a crash never happened. A file begun under other terms, or edited, is refused.

    >>> journal = Journal(None, {"steps": 2})
    >>> journal.drawn("step 0", lambda: 5, lambda total: total + 0.25), journal.drawn("step 0", lambda: 5, float)
    (5.25, 5.25)
    """

    def __init__(self, file: Path | None, terms: dict[str, Any]) -> None:
        self.file, self.run = file, uuid.uuid4().hex
        self.payment: Payment | None = None
        self._over = False
        self._claimed: set[str] = set()
        self._kept: dict[str, Any] = {}
        mine = json.loads(json.dumps(terms))
        lines = self._lines()
        for line in lines:
            self._read(line, mine)
        if not lines:
            self._write({"terms": mine, "run": self.run})

    def pay(self, ledger: Ledger | None, guarantee: Guarantee, purpose: str) -> Payment | None:
        """Debit and commit the whole run, or find the debit that an earlier process made for it."""
        if ledger is None:
            return self.payment
        if self.payment is not None:
            self._over = ledger.pays(self.payment).drawn is not None  # refuses another ledger, before anything is drawn
            return self.payment
        purpose = f"{purpose}, run {self.run}"
        earlier = [e for e in ledger.entries() if e.kind == "charge" and e.purpose == purpose] if self.file else []
        if earlier:
            self.payment = Payment(ledger.id, ledger.name, earlier[0].number, earlier[0].hash)
        else:
            self.payment = ledger.charge(guarantee, purpose)
        self._write({"paid": self.payment.to_json()})
        return self.payment

    def drawn(self, name: str, exact: Callable[[], Any], draw: Callable[[Any], Any]) -> Any:
        """What was drawn under this name, or None if it was lost. If it was never claimed: evaluate, claim, draw, keep.

        An evaluation that fails claims nothing. A run whose release the ledger has recorded draws nothing more.
        """
        if name not in self._claimed:
            if self._over:
                raise LedgerError(
                    f"the ledger has recorded what this run released, and {self.file} does not hold all of it: an "
                    "older copy was put back. Use another folder, which is paid for anew. Nothing was drawn"
                )
            total = exact()
            self._write({"claim": name})
            self._claimed.add(name)
            value = draw(total)
            self._write({"keep": name, "value": value})
            self._kept[name] = value
        return self._kept.get(name)

    def _read(self, line: dict[str, Any], terms: dict[str, Any]) -> None:
        match line:
            case {"terms": stored, "run": str(run)}:
                if stored != terms:
                    other = sorted(k for k in {*stored, *terms} if stored.get(k) != terms.get(k))
                    raise BadInput(f"{self.file} was begun under other terms ({', '.join(other)}); use another folder")
                self.run = run
            case {"paid": dict(payment)}:
                self.payment = Payment.from_json(payment)
            case {"claim": str(name)}:
                self._claimed.add(name)
            case {"keep": str(name), "value": value} if name in self._claimed:
                self._kept[name] = value
            case _:
                raise self._unreadable()

    def _lines(self) -> list[dict[str, Any]]:
        if self.file is None or not self.file.exists():
            return []
        raw = self.file.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if whole != raw:  # cut short while it was written: what it announced did not happen yet
            with self.file.open("r+b") as file:
                file.truncate(len(whole))
                os.fsync(file.fileno())
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
        except ValueError:
            raise self._unreadable() from None
        if lines and "terms" not in lines[0]:
            raise self._unreadable()
        return lines

    def _unreadable(self) -> BadInput:
        return BadInput(f"{self.file} is not what was written there; use another folder. Nothing was released")

    def _write(self, line: dict[str, Any]) -> None:
        if self.file is None:
            return
        new = not self.file.exists()
        with self.file.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if new:
            folder = os.open(self.file.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
