"""Games of metrics and persons: sound as they are, and caught where rows are counted instead of persons.

Simulated noise of fixed seeds: no test fails by chance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tacit.audit.games import find_game, metrics
from tacit.audit.play import run_game
from tacit.integrations import table

RUNS = {"auc": (80, 0.15), "balanced": (80, 0.15), "persons": (80, 0.15), "persons-pool": (300, 0.1)}


@pytest.mark.parametrize("name", RUNS)
def test_a_release_keeps_its_claim_on_the_worst_neighbours(name: str) -> None:
    runs, share = RUNS[name]
    audit = run_game(find_game(name), runs, exact=False)
    assert audit.verdict == "within the claim"
    assert audit.measured > share * audit.claimed, "it sees something"


def test_rows_instead_of_persons_break_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same persons, but a loss for each row: one of them has twelve, and is worth twelve records."""

    def twelve_rows(people: int, who: int, side: int) -> Any:
        rows = names(people, who, 0)
        rows.loc[rows["name"] == f"p{who}", "ill"] = ("yes", "no")[side]
        return rows

    names, made = metrics.repeat_names, table.table_objective
    monkeypatch.setattr(metrics, "repeat_names", twelve_rows)
    assert run_game(metrics.persons(mu=0.3), 60, exact=False).verdict == "within the claim"
    monkeypatch.setattr(table, "table_objective", lambda *a, **told: replace(made(*a, **told), owners=None))
    assert run_game(metrics.persons(mu=0.3), 60, exact=False).verdict == "BROKEN"
