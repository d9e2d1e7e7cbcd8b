"""What the processes do that are killed. Each writes what it let out, at once, to files of the one who looks on."""

from __future__ import annotations

import os
import select
import sqlite3
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.errors import BudgetRefused, LedgerTampered, TacitError
from tacit.outsource.curator import Curator
from tacit.outsource.curator import queries as claimed
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.outsource.curator.server import serve
from tacit.outsource.curator.tokens import Tokens
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import Exact, load_samplers
from tacit.privacy.release import digest
from tacit.run.private_state import PrivateState

load_samplers()  # takes a moment, which every child would spend, as do libraries that load on first use
for module in ("optuna.storages", "alembic.config", "tacit.methods.search", "tacit.training.train"):
    import_module(module)

PIECES = 128
PIECE = Guarantee(Budget.pure(1.0 / PIECES))
MODELERS, ROWS, LIMIT = 3, 400, 120
TOKENS = ",".join(f"m{i}=token-of-modeler-number-{i}" for i in range(MODELERS))


def rest(seconds: float) -> None:
    """Sleep by a way that works under libfaketime too."""
    select.select([], [], [], seconds)


def say(path: str, text: str) -> None:
    """Let something out: one write, seen by others at once, whatever happens to this process next."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{text}\n".encode())
    os.close(descriptor)


def charge_for_ever(url: str, name: str, out: str, purpose: str = "", careless: bool = False) -> None:
    """Charge, draw, settle until the budget is used up. ``careless`` draws first, to see that this is noticed."""
    ledger: Ledger | None = None
    while True:
        try:
            ledger = ledger or Ledger.open(url, name)
            if careless:
                say(out, f"{len(ledger.entries()) + 1} {'0' * 64}")
            payment = ledger.charge(PIECE, purpose)
            say(out, f"{payment.entry} {payment.hash}")
            ledger.settle(payment, digest(payment.entry))
            rest(0.003)  # so that a disk has moments at which no file is open
        except BudgetRefused:
            return
        except LedgerTampered as error:
            say(f"{out}.tampered", str(error))
            rest(0.05)
        except TacitError as error:
            say(f"{out}.refused", f"{type(error).__name__}: {error}")
            rest(0.01)
        except Exception as error:
            say(f"{out}.untyped", f"{type(error).__name__}: {error}")
            rest(0.05)


def table() -> np.ndarray:
    return np.random.default_rng(7).uniform(-9, 9, (ROWS, 2))


def curate(place: str, name: str, ledger: str, port: int, out: str, careless: bool = False) -> None:
    """Serve until killed. ``careless`` forgets the limit, to see that this is noticed."""
    if careless:
        usual = claimed.Queries._free_numbers
        claimed.Queries._free_numbers = lambda self, queries: usual(self, 10**6)  # type: ignore[method-assign]

    def evaluate(row: np.ndarray) -> float:
        rest(0.002)
        return float(np.tanh(row.sum()))

    while True:
        try:
            budget = Ledger.open(ledger, name)
            answers = PrivateAnswers((-1.0, 1.0), Budget.gdp(0.05))
            with Curator(
                table(), evaluate, epsilon=2.0, delta=1e-4, state=place, name=name, queries=LIMIT, answers=answers,
                ledger=budget,
            ) as curator:  # fmt: skip
                tokens = Tokens(None, environment=TOKENS)
                serve(curator, tokens, port=port, rate=1e6, burst=10**6,
                      ready=lambda url, _: say(f"{out}.ready", f"{os.getpid()} {url}"))  # fmt: skip
            return
        except TacitError as error:  # the disk is full, the server is down: start again, as a supervisor would
            say(f"{out}.refused", f"{type(error).__name__}: {error}")
            rest(0.05)
        except Exception as error:
            say(f"{out}.untyped", f"{type(error).__name__}: {error}")
            rest(0.2)


class Counting(Exact):
    """Exact noise whose draws are told to the one who looks on, before they are made."""

    def __init__(self, out: str) -> None:
        self.out = out

    def gaussian_whole(self, value: int, scale: float) -> int:
        say(self.out, "draw")
        return super().gaussian_whole(value, scale)

    def gaussian(self, values: Any, scale: float) -> Any:
        say(self.out, f"draws {np.size(values)}")
        return super().gaussian(values, scale)


TRIALS = 8


def losses(params: dict[str, Any]) -> np.ndarray:
    rest(0.01)
    return np.full(3000, 0.2 + (params["x"] - 0.3) ** 2)


def finish(work: Any, out: str) -> None:
    """Do it, and say how it ended."""
    try:
        release = work()
        say(f"{out}.ended", digest(release.value))
    except TacitError as error:
        say(f"{out}.refused", f"{type(error).__name__}: {error}")
    except Exception as error:
        say(f"{out}.untyped", f"{type(error).__name__}: {error}")


def tune_once(folder: str, ledger: str, name: str, out: str) -> None:
    def work() -> Any:
        return tacit.tune(
            losses, {"x": tacit.Float(0, 1)}, records=3000, bounds=(0, 1), budget=Budget.gdp(0.5), trials=TRIALS,
            method="random", out=folder, ledger=Ledger.open(ledger, name), progress=False, noise=Counting(out),
        )  # fmt: skip

    finish(work, out)


def train_once(folder: str, ledger: str, name: str, out: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (3000, 2))
    y = (X[:, 0] > 0).astype(int)

    def work() -> Any:
        return tacit.train(
            "logistic", X, y, budget=Budget.approximate(2.0, 1e-5), runs=4, out=folder, progress=False,
            ledger=Ledger.open(ledger, name),
        )  # fmt: skip

    finish(work, out)


def select_once(folder: str, out: str) -> None:
    """A selection whose process dies with some of its settings, as for want of memory."""

    def objective(params: dict[str, Any], base: Any) -> tuple[float, np.ndarray]:
        say(out, repr(params["x"]))
        if params["x"] < 0.3:
            os._exit(1)
        return params["x"], np.full(3000, params["x"])

    def work() -> Any:
        budget = Budget.approximate(2.0, 1e-5)
        return tacit.select(objective, {"x": tacit.Float(0, 1)}, records=3000, budget=budget, runs=3, out=folder,
                            progress=False)  # fmt: skip

    finish(work, out)


def select_anew(folder: str, out: str) -> None:
    """The same without the settings that were stored: each process draws its own."""
    usual = PrivateState.load
    PrivateState.load = lambda self, name: None if name == "plan" else usual(self, name)  # type: ignore[method-assign]
    select_once(folder, out)


def die_in_a_charge(path: str) -> None:
    """Leave a journal behind, as a process does that is killed after it wrote the journal and before it wrote pages."""
    before = Path(path).read_bytes()
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA cache_size = 1")
    database.execute("BEGIN IMMEDIATE")
    # a charge changes the ledger's row and adds an entry: the journal has those pages as they were
    database.execute("UPDATE tacit_ledgers SET length = length + 1, head = 'x'")
    columns = len(database.execute("PRAGMA table_info(tacit_entries)").fetchall())
    database.execute(f"INSERT INTO tacit_entries VALUES ({', '.join('1' * columns)})")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) SELECT i FROM n"
    database.execute(f"CREATE TABLE spill AS SELECT i, randomblob(100) AS b FROM ({numbers})")
    with open(path, "r+b") as file:
        file.write(before)
        file.truncate()
    os._exit(0)


def lines(path: str | Path) -> list[str]:
    """What was said so far; a last line that is being written is left out."""
    try:
        return Path(path).read_text().split("\n")[:-1]
    except FileNotFoundError:
        return []
