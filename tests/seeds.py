"""Every test is a function of its name: what it asks of the system's generator comes from a seed made of the name.

So no test can fail by chance, or because of the tests that ran before it, in whatever order and on however many
workers; identifiers alone are always new; and exact noise, numbers of runs, secret batches and unseeded generators of
NumPy are tested as they are. A
forked child asks the system, as does every other process. ``system_entropy`` marks a test that must ask it too: its
bounds fail with probability below 1e-9, and its docstring says so. ``--seed`` draws everything afresh.
"""

from __future__ import annotations

import hashlib
import os
import random
import ssl
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

Bytes = Callable[[int], bytes]
USUAL = "0"


class Seeded:
    """A generator of bytes in the place of the system's, while a seed is planted and in this process alone."""

    def __init__(self, system: Bytes) -> None:
        self.system, self.stream = system, None

    stream: np.random.Generator | None

    def __call__(self, count: int) -> bytes:
        return self.system(count) if self.stream is None else self.stream.bytes(count)


SYSTEM, OPENSSL = Seeded(os.urandom), Seeded(ssl.RAND_bytes)


def replace_system() -> None:
    """Once, before anything is drawn: whoever keeps a reference to the system's generator keeps one to ours."""
    os.urandom, ssl.RAND_bytes = SYSTEM, OPENSSL
    random._urandom = SYSTEM  # type: ignore[attr-defined]  # of secrets and of NumPy's unseeded generators
    uuid.uuid4 = lambda: uuid.UUID(bytes=SYSTEM.system(16), version=4)  # a shared fixture may be set up twice
    os.register_at_fork(after_in_child=lambda: plant(None))


def plant(name: str | None) -> None:
    """Draw from a seed made of the name; from the system if there is none."""
    if name is None:
        SYSTEM.stream = OPENSSL.stream = None
        return
    words = np.frombuffer(hashlib.sha256(name.encode()).digest(), np.uint32)
    SYSTEM.stream = OPENSSL.stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence(words.tolist())))
    random.seed(name)
    np.random.seed(words)


@contextmanager
def planted(name: str) -> Iterator[None]:
    """A seed for the time of a block, after which the earlier one goes on where it was."""
    stream, states = SYSTEM.stream, (random.getstate(), np.random.get_state())
    plant(name)
    try:
        yield
    finally:
        SYSTEM.stream = OPENSSL.stream = stream
        random.setstate(states[0])
        np.random.set_state(states[1])


class Seeds:
    """The plugin: a seed for every module that is collected, every test, and every fixture that tests share."""

    def __init__(self, seed: str) -> None:
        self.seed = seed

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        with planted(f"{self.seed} {collector.nodeid}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        plant(None if item.get_closest_marker("system_entropy") else f"{self.seed} {item.nodeid}")
        try:
            return (yield)
        finally:
            plant(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        with planted(f"{self.seed} {fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param_index', 0)}"):
            return (yield)
