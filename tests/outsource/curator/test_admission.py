"""Limits that hold for whoever has many addresses, and health that answers while a database does not."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from outsource_parts import hill, some_rows

from tacit.outsource.curator import Curator
from tacit.outsource.curator import app as apps
from tacit.outsource.curator.app import create_app
from tacit.outsource.curator.tokens import Tokens

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it recommends another transport
    from fastapi.testclient import TestClient


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    rows = some_rows(20)
    with Curator(rows, hill(rows), epsilon=2.0, delta=1e-3, state=tmp_path / "state") as made:
        yield made


def guess(app: object, address: str) -> int:
    http = TestClient(app, client=(address, 4000), raise_server_exceptions=False)  # type: ignore[arg-type]
    return int(http.get("/v1/study", headers={"Authorization": "Bearer guessed"}).status_code)


def test_whoever_owns_a_network_of_addresses_guesses_as_slowly_as_with_one(curator: Curator, tmp_path: Path) -> None:
    app = create_app(curator, Tokens(tmp_path / "state", environment=""))
    assert 429 in {guess(app, f"2001:db8::{number:x}") for number in range(25)}
    assert guess(app, "2001:db8:0:1::1") == 401  # somebody else's network
    assert 429 in {guess(app, address) for _ in range(12) for address in ("192.0.2.7", "::ffff:192.0.2.7")}
    assert guess(app, "192.0.2.8") == 401


def test_health_is_told_while_a_look_at_the_state_hangs(
    curator: Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(curator, Tokens(tmp_path / "state", environment=""))
    http = TestClient(app, raise_server_exceptions=False)
    assert http.get("/healthz").json() == {"status": "ok", "failing": []}
    hangs, go, usual = threading.Event(), threading.Event(), curator.reachable

    def hang() -> dict[str, bool]:
        hangs.set()
        assert go.wait(60)
        return usual()

    monkeypatch.setattr(curator, "reachable", hang)
    app.state.health._asked = float("-inf")  # it asks once a second
    looking = threading.Thread(target=http.get, args=("/healthz",))
    looking.start()
    assert hangs.wait(60)
    assert http.get("/readyz").json() == {"status": "ok", "failing": []}  # as it was found last
    monkeypatch.setattr(apps, "LATE", 0.0)
    assert http.get("/healthz").json() == {"status": "failing", "failing": ["late"]}
    go.set()
    looking.join()
    monkeypatch.undo()
    assert http.get("/healthz").json() == {"status": "ok", "failing": []}


def test_requests_that_wait_are_bounded_for_each_modeler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else whoever has a token fills the memory while one evaluation takes hours."""
    monkeypatch.setattr("tacit.outsource.curator.worker.EACH", 3)
    go, rows = threading.Event(), some_rows(20)

    def evaluate(row: object) -> float:
        assert go.wait(60)
        return 1.0

    with Curator(rows, evaluate, epsilon=2.0, delta=1e-3) as slow, Tokens(tmp_path, environment="") as tokens:
        app = create_app(slow, tokens, patience=0.01)
        sent = {name: {"Authorization": f"Bearer {tokens.grant(name)}"} for name in ("alice", "bob")}
        with TestClient(app, raise_server_exceptions=False) as http:

            def ask(row: int, who: str = "alice") -> int:
                query = {"request": f"request-{row}", "rows": [row]}
                return int(http.post("/v1/queries", json=query, headers=sent[who]).status_code)

            assert [ask(row) for row in range(5)] == [202, 202, 202, 429, 429]
            assert ask(1) == 202  # it waits already
            assert ask(9, "bob") == 202
            go.set()
            while ask(4) in (202, 429):
                pass
        assert {e.row for e in slow.exchanges()} == {0, 1, 2, 4, 9}
