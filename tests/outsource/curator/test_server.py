"""The service, in one process: who gets in, what is refused, what a client makes of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from outsource_parts import Served, hill, some_rows

from tacit.errors import BadInput, ObjectiveError
from tacit.outsource.curator import Curator
from tacit.outsource.curator.admission import Bucket
from tacit.outsource.curator.app import create_app
from tacit.outsource.curator.connections import Limits
from tacit.outsource.curator.server import serve
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.modeler import Modeler, Prior
from tacit.outsource.modeler.client import Client
from tacit.outsource.protocol.terms import Refused, Unreachable
from tacit.outsource.protocol.wire import HEADER
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import EXACT, Simulation

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it recommends another transport
    from fastapi.testclient import TestClient

ROWS = some_rows(60)


class Service:
    """A curator behind an application, with a token for alice, bob and the curator."""

    def __init__(self, folder: Path, evaluate: Any = None, address: str = "127.0.0.1", **settings: Any) -> None:
        own = {name: settings.pop(name) for name in ("queries", "state", "ledger", "noise") if name in settings}
        how = hill(ROWS) if evaluate is None else evaluate
        self.place = own.setdefault("state", folder / f"state-{uuid.uuid4().hex}")
        self.curator = Curator(ROWS, how, epsilon=1.0, delta=1e-3, **{"noise": Simulation(0), **own})
        self.tokens = Tokens(self.place, environment="")
        self.names = {name: self.tokens.grant(name) for name in ("alice", "bob", "curator")}
        app = create_app(self.curator, self.tokens, **settings)
        self.http = TestClient(app, client=(address, 4000), raise_server_exceptions=False)

    def get(self, path: str, who: str = "alice", **more: Any) -> httpx.Response:
        return self.http.get(path, headers={"Authorization": f"Bearer {self.names[who]}", **more})

    def post(self, path: str, content: Any, who: str = "alice", **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.names[who]}", "Content-Type": "application/json", **more}
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.http.post(path, content=body, headers=headers)

    def ask(self, rows: list[int], request: str = "request-1", who: str = "alice") -> httpx.Response:
        return self.post("/v1/queries", {"request": request, "rows": rows}, who)

    def client(self, who: str = "alice", **settings: Any) -> Client:
        return Client("http://testserver", token=self.names[who], transport=self.http._transport, **settings)

    def lines(self) -> list[dict[str, Any]]:
        self.http.app.state.audit.flush()
        return self.curator._state.audit()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    made: list[Service] = []

    def service(*arguments: Any, **settings: Any) -> Service:
        made.append(Service(tmp_path, *arguments, **settings))
        return made[-1]

    yield service
    for one in made:
        one.curator.close()


def test_a_study_over_http_is_the_study_in_one_process(make: Any) -> None:
    service = make()
    client = service.client()
    found = Modeler(client, prior=Prior(8.0)).run(15)
    assert client.published() == service.curator.published()
    np.testing.assert_array_equal(client.table(), service.curator.table())
    with Curator(ROWS, hill(ROWS), epsilon=1.0, delta=1e-3, noise=Simulation(0)) as same:
        assert Modeler(same, prior=Prior(8.0)).run(15).answers == found.answers
    assert client.answers() == found.answers
    assert service.client("bob").answers() == []


def test_the_table_may_go_to_a_file(make: Any, tmp_path: Path) -> None:
    service = make()
    table = service.client(file=tmp_path / "table.npy").table()
    np.testing.assert_array_equal(np.load(tmp_path / "table.npy", allow_pickle=False), service.curator.table())
    assert isinstance(table, np.memmap)


@pytest.mark.parametrize(
    "path", ["/v1/study", "/v1/table", "/v1/answers", "/v1/curator/status", "/v1/curator/page", "/nothing"]
)
def test_a_wrong_token_gets_401_and_nothing_else(make: Any, path: str) -> None:
    service = make()
    for header in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {service.names['alice']}"}):
        answer = service.http.get(path, headers=header)
        assert (answer.status_code, answer.content) == (401, b"")
    assert service.get("/v1/curator/status", "alice").status_code == 401  # a modeler is no curator
    assert service.get("/v1/answers", "curator").status_code == 401  # and the other way round


def test_a_revoked_token_is_refused_at_once(make: Any) -> None:
    service = make()
    assert service.ask([1]).status_code == 200
    Tokens(service.place, environment="").revoke("alice")  # as another process would
    answer = service.ask([2], "request-2")
    assert (answer.status_code, answer.content) == (401, b"")
    with pytest.raises(Refused, match="wrong, has expired or was revoked"):
        service.client().ask([2], request="request-3")
    assert service.ask([2], "request-4", "bob").status_code == 200
    assert [e.row for e in service.curator.exchanges()] == [1, 2]


def test_what_is_refused_says_why_and_costs_nothing(make: Any) -> None:
    service = make(queries=3)
    for rows, status, code in (([60], 404, "unknown row"), ([1, 2, 3, 4], 403, "limit")):
        answer = service.ask(rows)
        assert (answer.status_code, answer.json()["error"]) == (status, code)
    for body in (b"{", b"[]", {"rows": [1]}, {"request": "request-1", "rows": [-1]}, {"request": "r", "rows": [1]}):
        assert service.post("/v1/queries", body).status_code == 422
    assert service.post("/v1/queries", {"request": "request-1", "rows": [1], "protocol": 2}).status_code == 422
    assert service.curator.status()["used"] == 0
    assert service.ask([1], "request-1").json()["answers"] == [{"row": 1, "value": float(hill(ROWS)[1])}]
    assert service.ask([2], "request-1").json()["error"] == "reused"
    with pytest.raises(Refused) as refusal:
        service.client().ask([99], request="request-9")
    assert refusal.value.code == "unknown row"
    service.curator.stop()
    assert service.ask([3], "request-3").json()["error"] == "stopped"
    assert service.ask([1], "request-1").status_code == 200  # what was told may be told again


def test_an_evaluation_that_fails_is_told_without_its_words(make: Any) -> None:
    def broken(row: np.ndarray) -> float:
        raise RuntimeError("secret")

    service = make(broken)
    answer = service.ask([3])
    assert (answer.status_code, answer.json()["error"]) == (409, "evaluation")
    assert "secret" not in answer.text
    with pytest.raises(ObjectiveError):
        service.curator.ask([3])


def test_another_protocol_is_refused_by_either_side(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    service = make()
    answer = service.get("/v1/study", **{HEADER: "2"})
    assert (answer.status_code, answer.json()["error"]) == (426, "protocol")
    client = service.client()
    client._http.headers[HEADER] = "7"
    with pytest.raises(Unreachable, match="speaks protocol 1"):
        client.published()


def test_a_body_that_is_too_large_is_refused_whether_it_is_read_to_its_end_or_not(make: Any) -> None:
    service = make(most=1000)
    for size in (1001, 4000, 4001):
        answer = service.post("/v1/queries", b"x" * size)
        assert (answer.status_code, answer.json()["error"]) == (413, "size")
    headers = {"Authorization": f"Bearer {service.names['alice']}"}
    streamed = service.http.post("/v1/queries", content=iter([b"x" * 600] * 3), headers=headers)
    assert streamed.status_code == 413


def test_too_many_requests_are_put_off(make: Any) -> None:
    service = make(rate=1.0, burst=3)
    statuses = [service.get("/v1/answers").status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    assert int(service.get("/v1/answers").headers["retry-after"]) >= 1
    assert service.get("/v1/answers", "bob").status_code == 200  # each has their own
    with pytest.raises(Unreachable, match=r"for 0\.5 seconds \(status 429\)"):
        service.client(patience=0.5).answers()
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        time.sleep(seconds)

    assert service.client(sleep=sleep).answers() == []
    assert min(waits) >= 1  # as the service asked


def test_a_bucket_fills_again() -> None:
    clock = [0.0]
    bucket = Bucket(2.0, 2, lambda: clock[0])
    assert [bucket.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    clock[0] = 0.5
    assert [bucket.wait("a"), bucket.wait("a")] == [0.0, 0.5]


def test_guessing_tokens_is_slowed_down(make: Any) -> None:
    service = make()
    statuses = {service.http.get("/v1/study", headers={"Authorization": f"Bearer {i}"}).status_code for i in range(40)}
    assert statuses == {401, 429}
    assert service.get("/v1/study").status_code == 200


def test_the_audit_log_names_requests_and_holds_no_values(make: Any) -> None:
    service = make()
    value = service.ask([7], "request-7").json()["answers"][0]["value"]
    service.get("/v1/table")
    asked, table = service.lines()
    assert (asked["who"], asked["request"], asked["rows"], asked["status"]) == ("alice", "request-7", [7], 200)
    assert (table["path"], table["status"], table["times"]) == ("/v1/table", 200, 1)
    text = json.dumps(service.lines())
    assert str(value) not in text
    assert not any(token in text for token in service.names.values())


def test_a_slow_answer_is_evaluated_once_however_often_it_is_asked_for(make: Any) -> None:
    calls, go = [], threading.Event()

    def slow(row: np.ndarray) -> float:
        calls.append(1)
        go.wait(120)
        return 1.0

    service = make(slow, patience=0.05)
    with service.http:  # one event loop for all requests
        assert service.ask([3]).status_code == 202
        assert service.ask([3]).json() == {"status": "pending"}
        go.set()
        assert service.client(sleep=lambda _: time.sleep(0.05)).ask([3], request="request-1")[0].value == 1.0
    assert len(calls) == 1


def test_an_answer_that_is_ready_does_not_wait_for_a_slow_one(make: Any) -> None:
    gates = {0: threading.Event(), 2: threading.Event()}

    def slow(row: np.ndarray) -> float:
        at = int(np.flatnonzero((row == ROWS).all(axis=1))[0])
        assert at not in gates or gates[at].wait(120)
        return float(at)

    worker = make(slow).http.app.state.worker
    first, quick, late = (worker.submit("alice", f"request-{row}", [row]) for row in (0, 1, 2))
    gates[0].set()  # the other two were waiting by now, and are taken together
    assert first.result(30)[0].value == 0.0
    assert quick.result(30)[0].value == 1.0
    assert not late.done()
    gates[2].set()
    assert late.result(30)[0].value == 2.0


def test_the_curators_routes_are_for_this_machine_alone(make: Any) -> None:
    service = make(address="192.0.2.7")
    assert service.get("/v1/curator/status", "curator").status_code == 404
    assert service.get("/curator", "curator").status_code == 404
    assert service.get("/v1/study").status_code == 200
    near = make()
    told = near.get("/v1/curator/status", "curator").json()
    assert (told["left"], told["stopped"]) == (100, None)
    assert near.post("/v1/curator/stop", {"stopped": True}, "curator").json() == {"stopped": True}
    assert near.ask([1]).json()["error"] == "stopped"
    shown = near.get("/curator", "curator")
    assert "script-src 'sha256-" in shown.headers["content-security-policy"]
    assert not any(token in shown.text for token in near.names.values())
    parts = near.get("/v1/curator/page", "curator").json()
    assert parts["stopped"]
    assert "queries answered" in parts["html"]
    assert not any(token in parts["html"] for token in near.names.values())


def test_health_and_description_are_open(make: Any) -> None:
    service = make()
    for path in ("/healthz", "/readyz"):
        assert service.http.get(path).json() == {"status": "ok", "failing": []}
    assert set(service.http.get("/openapi.json").json()["paths"]) >= {"/v1/study", "/v1/table", "/v1/queries"}
    assert {service.get(path).status_code for path in ("/docs", "/redoc")} == {404}  # they load scripts from elsewhere


def test_health_tells_of_a_state_a_ledger_and_a_worker_that_fail(make: Any, tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db", "rows", Budget.approximate(2.0, 1e-2))
    service = make(state=tmp_path / "state", ledger=ledger, noise=EXACT)

    def said(path: str) -> tuple[int, list[str]]:
        service.http.app.state.health._asked = float("-inf")  # it asks once a second
        answer = service.http.get(path)
        return answer.status_code, answer.json()["failing"]

    assert said("/healthz") == said("/readyz") == (200, [])
    service.curator.stop()
    assert (said("/healthz"), said("/readyz")) == ((200, []), (503, ["open"]))
    service.curator.stop(False)
    service.http.app.state.worker._queue.put(None)  # ends the thread, as nothing should
    service.http.app.state.worker._thread.join()
    assert said("/healthz") == (503, ["worker"])
    assert service.ask([1]).status_code == 200  # which starts another one
    assert said("/healthz") == (200, [])
    (tmp_path / "ledger.db").rename(tmp_path / "away.db")
    assert said("/healthz") == (503, ["ledger"])
    (tmp_path / "away.db").rename(tmp_path / "ledger.db")
    (tmp_path / "state" / "curator.db").write_bytes(b"not a database at all" * 300)
    assert said("/healthz") == (503, ["state"])
    assert service.get("/v1/answers").status_code == 503
    assert service.ask([2], "request-2").status_code == 503
    assert said("/readyz") == (503, ["open", "state", "worker"])


class Odd(BaseException):
    """Nothing that anybody catches."""


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, Odd, MemoryError])
def test_whatever_an_evaluation_raises_the_next_one_is_answered(make: Any, kind: type[BaseException]) -> None:
    def evaluate(row: np.ndarray) -> float:
        if (row == ROWS[3]).all():
            raise kind
        return 1.0

    service = make(evaluate)
    assert service.ask([3]).status_code in (409, 503)
    assert service.ask([4], "request-4").json()["answers"] == [{"row": 4, "value": 1.0}]
    assert [e.row for e in service.curator.exchanges()] == [4]
    assert service.http.get("/healthz").status_code == 200


def test_behind_a_proxy_on_this_machine_nobody_is_taken_for_the_curator(make: Any) -> None:
    service = make()
    for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"):
        assert service.get("/v1/curator/status", "curator", **{header: "192.0.2.1"}).status_code == 404
        assert service.get("/curator", "curator", **{header: "192.0.2.1"}).status_code == 404
    apart = make(page_port=81)  # the test's client calls the service by port 80
    assert apart.get("/v1/curator/status", "curator").status_code == 404
    assert apart.get("/v1/study").status_code == 200
    assert make(page_port=80).get("/v1/curator/status", "curator").status_code == 200


def test_a_path_that_is_almost_right_sends_nobody_elsewhere(make: Any) -> None:
    answer = make().http.get("/v1/study/", headers={"Host": "elsewhere.example"}, follow_redirects=False)
    assert answer.status_code in (401, 404)
    assert "location" not in answer.headers


def test_serving_a_network_without_tls_is_refused(make: Any) -> None:
    service = make()
    with pytest.raises(BadInput, match="without TLS"):
        serve(service.curator, service.tokens, host="0.0.0.0")
    with pytest.raises(BadInput, match="only one of them"):
        serve(service.curator, service.tokens, certificate="c.pem")


def test_an_address_without_a_scheme_is_refused_at_once() -> None:
    with pytest.raises(BadInput, match=r"begins with https:// or http://, got 'curator\.example'"):
        Client("curator.example")


@pytest.mark.parametrize("examples", [2, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("whose", ["modelers", "curators"])
def test_no_request_that_the_description_allows_or_not_makes_an_error_of_the_server(
    tmp_path: Path, whose: str, examples: int
) -> None:
    """Schemathesis, by the service's own description of itself, with all its checks."""
    served = Served(ROWS, tmp_path, Limits(), rate=1e9, burst=10**9)
    pick = "--exclude-path-regex" if whose == "modelers" else "--include-path-regex"
    words = [f"http://{served.address[0]}:{served.address[1]}/openapi.json", pick, "curator", "--checks", "all"]
    words += ["-H", f"Authorization: Bearer {served.token if whose == 'modelers' else served.own_token}"]
    words += ["-n", str(examples), "--phases", "coverage,fuzzing", "--seed", "1", "--no-color"]
    line = "import sys; from schemathesis.cli import schemathesis; schemathesis(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", line, "run", *words], cwd=tmp_path, capture_output=True, text=True)
    served.close()
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) generated", done.stdout)[1]) > 10  # type: ignore[index]
