"""Every registered thing, with the worst neighbours that it names: what the law of recorded draws plays.

Registries are gone through entry by entry; no name is written here. What has no registry (what a training learns of
columns, scores, private answers) is listed at the end.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_draws import Losses
from registered_metrics import metric_pairs
from registered_parts import PARTS

import tacit
from tacit.audit.game import Game
from tacit.audit.games import GAMES
from tacit.audit.games.one_run import OneRun
from tacit.data.metrics.names import NAMES
from tacit.errors import TacitError
from tacit.methods.registry import METHODS
from tacit.methods.registry import load as load_part
from tacit.pareto.algorithms import IN_PYTHON, OTHERS, load_algorithm
from tacit.privacy.guarantee import NOTIONS, Budget
from tacit.privacy.mechanisms import Mechanism
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.privacy.worst_pair import WorstPair
from tacit.training.registry import TRAINERS, load_trainer
from tacit.training.trainer import Base

BUDGETS = {
    "pure": Budget.pure(0.7),
    "approximate": Budget.approximate(1.3, 1e-6),
    "zcdp": Budget.zcdp(0.4),
    "gdp": Budget.gdp(0.9),
}
BASE = Base(0.5, tabulate(GaussianProfile(0.5), floor=1e-9))


@dataclass(frozen=True)
class Entry:
    """A registered thing. ``pairs`` gives its worst neighbours, or says in words why draws do not tell its loss."""

    kind: str
    name: str
    pairs: Callable[[], list[WorstPair] | str]

    @property
    def lacks(self) -> tuple[str, ...]:
        """Libraries that it needs and this machine lacks."""
        return lacks(self.name) if self.kind == "trainer" else ()

    @property
    def marks(self) -> tuple[pytest.MarkDecorator, ...]:
        return marks(self.name) if self.kind == "trainer" else ()

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def needs(trainer: str) -> tuple[str, ...]:
    """Libraries beyond those of the tests that a trainer says it needs."""
    return tuple(getattr(load_trainer(trainer), "needs", ()))


def lacks(trainer: str) -> tuple[str, ...]:
    return tuple(name for name in needs(trainer) if importlib.util.find_spec(name) is None)


def marks(trainer: str) -> tuple[pytest.MarkDecorator, ...]:
    """Of a test of a trainer: slow, and skipped where what it needs is not installed; none if it needs nothing."""
    if not needs(trainer):
        return ()
    lacking = " and ".join(lacks(trainer))
    return pytest.mark.slow, pytest.mark.skipif(bool(lacking), reason=f"needs {lacking}: make peers")


def leaves(kind: type) -> set[type]:
    below = [k for k in kind.__subclasses__() if k.__module__.startswith("tacit.")]  # tests make some of their own
    return set().union(*map(leaves, below)) if below else {kind}


def mechanisms() -> list[Any]:
    """Every mechanism of the package."""
    for module in pkgutil.walk_packages(tacit.__path__, "tacit."):
        if "Mechanism[" in Path(module.module_finder.find_spec(module.name).origin).read_text():  # type: ignore
            importlib.import_module(module.name)
    return sorted(leaves(Mechanism), key=lambda kind: kind.__name__)


def of_mechanism(kind: Any) -> list[WorstPair]:
    """For each notion of a budget that it takes, and for a scale."""
    pairs = []
    for notion in NOTIONS:
        try:
            pair = kind.worst_pair(budget=BUDGETS[notion])
        except TacitError:  # it does not take such a budget
            continue
        except NotImplementedError:
            raise AssertionError(
                f"{kind.__name__} needs a classmethod worst_pair(**amount): two worst values"
            ) from None
        spent, asked = as_losses(pair.claim).spent(BUDGETS[notion])
        assert asked * (1 - 1e-6) <= spent <= asked * (1 + 1e-9), f"{kind.__name__} claims another budget than asked"
        pairs.append(pair)
    if "scale" in inspect.signature(kind).parameters:
        pairs.append(kind.worst_pair(scale=4.0))
    return pairs


def as_losses(claim: Budget) -> Losses:
    """One draw that spends all of a claim."""
    if claim.notion == "pure":
        return Losses(pure=(claim.amount,))
    return Losses(gaussian=(claim.amount if claim.notion == "gdp" else math.sqrt(2 * claim.amount),))


def of_method(name: str) -> list[WorstPair]:
    assert METHODS[name].neighbours, f"name the worst neighbours of {name!r} in methods/registry.py (see Neighbours)"
    return list(load_part(METHODS[name].neighbours)().worst_pairs(name))


def of_trainer(name: str) -> list[WorstPair]:
    trainer: Any = load_trainer(name)
    assert hasattr(trainer, "worst_pairs"), f"{name!r} needs worst_pairs(base): see tacit.training.worst_pairs"
    return list(trainer.worst_pairs(BASE))


def of_front_algorithm(name: str) -> list[WorstPair] | str:
    kind = load_algorithm(name)
    if hasattr(kind, "worst_pairs"):
        return list(kind.worst_pairs())
    assert hasattr(kind, "apart"), f"{name!r} needs a classmethod worst_pairs(), or apart: why it spends nothing"
    return str(kind.apart)


def of_game(name: str) -> list[WorstPair] | str:
    game = GAMES[name]()
    if game.claim is None:
        return "nothing is claimed"
    if game.apart:
        return game.apart
    if isinstance(game, OneRun):
        turned = "; one coin is turned"
        return [WorstPair(game.about + turned, game.claim, partial(play_canaries, game), game.share)]
    return [WorstPair(game.about, game.claim, partial(play_game, game), game.share)]


def play_game(game: Game, side: int, noise: Any) -> Any:
    return game.draw(side, 1, noise)


def play_canaries(game: OneRun, side: int, noise: Any) -> Any:
    coins = np.arange(game.canaries) % 2
    coins[0] = side
    return game.play(noise, coins)


def entries() -> Iterator[Entry]:
    """Everything, by kind and name."""
    for kind in mechanisms():
        yield Entry("mechanism", kind.__name__, partial(of_mechanism, kind))
    for name, method in METHODS.items():
        if method.notions:
            yield Entry("method", name, partial(of_method, name))
    for name in TRAINERS:
        yield Entry("trainer", name, partial(of_trainer, name))
    for name in (*OTHERS, *IN_PYTHON):
        yield Entry("front algorithm", name, partial(of_front_algorithm, name))
    for name in NAMES:
        yield Entry("metric", name, partial(metric_pairs, name))
    for name in GAMES:
        if name not in METHODS:  # these are the games of the methods, played above
            yield Entry("game", name, partial(of_game, name))
    for name, pairs in PARTS.items():
        yield Entry("part", name, pairs)
