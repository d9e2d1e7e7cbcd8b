"""A modeler whose curator is broken, hostile or somebody else: an error of ours, in bounded time and memory."""

from __future__ import annotations

import contextlib
import json
import math
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from outsource_parts import Given, hill, some_rows

from tacit.errors import BadInput
from tacit.outsource.curator.certificate import make_certificate
from tacit.outsource.modeler import Modeler, Prior
from tacit.outsource.modeler import client as clients
from tacit.outsource.modeler.client import Client
from tacit.outsource.protocol.frames import Digest, frame, pack
from tacit.outsource.protocol.terms import Answer, Published, Refused, Unreachable
from tacit.privacy.guarantee import Guarantee

TABLE = some_rows(20).astype("<f4")
Handler = Callable[[httpx.Request], httpx.Response]


def terms(**changed: Any) -> dict[str, Any]:
    """Terms that fit the table, but for what is changed."""
    summary = Digest()
    summary.add(TABLE)
    none = Guarantee.none("a test")
    right = Published("s", 20, 2, "noisy", 1.0, 0.0, 100, none, none, summary.text()).to_json()
    return {**right, **changed}


def curator(study: Any = None, **routes: Any) -> Handler:
    """A curator that says what it is told to; a callable route makes its own response."""
    said = {"/v1/study": terms() if study is None else study, "/v1/answers": {"protocol": 1, "answers": []}, **routes}

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/table":
            return httpx.Response(200, content=frame(pack(TABLE), 20))
        content = said[request.url.path]
        if callable(content):
            return content(request)  # type: ignore[no-any-return]
        return httpx.Response(200, content=content if isinstance(content, bytes) else json.dumps(content).encode())

    return handle


def client(handler: Handler, **settings: Any) -> Client:
    settings = {"patience": 0.3, "sleep": lambda _: time.sleep(0.01), **settings}
    return Client("http://curator.test", transport=httpx.MockTransport(handler), **settings)


def search(handler: Handler, trials: int = 3, **settings: Any) -> Any:
    return Modeler(client(handler, **settings), prior=Prior(5.0)).run(trials)


def told(*answers: Any) -> dict[str, Any]:
    return {"protocol": 1, "answers": [{"row": r, "value": v} for r, v in answers]}


@pytest.mark.parametrize("said", [b"<html>", b"", b"\xff\xfe", b"[" * 100_000, b"7", b"null", b'"words"', b"[]"])
def test_what_speaks_no_json_is_no_curator(said: bytes) -> None:
    with pytest.raises(Unreachable):
        search(curator(said))


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 10**12},
        {"rows": 0},
        {"rows": "many"},
        {"rows": math.inf},
        {"rows": None},
        {"columns": 10**9},
        {"columns": -1},
        {"chunk": 10**12},
        {"chunk": 0},
        {"dtype": "O"},
        {"noise": math.nan},
        {"noise": -1.0},
        {"answer_noise": math.inf},
        {"about": {"scale": 5}},
        {"about": 5},
        {"guarantee": {}},
        {"whole": None},
        {"whole": {**terms()["whole"], "assumptions": 5}},
        {"protocol": 2},
        {"protocol": "\x1b[2J" * 1000},
        {"digest": "other"},
    ],
    ids=lambda w: next(iter(w)),
)
def test_terms_that_describe_no_such_table_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Unreachable) as refusal:
        search(curator(terms(**wrong)))
    assert "\x1b" not in str(refusal.value)


@pytest.mark.parametrize(
    "wrong", [told((-1, 1.0)), told((20, 1.0)), told((10**15, 1.0)), told((2**64, 1.0)), told((1, math.nan)), b"{"]
)
def test_answers_for_rows_that_do_not_exist_are_refused(wrong: Any) -> None:
    with pytest.raises(Unreachable):
        search(curator(**{"/v1/answers": wrong}))
    with pytest.raises(Unreachable):
        search(curator(**{"/v1/queries": wrong}))


def test_answers_for_other_rows_than_were_asked_are_refused() -> None:
    with pytest.raises(Unreachable, match="other rows"):
        client(curator(**{"/v1/queries": told((7, 1.0))})).ask([3], request="request-3")


def test_a_source_of_another_kind_is_not_believed_either() -> None:
    for row in (-1, 20):
        source = Given(TABLE, hill(TABLE))
        source.history = [Answer(row, 1.0)]
        with pytest.raises(Unreachable, match="does not have"):
            Modeler(source, prior=Prior(5.0)).run(2)


def test_texts_of_the_other_side_command_no_terminal() -> None:
    nasty = "no\x1b]0;owned\x07\x1b[2J\r\n\u202eevil"
    refuse = {"/v1/queries": lambda _: httpx.Response(409, json={"error": nasty, "message": nasty * 1000})}
    with pytest.raises(Refused) as refusal:
        client(curator(**refuse)).ask([3], request="request-3")
    for text in (str(refusal.value), refusal.value.code):
        assert text.isprintable()
        assert len(text) <= 4000
    guarantee = {**terms()["whole"], "unit": nasty, "assumptions": [nasty], "source": nasty}
    published = client(curator(terms(study=nasty, whole=guarantee))).published()
    assert published.study.isprintable()
    assert str(published.whole).isprintable()


