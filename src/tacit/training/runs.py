"""One run of a search: a setting of its own, a model trained with noise, a noisy score on validation rows.

All settings are drawn and stored before the first run (see ``secret_search``). A run that was killed goes on with its
own setting: another one would have another law wherever the kill depends on the setting, by its memory or its time. A
run that is killed again and again counts, with the worst score.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from tacit.errors import BadInput, TacitError
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import Source
from tacit.run.private_state import PrivateState
from tacit.space import Params, Space
from tacit.training.model_files import scores_to_json
from tacit.training.registry import read_scores
from tacit.training.scoring import Scoring
from tacit.training.trainer import CLASSES, Base, EncodedRows, Facts, Model, Trainer

FEW, MORE = 200, 2000  # rows that are made up, to try a training and to see how long one takes
SLOWER = 3.0  # than an idle machine
TRIES = 3  # of a run that is killed: then it counts as failed


@dataclass(frozen=True)
class Run:
    """What a run leaves: private until it is the one that is released. A run that failed has no model."""

    params: Params
    loss: float
    model: Any

    @property
    def failed(self) -> bool:
        return bool(np.isinf(self.loss))

    def __repr__(self) -> str:
        return "<a run, private>"

    @classmethod
    def failure(cls, params: Params) -> Run:
        """A run with the worst score."""
        return cls(params, np.inf, None)


@dataclass(frozen=True, repr=False)
class Search:
    """All that a run needs; the same for every run."""

    trainer: Trainer
    space: Space
    facts: Facts
    base: Base
    scoring: Scoring | None  # none in a rehearsal
    training: EncodedRows
    validation: EncodedRows
    noise: Source
    centred: bool = False  # the space is the trainer's own, whose middle are its defaults
    fixed: Params | None = None  # the setting of one run, which nothing is compared with

    def __repr__(self) -> str:
        return f"<a search with {self.trainer.name}, private>"

    def draw_params(self) -> Params:
        return draw_params(self.space, centred=self.centred) if self.fixed is None else self.fixed

    def run(self, params: Params) -> Run:
        """Train with a setting, score. A run that fails counts, with the worst score: why it failed is private.

        One run by itself is not scored here: there is nothing to choose from, and there are no validation rows.

        Guarantee. At most ``base`` for one row replaced: a training row meets the training alone, a validation row the
        score alone.
        """
        try:
            settings = self.trainer.calibrate(params, self.facts, self.base)
            model = self.trainer.train(self.training, settings, self.facts, self.noise)
            loss = 0.0 if self.fixed is not None else self.score(model, self.validation, self.base.mu)
            return Run(params, loss, model)
        except Exception as error:
            if isinstance(error, MemoryError) and self.fixed is not None:
                raise  # its setting is public, and that it does not depend on one record is a premise (see train.TIME)
            return Run.failure(params)

    def score(self, model: Model, rows: EncodedRows, mu: float) -> float:
        """The mean loss of a model on rows, with noise: mu-GDP for one row, or person, replaced."""
        assert self.scoring is not None
        units = self.scoring.metric.units(rows.units)
        mean = BoundedMean(units, (0.0, 1.0), budget=Budget.gdp(mu), noise=self.noise)
        return mean.draw(mean.prepare(self.scoring.measure(self.scoring.preparation.scores(model, rows.X), rows)))

    def rehearse(self) -> None:
        """Run once on rows that were made up, so that a trainer that cannot work says so before anything is spent."""
        n = min(FEW, self.facts.records)
        try:
            rows, model = self._try(self.fixed or middle(self.space), n)
            scores = np.asarray(model.scores(rows.X))
        except TacitError:
            raise
        except Exception as error:  # no row was looked at: its words may be told
            raise BadInput(
                f"the trainer {self.trainer.name!r} failed on made-up rows ({n}, {self.facts.features}): "
                f"{type(error).__name__}: {error}. Nothing was spent"
            ) from error
        wanted = (n, self.facts.outputs)
        if scores.shape != wanted or not np.isfinite(scores).all():
            raise BadInput(
                f"the trainer {self.trainer.name!r} must give a model whose scores have shape {wanted} and are finite, "
                f"got shape {scores.shape} on made-up rows. Nothing was spent"
            )

    def longest(self) -> float:
        """Seconds that one run may take here, about at most: by its dearest setting on made-up rows of two sizes.

        Public things alone are looked at: numbers of rows and features, and this machine.
        """
        records, ends = self.facts.records, [[end] * self.space.dimensions for end in (0.0, 0.5, 1.0)]
        few, more = min(FEW, records), min(MORE, records)
        most = 0.0
        for params in [self.fixed] if self.fixed else self.space.params(ends):
            short, long = min(self._time(params, few) for _ in range(3)), self._time(params, more)
            most = max(most, long + max(0.0, long - short) * (records - more) / max(1, more - few))
        return SLOWER * most

    def _time(self, params: Params, n: int) -> float:
        start = time.perf_counter()
        self._try(params, n)
        return time.perf_counter() - start

    def _try(self, params: Params, n: int) -> tuple[EncodedRows, Model]:
        """A training on n rows that were made up."""
        rng, facts = np.random.default_rng(0), replace(self.facts, records=n)
        X = rng.uniform(-1, 1, (n, facts.features))
        target = rng.integers(facts.outputs, size=n) if facts.task == CLASSES else rng.uniform(-1, 1, n)
        rows = EncodedRows(X, target.astype(float))
        return rows, self.trainer.train(rows, self.trainer.calibrate(params, facts, self.base), facts, self.noise)


def middle(space: Space) -> Params:
    return space.params([[0.5] * space.dimensions])[0]


def default_params(trainer: Trainer, space: Space, facts: Facts, base: Base, *, own: bool) -> Params:
    """The setting of one run: the trainer's defaults for these public facts, or the middle of a space."""
    given = getattr(trainer, "defaults", None)
    return dict(given(facts, base)) if own and given is not None else middle(space)


