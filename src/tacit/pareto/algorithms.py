"""The algorithms of ``tacit pareto --algorithm``: every trainer of classes, and what is not a trainer."""

from __future__ import annotations

from functools import partial
from typing import Any

from tacit.errors import BadInput, choice
from tacit.training.registry import CLASSES, TRAINERS, find_trainer, load_part

OTHERS = {
    "linear": "dp_sgd:Linear",
    "sparse_vector": "sparse_vector:SparseVector",
}
IN_PYTHON = {"opacus": "opacus:OpacusModel", "estimator": "estimator:PrivateEstimator"}  # they need a model


def algorithm_names() -> tuple[str, ...]:
    """All names that need no more than a table: published ones first, by the names that fronts have for them."""
    published = [alias for entry in TRAINERS.values() if entry.front for alias in entry.aliases]
    return (*published, *OTHERS, *(name for name, e in TRAINERS.items() if e.task == CLASSES and not e.front))


def load_algorithm(name: str) -> Any:
    """The class of an algorithm, which has ``from_table(table, target, seed=0)`` where it takes a table.

    >>> load_algorithm("sparse_vector").__name__, load_algorithm("logistic_sgd").__name__
    ('SparseVector', 'LogisticSGD')
    """
    if name in (others := {**OTHERS, **IN_PYTHON}):
        return load_part(others[name])
    known = {alias for entry in TRAINERS.values() for alias in entry.aliases} | set(TRAINERS)
    if name not in known:
        choice("algorithm", name, (*algorithm_names(), *IN_PYTHON))
    entry = find_trainer(name)
    return load_part(entry.front) if entry.front else TrainerOfTables(entry.name)


class TrainerOfTables:
    """A trainer of the registry as an algorithm that is yet to be given a table."""

    def __init__(self, name: str) -> None:
        self.name = name
        if TRAINERS[name].task != CLASSES:
            raise BadInput(f"a front measures accuracy, and {name} predicts {TRAINERS[name].task}")

    def from_table(self, table: Any, target: str, seed: int = 0, schema: Any = None) -> Any:
        """The trainer on a table, a fifth of it held out."""
        of_table = partial(load_part("measured:MeasuredTrainer").of_table, self.name)
        return of_table(table, target, seed=seed, schema=schema)
