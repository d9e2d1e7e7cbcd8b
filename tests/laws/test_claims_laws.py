"""The laws of claims, for every place where a run may be kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from claims_laws import ClaimsLaws
from claims_stores import KINDS, STEPS, Kind, draw_and_die, fork, is_taken, tune_in_a_process
from postgres_server import Server

from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger

SERVED = [name for name in KINDS if "PostgreSQL" in name]


class TestClaims(ClaimsLaws):
    @pytest.fixture(params=[name for name in KINDS if name not in SERVED])
    def kind(self, request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
        (tmp_path / "run").mkdir()
        return KINDS[request.param](tmp_path / "run")


@pytest.mark.postgres
class TestClaimsOnAServer(ClaimsLaws):
    """The run and its ledger in PostgreSQL."""

    @pytest.fixture(params=SERVED)
    def kind(self, request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Kind:
        (tmp_path / "run").mkdir()
        return KINDS[request.param](tmp_path / "run", postgres_url)

    @pytest.mark.slow
    @pytest.mark.parametrize("step", STEPS)
    def test_a_killed_run_goes_on_without_paying_or_drawing_twice(self, step: str, kind: Kind) -> None:
        super().test_a_killed_run_goes_on_without_paying_or_drawing_twice(step, kind)


@pytest.fixture(scope="module")
def own_server(postgres: Server) -> Iterator[Server]:
    """A server that may be stopped: nobody else is cut off. ``postgres`` refuses where there are no binaries."""
    server = Server()
    yield server
    server.remove()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("name", "step"),
    [
        pytest.param(name, step, marks=[] if step == "after the draw" else [pytest.mark.slow])
        for name in SERVED
        for step in STEPS
        if is_taken(step, hidden=name == "state in PostgreSQL")
    ],
)
def test_a_server_that_is_restarted_in_mid_run_draws_no_more_than_was_paid_for(
    name: str, step: str, own_server: Server, tmp_path: Path
) -> None:
    """As after a power cut, at any step of a draw."""
    (tmp_path / "run").mkdir()
    kind = KINDS[name](tmp_path / "run", own_server.database(f"t{STEPS.index(step)}{SERVED.index(name)}"))
    cuts = []

    def restart() -> None:
        own_server.stop()
        own_server.start()
        cuts.append(step)

    with contextlib.suppress(Exception):  # whatever a lost connection raises
        draw_and_die(kind, step, restart)
    assert cuts == [step]
    ClaimsLaws().goes_on(kind, kind.open(kind.ledger()), step)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_twenty_fleets_of_eight_processes_that_start_together_pay_once_each(
    where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for fleet in range(20):
        at = tmp_path / str(fleet)
        at.mkdir()
        storage, paid = f"sqlite:///{at}/study.db", f"sqlite:///{at}/ledger.db"
        if where == "postgres":
            storage = paid = request.getfixturevalue("postgres").database(f"fleet{fleet}x{id(at)}")
        start = fork.Barrier(8)
        crew = [fork.Process(target=tune_in_a_process, args=(storage, paid, start)) for _ in range(8)]
        for process in crew:
            process.start()
        for process in crew:
            process.join()
        assert [process.exitcode for process in crew] == [0] * 8, fleet
        with Ledger.open(paid, "l", Budget.gdp(5.0)) as ledger:
            ledger.verify()
            assert [e.kind for e in ledger.entries()].count("charge") == 1, fleet
        url = storage.replace("postgresql://", "postgresql+psycopg://")
        study = optuna.load_study(study_name="tacit", storage=url)
        assert sum(t.state == optuna.trial.TrialState.COMPLETE for t in study.get_trials()) <= 8
