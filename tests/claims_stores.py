"""The places where a run may be kept, in one form, for the laws of claims. Importable by child processes."""

from __future__ import annotations

import logging
import os
import pickle
import shutil
import signal
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import optuna

import tacit
from tacit.errors import LedgerError
from tacit.outsource.curator.payments import Recorded, name_answers
from tacit.outsource.curator.state import State
from tacit.privacy.claims import Claims, Promise
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.run.journal import Journal
from tacit.run.study import open_study
from tacit.run.study_store import StudyStore

fork = get_context("fork")
logging.getLogger("optuna").setLevel(logging.ERROR)
T = 4
PIECE = Guarantee(Budget.gdp(0.5))
TERMS = {"draws": T}


@dataclass
class Kind:
    """A kind of store at a place. ``drawn`` is a file with one character for each draw that was ever made."""

    folder: Path
    url: str = ""  # of a server, where the kind needs one

    durable: ClassVar[bool] = True
    shared: ClassVar[bool] = True  # threads may use one object together
    copies: ClassVar[bool] = True
    pickles: ClassVar[bool] = True
    forks: ClassVar[bool] = True
    draws: ClassVar[int | None] = T  # None: draws have names

    @property
    def drawn(self) -> int:
        file = self.folder / "drawn"
        return file.stat().st_size if file.exists() else 0

    def ledger(self, kind: type[Ledger] = Ledger, mu: float = 5.0, name: str = "l") -> Ledger:
        return kind.open(self.url or self.folder / "ledger.db", name, Budget.gdp(mu))

    def charges(self) -> int:
        with self.ledger() as ledger:
            ledger.verify()
            return sum(e.kind == "charge" for e in ledger.entries())

    def store(self) -> Any:
        raise NotImplementedError

    def open(self, ledger: Ledger | None = None, store: Any = None, terms: Any = TERMS) -> Claims:
        """As a process does that begins or resumes the run."""
        promise, store = Promise(PIECE, self.draws, "tune {run}: laws", terms), store or self.store()
        try:
            return Claims(store, promise, ledger=ledger)
        except tacit.TacitError:
            self.close(store)
            raise

    def key(self, claims: Claims, i: int) -> Any:
        """The key of the i-th draw."""
        return f"draw {i}"

    def draw(self, claims: Claims, i: int = 0) -> Any:
        """One draw, from the evaluation to what is kept of it."""
        return claims.draw(self.key(claims, i), lambda: i, self.note)

    def note(self, total: int) -> float:
        """Stands for the noise; the draw is seen by everybody."""
        descriptor = os.open(self.folder / "drawn", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, b".")
        os.close(descriptor)
        return total + int.from_bytes(os.urandom(4), "big") / 2**32

    def draw_all(self, claims: Claims, tries: int = T + 2) -> list[Any]:
        """As many draws as can be made, whatever refuses the others."""
        made: list[Any] = []
        for i in range(tries):
            try:
                made.append(self.draw(claims, i))
            except tacit.TacitError as refused:
                made.append(refused)
        return [value for value in made if isinstance(value, float)]

    def copy(self, to: Path) -> Kind:
        """A second store with the same content, elsewhere."""
        raise NotImplementedError

    def save(self) -> Any:
        """The content, to be put back later."""
        raise NotImplementedError

    def put_back(self, saved: Any) -> None:
        raise NotImplementedError

    def close(self, store: Any) -> None:
        """Let go of the store, as a process does that ends."""


class StudyInMemory(Kind):
    durable = False

    def store(self) -> StudyStore:
        if not hasattr(self, "study"):
            self.study = open_study(None, "laws", ["minimize"])
        return self.quick(self.study)

    def quick(self, study: optuna.Study) -> StudyStore:
        study.sampler = optuna.samplers.RandomSampler()  # has nothing to learn from earlier trials
        return StudyStore(study)

    def key(self, claims: Claims, i: int) -> optuna.Trial:
        return claims.store.study.ask()  # type: ignore[attr-defined]

    def draw(self, claims: Claims, i: int = 0) -> float:
        trial = self.key(claims, i)
        value: float = claims.draw(trial, lambda: i, self.note)
        claims.store.study.tell(trial, value)  # type: ignore[attr-defined]
        return value

    def copy(self, to: Path) -> Kind:
        other = type(self)(to)
        storage = optuna.storages.InMemoryStorage()
        optuna.copy_study(from_study_name="laws", from_storage=self.study._storage, to_storage=storage)
        other.study = optuna.load_study(study_name="laws", storage=storage)  # type: ignore[attr-defined]
        return other


