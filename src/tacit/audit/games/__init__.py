"""Every game by its name: mechanisms, and methods run end to end, each on the neighbours its claim is tightest for.

To add one: write a function that returns a ``Game`` (many runs on two neighbours) or a ``OneRun`` (one run, many
canaries), and name it in ``GAMES``.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.audit import play
from tacit.audit.games import fronts, one_run, others, tuned
from tacit.audit.games.one_run import OneRun
from tacit.audit.play import Game, Outputs
from tacit.errors import BadInput, ObjectiveError
from tacit.objective import called
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Source

GAMES: dict[str, Callable[[], Game | OneRun]] = {
    "gaussian": play.gaussian,
    "laplace": play.laplace,
    "exponential": play.exponential,
    "mean": play.bounded_mean,
    "observations": tuned.observations,
    "observed": tuned.observed,
    "random": lambda: tuned.observed("random"),
    "grid": lambda: tuned.observed("grid"),
    "search-cv": tuned.search_cv,
    "optuna": tuned.optuna_users,
    "observed-one-run": one_run.observed_canaries,
    "gibo": tuned.gibo,
    "kusner1": lambda: tuned.kusner(1),
    "kusner2": lambda: tuned.kusner(2),
    "kusner3": tuned.kusner3,
    "noisy-projection": others.noisy_projection,
    "projection": others.projection,
    "private-answers": others.private_answers,
    "dp-sgd": others.dp_sgd,
    "dp-sgd-one-run": one_run.dp_sgd_canaries,
    "dp-mlp": fronts.dp_mlp,
    "output-perturbation": fronts.output_perturbation,
    "sparse-vector": fronts.sparse_vector,
    "private-front": fronts.private_front,
}


def game(name: str, claim: Budget | None = None) -> Game | OneRun:
    """A game by its name, or one of the user's own by ``module:name``.

    The user's may be a game; a function without arguments that returns one; or the mechanism itself: a function of the
    side, 0 for the data set and 1 for its neighbour, that returns one output, or of (side, runs) that returns the
    outputs of many runs. ``claim`` is what the mechanism claims, unless it says so itself by an attribute ``claim``.

    >>> game("laplace").claimed
    1.0
    """
    if ":" not in name:
        if name not in GAMES:
            raise BadInput(f"no game {name!r}; there are {', '.join(GAMES)}, or module:function for one of your own")
        return GAMES[name]()
    found = _imported(name)
    if isinstance(found, (Game, OneRun)):
        return _theirs(found)
    if not callable(found):
        raise BadInput(f"{name} must be a game or a function of the side, 0 or 1, got a {type(found).__name__}")
    takes = len([p for p in inspect.signature(found).parameters.values() if p.default is p.empty])
    if not takes:
        made = called(lambda _: found(), None, "game")
        if not isinstance(made, (Game, OneRun)):
            raise BadInput(f"{name} takes no argument, so it must return a game; a mechanism takes the side, 0 or 1")
        return _theirs(made)

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        many = called(lambda s: found(s, runs) if takes > 1 else [found(s) for _ in range(runs)], side, "mechanism")
        try:
            return np.asarray(many)
        except ValueError:  # NumPy's own message is about lists
            raise ObjectiveError(f"{name} must return outputs of one shape, on both sides and in all runs") from None

    stated = claim if claim is not None else getattr(found, "claim", None)
    about = "a mechanism of your own, on its two data sets"
    return Game(name, about, stated, draw, runs=100_000 if takes > 1 else 2000, exact=True)


def part(name: str, side: int, number: int, runs: int, exact: bool, seed: int) -> Outputs:
    """The outputs of one part of a game: for workers, which are sent names and numbers only."""
    made = game(name)
    if isinstance(made, OneRun):
        raise BadInput(f"{name} is one run; it has no parts")
    return play.chunk(made, side, number, runs, exact=exact, seed=seed)


def _theirs(made: Game | OneRun) -> Game | OneRun:
    """A user's game, whose exceptions are the user's own failure."""
    if isinstance(made, OneRun):
        return replace(made, play=lambda noise, seed: called(lambda s: made.play(noise, s), seed, "game"))
    return replace(made, draw=lambda side, runs, noise: called(lambda s: made.draw(s, runs, noise), side, "game"))


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    why = ""
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        why = f"{error}. It is looked for in this folder and among packages"
    except Exception as error:  # the user's module may load its data, and its message may quote it
        why = f"importing {module} raised {type(error).__name__}; import it yourself to see why"
    raise BadInput(f"no mechanism {name!r}: {why}")
