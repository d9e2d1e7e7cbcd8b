"""What a search with a secret number of runs does, whatever it trains: pay, draw the number, run, keep the best run.

``tacit.train`` and ``tacit.select`` differ in what a run is and in what is released of the best one.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.errors import BadInput, BudgetRefused, TacitError, raise_alone
from tacit.files import Json
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.mechanisms import SIMULATED
from tacit.privacy.noise import Source, load_samplers
from tacit.privacy.origin import PAID, describe_origin
from tacit.privacy.release import Payment, Release, digest
from tacit.privacy.room import round_down
from tacit.privacy.run_laws import draw_runs
from tacit.run.private_state import PRIVATE, PrivateState
from tacit.run.progress import clock_bar, progress_bar
from tacit.training.runs import TRIES, Run, Runner, best_of, load_run, run_all, was_killed
from tacit.training.search_cost import SearchCost
from tacit.training.training_room import largest_training

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

Value = TypeVar("Value")

SECRET = "how many models were trained, how long that took, and the models that were not released stay secret"
SOURCE = "best of a secret number of private trainings (docs/proofs/selection.md, docs/proofs/private-training.md)"
ONE_RUN = "one private training (docs/proofs/private-training.md)"
DURATION = "how long the search took stays secret: it tells of the settings that were tried"
CERTIFICATE = "certificate.json"


@dataclass(frozen=True, repr=False)
class SecretSearch:
    """How a search is paid for and stated. ``assumptions`` can fail for some data; ``premises`` are duties of code."""

    name: str
    cost: SearchCost
    unit: str
    noise: Source
    hide_runs: bool = False
    assumptions: tuple[str, ...] = ()
    premises: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<a search: {self.name}>"

    @property
    def guarantee(self) -> Guarantee:
        if self.noise.simulated:
            return Guarantee.none(SIMULATED, self.unit)
        secret = (DURATION if self.hide_runs else SECRET,) if self.cost.searches else ()
        assumed, source = (*secret, *self.assumptions), SOURCE if self.cost.searches else ONE_RUN
        budget, finer = self.cost.budget, self.cost.divergences
        return Guarantee(budget, self.unit, assumed, source, budget.delta, premises=self.premises, divergences=finer)

    def pay(self, state: PrivateState, ledger: Ledger | None) -> Payment | None:
        """Debit the whole, once for a state, whatever is killed in between; then load the samplers."""
        if not self.noise.simulated:
            load_samplers()
        if ledger is None:
            state.paid = f"{self.cost.budget}, which no ledger counts,"
            return None
        run = state.load("id") or state.store("id", uuid.uuid4().hex)
        try:
            payment = ledger.charge(self.guarantee, self.name, key=f"{self.name.split()[0]} {run}")
            state.paid = f"{self.cost.budget}, entry {payment.entry} of ledger {payment.name!r},"
            return payment
        except BudgetRefused as error:
            runs = self.cost.law.mean
            fits = round_down(largest_training(ledger.takes, ledger.budget, runs))
            many = f"about {runs:.0f} runs" if self.cost.searches else "one run"
            raise BudgetRefused(f"{error} A training of {many} at epsilon {fits} would fit.") from None

    def find_best(
        self,
        runner: Runner,
        state: PrivateState,
        executor: Executor | None,
        *,
        progress: bool,
        remedy: str = "",
        longest: Callable[[], float] | None = None,
    ) -> Run:
        """Draw the number K and all settings, do K runs, and keep the best; with ``hide_runs`` all that could happen.

        Number and settings are stored at once before the first run: each run keeps its setting, whatever is killed.
        ``longest`` says how many seconds a run may take, for a bar of the time; a bar of the runs would show K.
        """
        plan = state.load("plan") or state.store("plan", self._draw_plan(runner))
        K: int = plan["runs"]
        todo = plan["settings"] if self.hide_runs else plan["settings"][:K]
        counted, most = self.hide_runs and self.cost.searches, len(plan["settings"])
        clock = clock_bar(
            "training", lambda: most * (longest or float)(), wanted=progress and not counted and bool(longest)
        )
        with clock, progress_bar("training", len(todo), wanted=progress and counted) as advance:
            run_all(runner, todo, state, executor, advance)
        winner = state.load("winner")
        if winner is None:
            winner = state.store("winner", best_of([state.load(f"run-{i}")["loss"] for i in range(K)]))
        best = load_run(state, winner)
        if best.failed:
            if not self.cost.searches and was_killed(state, winner):
                remedy += f"It was killed {TRIES} times, as by a limit on memory or time: give it more of them. "
            raise TacitError(
                f"every run failed, so there is nothing to release. {remedy}The budget stays spent".replace("  ", " "),
                spent=True,
            )
        return best

    def _draw_plan(self, runner: Runner) -> dict[str, Any]:
        """K, and the settings of all runs that could happen."""
        law = self.cost.law
        K = draw_runs(law)
        return {"runs": K, "settings": [runner.draw_params() for _ in range(law.largest or K)]}

    def seal(
        self, value: Value, payment: Payment | None, ledger: Ledger | None, data: Json | None = None
    ) -> Release[Value]:
        guarantee = self.guarantee
        if ledger is not None and payment is not None:
            ledger.settle(payment, digest(value))
            guarantee = ledger.restate(payment, guarantee)
        about = describe_origin(guarantee, chosen=PAID, data=data, ledger=ledger)
        return Release(value, guarantee, payment, about)


@contextmanager
def _refuse_short_memory(state: PrivateState) -> Iterator[None]:
    """Say that there is too little memory, and what was spent. How much was asked for may tell of rows: it is left out.

    The setting of the run stays (see ``runs``), so that whoever tries again with more memory changes no law.
    """
    try:
        yield
    except MemoryError:
        if not state.paid:
            raise_alone(TacitError("there is too little memory for this training. Nothing was spent", spent=False))
        where = (
            f"What was done is kept in {state.folder.parent} and"
            if state.folder
            else "Without out= nothing is kept: it"
        )
        raise_alone(
            TacitError(
                f"there is too little memory for this training. {state.paid} was paid, and nothing was released. "
                f"{where} is {'not ' if state.folder else ''}paid for again",
                remedy="Give the process more memory, then run the same line again",
                spent=True,
            )
        )


def release_in_folder(
    out: str | Path | None,
    release: Callable[[PrivateState], Release[Value]],
    write: Callable[[Path, Release[Value]], Any] | None = None,
) -> Release[Value]:
    """Make a release with its private state in ``out``, write what it consists of, and wipe the state last.

    Edges. A folder that holds a finished release is refused: the same line again would pay again, and overwrite it. A
    full disk is an error that says so; what was done is kept.
    """
    if out is None:
        state = PrivateState(None)
        with _refuse_short_memory(state):
            made = release(state)
        return made
    from tacit.run.folder import lock_folder

    with lock_folder(out) as folder:
        PrivateState.finish_wiping(folder.path / PRIVATE)
        if (folder.path / CERTIFICATE).exists() and not (folder.path / PRIVATE).exists():
            raise BadInput(
                f"{folder.path} holds a finished release: another one is paid for anew, so give another folder. "
                "Nothing was spent"
            )
        try:
            state = PrivateState(folder.path / PRIVATE)
            with _refuse_short_memory(state):
                made = release(state)
                if write is not None:
                    write(folder.path, made)
                folder.write_certificate(made)
            state.wipe()
            folder.hide_start()
        except OSError as error:
            raise TacitError(
                f"{folder.path} cannot be written: {error.strerror or type(error).__name__}. What was done is kept "
                "there and is not paid for again: make room, then run the same line again"
            ) from None
    return made