@cache
def empty_study() -> bytes:
    """A file with Optuna's tables alone, which it takes a tenth of a second to make."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "study.db")
        optuna.storages.RDBStorage(f"sqlite:///{file}").engine.dispose()
        return file.read_bytes()


class StudyInSQLite(StudyInMemory):
    durable = True

    def __post_init__(self) -> None:
        if not (self.folder / "study.db").exists():
            (self.folder / "study.db").write_bytes(empty_study())

    @property
    def where(self) -> str:
        return f"sqlite:///{self.folder}/study.db"

    def store(self) -> StudyStore:
        return self.quick(open_study(self.where, "laws", ["minimize"]))

    def copy(self, to: Path) -> Kind:
        shutil.copy(self.folder / "study.db", to / "study.db")
        return type(self)(to)

    def save(self) -> bytes:
        return (self.folder / "study.db").read_bytes()

    def put_back(self, saved: bytes) -> None:
        (self.folder / "study.db").write_bytes(saved)


class StudyInPostgres(StudyInMemory):
    durable, forks = True, False  # Optuna's connections to a server do not survive a fork
    name = "laws"

    def store(self) -> StudyStore:
        return self.quick(open_study(self.url, self.name, ["minimize"]))

    def copy(self, to: Path) -> Kind:
        other = type(self)(to, self.url)
        other.name = f"copy {uuid.uuid4().hex}"
        url = self.url.replace("postgresql://", "postgresql+psycopg://")
        optuna.copy_study(from_study_name=self.name, from_storage=url, to_storage=url, to_study_name=other.name)
        return other

    def save(self) -> dict[str, list[tuple[Any, ...]]]:
        import psycopg

        with psycopg.connect(self.url) as connection:
            tables = [name for (name,) in connection.execute("select tablename from pg_tables where tablename != 'x'")]
            ours = ("studies", "study_user_attributes", "trials", "trial_user_attributes", "trial_values")
            return {t: connection.execute(f"select * from {t}").fetchall() for t in ours if t in tables}  # type: ignore[arg-type]

    def put_back(self, saved: dict[str, list[tuple[Any, ...]]]) -> None:
        """Older rows of trials and attributes, as a restored dump has them; parameters are left as they are."""
        import psycopg

        with psycopg.connect(self.url) as connection:
            for table in ("trial_values", "trial_user_attributes", "study_user_attributes"):
                connection.execute(f"delete from {table}")  # type: ignore[arg-type]
                for row in saved[table]:
                    marks = ", ".join(["%s"] * len(row))
                    connection.execute(f"insert into {table} values ({marks})", row)  # type: ignore[arg-type]
            kept = [row[0] for row in saved["trials"]]
            connection.execute("update trials set state = 'FAIL' where not trial_id = any(%s)", (kept,))


class JournalFile(Kind):
    draws = None

    def store(self) -> Journal:
        return Journal(self.folder / "journal")

    def copy(self, to: Path) -> Kind:
        shutil.copy(self.folder / "journal", to / "journal")
        return type(self)(to)

    def save(self) -> bytes:
        return (self.folder / "journal").read_bytes()

    def put_back(self, saved: bytes) -> None:
        (self.folder / "journal").write_bytes(saved)


class StateInSQLite(Kind):
    draws = None
    shared, pickles, forks = False, False, False

    @property
    def place(self) -> Path | str:
        return self.folder / "state"

    def store(self) -> Recorded:
        state = State(self.place, "laws")
        study, _ = state.begin(uuid.uuid4().hex, "the same")
        return Recorded(state, study, None)

    def key(self, claims: Claims, i: int) -> int:
        return i

    def draw(self, claims: Claims, i: int = 0) -> Any:
        state = claims.store._state  # type: ignore[attr-defined]
        known = state.load()[1]
        if i in known:
            return known[i]
        value = super().draw(claims, i)
        recorded = state.record({i: (value, claims)}, ())[0]
        claims.name(name_answers({i: recorded[i]}))
        return recorded[i]

    def copy(self, to: Path) -> Kind:
        shutil.copytree(self.folder / "state", to / "state")
        return type(self)(to)

    def save(self) -> Path:
        saved = self.folder / uuid.uuid4().hex
        return Path(shutil.copytree(self.folder / "state", saved))

    def put_back(self, saved: Path) -> None:
        shutil.rmtree(self.folder / "state")
        shutil.copytree(saved, self.folder / "state")

    def close(self, store: Recorded) -> None:
        store._state.close()


class StateInPostgres(StateInSQLite):
    copies = False  # a copy of a database is another server's, and nothing here tells it from a moved one

    @property
    def place(self) -> str:
        return self.url

    def save(self) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.url) as connection:
            return connection.execute("select * from tacit_outsource_answer").fetchall()

    def put_back(self, saved: list[tuple[Any, ...]]) -> None:
        import psycopg

        with psycopg.connect(self.url) as connection:
            connection.execute("delete from tacit_outsource_answer")
            for row in saved:
                connection.execute(f"insert into tacit_outsource_answer values ({', '.join(['%s'] * len(row))})", row)  # type: ignore[arg-type]


KINDS: dict[str, type[Kind]] = {
    "study in memory": StudyInMemory,
    "study in SQLite": StudyInSQLite,
    "study in PostgreSQL": StudyInPostgres,
    "journal": JournalFile,
    "state in SQLite": StateInSQLite,
    "state in PostgreSQL": StateInPostgres,
}


# Processes that die


STEPS = (
    "before the evaluation",
    "before the home is noted",
    "after the home is noted",
    "before the charge",
    "after the charge",
    "after the payment is stored",
    "before the count is begun",
    "before the claim",
    "after the claim",
    "after the count",
    "after the draw",
    "after it is kept",
)
BEFORE_THE_FIRST = STEPS[1:6]  # steps that only the first draw of a run takes


def is_taken(step: str, *, hidden: bool) -> bool:
    """Whether a draw takes this step: a hidden store is claimed by what it holds."""
    return not (hidden and step in ("before the claim", "after the claim"))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Dying:
    """A store that kills its process at a step of a draw, or does something else then."""

    def __init__(self, store: Any, step: str, act: Callable[[], None] = die) -> None:
        self._store, self._step, self._act = store, step, act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def at(self, step: str) -> None:
        if step == self._step:
            self._act()

    def write(self, name: str, value: Any) -> None:
        if name == "home":
            self.at("before the home is noted")
        self._store.write(name, value)
        if name == "home":
            self.at("after the home is noted")
        if name == "payment":
            self.at("after the payment is stored")

    def claim(self, key: Any, most: int | None) -> None:
        self.at("before the claim")
        self._store.claim(key, most)
        self.at("after the claim")

    def keep(self, key: Any, value: Any) -> None:
        self.at("after the draw")
        self._store.keep(key, value)
        self.at("after it is kept")


class DyingLedger(Ledger):
    """A ledger that does the same around the charge, or before it counts draws."""

    step, act = "", staticmethod(die)

    def charge(self, *given: Any, **named: Any) -> Any:
        if self.step == "before the charge":
            self.act()
        payment = super().charge(*given, **named)
        if self.step == "after the charge":
            self.act()
        return payment

    def draws(self, payment: Any) -> Any:
        if self.step == "before the count is begun":
            self.act()
        return super().draws(payment)


def whole_draws(step: str) -> int:
    """How many draws are made before one dies at the step."""
    return 0 if step in BEFORE_THE_FIRST else 2


def draw_and_die(kind: Kind, step: str, act: Callable[[], None] = die) -> None:
    """Some whole draws, then one that dies at the step, or does something else then."""
    first = whole_draws(step)
    if first:
        with kind.ledger() as ledger:
            claims = kind.open(ledger)
            for i in range(first):
                kind.draw(claims, i)
            kind.close(claims.store)
    claims = kind.open(kind.ledger(type("Ledger", (DyingLedger,), {"step": step, "act": staticmethod(act)})))
    claims.store = Dying(claims.store, step, act)
    if step == "after the count":
        count, name = claims.count, claims.name
        claims.count = lambda key: (count(key), act())[0]  # type: ignore[method-assign, func-returns-value]
        claims.name = lambda drawn: (name(drawn), act())[0]  # type: ignore[method-assign, func-returns-value]
    if step == "before the evaluation":
        claims.draw(kind.key(claims, first), act, kind.note)
    kind.draw(claims, first)


def tune_in_a_process(storage: str, ledger: Path | str, start: Any) -> None:
    """One of a fleet that searches together: opens study and ledger as every other does."""
    start.wait(120)
    while True:
        try:
            tune_together(storage, ledger)
        except LedgerError as error:
            if "try again" not in str(error):  # the ledger was held by others for longer than it waits
                raise
        else:
            return


def tune_together(storage: str, ledger: Path | str) -> None:
    tacit.tune(
        lambda params: np.full(2000, 0.2 + (params["x"] - 0.3) ** 2),
        {"x": tacit.Float(0.0, 1.0)},
        records=2000,
        bounds=(0.0, 1.0),
        budget=Budget.gdp(0.5),
        trials=8,
        method="random",
        ledger=Ledger.open(ledger, "l", Budget.gdp(5.0)),
        storage=storage,
        progress=False,
    )


def run_child(work: Any, *arguments: Any) -> int | None:
    """What a forked process came to."""
    child = fork.Process(target=work, args=arguments)
    child.start()
    child.join()
    return child.exitcode


def draw_in_a_process(kind: Kind, paying: bool, start: Any) -> None:
    start.wait(60)
    ledger = kind.ledger() if paying else None
    try:
        claims = kind.open(ledger)
    except tacit.TacitError:
        return  # held by another, where one process at a time may hold it
    kind.draw_all(claims)


def draw_given(kind: Kind, claims: Claims) -> None:
    kind.draw_all(claims)


def draw_pickled(kind: Kind, pickled: bytes) -> None:
    kind.draw_all(pickle.loads(pickled))
