"""Games of metrics and persons: one record that changes its label, one person with all their rows.

Each goes through ``tacit.tune`` as a user does, on the pair of neighbours that moves the mean as far as it can go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.audit.game import Game, Outputs
from tacit.data.metrics import auc, balanced
from tacit.methods.neighbours import unit_space
from tacit.methods.tune import tune
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Source
from tacit.space import Params

RATES = {0: 0.9, 1: 0.1}  # public, whatever the labels are
ROWS = 12  # of the person who is replaced
Objective = Callable[[Params], Any]


def pairs(trials: int = 2, records: int = 20) -> Game:
    """AUC: a negative record becomes a positive one that ranks below all others, and loses all its pairs."""

    def objective(side: int) -> Objective:
        labels, ranks = np.zeros(records, int), np.arange(records, dtype=float)
        labels[0] = side
        return auc(rates=RATES).objective(lambda params: ranks, labels)

    about = f"AUC over all pairs of {records} records; one of them, below all others, goes from negative to positive"
    return _of_observations("auc", about, (objective(0), objective(1)), trials)


def class_rates(trials: int = 2, records: int = 20) -> Game:
    """Balanced error: a record of the common class, rightly predicted, becomes a rare one that is not."""

    def objective(side: int) -> Objective:
        labels = np.arange(records) % 2
        labels[0] = side
        return balanced(RATES).objective(lambda params: np.zeros(records, int), labels)

    about = (
        f"balanced error of {records} records by public rates; one goes from the common class, rightly predicted, to "
        "the rare one, wrongly"
    )
    return _of_observations("balanced", about, (objective(0), objective(1)), trials)


def persons(trials: int = 2, people: int = 40, mu: float = 2.0) -> Game:
    """A table with repeated names, as ``tacit tune --person`` takes it; one person of it is replaced, rows and all."""
    from tacit.data.split import hold_out
    from tacit.data.units import Persons
    from tacit.integrations.table import table_objective

    each = Persons.of([f"p{i}" for i in range(people)], people)
    hidden = hold_out(people, 0.5, np.random.default_rng(0), each)[1].rows

    def objective(side: int) -> Any:
        return table_objective(repeat_names(people, int(hidden[0]), side), "ill", "linear", person="name", seed=0)

    about = (
        f"a table of {people} persons, half of them held out; one of these has {ROWS} rows, all rightly predicted, or "
        "a single one that is not"
    )
    return _of_observations("persons", about, (_Remember(objective(0)), _Remember(objective(1))), trials, mu)


def repeat_names(people: int, who: int, side: int) -> Any:
    """Rows of persons by name, in which x above 0 tells who is ill; ``who`` has many such rows, or one that lies."""
    import pandas as pd

    rows = [(f"p{i}", x, "yes" if x > 0 else "no") for i in range(people) for x in (-1.0, 1.0) if i != who]
    own = [(f"p{who}", 1.0, "yes")] * ROWS if side == 0 else [(f"p{who}", 1.0, "no")]
    place = next((at for at, row in enumerate(rows) if int(row[0][1:]) > who), len(rows))
    return pd.DataFrame([*rows[:place], *own, *rows[place:]], columns=["name", "x", "ill"])


def persons_pool(people: int = 20) -> Game:
    """A hidden pool over persons: all rows of one move half of the candidates up and the others down."""

    def once(side: int, noise: Source) -> list[float]:
        many = ROWS if side else 1
        groups = [0] * many + list(range(1, people))

        def losses(params: Params) -> Any:
            first = float(side) if params["x"] < 0.5 else 1.0 - side
            return np.r_[np.full(many, first), np.full(people - 1, 0.5)]

        value = tune(
            losses,
            unit_space(),
            bounds=(0.0, 1.0),
            groups=groups,
            budget=Budget.pure(2.0),
            trials=2,
            method="pool",
            candidates=[{"x": 0.25}, {"x": 0.75}],
            score_share=0.5,
            noise=noise,
            accept_noise=True,
            progress=False,
        ).value
        return [value.params["x"], float(value.loss or 0.0)]

    about = (
        f"a pool of 2 candidates over {people} persons; one, with {ROWS} rows or a single one, goes from bound to bound"
    )
    return Game("persons-pool", about, Budget.pure(2.0), _repeat(once), runs=2000, exact=True)


class _Remember:
    """A table's objective with one setting of its model, which is fitted once and not in every run."""

    def __init__(self, objective: Any) -> None:
        self.facts, self.losses = objective.facts, objective({"C": 0.1})

    def __call__(self, params: Params) -> Any:
        return self.losses


def _of_observations(
    name: str, about: str, objectives: tuple[Objective, Objective], trials: int, mu: float = 2.0
) -> Game:
    """All that a random search of private observations releases, on either side."""

    def once(side: int, noise: Source) -> list[float]:
        asked: dict[str, Any] = {"budget": Budget.gdp(mu), "trials": trials, "method": "random", "noise": noise}
        value = tune(objectives[side], unit_space(), **asked, accept_noise=True, progress=False).value
        return [*(t["value"] for t in value.trials), float(value.loss or 0.0)]

    text = f"{about}; {trials} trials, all that is released"
    return Game(name, text, Budget.gdp(mu), _repeat(once), runs=600, exact=True)


def _repeat(once: Callable[[int, Source], list[float]]) -> Callable[[int, int, Source], Outputs]:
    return lambda side, runs, noise: np.array([once(side, noise) for _ in range(runs)])
