"""Connections of those who have no token: slow ones, many, cut ones; while they come, modelers are served."""

from __future__ import annotations

import contextlib
import json
import resource
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from outsource_parts import Served, some_rows

from tacit.errors import TacitError
from tacit.outsource.curator.connections import Limits
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.modeler.client import Client
from tacit.outsource.protocol.terms import Answer

ROWS = some_rows(600)
HEAD = b"GET /v1/study HTTP/1.1\r\nHost: x\r\nX-Slow: "


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    made: list[Served] = []

    def one(limits: Limits | None = None, **settings: Any) -> Served:
        made.append(Served(ROWS, tmp_path, limits or Limits(), **settings))
        return made[-1]

    yield one
    for served in made:
        served.close()


def gone(opened: socket.socket) -> bool:
    """Whether the other side has closed; waits for it."""
    try:
        return opened.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_head_that_does_not_come_is_not_waited_for(serve: Callable[..., Served]) -> None:
    served = serve(Limits(seconds=0.2))
    for sent in (b"", HEAD, b"GET"):
        assert gone(served.connect(sent))
    kept = served.connect(served.raw("GET /v1/study HTTP/1.1"))
    assert served.status(kept) == 200
    kept.sendall(HEAD)  # nor is the head of a second request
    assert gone(kept)


def test_a_new_connection_takes_the_place_of_the_one_that_waited_longest(serve: Callable[..., Served]) -> None:
    served = serve(Limits(waiting_of_address=3, seconds=60))
    asked = served.connect(served.raw("GET /v1/study HTTP/1.1"))
    assert served.status(asked) == 200  # from now on it waits too, and is worth more than those who never asked
    slow = [served.connect(HEAD) for _ in range(5)]
    assert [gone(s) for s in slow[:3]] == [True] * 3
    asked.sendall(served.raw("GET /v1/study HTTP/1.1"))
    assert served.status(asked) == 200
    for s in (asked, *slow):
        s.close()


def test_there_are_never_more_connections_than_allowed(serve: Callable[..., Served]) -> None:
    served = serve(Limits(connections=10, waiting=8, waiting_of_address=100, seconds=60))
    slow = [served.connect(HEAD) for _ in range(40)]
    assert sum(map(gone, slow[:32])) == 32
    assert served.status(served.connect(served.raw("GET /v1/study HTTP/1.1"))) == 200
    for s in slow:
        s.close()


def test_a_proxy_may_hold_many_connections(serve: Callable[..., Served]) -> None:
    served = serve(Limits(waiting_of_address=3, seconds=60, proxies=("127.0.0.1",)))
    many = [served.connect() for _ in range(8)]
    for s in many:
        s.sendall(served.raw("GET /v1/study HTTP/1.1"))
        assert served.status(s) == 200
        s.close()


def test_a_body_that_is_cut_short_is_not_executed(serve: Callable[..., Served]) -> None:
    served = serve()
    first, second = (json.dumps({"request": f"request-{i}", "rows": [i]}).encode() for i in (1, 2))
    post = "POST /v1/queries HTTP/1.1"
    cut = served.connect(served.raw(post, **{"Content-Length": str(len(first) + 10)}) + first)
    cut.close()
    again = served.connect(served.raw(post, **{"Content-Length": str(len(second))}) + second)
    assert served.status(again) == 200
    assert [(e.request, e.row) for e in served.curator.exchanges()] == [("request-2", 2)]


def test_a_body_with_two_lengths_is_refused(serve: Callable[..., Served]) -> None:
    served = serve()
    body = json.dumps({"request": "request-1", "rows": [1]}).encode()
    both = {"Content-Length": str(len(body)), "Transfer-Encoding": "chunked"}
    chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    assert served.status(served.connect(served.raw("POST /v1/queries HTTP/1.1", **both) + chunk)) == 400
    assert served.curator.exchanges() == []


def few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))


