"""The dashboard shows and does nothing else, to this machine and under no other name."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from report_parts import curator, front, observed
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.errors import BadInput
from tacit.report.dashboard import Dashboard, Runs


@contextmanager
def served(*places: Path, **about: Any) -> Iterator[Dashboard]:
    with Dashboard(Runs(places, **about), port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


def asked(server: Dashboard, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, Any, str]:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(server.url).port, timeout=30)
    connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "certificate.json").write_text(json.dumps(observed()))
    (tmp_path / "front").mkdir()
    front().save(tmp_path / "front" / "front.json")
    curator(tmp_path / "curator")
    return tmp_path


def links(text: str) -> list[str]:
    return [part.split('"')[0] for part in text.split('href="')[1:]]


def test_it_lists_the_runs_and_shows_each(place: Path) -> None:
    with served(place) as server:
        status, headers, index = asked(server)
        assert status == 200
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-store", "nosniff")
        assert len(links(index)) == 3
        pages = [asked(server, "/" + link)[2] for link in links(index)]
        assert sum("What was released" in p for p in pages) == 1
        assert sum("An outsourced study" in p for p in pages) == 1
        document = json.loads(asked(server, f"/{links(index)[0]}.json")[2])
        assert document["parts"]
        assert asked(server, f"/{links(index)[0]}.json?have={document['mark']}")[0] == 204
        assert asked(server, "/run/0123")[0] == 404
        assert asked(server, "/../etc/passwd")[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "ODD"])
def test_it_answers_get_alone(method: str, tmp_path: Path) -> None:
    with served(tmp_path) as server:
        status, headers, _ = asked(server, method=method)
    assert (status, headers["Allow"]) == (405, "GET")


def test_a_name_from_elsewhere_is_refused(place: Path) -> None:
    with served(place) as server:
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", ""):
            status, _, text = asked(server, Host=host)
            assert (status, "release" in text) == (421, False)
        for host in ("localhost", "localhost:8734", "127.0.0.1:1", "[::1]:8734"):
            assert asked(server, Host=host)[0] == 200


def test_exact_values_never_leave_unless_asked_for(place: Path) -> None:
    secret = [f"{p.utility:.4g}" for p in front().points] + ["0.4741", "0.4851"]
    with served(place) as server:
        texts = [asked(server, f"/{link}{end}")[2] for link in links(asked(server)[2]) for end in ("", ".json")]
        assert not any(value in text for text in texts for value in secret)
    with served(place, private=True) as server:
        assert asked(server)[0] == 404  # only below an address that cannot be guessed
        root = urlsplit(server.url).path
        assert len(root) > 20
        texts = [asked(server, root + link)[2] for link in links(asked(server, root)[2])]
        assert all(any(value in text for text in texts) for value in secret)


def test_exact_values_are_not_served_to_a_network(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="on this machine only"):
        Dashboard(Runs([tmp_path], private=True), host="0.0.0.0", port=0)
    with pytest.raises(BadInput, match="there is no"):
        CliRunner().invoke(app, ["dashboard", str(tmp_path / "no")], catch_exceptions=False)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with served(tmp_path) as server, pytest.raises(BadInput, match="cannot serve on"):
        Dashboard(Runs([tmp_path]), port=urlsplit(server.url).port or 0)


def test_a_run_that_changes_has_a_new_mark_and_a_broken_one_says_so(place: Path) -> None:
    with served(place / "release") as server:
        (link,) = links(asked(server)[2])
        first = json.loads(asked(server, f"/{link}.json")[2])
        certificate = observed()
        certificate["value"]["score"] = 0.5678
        (place / "release" / "certificate.json").write_text(json.dumps(certificate))
        second = json.loads(asked(server, f"/{link}.json")[2])
        assert first["mark"] != second["mark"]
        assert first["shape"] == second["shape"]
        assert "0.5678" in second["parts"]["cover"][1]
        certificate["value"]["trials"] = 3
        (place / "release" / "certificate.json").write_text(json.dumps(certificate))
        assert "Not readable now" in asked(server, f"/{link}")[2]


def test_names_are_escaped(tmp_path: Path) -> None:
    odd = tmp_path / "<img src=x onerror=alert(1)>"
    odd.mkdir()
    (odd / "certificate.json").write_text(json.dumps(observed()))
    with served(tmp_path) as server:
        text = asked(server)[2]
    assert "<img" not in text
    assert "&lt;img" in text


def test_the_ledger_that_pays_is_listed_and_shown(place: Path) -> None:
    url = str(place / "budgets.db")
    with tacit.Ledger.open(url, "icu", tacit.Budget.pure(1.0)) as ledger:
        paid = ledger.charge(tacit.Guarantee(tacit.Budget.pure(0.25)), "a release")
        (place / "release" / "certificate.json").write_text(json.dumps({**observed(), "payment": paid.to_json()}))
        with served(place / "release", ledger=url) as server:
            index = asked(server)[2]
            assert "run/ledger" in index
            assert url not in index  # an address may hold a password
            assert "epsilon = 0.75" in asked(server, "/run/ledger")[2]
            ledger.charge(tacit.Guarantee(tacit.Budget.pure(0.5)), "another")
            assert "epsilon = 0.25" in asked(server, "/run/ledger")[2]
            run = next(link for link in links(index) if link != "run/ledger")
            assert "1, this run" in asked(server, "/" + run)[2]


def test_the_command_serves_until_it_is_interrupted(place: Path) -> None:
    command = [sys.executable, "-c", "from tacit.cli import main; main()", "dashboard", str(place), "--port", "0"]
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a run in the background is born deaf to Ctrl-C
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--json"], **pipes, text=True, preexec_fn=heed) as running:
        assert running.stdout is not None
        url = json.loads(running.stdout.readline())["url"]
        with urlopen(url, timeout=60) as answer:
            assert b"release" in answer.read()
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert "runs go on without it" in said
    assert "Traceback" not in said
    assert running.returncode == 0


@pytest.mark.parametrize("scheme", ["", "sqlite:///"])
def test_a_ledger_beside_the_runs_that_is_also_named_is_listed_once(place: Path, scheme: str) -> None:
    with tacit.Ledger.open(place / "ledger.db", "icu", tacit.Budget.gdp(1.0)):
        pass
    runs = Runs([place, place / "release"], ledger=f"{scheme}{place / 'ledger.db'}")
    assert [r.id for r in runs.list_runs() if r.subject.kind == "ledger"] == ["ledger"]
    assert [r.subject.kind for r in Runs([place]).list_runs()].count("ledger") == 1


@pytest.mark.parametrize("score", ['"high"', "1" + "0" * 400, "null", "[[1]]", '{"a": 1}', "[" * 100_000])
@pytest.mark.parametrize("kind", ["trained", "tuned"])
def test_one_bad_certificate_takes_nothing_else_down(place: Path, score: str, kind: str) -> None:
    value = f'"score": {score}, "metric": "error", "params": {{}}, "method": "random"'
    value += ', "trainer": "logistic"' if kind == "trained" else ""
    bad = place / "bad"
    bad.mkdir()
    (bad / "certificate.json").write_text(f'{{"format": "tacit.certificate/1", "value": {{{value}}}}}')
    with served(place) as server:
        status, _, text = asked(server)
        assert status == 200
        listed = links(text)
        assert len(listed) >= 2
        for link in listed:
            assert asked(server, f"/{link}")[0] == 200


def test_connections_that_send_nothing_leave_room_for_others(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr("tacit.report.dashboard.MOST", 4)
    monkeypatch.setattr("tacit.report.dashboard.SECONDS", 0.5)
    with served(place) as server:
        idle = [socket.create_connection(("127.0.0.1", server.server_address[1])) for _ in range(12)]
        for one in idle:
            one.settimeout(30)
            with suppress(OSError):
                one.sendall(b"GET / HT")
        for one in idle:  # each is closed: at once, or when its time is over
            with suppress(ConnectionError):
                assert one.recv(1) == b""
            one.close()
        assert asked(server)[0] == 200
