"""One run of a search: a setting drawn afresh, a model trained with noise, a noisy score on validation rows."""

from __future__ import annotations

import secrets
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
from tacit.trainers.scoring import Scoring
from tacit.trainers.trainer import CLASSES, Base, EncodedRows, Facts, Model, Trainer


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

    def __repr__(self) -> str:
        return f"<a search with {self.trainer.name}, private>"

    def run(self) -> Run:
        """Draw a setting, train, score. A run that fails counts, with the worst score: why it failed is private.

        Guarantee. At most ``base`` for one row replaced: a training row meets the training alone, a validation row the
        score alone.
        """
        params = draw_params(self.space, centred=self.centred)
        try:
            settings = self.trainer.calibrate(params, self.facts, self.base)
            model = self.trainer.train(self.training, settings, self.facts, self.noise)
            return Run(params, self.score(model, self.validation, self.base.mu), model)
        except Exception:
            return Run(params, np.inf, None)

    def score(self, model: Model, rows: EncodedRows, mu: float) -> float:
        """The mean loss of a model on rows, with noise: mu-GDP for one row, or person, replaced."""
        assert self.scoring is not None
        units = self.scoring.metric.units(rows.units)
        mean = BoundedMean(units, (0.0, 1.0), budget=Budget.gdp(mu), noise=self.noise)
        return mean.draw(mean.prepare(self.scoring.measure(model.scores(rows.X), rows)))

    def rehearse(self) -> None:
        """Run once on rows that were made up, so that a trainer that cannot work says so before anything is spent."""
        rng = np.random.default_rng(0)
        n = min(200, self.facts.records)
        few = replace(self.facts, records=n)
        X = rng.uniform(-1, 1, (n, self.facts.features))
        target = rng.integers(self.facts.outputs, size=n) if self.facts.task == CLASSES else rng.uniform(-1, 1, n)
        params = self.space.params([[0.5] * self.space.dimensions])[0]
        try:
            settings = self.trainer.calibrate(params, few, self.base)
            model = self.trainer.train(EncodedRows(X, target.astype(float)), settings, few, self.noise)
            scores = np.asarray(model.scores(X))
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


def draw_params(space: Space, *, centred: bool = False) -> Params:
    """A setting by the operating system's generator: uniform over the space, or oftener near its middle.

    Centred, each coordinate is the mean of two uniform ones. Both laws are public, and each draw is made afresh.
    """
    draws = 2 if centred else 1
    cube = [sum(secrets.randbits(53) for _ in range(draws)) / (draws * 2.0**53) for _ in range(space.dimensions)]
    return space.params([cube])[0]


class Runner(Protocol):
    """What can be run again and again, in any process."""

    def run(self) -> Run: ...


def best_of(runs: list[Run]) -> Run:
    """The run with the least loss; ties are broken at random."""
    least = min(r.loss for r in runs)
    return secrets.choice([r for r in runs if r.loss == least])


def run_all(
    search: Runner, runs: int, state: PrivateState, executor: Executor | None, advance: Callable[[], None] | None = None
) -> None:
    """Do the runs that are not stored yet, here or on an executor, and store each as it ends."""
    todo = [i for i in range(runs) if state.load(f"run-{i}") is None]

    def keep(number: int, run: Run) -> None:
        state.store(f"run-{number}", run)
        if advance is not None:
            advance()

    if executor is None:
        for i in todo:
            keep(i, search.run())
        return
    running: dict[Future[Run], int] = {}
    try:
        running = {executor.submit(search.run): i for i in todo}
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
