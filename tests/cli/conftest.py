"""Fixtures of the command's tests, made once for each test process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_parts import MODEL, OBJECTIVE, SPACE, checked, installed
from shell_parts import Said
from shell_parts import tacit as tacit_command

import tacit


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Run the command in this process, in a folder; nobody at the keyboard."""

    def run(*words: str, at: Path, code: int = 0) -> Said:
        monkeypatch.chdir(at)
        return checked(tacit_command(*words), code)

    return run


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, a space, a table, a ledger for two runs, and one finished run that it paid for."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "model.py").write_text(MODEL)
    (folder / "space.toml").write_text(SPACE)
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=400), generator.choice(["x", "y"], 400)
    table = {"a": a, "b": b, "sick": (a > 0).astype(int), "weight": a * 2 + 0.1}
    pd.DataFrame(table).to_csv(folder / "table.csv", index=False)
    two = tacit.Budget.gdp(1.0001 * 2**0.5 * tacit.Budget.approximate(1.0, 1e-6).mu())
    tacit.Ledger.open(folder / "ledger.db", "icu", two, description="ICU stays")
    (folder / "first.json").write_text(
        installed(*OBJECTIVE, "--ledger", "ledger.db", "--ledger-name", "icu", "--out", "out", "--json", at=folder).out
    )
    return folder
