"""The curator: owns the rows, publishes their transformed table once, answers for single rows.

    publish    debit the ledger, draw the table, keep it, only then show it
    ask        evaluate, debit (if answers are private), draw, record, only then tell

A value leaves only after it was recorded. So a curator that dies in between can use the same payment again: what it
drew was seen by nobody.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tacit.errors import ObjectiveError, TacitError, choice, count
from tacit.outsource.curator.payments import Payments, answer_mechanism, whole
from tacit.outsource.curator.rows import PrivateAnswers, table_and_evaluation
from tacit.outsource.curator.state import Exchange, State, now
from tacit.outsource.curator.transform import NoisyProjection, PublishedProjection, moved, usable
from tacit.outsource.protocol.frames import Digest, chunks, packed, unframed
from tacit.outsource.protocol.terms import MOST_ROWS, Answer, Published, Refused, Table, request_name
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import digest

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

CHUNK_BYTES = 1 << 18
LOCAL = "local"


class Curator:
    """Publishes a table that stands for private rows, and answers queries for single rows of it.

    ``rows`` is an array, a data frame or a .csv or .parquet file; ``evaluate`` the name of a column, an array of
    answers, a function of a row, or ``Prompt()``. ``state`` is a folder or a PostgreSQL URL, in which everything
    survives; without it the study ends with the process. ``queries`` limits all queries together, ``per_modeler`` those
    of each.

    Guarantee. Of the table: that of the transformation, unconditional for "noisy". Of table and answers together:
    conditional on answers not being sensitive, unless ``answers=PrivateAnswers(...)``, whose noise is charged to the
    ledger query by query.
    Follows. Kharkovskii2020, Algorithm 1 and section 2. Private answers are theirs to leave open, and ours.
    Differs. A row is evaluated and paid for once: whoever asks again, or retries a request, is told the same.
    Edges. A query is refused when the limit is reached, the row does not exist, or the study was stopped; then nothing
    is evaluated or charged. A second curator on the same state is refused.

    >>> rows = np.random.default_rng(0).uniform(-9, 9, (50, 2))
    >>> curator = Curator(rows, rows.sum(axis=1), epsilon=1.0, delta=1e-3)
    >>> [a.row for a in curator.ask([3, 4])], curator.published().guarantee.kind
    ([3, 4], 'unconditional')
    """

    def __init__(
        self,
        rows: Any,
        evaluate: Any,
        *,
        epsilon: float,
        delta: float,
        transform: str = "noisy",
        dimensions: int | None = None,
        scale: npt.ArrayLike | None = None,
        distance: float = 1.0,
        insist: str | None = None,
        answers: PrivateAnswers | None = None,
        queries: int = 100,
        per_modeler: int | None = None,
        state: str | Path | None = None,
        name: str = "study",
        ledger: Ledger | None = None,
        noise: Source = EXACT,
    ) -> None:
        values, self._evaluate, self.evaluation = table_and_evaluation(rows, evaluate)
        self._rows = usable(values, delta)
        self.queries = count("queries", queries)
        self.per_modeler = self.queries if per_modeler is None else count("per_modeler", per_modeler)
        self.ledger, self._answers = ledger, answers
        self._turn, self._alone = threading.Lock(), threading.Lock()  # one evaluates; nobody waits to look
        n, d = self._rows.shape
        unit = moved(distance) + (", with whatever answer it then has" if answers else "")
        shared: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "scale": scale, "unit": unit, "noise": noise}
        if choice("transform", transform, ("noisy", "projection")) == "noisy":
            self._transform: Any = NoisyProjection(d, dimensions=dimensions, distance=distance, **shared)
        else:
            self._transform = PublishedProjection(n, d, dimensions=dimensions or 10, insist=insist, **shared)
        self._mechanism = answer_mechanism(answers, unit, noise)
        self._folder = tempfile.TemporaryDirectory(prefix="tacit-curator-") if state is None else None
        self._state = State(self._folder.name if self._folder else str(state), name)
        try:
            said = [transform, epsilon, delta, dimensions, distance, self._transform.divisor.tolist(), repr(answers)]
            if answers and answers.charged == "each":
                said.append(self.queries)  # the stated guarantee counts on them
            if noise.simulated:
                said.append("simulated")  # such a study never becomes one with a guarantee, nor the other way round
            self.study, terms = self._state.begin(uuid.uuid4().hex, _fingerprint(self._rows, said))
            self._payments = Payments(ledger, self.study)
            self._published = Published.from_json(terms) if terms else self._publish()
            if self._published.queries != self.queries:
                self._published = replace(self._published, queries=self.queries)
                self._state.publish(self._published.to_json())
            self._log, self._known = self._state.load()
            self._requests: dict[tuple[str, str], list[int]] = {}
            for e in self._log:
                self._requests.setdefault((e.modeler, e.request), []).append(e.row)
            self._used = Counter(e.modeler for e in self._log)
            self._stopped = self._state.stopped()
            self._owed(terms is not None)
            self._settle(self._known if answers else ())
        except BaseException:
            self.close()
            raise

    def published(self) -> Published:
        return self._published

    def _publish(self) -> Published:
        t = self._transform
        self._payments.charge(t.guarantee, "table")
        dtype = "<f4" if t.kind == "noisy" else "<f8"  # noise drowns what single precision rounds; post-processing
        chunk = max(1, CHUNK_BYTES // (t.dimensions * np.dtype(dtype).itemsize))
        self._state.clear_parts()  # left by a curator that died while drawing; nobody saw them
        summary = Digest()
        for number, part in enumerate(chunks(t.blocks(self._rows), chunk, dtype)):
            summary.add(part)
            self._state.put_part(number, len(part), packed(part))
        terms = Published(
            study=self.study,
            rows=len(self._rows),
            columns=t.dimensions,
            transform=t.kind,
            noise=t.scale_of_noise,
            answer_noise=self._mechanism.scale if self._mechanism else 0.0,
            queries=self.queries,
            guarantee=t.guarantee,
            whole=whole(t.guarantee, self._answers, self._mechanism, self.queries),
            digest=summary.text(),
            dtype=dtype,
            chunk=chunk,
            about=t.about(),
        )
        self._state.publish(terms.to_json())
        return terms

    def frames(self, start: int = 0) -> Iterator[bytes]:
        """The published table as bytes, a chunk at a time."""
        return self._state.frames(start)

    def table(self) -> Table:
        """The published table (n, r)."""
        return np.concatenate(list(unframed(self.frames(), self._published)))

    def answers(self, *, modeler: str = LOCAL) -> list[Answer]:
        """All that this modeler was told, oldest first."""
        with self._alone:
            return [Answer(e.row, self._known[e.row]) for e in self._log if e.modeler == modeler]

    def ask(self, rows: Sequence[int], *, request: str | None = None, modeler: str = LOCAL) -> list[Answer]:
        """One answer for each row, recorded before it is returned."""
        result = self.ask_all([(modeler, request or uuid.uuid4().hex, list(rows))])[0]
        if isinstance(result, Exception):
            raise result
        return result

    def ask_all(self, asked: Sequence[tuple[str, str, list[int]]]) -> list[list[Answer] | Exception]:
        """Several requests (modeler, request, rows) in one commit; for each its answers, or why it was refused."""
        with self._turn:
            given: dict[int, tuple[float | None, int | None]] = {}
            fresh: list[Exchange] = []
            results: list[list[int] | Exception] = []
            for modeler, request, rows in asked:
                try:
                    results.append(self._admitted(modeler, request, rows, given, fresh))
                except TacitError as error:
                    results.append(error)
            if fresh:
                self._state.record(given, fresh)
                with self._alone:
                    self._learn(given, fresh)
                self._settle(row for row, (_, charge) in given.items() if charge is not None)
            told: list[list[Answer] | Exception] = [
                r if isinstance(r, Exception) else [Answer(row, self._known[row]) for row in r] for r in results
            ]
        return told

    def _learn(self, given: dict[int, tuple[float | None, int | None]], fresh: list[Exchange]) -> None:
        """Take over what is now recorded."""
        self._known.update({row: value for row, (value, _) in given.items()})
        self._log += fresh
        for e in fresh:
            self._requests.setdefault((e.modeler, e.request), []).append(e.row)
            self._used[e.modeler] += 1

    def _admitted(
        self,
        modeler: str,
        request: str,
        rows: list[int],
        given: dict[int, tuple[float | None, int | None]],
        fresh: list[Exchange],
    ) -> list[int]:
        """The rows to tell for one request; evaluates what is new into ``given``. Refuses before it evaluates."""
        request_name(request)
        now_asked = [e.row for e in fresh if (e.modeler, e.request) == (modeler, request)]
        before = self._requests.get((modeler, request)) or now_asked
        if before:
            if before != rows:
                raise Refused("reused", f"request {request} was made for other rows; take a new identifier")
            return before
        n = len(self._rows)
        if not 1 <= len(rows) <= MOST_ROWS:
            raise Refused("rows", f"a request asks for 1 to {MOST_ROWS} rows, got {len(rows)}")
        if any(not 0 <= row < n for row in rows):
            raise Refused("unknown row", f"rows are numbered 0 to {n - 1}. Nothing was evaluated")
        if self._stopped:
            raise Refused("stopped", "the curator has stopped this study. Nothing was evaluated")
        if len(self._log) + len(fresh) + len(rows) > self.queries:
            raise Refused("limit", f"this study answers {self.queries} queries: no room for {len(rows)} more")
        if self._used[modeler] + sum(e.modeler == modeler for e in fresh) + len(rows) > self.per_modeler:
            raise Refused("limit", f"a modeler may ask {self.per_modeler} queries: no room for {len(rows)} more")
        new = [row for row in dict.fromkeys(rows) if row not in self._known and row not in given]
        given.update({row: self._answer(row) for row in new})
        first, time = len(self._log) + len(fresh) + 1, now()
        fresh += [Exchange(first + k, modeler, request, row, time) for k, row in enumerate(rows)]
        return rows

    def _answer(self, row: int) -> tuple[float | None, int | None]:
        """(what may be told of a row, the charge that paid)."""
        try:
            found = self._evaluate(row, self._rows[row])
            value = None if found is None else float(found)
        except Exception as error:
            if self._mechanism is None:
                raise ObjectiveError(f"the evaluation of row {row} raised {type(error).__name__}") from error
            value = None
        if self._mechanism is None or self._answers is None:
            return (value if value is None or math.isfinite(value) else None), None
        what, once = self._paid_as(row)
        charge = self._payments.charge(self._mechanism.guarantee, what, shared=once)
        drawn = float(self._mechanism.draw(self._mechanism.checked(self._answers.clipped(value))))
        return drawn, charge

    def _paid_as(self, row: int) -> tuple[str, bool]:
        """The purpose under which the answer for a row is charged, and whether all answers share it."""
        once = self._answers is not None and self._answers.charged == "once"
        return ("answers" if once else f"answer for row {row}"), once

    def _owed(self, before: bool) -> None:
        """Charge what this state told already and this ledger does not know of, before more is told."""
        if before:
            self._payments.charge(self._transform.guarantee, "table", shared=True)
        if self._mechanism is not None:
            for row in self._known:
                self._payments.charge(self._mechanism.guarantee, self._paid_as(row)[0], shared=True)

    def _settle(self, charged: Iterable[int]) -> None:
        """Tell the ledger of draws that are recorded here."""
        self._payments.settle("table", self._published.digest)
        if self._known:  # where one payment covers all answers, the first one stands for them
            self._payments.settle("answers", digest(next(iter(self._known.values()))))
        for row in charged:
            self._payments.settle(f"answer for row {row}", digest(self._known[row]))

    def status(self) -> dict[str, Any]:
        """For the curator's eyes: terms, queries used and left, budget left, who asked what (the latest 200)."""
        left = str(self.ledger.remaining()) if self.ledger else None
        with self._alone:
            used, told = len(self._log), [e.__dict__ for e in reversed(self._log[-200:])]
            counts = {"queries": self.queries, "used": used, "left": max(0, self.queries - used), "budget_left": left}
            by = {"stopped": self._stopped, "modelers": dict(self._used), "exchanges": told}
        return {"terms": self._published.to_json(), **counts, **by}

    def exchanges(self) -> list[Exchange]:
        """Who asked for which row, oldest first."""
        return list(self._log)

    def stop(self, stopped: bool = True) -> None:
        """Answer nobody from now on, or with False answer again; survives a restart."""
        with self._alone:
            self._state.stop(stopped)
            self._stopped = self._state.stopped()

    def close(self) -> None:
        self._state.close()
        if self._folder:
            self._folder.cleanup()

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _fingerprint(rows: npt.NDArray[np.float64], said: list[Any]) -> str:
    """Names the rows and the terms, so that a restart with others is noticed."""
    summary = hashlib.sha256(json.dumps([rows.shape, *said]).encode())
    summary.update(rows.data)
    return summary.hexdigest()
