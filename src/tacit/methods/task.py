"""What is to be tuned, by whom it is paid and where it runs: the one thing that every method is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data.identity import DataIdentity
from tacit.errors import BadInput, count
from tacit.methods.constraint import Constraint
from tacit.objective import Objective
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import EXACT, Source
from tacit.space import Params, Space

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

MOST_TRIALS = 100_000  # no search of more would end, and its noise would drown it


@dataclass(frozen=True, repr=False)
class Task:
    """The arguments of ``tacit.tune``, checked as far as they can be without knowing the method."""

    objective: Objective
    space: Space
    budget: Budget | None
    trials: int
    candidates: Sequence[Params] | int | None = None
    ledger: Ledger | None = None
    storage: Any = None
    study_name: str = "tacit"
    executor: Executor | None = None
    at_once: int | None = None
    out: Path | None = None
    progress: bool = False
    accept_noise: bool = False
    seed: int = 0
    noise: Source = EXACT
    options: Mapping[str, Any] = field(default_factory=dict)
    data: DataIdentity | None = None
    public: Any = None
    constraint: Constraint | None = None

    def __post_init__(self) -> None:
        if count("trials", self.trials) > MOST_TRIALS:
            raise BadInput(
                f"trials must be at most {MOST_TRIALS}, got trials={self.trials}: the search would not end, and the "
                "noise of each trial grows with the root of their number. Nothing was spent"
            )
        count("seed", self.seed, least=0)
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise BadInput("budget must be a tacit.Budget, such as tacit.Budget.approximate(1.0, 1e-6)")
        if self.ledger is not None and self.noise.simulated:
            raise BadInput(
                "simulated noise has no guarantee, so it is not charged to a ledger; leave out one of the two"
            )

    @property
    def price(self) -> Budget:
        """The budget of a task that has one; methods that need one are given no other task."""
        assert self.budget is not None
        return self.budget

    def list_candidates(self, default: int | None = None) -> list[Params] | None:
        """The candidates, as given or scattered by the seed; None if the whole space is searched."""
        wanted = default if self.candidates is None else self.candidates
        if wanted is None:
            return None
        listed = self.space.sobol(wanted, self.seed) if isinstance(wanted, int) else [dict(p) for p in wanted]
        if not listed:
            raise BadInput("candidates must not be an empty list")
        self.space.cube(listed)  # refuses what does not fit the space
        return listed
