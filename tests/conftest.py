"""Fixtures that any test may use: a real PostgreSQL, and a ledger's URL on each kind of database."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from order import FILES, Order
from postgres_server import Server, binaries, memory
from seeds import USUAL, Seeds, replace_system
from unrun import Unrun

replace_system()

# What CI may skip: libraries of gigabytes, which `make test-all` covers, what depends on the machine, and datasets of
# Hugging Face, for which the same tests have a stand-in.
MAY_SKIP = re.compile(
    r"could not import 'datasets'"
    r"|torch|opacus|botorch|array_api|non deterministic|letters of this machine|may not mount"
    r"|OpenSSL reads no settings",
    re.IGNORECASE,
)


def refuse_skip(report: Any) -> Any:
    """In CI a test that is skipped for want of something that can be installed has failed."""
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        why = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if not MAY_SKIP.search(why):
            report.outcome, report.longrepr = "failed", f"skipped in CI, which installs all it needs: {why}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return refuse_skip((yield))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", default=USUAL, help="draw all that tests draw afresh (see tests/seeds.py)")
    parser.addoption("--order", default=FILES, help="'random', or the seed of a random order (see tests/order.py)")


def pytest_configure(config: pytest.Config) -> None:
    """Temporary folders are in memory where there is room: waiting for a disk at every commit tests nothing here.

    Property tests try fewer examples where slow tests are left out; ``make test-all`` tries 100.
    """
    if (roomy := memory()) is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", roomy)
    seed = str(config.option.seed)
    config.pluginmanager.register(Seeds(seed), "seeds")
    config.pluginmanager.register(Order(config), "order")
    config.pluginmanager.register(Unrun(config), "unrun")
    examples = 30 if config.option.markexpr == "not slow" else 100
    phases = [phase for phase in Phase if phase is not Phase.explain]  # which takes minutes where a test is slow
    settings.register_profile("tacit", deadline=None, max_examples=examples, derandomize=seed == USUAL, phases=phases)
    settings.load_profile("tacit")


@pytest.fixture(scope="session", autouse=True)
def seen_ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a machine notes of ledgers on servers, and its key of data, are kept here, not in somebody's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def machine_of_its_own(seen_ledgers: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each test is a machine that has seen no ledger: several charge copies of one kept file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / f"state-{uuid.uuid4().hex}"))
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running server, one per test process."""
    if binaries() is None:
        why = "needs the PostgreSQL server binaries (Debian: apt install postgresql)"
        if os.environ.get("CI"):
            pytest.fail(why + "; in CI they must be there")
        pytest.skip(why)
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """A fresh database on a real server."""
    name = f"t{uuid.uuid4().hex}"
    yield postgres.database(name)
    postgres.drop(name)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger may be kept: the test runs once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    url: str = request.getfixturevalue("postgres_url")
    return url
