"""Queries claimed in the database: a number of its own for each, before anything is evaluated.

Every function here works inside a transaction that holds the study's row, so that claims are taken one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from tacit.errors import DamagedState
from tacit.outsource.curator.tables import answers, exchanges, seal, seal_of_exchange, tokens
from tacit.outsource.protocol.terms import Refused
from tacit.privacy.claims import Claims

MANY = 500  # values in one statement
Asked = tuple[str, str, list[int]]
"""A modeler, the name of its request, the rows that it asks for."""
Given = dict[int, tuple[float | None, Claims | None]]
"""Row -> (what may be told of it, how it was paid for)."""
Known = dict[int, float | None]


@dataclass(frozen=True)
class Queries:
    """The claims of one curator, ``owner``, on one study, in one transaction."""

    connection: Connection
    study: str
    owner: str

    def take(
        self, asked: Sequence[Asked], *, queries: int, per_modeler: int, stopped: bool
    ) -> tuple[list[Refused | None], Known]:
        """See State.claim."""
        mine = exchanges.c.name == self.study
        # what this curator claimed before and neither answered nor gave back: its work failed
        self.connection.execute(exchanges.delete().where(mine, exchanges.c.owner == self.owner))
        before, free = self._earlier_requests(asked), self._free_numbers(queries)
        used: Counter[str] = Counter()
        if per_modeler < queries:
            by = sa.select(exchanges.c.modeler, sa.func.count()).where(mine).group_by(exchanges.c.modeler)
            used.update({line[0]: line[1] for line in self.connection.execute(by)})
        revoked = self.revoked_holders({modeler for modeler, _, _ in asked})
        verdicts: list[Refused | None] = []
        new: list[dict[str, Any]] = []
        for modeler, request, rows in asked:
            refusal, n = None, len(rows)
            if modeler in revoked:
                refusal = Refused("token", "this modeler's token was revoked. Nothing was evaluated")
            elif (modeler, request) in before:
                if before[modeler, request] != rows:
                    refusal = Refused("reused", f"request {request} was made for other rows; take a new identifier")
            elif stopped:
                refusal = Refused("stopped", "the curator has stopped this study. Nothing was evaluated")
            elif used[modeler] + n > per_modeler:
                refusal = Refused("limit", f"a modeler may ask {per_modeler} queries: no room for {n} more")
            elif len(numbers := list(islice(free, n))) < n:
                free = chain(numbers, free)
                refusal = Refused("limit", f"this study answers {queries} queries: no room for {n} more")
            else:
                before[modeler, request] = rows
                used[modeler] += n
                who = {"name": self.study, "modeler": modeler, "request": request, "owner": self.owner, "time": now()}
                places = enumerate(zip(rows, numbers, strict=True))
                lines = [{**who, "position": k, "row": row, "number": number} for k, (row, number) in places]
                new += [{**line, "seal": seal_of_exchange(line)} for line in lines]
            verdicts.append(refusal)
        if new:
            self.connection.execute(exchanges.insert(), new)
        allowed = {row for a, refusal in zip(asked, verdicts, strict=True) if refusal is None for row in a[2]}
        return verdicts, self.find_answers(allowed)

    def revoked_holders(self, modelers: set[str]) -> set[str]:
        """Those of them who may ask no more, as of this transaction."""
        t = tokens.c
        found: set[str] = set()
        for some in _slices(modelers):
            query = sa.select(t.holder).where(t.name == self.study, t.holder.in_(some), t.revoked.is_not(None))
            found.update(self.connection.scalars(query))
        return found

    def _earlier_requests(self, asked: Sequence[Asked]) -> dict[tuple[str, str], list[int]]:
        """The rows of each request that is there already; one that another curator left unanswered is ours now."""
        e = exchanges.c
        found: dict[tuple[str, str], list[int]] = {}
        for some in _slices({(modeler, request) for modeler, request, _ in asked}):
            which = (e.name == self.study) & sa.tuple_(e.modeler, e.request).in_(some)
            lines = read_exchanges(self.connection, which, e.position)
            for line in lines:
                found.setdefault((line.modeler, line.request), []).append(line.row)
            if any(line.owner is not None for line in lines):
                self.connection.execute(exchanges.update().where(which, e.owner.is_not(None)).values(owner=self.owner))
        return found

    def _free_numbers(self, queries: int) -> Iterator[int]:
        """Numbers that no query has, up to the limit; those that were given back come last."""
        e = exchanges.c
        last = self.connection.scalar(sa.select(sa.func.max(e.number)).where(e.name == self.study)) or 0
        yield from range(last + 1, queries + 1)
        taken = set(self.connection.scalars(sa.select(e.number).where(e.name == self.study)))
        yield from (number for number in range(1, min(last, queries) + 1) if number not in taken)

    def find_answers(self, rows: Iterable[int]) -> Known:
        """What is recorded for these rows."""
        a = answers.c
        found: Known = {}
        for some in _slices(rows):
            found.update(read_answers(self.connection, (a.name == self.study) & a.row.in_(some)))
        return found

    def settle(self, given: Given, done: Sequence[Asked]) -> tuple[Known, set[int]]:
        """See State.record."""
        e = exchanges.c
        there = self.find_answers(given)
        about = {"name": self.study, "time": now()}
        new = [
            {**about, "row": row, "value": value, "seal": seal(row, value), "charge": _entry(claims)}
            for row, (value, claims) in given.items()
            if row not in there
        ]
        if new:
            self.connection.execute(answers.insert(), new)
        finished: Counter[tuple[str, str]] = Counter()
        for some in _slices({(modeler, request) for modeler, request, _ in done}):
            which = (e.name == self.study) & sa.tuple_(e.modeler, e.request).in_(some)
            self.connection.execute(exchanges.update().where(which, e.owner == self.owner).values(owner=None))
            told = self.connection.execute(sa.select(e.modeler, e.request).where(which, e.owner.is_(None)))
            finished.update((modeler, request) for modeler, request in told)
        lost = {i for i, (modeler, request, rows) in enumerate(done) if finished[modeler, request] != len(rows)}
        return {**{row: value for row, (value, _) in given.items()}, **there}, lost

    def withdraw(self, modeler: str, request: str) -> None:
        """See State.withdraw."""
        e = exchanges.c
        which = (e.name == self.study) & (e.owner == self.owner) & (e.modeler == modeler) & (e.request == request)
        self.connection.execute(exchanges.delete().where(which))


def read_exchanges(
    connection: Connection, which: sa.ColumnElement[bool], order: Any, latest: int | None = None
) -> list[sa.Row[Any]]:
    """Exchanges as they were written; StateError if one was changed since."""
    found = connection.execute(sa.select(exchanges).where(which).order_by(order).limit(latest)).all()
    if any(line.seal not in (None, seal_of_exchange(line._mapping)) for line in found):
        raise damage()
    return list(found)


def read_answers(connection: Connection, which: sa.ColumnElement[bool]) -> Known:
    """Answers by row, the oldest first, as they were written; StateError if one was changed since."""
    a = answers.c
    found = connection.execute(sa.select(a.row, a.value, a.seal).where(which).order_by(a.time)).all()
    if any(line.seal not in (None, seal(line.row, line.value)) for line in found):
        raise damage()
    return {line.row: line.value for line in found}


def damage() -> DamagedState:
    return DamagedState("the curator's state was changed: it does not hold what was written. Put the latest copy back")


def _entry(claims: Claims | None) -> int | None:
    return claims.payment.entry if claims is not None and claims.payment is not None else None


def _slices(values: Iterable[Any]) -> Iterator[list[Any]]:
    every = list(values)
    return (every[i : i + MANY] for i in range(0, len(every), MANY))


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
