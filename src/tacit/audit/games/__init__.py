"""Every game by its name: mechanisms, and methods run end to end, each on the neighbours its claim is tightest for.

To add one: write a function that returns a ``Game`` (many runs on two neighbours) or a ``OneRun`` (one run, many
canaries), and name it in ``GAMES``. A method of ``tacit.tune`` has its game from the registry of methods.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from tacit.audit.game import Game, Outputs
from tacit.audit.games import fronts, mechanisms, metrics, one_run, others, trained, tuned
from tacit.audit.games.one_run import OneRun
from tacit.errors import BadInput, ObjectiveError, did_you_mean, name_type
from tacit.methods.registry import METHODS
from tacit.objective import call_without_message, import_object
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Source

GAMES: dict[str, Callable[[], Game | OneRun]] = {
    "gaussian": mechanisms.gaussian,
    "laplace": mechanisms.laplace,
    "exponential": mechanisms.exponential,
    "mean": mechanisms.bounded_mean,
    "observations": tuned.observations,
    "search-cv": tuned.search_cv,
    "optuna": tuned.optuna_users,
    "observed-one-run": one_run.observed_canaries,
    **{name: partial(tuned.of_method, name) for name, method in METHODS.items() if method.neighbours},
    "auc": metrics.pairs,
    "balanced": metrics.class_rates,
    "persons": metrics.persons,
    "persons-pool": metrics.persons_pool,
    "noisy-projection": others.noisy_projection,
    "projection": others.projection,
    "private-answers": others.private_answers,
    "dp-sgd": others.dp_sgd,
    "dp-sgd-one-run": one_run.dp_sgd_canaries,
    "dp-mlp": fronts.dp_mlp,
    "output-perturbation": fronts.output_perturbation,
    "sparse-vector": fronts.sparse_vector,
    "private-front": fronts.private_front,
    "train": trained.whole_search,
    "train-one-run": trained.trained_canaries,
}


def find_game(name: str, claim: Budget | None = None) -> Game | OneRun:
    """A game by its name, or one of the user's own by ``module:name``.

    The user's may be a game; a function without arguments that returns one; or the mechanism itself: a function of the
    side, 0 for the data set and 1 for its neighbour, that returns one output, or of (side, runs) that returns the
    outputs of many runs. ``claim`` is what the mechanism claims, unless it says so itself by an attribute ``claim``.

    >>> find_game("laplace").claimed
    1.0
    """
    if ":" not in name:
        if name not in GAMES:
            near = did_you_mean(name, GAMES)
            raise BadInput(
                f"method must be one of {', '.join(GAMES)}, or module:function of your own, got method={name!r}{near}"
            )
        return GAMES[name]()
    target = import_object(name, "mechanism", "mymodel:mechanism")
    if isinstance(target, (Game, OneRun)):
        return _guard(target)
    if not callable(target):
        raise BadInput(f"{name} must be a game or a function of the side, 0 or 1, got {name_type(target)}")
    takes = len([p for p in inspect.signature(target).parameters.values() if p.default is p.empty])
    if not takes:
        game = call_without_message(lambda _: target(), None, "game")
        if not isinstance(game, (Game, OneRun)):
            raise BadInput(f"{name} takes no argument, so it must return a game; a mechanism takes the side, 0 or 1")
        return _guard(game)

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        many = call_without_message(
            lambda s: target(s, runs) if takes > 1 else [target(s) for _ in range(runs)], side, "mechanism"
        )
        try:
            return np.asarray(many)
        except ValueError:  # NumPy's own message is about lists
            raise ObjectiveError(f"{name} must return outputs of one shape, on both sides and in all runs") from None

    stated = claim if claim is not None else getattr(target, "claim", None)
    about = "a mechanism of your own, on its two data sets"
    return Game(name, about, stated, draw, runs=100_000 if takes > 1 else 2000, exact=True)


def _guard(made: Game | OneRun) -> Game | OneRun:
    """A user's game, whose exceptions are the user's own failure."""
    if isinstance(made, OneRun):
        return replace(
            made, play=lambda noise, coins: call_without_message(lambda c: made.play(noise, c), coins, "game")
        )
    return replace(
        made, draw=lambda side, runs, noise: call_without_message(lambda s: made.draw(s, runs, noise), side, "game")
    )
