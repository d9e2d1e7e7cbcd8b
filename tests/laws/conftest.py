"""What of the laws the default run leaves to `make test-all`."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs on a server that nobody pays for: Optuna's tables apart, they are those in SQLite."""
    for item in items:
        if item.path.parent == HERE and item.get_closest_marker("postgres") and "no ledger" in item.name:
            item.add_marker("slow")
