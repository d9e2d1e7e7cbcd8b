"""The laws of claims, for every place where a run may be kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from claims_laws import ClaimsLaws
from claims_stores import KINDS, STEPS, Kind, T, draw_and_die, fork, tune_in_a_process
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


@pytest.mark.postgres
class TestAServerThatIsRestarted:
    """As after a power cut, at any step of a draw: what was paid for is what can be drawn."""

    @pytest.fixture(scope="class")
    def server(self, postgres: Server) -> Iterator[Server]:
        own = Server()  # nobody else is cut off; ``postgres`` refuses where there are no binaries
        yield own
        own.remove()

    @pytest.mark.parametrize("name", SERVED)
    @pytest.mark.parametrize(
        "step", [s if s == "after the claim" else pytest.param(s, marks=pytest.mark.slow) for s in STEPS]
    )
    def test_no_more_is_drawn_than_was_paid_for(self, name: str, step: str, server: Server, tmp_path: Path) -> None:
        (tmp_path / "run").mkdir()
        kind = KINDS[name](tmp_path / "run", server.database(f"t{abs(hash((name, step)))}"))
        cuts = []

        def restart() -> None:
            cuts.append(step)
            server.stop()
            server.start()

        with contextlib.suppress(Exception):  # whatever a lost connection raises
            draw_and_die(kind, step, 2, restart)
        assert cuts or step not in ("before the evaluation", "before the claim", "after the claim", "after the draw")
        before = kind.drawn
        assert before in (2, 3)
        claims = kind.open(kind.ledger())
        redrawn = before == 3 and claims.store.count_claims() == 2
        kind.draw_all(claims, T)
        assert redrawn <= claims.store.hidden  # only what nobody saw may be drawn again
        assert kind.drawn <= T + redrawn
        assert kind.charges() == 1


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