def test_a_message_without_end_is_not_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "MESSAGE", 1 << 20)

    def endless(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Endless())

    for path in ("/v1/study", "/v1/answers", "/v1/queries"):
        with pytest.raises(Unreachable, match="without end"):
            search(curator(**{path: endless}))
    with pytest.raises(Unreachable, match="status 403"):
        search(curator(**{"/v1/queries": lambda _: httpx.Response(403, stream=Endless())}))


class Endless(httpx.SyncByteStream):
    def __iter__(self) -> Any:
        while True:
            yield b" " * 65536


def test_an_answer_that_never_comes_is_not_waited_for_without_end() -> None:
    calls: list[int] = []

    def pending(_: httpx.Request) -> httpx.Response:
        calls.append(1)
        return httpx.Response(202, json={"status": "pending"})

    with pytest.raises(Unreachable, match=r"has been evaluating for 0\.5 seconds .*Run again to go on"):
        client(curator(**{"/v1/queries": pending}), wait=0.5).ask([3], request="request-3")
    assert len(calls) > 3


def test_a_limit_that_is_reached_midway_leaves_the_best_row() -> None:
    values, left = hill(TABLE), [4]

    def some(request: httpx.Request) -> httpx.Response:
        rows = json.loads(request.content)["rows"]
        if len(rows) > left[0]:
            return httpx.Response(403, json={"error": "limit", "message": "this study answers 4 queries"})
        left[0] -= len(rows)
        return httpx.Response(200, json=told(*((row, float(values[row])) for row in rows)))

    for batch in (1, 3):
        left[0] = 4
        found = Modeler(client(curator(**{"/v1/queries": some})), prior=Prior(5.0), batch=batch).run(10)
        assert (found.trials, found.ended) == (4, "this study answers 4 queries")
        assert found.value == max(a.value for a in found.answers if a.value is not None)
    left[0] = 0
    with pytest.raises(Refused, match="answers 4 queries"):  # nothing was answered: there is no best row
        search(curator(**{"/v1/queries": some}))


def test_an_authority_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    for name, why in (("nope.pem", "No such file"), ("empty.pem", "no certificate")):
        with pytest.raises(BadInput, match=rf"authority .*{name} cannot be used: .*{why}"):
            Client("https://curator.test", authority=tmp_path / name)
    with pytest.raises(BadInput, match="no address of a curator"):
        Client("https://[::1")


def test_a_certificate_that_is_not_trusted_is_said_at_once(tmp_path: Path) -> None:
    cert, key = tmp_path / "c.pem", tmp_path / "k.pem"
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost"]
    try:
        subprocess.run(["openssl", *words, "-keyout", key, "-out", cert], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs the openssl command to make a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    listening = socket.create_server(("127.0.0.1", 0))
    hellos: list[int] = []

    def greet() -> None:
        while True:
            try:
                plain, _ = listening.accept()
                hellos.append(1)
                context.wrap_socket(plain, server_side=True).close()
            except ssl.SSLError:
                continue
            except OSError:
                return

    threading.Thread(target=greet, daemon=True).start()
    url = f"https://127.0.0.1:{listening.getsockname()[1]}"
    with pytest.raises(Unreachable, match=r"certificate of .* is not trusted: self.signed.*--authority FILE"):
        Client(url, token="x", patience=600).published()
    assert len(hellos) == 1  # said at the first attempt, not after ten minutes of them
    listening.close()


def test_a_table_may_be_larger_than_the_memory_that_is_given_to_it(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"would have 1\.6e-07 GB, and this modeler takes 1e-07"):
        client(curator(), most=100).table()
    np.testing.assert_array_equal(client(curator(), most=1000, file=tmp_path / "t.npy").table(), TABLE)


def test_who_forgot_the_s_of_https_is_told_so(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make_certificate("localhost", certificate, key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    listening = socket.create_server(("127.0.0.1", 0))

    def speak_tls() -> None:
        while True:
            try:
                opened, _ = listening.accept()
            except OSError:
                return
            with opened, contextlib.suppress(OSError):
                context.wrap_socket(opened, server_side=True)

    threading.Thread(target=speak_tls, daemon=True).start()
    with (
        Client(f"http://127.0.0.1:{listening.getsockname()[1]}", patience=0.3) as asking,
        pytest.raises(Unreachable, match="if it speaks TLS, its address begins with https://"),
    ):
        asking.published()
    listening.close()


def test_whoever_waits_for_nobody_is_told_at_once_and_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    heard: list[str] = []
    tries: list[float] = []

    def sleep(seconds: float) -> None:
        assert heard, "waited without a word"
        tries.append(seconds)
        time.sleep(0.02)

    with (
        Client(url, patience=0.3, remark=heard.append, sleep=sleep) as asking,
        pytest.raises(Unreachable, match=r"for 0\.3 seconds \(ConnectError: .*refused"),
    ):
        asking.published()
    assert len(tries) > 1
    assert len(heard) == 1
    assert "does not answer (ConnectError" in heard[0]
    assert "trying for 0.3 seconds" in heard[0]