@contextlib.contextmanager
def slow_heads(address: tuple[str, int], many: int) -> Iterator[Callable[[], int]]:
    """So many connections that send a head byte by byte, opened again when they are closed; how many were opened."""
    stop, opened = threading.Event(), [0]

    def dribble() -> None:
        selector = selectors.DefaultSelector()
        while not stop.is_set():
            while len(selector.get_map()) < many and not stop.is_set():
                with contextlib.suppress(OSError):
                    one = socket.create_connection(address, timeout=5)
                    one.sendall(HEAD)
                    one.setblocking(False)
                    selector.register(one, selectors.EVENT_READ)
                    opened[0] += 1
            for key, _ in selector.select(0.05):  # closed by the service, or spoken to
                selector.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
            for key in list(selector.get_map().values()):
                with contextlib.suppress(OSError):
                    key.fileobj.send(b"a")  # type: ignore[union-attr]
        for key in list(selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]

    thread = threading.Thread(target=dribble)
    thread.start()
    try:
        yield lambda: opened[0]
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    ("slow", "modelers"), [(300, 10), pytest.param(500, 50, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_modelers_are_served_while_others_send_heads_byte_by_byte(tmp_path: Path, slow: int, modelers: int) -> None:
    rows = "a,b,y\n" + "".join(f"{a},{b},{i}\n" for i, (a, b) in enumerate(ROWS))
    (tmp_path / "rows.csv").write_text(rows)
    tokens = Tokens(tmp_path / "state", environment="")
    names = {f"modeler-{i}": tokens.grant(f"modeler-{i}") for i in range(modelers)}
    words = ["curator", "serve", str(tmp_path / "rows.csv"), "--evaluate", "y", "--epsilon", "3", "--delta", "1e-4"]
    words += ["--scale", "1"]
    words += ["--state", str(tmp_path / "state"), "--port", "0", "--queries", "5000"]
    program = [sys.executable, "-c", "from tacit.cli import main; main()", *words]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=few_descriptors
    ) as service:
        assert service.stdout is not None
        where = service.stdout.readline().strip()
        host, port = where.removeprefix("http://").split(":")
        wrong: list[Any] = []

        def ask(number: int, token: str) -> None:
            try:
                with Client(where, token=token, patience=120) as client:
                    for row in range(number * 3, number * 3 + 3):
                        told = client.ask([row], request=f"request-{row}")
                        if told != [Answer(row, float(row))]:
                            wrong.append(told)
            except TacitError as error:
                wrong.append(error)

        try:
            with slow_heads((host, int(port)), slow) as opened:
                while opened() < slow:
                    time.sleep(0.05)
                threads = [threading.Thread(target=ask, args=(i, t)) for i, t in enumerate(names.values())]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            assert wrong == []
        finally:
            service.terminate()


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[Callable[..., tuple[Served, Callable[[], socket.socket]]]]:
    """A service with a table that no buffer holds, and connections that ask for it and do not read."""
    made: list[Any] = []

    def one(**limits: float) -> tuple[Served, Callable[[], socket.socket]]:
        served = Served(some_rows(60_000), tmp_path, Limits(**limits))  # type: ignore[arg-type]

        def connect() -> socket.socket:
            opened = socket.socket()
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            opened.settimeout(30)
            opened.connect(served.address)
            opened.sendall(served.raw("GET /v1/table HTTP/1.1"))
            made.append(opened)
            return opened

        made.append(served)
        return served, connect

    yield one
    for each in made:
        each.close()


def test_who_does_not_read_what_was_asked_for_is_not_waited_for(deaf: Any) -> None:
    _, connect = deaf(stalled=0.3)
    opened = connect()
    time.sleep(1.5)
    received = 0
    with contextlib.suppress(ConnectionResetError):
        while part := opened.recv(65536):
            received += len(part)
    assert 0 < received < 600_000  # the rest of 960,000 bytes was not sent


def test_one_modeler_cannot_hold_all_connections(deaf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.outsource.curator.admission.AT_ONCE", 2)
    served, connect = deaf()
    stalled = [connect() for _ in range(2)]
    assert all(opened.recv(12) == b"HTTP/1.1 200" for opened in stalled)
    assert served.status(served.connect(served.raw("GET /v1/study HTTP/1.1"))) == 429
    stalled[0].close()
    end = time.monotonic() + 30
    while served.status(served.connect(served.raw("GET /v1/study HTTP/1.1"))) == 429:
        assert time.monotonic() < end
        time.sleep(0.05)
    stalled[1].close()  # the service would wait for it to the end


def test_who_has_read_everything_is_not_waited_for_longer_than_others(deaf: Any) -> None:
    _, connect = deaf(seconds=0.5)
    opened = connect()
    time.sleep(0.2)
    received = b""
    while part := opened.recv(65536):  # ends when the service closes, though nothing was asked to be closed
        received += part
    assert received.endswith(b"0\r\n\r\n")
