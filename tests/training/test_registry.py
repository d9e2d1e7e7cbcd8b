"""The registry of trainers: what an entry says is what its trainer says, and every name of it is found everywhere."""

from __future__ import annotations

import pytest
from registered import lacks

from tacit.errors import BadInput
from tacit.pareto.algorithms import algorithm_names, load_algorithm
from tacit.training.registry import CLASSES, TRAINERS, find_trainer, load_part, load_trainer


@pytest.mark.parametrize("name", sorted(TRAINERS))
def test_an_entry_names_parts_that_there_are(name: str) -> None:
    entry = TRAINERS[name]
    assert entry.load().task == entry.task
    assert entry.name == name
    assert callable(load_part(entry.model[1]).from_json)
    assert callable(load_part(entry.forecast))
    assert entry.about
    if not lacks(name) and entry.task == CLASSES:
        assert hasattr(load_algorithm(name), "from_table")


def test_names_of_fronts_and_of_earlier_releases_are_other_names_of_one_trainer() -> None:
    published = ("logistic_sgd", "logistic_adam", "svm_sgd", "output_perturbation")
    for name in published:
        assert load_trainer(name) is find_trainer(name).load()
        assert load_algorithm(name) is load_part(find_trainer(name).front)
    assert algorithm_names()[:4] == published
    every = [*TRAINERS, *(alias for entry in TRAINERS.values() for alias in entry.aliases)]
    assert len(every) == len(set(every))
    with pytest.raises(BadInput, match="did you mean 'logistic'"):
        find_trainer("logistik")
