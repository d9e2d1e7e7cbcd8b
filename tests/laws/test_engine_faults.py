"""Processes that are killed, and processes that begin together: one charge, and no more draws than were paid."""

from __future__ import annotations

import pytest
from benchmarks.scale import scale_faults


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101])
def test_kills_of_workers_scheduler_and_client_cost_nothing_more(seed: int) -> None:
    pytest.importorskip("distributed")
    found = scale_faults.kill_at_random(18700 + seed, seed)
    assert sum(found.kills.values()) >= 1
    assert found.draws <= scale_faults.TRIALS
    assert (found.charges, found.odd, found.ended) == (1, [], True)


@pytest.mark.slow
def test_a_fleet_that_begins_one_study_in_the_same_instant_pays_once() -> None:
    charges, draws, answers, errors = scale_faults.begin_together(
        "sqlite:///{folder}/study.db", "sqlite:///{folder}/ledger.db"
    )
    assert (charges, answers, errors) == (1, 1, [])
    assert draws <= scale_faults.TRIALS
