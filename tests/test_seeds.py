"""What tests draw is a function of their names, and their order one of a seed."""

from __future__ import annotations

import os
import secrets
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from order import FILES, Order
from seeds import plant, planted

from tacit.privacy.noise import EXACT
from tacit.privacy.random_words import random_words


def draw() -> tuple[Any, ...]:
    generators = np.random.default_rng().random(), np.random.random()
    noise = float(EXACT.laplace(np.zeros(1), 1.0)[0])
    return secrets.randbits(64), random_words(100).tolist(), noise, os.urandom(8), *generators


def test_the_same_name_draws_the_same_and_another_name_something_else() -> None:
    found = []
    for name in ("one", "one", "two"):
        with planted(name):
            found.append(draw())
    assert found[0] == found[1]
    assert not any(a == b for a, b in zip(found[1], found[2], strict=True))


def test_after_a_shared_fixture_a_test_goes_on_where_it_was() -> None:
    plant("here")
    whole = os.urandom(4), os.urandom(4)
    plant("here")
    first = os.urandom(4)
    with planted("a fixture"):
        draw()
    assert (first, os.urandom(4)) == whole


def test_a_forked_child_asks_the_system() -> None:
    """Its 32 bytes are those of the parent's seed with probability 2^-256."""
    plant("family")
    read, write = os.pipe()
    if not (child := os.fork()):
        os.write(write, os.urandom(32))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 32) != os.urandom(32)


@pytest.mark.system_entropy
def test_a_test_that_is_marked_asks_the_system() -> None:
    """Both draws are the same with probability 2^-256."""
    name = "0 tests/test_seeds.py::test_a_test_that_is_marked_asks_the_system"
    plain = os.urandom(32)
    with planted(name):
        assert os.urandom(32) != plain


def order_of(seed: str, names: list[str]) -> list[str]:
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in names]
    config: Any = SimpleNamespace(option=SimpleNamespace(order=seed))
    Order(config).pytest_collection_modifyitems(items)
    return [item.nodeid for item in items]


def test_a_random_order_keeps_modules_together_and_is_a_function_of_its_seed() -> None:
    names = [f"{module}::{test}" for module in "abcdefgh" for test in range(9)]
    shuffled = order_of("7", names)
    assert order_of(FILES, names) == names != shuffled == order_of("7", names) != order_of("8", names)
    assert sorted(shuffled) == sorted(names)
    modules = [name[0] for name in shuffled]
    assert len([a for a, b in pairwise(modules) if a != b]) == 7