def draw_params(space: Space, *, centred: bool = False) -> Params:
    """A setting by the operating system's generator: uniform over the space, or oftener near its middle.

    Centred, each coordinate is the mean of two uniform ones. Both laws are public, and each draw is made afresh.
    """
    draws = 2 if centred else 1
    cube = [sum(secrets.randbits(53) for _ in range(draws)) / (draws * 2.0**53) for _ in range(space.dimensions)]
    return space.params([cube])[0]


class Runner(Protocol):
    """What can be run again and again, in any process."""

    def draw_params(self) -> Params:
        """A setting, by the public law of all settings."""

    def run(self, params: Params) -> Run: ...


def best_of(losses: list[float]) -> int:
    """The number of the run with the least loss; ties are broken at random."""
    least = min(losses)
    return secrets.choice([i for i, loss in enumerate(losses) if loss == least])


def run_all(
    search: Runner,
    settings: list[Params],
    state: PrivateState,
    executor: Executor | None,
    advance: Callable[[], None] | None = None,
) -> None:
    """Do the runs that are not stored yet, here or on an executor, and store each as it ends.

    Runs that end together when a process or a pool dies are begun together again, a few times; then one by one, so that
    a run that kills is told from those that were beside it. Only such a run counts as failed.
    """
    todo = [i for i in range(len(settings)) if state.load(f"run-{i}") is None]

    def keep(number: int, run: Run) -> None:
        store_run(state, number, run)
        if advance is not None:
            advance()

    if executor is None:
        for i in todo:
            keep(i, _run_alone(i, settings[i], state, search.run))
        return
    running: dict[Future[Run], int] = {}
    try:
        tries = state.load("together") or 0
        if tries < TRIES:
            state.store("together", tries + 1)
            running = {executor.submit(search.run, settings[i]): i for i in todo}
        else:
            for i in todo:
                keep(i, _run_alone(i, settings[i], state, lambda params: executor.submit(search.run, params).result()))
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                keep(running.pop(future), future.result())
        return
    except OSError:  # the state could not be written: said elsewhere
        raise
    except Exception as error:  # by type alone: an executor's message may quote what was sent
        kind = "a worker died" if isinstance(error, BrokenExecutor) else type(error).__name__
    finally:
        for future in running:
            future.cancel()
    raise TacitError(f"the executor could not do a run ({kind}). Call again with the same out: what was done is kept")


def _run_alone(number: int, params: Params, state: PrivateState, run: Callable[[Params], Run]) -> Run:
    """A run while no other is under way: that it was begun is stored first, so that one that kills is known by it."""
    name = f"begun-{number}"
    begun = state.load(name) or 0
    if begun >= TRIES:
        return Run.failure(params)
    state.store(name, begun + 1)
    try:
        return run(params)
    except (KeyboardInterrupt, MemoryError):  # a person's wish, or a machine's limit; of a search see Search.run
        state.store(name, begun)
        raise


def was_killed(state: PrivateState, number: int) -> bool:
    """Whether a run counts as failed since its process was killed again and again."""
    return (state.load(f"begun-{number}") or 0) >= TRIES


def store_run(state: PrivateState, number: int, run: Run) -> None:
    """Keep what a run left: a model of numbers in JSON, any other sealed by its owner's key."""
    document = scores_to_json(run.model)
    if document is None and not run.failed:
        state.store_model(f"model-{number}", run.model)
    state.store(f"run-{number}", {"params": run.params, "loss": run.loss, "failed": run.failed, "model": document})


def load_run(state: PrivateState, number: int) -> Run:
    """A run that was stored."""
    stored = state.load(f"run-{number}")
    if stored["failed"]:
        return Run.failure(stored["params"])
    found = stored["model"]
    model = state.load_model(f"model-{number}") if found is None else read_scores(found)
    return Run(stored["params"], stored["loss"], model)
