"""The curator: owns the rows, publishes their transformed table once, answers for single rows.

    publish    debit the ledger, draw the table, keep it, only then show it
    ask        claim a query, evaluate, debit (if answers are private), draw, record, only then tell

A value leaves only after it was recorded. So a curator that dies in between can use the same payment again: what it
drew was seen by nobody. A query counts from its claim on, in the database itself: two curators together answer no more
than one may (see state).
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from tacit.errors import ObjectiveError, StateError, TacitError, choice, count
from tacit.outsource.curator.payments import Recorded, answer_mechanism, name_answers, whole
from tacit.outsource.curator.queries import Asked, Given, Known, damage
from tacit.outsource.curator.rows import PrivateAnswers, table_and_evaluation
from tacit.outsource.curator.state import Exchange, State
from tacit.outsource.curator.transform import NoisyProjection, PublishedProjection, distance_unit, usable
from tacit.outsource.protocol.frames import Digest, chunks, pack, unframe
from tacit.outsource.protocol.terms import MOST_ROWS, Answer, Published, Refused, Table, request_name
from tacit.privacy.claims import Claims, Promise
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger_like import as_ledger
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import digest

if TYPE_CHECKING:
    from tacit.privacy.ledger_like import LedgerLike

CHUNK_BYTES = 1 << 18
LOCAL = "local"
Result = list[Answer] | Exception
"""What a request gets: an answer for each of its rows, or why it was refused."""


class Curator:
    """Publishes a table that stands for private rows, and answers queries for single rows of it.

    ``rows`` is an array, a data frame or a .csv or .parquet file; ``evaluate`` the name of a column, an array of
    answers, a function of a row, or ``Prompt()``. ``state`` is a folder or a PostgreSQL URL, in which everything
    survives; without it the study ends with the process. ``queries`` limits all queries together, ``per_modeler`` those
    of each.

    Guarantee. Of the table: that of the transformation, unconditional for "noisy". Of table and answers together:
    conditional on answers not being sensitive, unless ``answers=PrivateAnswers(...)``, whose noise is charged to the
    ledger query by query.
    Follows. Kharkovskii2020, Algorithm 1 and section 2. Private answers are theirs to leave open, and ours. Proof:
    docs/proofs/noisy-projection.md.
    Differs. A row is evaluated and paid for once: whoever asks again, or retries a request, is told the same.
    Edges. A query is refused when the limit is reached, the row does not exist, or the study was stopped; then nothing
    is evaluated or charged. A second curator on the same state is refused; should two run all the same, because a
    database lost its locks, limits, stops and answers are common to both.

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
        ledger: LedgerLike = None,
        noise: Source = EXACT,
    ) -> None:
        values, self._evaluate, self.evaluation = table_and_evaluation(rows, evaluate)
        self._rows = usable(values, delta)
        self.queries = count("queries", queries)
        self.per_modeler = self.queries if per_modeler is None else count("per_modeler", per_modeler)
        self.ledger, self._answers = as_ledger(ledger), answers
        self._turn = threading.Lock()  # one evaluates; nobody waits to look
        n, d = self._rows.shape
        unit = distance_unit(distance) + (", with whatever answer it then has" if answers else "")
        shared: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "scale": scale, "unit": unit}
        if choice("transform", transform, ("noisy", "projection")) == "noisy":
            made: Any = NoisyProjection(d, dimensions=dimensions, distance=distance, noise=noise, **shared)
        else:
            made = PublishedProjection(n, d, dimensions=dimensions or 10, insist=insist, noise=noise, **shared)
        self._transform = made
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
            before = {"table": Published.from_json(terms)} if terms else {}
            stated = before["table"].guarantee if before else self._transform.guarantee
            table = self._claims("table", stated, Recorded(self._state, self.study, before))
            self._published: Published = table.draw("table", lambda: self._rows, self._publish)
            table.settle(self._published.digest)
            if self._published.queries != self.queries:
                self._published = replace(self._published, queries=self.queries)
                self._state.change_terms(self._published.to_json())
            self._once: Claims | None = None
            self._confirmed: dict[int, float | None] = {}  # answers of which the ledger knows: they may be told
            self._confirming = threading.Lock()
            if self._mechanism is not None:
                self._resume(self._mechanism.guarantee)
        except BaseException:
            self.close()
            raise

    def published(self) -> Published:
        return self._published

    def _claims(self, what: str, guarantee: Guarantee, store: Recorded, draws: int | None = 1) -> Claims:
        """Draws of one purpose. What was drawn already is charged for, if this ledger does not know of it."""
        return Claims(store, Promise(guarantee, draws, f"{what} of study {{run}}", {}), ledger=self.ledger)

    def _claims_of_row(self, row: int, guarantee: Guarantee) -> Claims:
        return self._claims(f"answer for row {row}", guarantee, Recorded(self._state, self.study, row=row))

    def _claims_of_all(self, guarantee: Guarantee) -> Claims:
        return self._claims("answers", guarantee, Recorded(self._state, self.study), draws=None)

    def _resume(self, guarantee: Guarantee) -> None:
        """Have the ledger know of all answers that are recorded here, before more are told."""
        known = self._state.load()[1]
        if self._answers is not None and self._answers.charged == "once":
            self._once = self._claims_of_all(guarantee)
            if self.ledger is not None and known:
                self._once.begin()  # an epoch of its own: whoever else answers from this state, or a copy, ends here
        elif self.ledger is not None:
            entries = self.ledger.entries()
            drawn = {(entries[e.settles - 1].purpose, e.digest) for e in entries if e.settles is not None}
            self._confirmed = {
                row: value
                for row, value in known.items()
                if (f"answer for row {row} of study {self.study}", digest(value)) in drawn
            }
        self._confirm(known)

    def _confirm(self, known: Known, paid: Mapping[int, Claims] | None = None) -> None:
        """Have the ledger know of answers, each once, before anybody is told. While that fails, nobody is.

        ``paid`` has the payments of those that were drawn just now. LedgerError if the ledger knows another answer to a
        row, which a state that was put back, or a copy, has forgotten; or if another curator opened this study since.
        """
        if self._mechanism is None or self.ledger is None:
            return
        with self._confirming:
            new = {r: v for r, v in known.items() if r not in self._confirmed or self._confirmed[r] != v}
            if self._once is not None and new:
                self._once.name(name_answers(new))
                if not self._once.recorded_digest():  # one payment covers all answers: the first one stands for them
                    self._once.settle(digest(next(iter(new.values()))))
            elif new:
                for row, value in new.items():
                    claims = (paid or {}).get(row) or self._claims_of_row(row, self._mechanism.guarantee)
                    claims.settle(digest(value))
            self._confirmed |= new

    def _publish(self, rows: Any) -> Published:
        t = self._transform
        dtype = "<f4" if t.kind == "noisy" else "<f8"  # noise drowns what single precision rounds; post-processing
        chunk = max(1, CHUNK_BYTES // (t.dimensions * np.dtype(dtype).itemsize))
        self._state.clear_parts()  # left by a curator that died while drawing; nobody saw them
        summary, parts = Digest(), 0
        for part in chunks(t.blocks(rows), chunk, dtype):
            summary.add(part)
            self._state.put_part(parts, len(part), pack(part))
            parts += 1
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
        return Published.from_json(self._state.publish(terms.to_json(), parts))

    def frames(self, start: int = 0) -> Iterator[bytes]:
        """The published table as bytes, a chunk at a time."""
        return self._state.frames(start)

    def table(self) -> Table:
        """The published table (n, r)."""
        parts = list(unframe(self.frames(), self._published))
        if sum(map(len, parts)) != self._published.rows:
            raise damage()
        return np.concatenate(parts)

    def answers(self, *, modeler: str = LOCAL) -> list[Answer]:
        """All that this modeler was told, oldest first."""
        told = self._state.answers_to(modeler)
        self._confirm({answer.row: answer.value for answer in told})
        return told

    def ask(self, rows: Sequence[int], *, request: str | None = None, modeler: str = LOCAL) -> list[Answer]:
        """One answer for each row, recorded before it is returned."""
        result = self.ask_all([(modeler, request or uuid.uuid4().hex, list(rows))])[0]
        if isinstance(result, Exception):
            raise result
        return result

    def ask_all(self, asked: Sequence[Asked], tell: Callable[[int, Result], None] | None = None) -> list[Result]:
        """Several requests (modeler, request, rows): for each its answers, or why it was refused.

        ``tell`` hears of each result, by its place, as soon as it is recorded.
        """
        results: dict[int, Result] = {}

        def finish(place: int, result: Result) -> None:
            results[place] = result
            if tell:
                tell(place, result)

        with self._turn:
            places = []
            for place, request in enumerate(asked):
                try:
                    self._check(*request)
                    places.append(place)
                except TacitError as error:
                    finish(place, error)
            verdicts, known = self._state.claim(
                [asked[place] for place in places], queries=self.queries, per_modeler=self.per_modeler
            )
            admitted = {}
            for place, refusal in zip(places, verdicts, strict=True):
                if refusal is None:
                    admitted[place] = asked[place]
                else:
                    finish(place, refusal)
            # to look a column up takes no time, so that many answers share a commit; anything else may take hours
            for group in [list(admitted)] if self.evaluation == "column" else [[place] for place in admitted]:
                self._finish_group({place: admitted[place] for place in group}, known, finish)
        return [results[place] for place in range(len(asked))]

    def _check(self, modeler: str, request: str, rows: list[int]) -> None:
        """Refuse what no state could make right, before anything is claimed."""
        request_name(request)
        if not 1 <= len(rows) <= MOST_ROWS:
            raise Refused("rows", f"a request asks for 1 to {MOST_ROWS} rows, got {len(rows)}")
        n = len(self._rows)
        if any(not 0 <= row < n for row in rows):
            raise Refused("unknown row", f"rows are numbered 0 to {n - 1}. Nothing was evaluated")

    def _finish_group(self, group: dict[int, Asked], known: Known, finish: Callable[[int, Result], None]) -> None:
        """Evaluate what is new in these requests, record it, tell each of them."""
        together = len(group) > 1
        given: Given = {}
        for place, (modeler, request, rows) in list(group.items()):
            try:
                for row in dict.fromkeys(rows):
                    if row in known or row in given:
                        continue
                    if self.evaluation != "column" and (objection := self._state.find_objection(modeler)):
                        raise objection
                    given[row] = self._answer(row)
                    if not together and len(rows) > 1:  # each as it is ready: the next may take hours
                        known.update(self._keep(given, ())[0])
                        given = {}
            except TacitError as error:
                self._state.withdraw(modeler, request)
                del group[place]
                finish(place, error)
        recorded, lost = self._keep(given, list(group.values()))
        known.update(recorded)
        self._confirm({row: known[row] for _, _, rows in group.values() for row in rows if row in known})
        for k, (place, (_, _, rows)) in enumerate(group.items()):
            gone = StateError("another curator took over this query. Nothing was told; ask again")
            finish(place, gone if k in lost else [Answer(row, known[row]) for row in rows])

    def _keep(self, given: Given, done: Sequence[Asked]) -> tuple[Known, set[int]]:
        """Record, then tell the ledger of what was drawn."""
        recorded, lost = self._state.record(given, done)
        paid = {row: claims for row, (_, claims) in given.items() if claims is not None}
        self._confirm({row: recorded[row] for row in paid}, paid)
        return recorded, lost

    def _answer(self, row: int) -> tuple[float | None, Claims | None]:
        """(what may be told of a row, how it was paid for)."""
        try:
            found = self._evaluate(row, self._rows[row])
            value = None if found is None else float(found)
        except (Exception, SystemExit) as error:  # to leave is no answer either
            if self._mechanism is None:
                raise ObjectiveError(f"the evaluation of row {row} raised {type(error).__name__}") from error
            value = None
        if self._mechanism is None or self._answers is None:
            return (value if value is None or math.isfinite(value) else None), None
        exact = self._mechanism.prepare(self._answers.clip(value))
        claims = self._once or self._claims_of_row(row, self._mechanism.guarantee)
        return float(claims.draw(row, lambda: exact, self._mechanism.draw)), claims

    def status(self) -> dict[str, Any]:
        """For the curator's eyes: terms, queries used and left, budget left, who asked what (the latest 200)."""
        left = str(self.ledger.remaining()) if self.ledger else None
        by, latest = self._state.count_queries(), self._state.exchanges(200)
        used = sum(by.values())
        counts = {"queries": self.queries, "used": used, "left": max(0, self.queries - used), "budget_left": left}
        told = {"modelers": by, "exchanges": [e.__dict__ for e in reversed(latest)]}
        return {"terms": self._published.to_json(), **counts, "stopped": self._state.stop_time(), **told}

    def exchanges(self) -> list[Exchange]:
        """Who asked for which row, oldest first."""
        return self._state.exchanges()

    def stop(self, stopped: bool = True) -> None:
        """Answer nobody from now on, or with False answer again; survives a restart."""
        self._state.stop(stopped)

    def append_audit(self, lines: Sequence[dict[str, Any]]) -> None:
        """Keep lines of the service's audit log with the study."""
        self._state.append_audit(lines)

    def stop_time(self) -> str | None:
        """Since when nobody is answered, or None."""
        return self._state.stop_time()

    def reachable(self) -> dict[str, bool]:
        """Whether the state, and the ledger if there is one, can be read now."""

        def reads(look: Callable[[], Any]) -> bool:
            try:
                look()
            except TacitError:
                return False
            return True

        parts = {"state": reads(self._state.stop_time)}
        return parts if self.ledger is None else {**parts, "ledger": reads(self.ledger.remaining)}

    def close(self) -> None:
        self._state.close()
        if self._folder:
            self._folder.cleanup()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a curator holds private rows and is not pickled or copied; open another on the same state")

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _fingerprint(rows: npt.NDArray[np.float64], said: list[Any]) -> str:
    """Names the rows and the terms, so that a restart with others is noticed."""
    summary = hashlib.sha256(json.dumps([rows.shape, *said]).encode())
    summary.update(rows.data)
    return summary.hexdigest()
