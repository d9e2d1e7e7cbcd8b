"""Fixtures that any test may use: a real PostgreSQL, and a ledger's URL on each kind of database."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import Server, binaries


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
