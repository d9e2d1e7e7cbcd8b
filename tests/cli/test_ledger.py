"""`tacit ledger`: opened, shown, verified, exported, and found out when edited."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from command_parts import Run

import tacit


def test_a_ledger_is_opened_shown_verified_and_exported(run: Run, tmp_path: Path) -> None:
    at = tmp_path
    opened = run(
        "ledger", "open", "icu", "--epsilon", "1", "--delta", "1e-6", "--description", "stays", "--json", at=at
    )
    assert opened.json["name"] == "icu"
    assert opened.json["budget"]["parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert "left" in run("ledger", "open", "icu", at=at).out
    assert run("ledger", "show", "--json", at=at).json == ["icu"]
    tacit.Ledger.open(at / "ledger.db", "icu").charge(tacit.Guarantee(tacit.Budget.gdp(0.1)), "one count")
    shown = run("ledger", "show", "icu", "--json", at=at).json
    assert [e["status"] for e in shown["entries"]] == ["debited, not drawn"]
    told = run("ledger", "show", "icu", at=at).out
    assert "one count" in told
    assert "like the sides of a right angle" in told
    found = run("ledger", "verify", "icu", "--json", at=at).json
    assert (found["intact"], found["entries"]) == (True, 1)
    assert run("ledger", "verify", "icu", "--head", found["head"], at=at).out.rstrip().endswith(found["head"])
    exported = run("ledger", "export", "icu", "--json", at=at).json
    assert exported["entries"][0]["purpose"] == "one count"
    said = run("ledger", "export", "icu", "--out", "icu.json", "--json", at=at)
    assert said.json == {"name": "icu", "file": "icu.json"}
    assert json.loads((at / "icu.json").read_text()) == exported
    assert "is intact" in run("ledger", "verify", "icu", "--head", exported["head"], at=at).out


def test_a_ledger_that_was_edited_is_found(run: Run, tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "icu", tacit.Budget.gdp(1.0))
    ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.1)), "one count")
    ledger.close()
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        database.execute("UPDATE tacit_entries SET purpose = 'another count'")
    said = run("ledger", "verify", "icu", "--json", at=tmp_path, code=1)
    assert said.json["intact"] is False
    assert said.err.startswith("tacit: ")
