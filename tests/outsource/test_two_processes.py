"""Two real processes over TLS: a study of 50 queries with the curator killed in the middle; and the commands."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from outsource_parts import hill, some_rows

from tacit.cli import main
from tacit.outsource.modeler.client import Client
from tacit.outsource.protocol.terms import Refused, Unreachable
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger

ROWS = some_rows(120)
TACIT = [sys.executable, "-c", "from tacit.cli import main; main()"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def tacit(*words: str) -> Done:
    """The command, in this process: starting one costs seconds."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with mock.patch.object(sys, "argv", ["tacit", *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    try:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
            check=True, capture_output=True,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("needs the openssl command to make a certificate")
    return cert, key


class Service:
    """`tacit curator serve` in a process of its own, which may be killed and started again on the same port."""

    def __init__(self, folder: Path, certificate: tuple[Path, Path], *options: str) -> None:
        import pandas as pd

        self.folder, self.port = folder, 0
        table = pd.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1], "answer": hill(ROWS)})
        table.to_csv(folder / "rows.csv", index=False)
        cert, key = map(str, certificate)
        self.options = ["--evaluate", "answer", "--epsilon", "3", "--delta", "1e-4", "--state", str(folder / "state"),
                        "--tls-certificate", cert, "--tls-key", key, "--scale", "1", *options]  # fmt: skip
        self.authority = cert
        self.process: subprocess.Popen[str] | None = None

    def start(self, typed: int | None = None) -> None:
        command = [*TACIT, "curator", "serve", str(self.folder / "rows.csv"), *self.options, "--port", str(self.port)]
        with (self.folder / "errors.txt").open("a") as errors:
            self.process = subprocess.Popen(
                command, stdin=typed, stdout=subprocess.PIPE, stderr=errors, text=True, env=ENVIRONMENT
            )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("https://127.0.0.1:"), (self.folder / "errors.txt").read_text()
        self.port = int(self.url.rsplit(":", 1)[1])

    def kill(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(timeout=120)


def test_a_study_survives_the_death_of_the_curator(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db", "rows", Budget.gdp(2.0))
    private = [
        "--bounds",
        "0",
        "1",
        "--answer-mu",
        "0.2",
        "--yes",
        "--ledger",
        str(tmp_path / "ledger.db"),
        "--ledger-name",
        "rows",
    ]
    service = Service(tmp_path, certificate, *private, "--queries", "60")
    token = tacit("curator", "grant", "alice", "--state", str(tmp_path / "state")).stdout.strip()
    service.start()
    command = [*TACIT, "modeler", "run", service.url, "--authority", service.authority, "--trials", "24", "--json"]
    command += ["--lengthscale", "8", "--patience", "240"]
    modeler = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**ENVIRONMENT, "TACIT_TOKEN": token}
    )
    assert modeler.stderr is not None
    for _ in range(8):
        modeler.stderr.readline()
    service.kill()
    time.sleep(0.3)
    service.start()
    for _ in range(6):
        modeler.stderr.readline()
    service.kill()  # and again, while the modeler asks
    service.start()
    out, _ = modeler.communicate(timeout=300)
    found = json.loads(out)
    assert modeler.returncode == 0
    assert found["noise"] == pytest.approx(5.0, rel=1e-3)  # the width of the bounds over mu: the value carries it
    rows = [a["row"] for a in found["answers"]]
    assert len(rows) == len(set(rows)) == 24
    # nothing lost: the curator tells the same answers; nothing paid twice: one charge a row and one for the table
    with Client(service.url, token=token, authority=service.authority) as client:
        assert [a.to_json() for a in client.answers()] == found["answers"]
        np.testing.assert_array_equal(client.table(), client.table())
    assert service.end() == 0
    charges = [e for e in ledger.entries() if e.kind == "charge"]
    assert len(charges) == 25
    assert all(e.status == "drawn" for e in charges)
    ledger.verify()
    status = json.loads(tacit("curator", "status", "--state", str(tmp_path / "state"), "--json").stdout)
    assert (status["used"], status["left"]) == (24, 36)
    assert sorted(e["row"] for e in status["exchanges"]) == sorted(rows)
    # asked to go on, a modeler with nothing left to ask needs no curator's evaluation
    log = json.loads(tacit("curator", "log", "--state", str(tmp_path / "state"), "--json").stdout)
    assert {line["status"] for line in log} == {200}


def test_a_person_at_the_prompt_answers_a_modeler_elsewhere(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    service = Service(tmp_path, certificate)
    service.options[1] = "-"
    token = tacit("curator", "grant", "alice", "--state", str(tmp_path / "state")).stdout.strip()
    service.start(subprocess.PIPE)
    assert service.process is not None
    assert service.process.stdin is not None
    service.process.stdin.write("many\n2.5\n\n")  # no number, a number, and a row that has none
    service.process.stdin.flush()
    with Client(service.url, token=token, authority=service.authority) as client:
        assert [a.value for a in client.ask([7, 8], request="request-78")] == [2.5, None]
        service.process.stdin.close()  # the person has left: said as such, and nothing is told
        with pytest.raises(Refused, match="row 9"):
            client.ask([9], request="request-9")
        assert [a.row for a in client.answers()] == [7, 8]
    assert service.end() == 0


def test_what_cannot_be_served_is_neither_published_nor_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(20)))
    (tmp_path / "no.pem").write_text("no certificate")
    tacit("ledger", "open", "rows", "--epsilon", "5", "--delta", "1e-4")
    words = ["curator", "serve", "rows.csv", "--evaluate", "y", "--epsilon", "1", "--delta", "1e-5", "--scale", "1"]
    words += ["--ledger", "ledger.db", "--ledger-name", "rows"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for other, says in (
            (["--port", port], "Nothing was published"),
            (["--port", "0", "--tls-certificate", "no.pem", "--tls-key", "no.pem"], "Nothing was published"),
            (["--port", "0", "--host", "0.0.0.0"], "(--behind-proxy)"),
        ):
            done = tacit(*words, *other)
            assert (done.returncode, done.stdout) == (2, ""), done
            assert says in done.stderr
    assert not (tmp_path / "curator" / "curator.db").exists()
    assert "spent     nothing" in tacit("ledger", "show", "rows").stdout


def test_the_commands_say_what_they_did(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    service = Service(tmp_path, certificate, "--columns", "a,b", "--scale", "1,2")
    state = ["--state", str(tmp_path / "state")]
    token = tacit("curator", "grant", "alice", *state).stdout.strip()
    service.start()
    second = tacit(
        "curator", "serve", str(tmp_path / "rows.csv"), *service.options, "--columns", "a,b", "--scale", "1,2"
    )
    assert second.returncode == 1
    assert "another curator holds the state" in second.stderr
    with Client(service.url, token=token, authority=service.authority, patience=2.0) as client:
        assert client.ask([5], request="request-5")[0].value == pytest.approx(hill(ROWS)[5])
        shown = tacit("curator", "status", *state).stdout
        assert "1 answered, 99 left" in shown
        assert "row 5" in shown
        assert "Differential privacy with epsilon = 3, delta = 0.0001" in shown
        assert tacit("curator", "revoke", "alice", *state).stdout.strip() == "alice may ask no more"
        with pytest.raises(Refused, match="revoked"):
            client.ask([6], request="request-6")
        assert service.end() == 0
        with pytest.raises(Unreachable, match="did not answer for 2 seconds"):
            client.answers()
    refused = tacit("curator", "revoke", "nobody", *state)
    assert refused.returncode == 2
    assert "tokens have alice, curator" in refused.stderr
    errors = (tmp_path / "errors.txt").read_text()
    assert "/curator#token=" in errors
    assert "after the public scaling" in errors
    missing = tacit("modeler", "run", service.url)
    assert missing.returncode == 2
    assert "TACIT_TOKEN" in missing.stderr
    untrusted = tacit("curator", "serve", str(tmp_path / "rows.csv"), "--evaluate", "nothing:here", "--epsilon", "1",
                      "--delta", "1e-4", "--state", str(tmp_path / "other"))  # fmt: skip
    assert untrusted.returncode == 2
    assert "no function 'nothing:here'" in untrusted.stderr
    attack = tacit("curator", "serve", str(tmp_path / "rows.csv"), "--evaluate", "answer", "--epsilon", "1", "--delta",
                   "1e-4", "--state", str(tmp_path / "other"), "--transform", "projection", "--scale", "1")  # fmt: skip
    assert attack.returncode == 2
    assert "whoever knows d + 1 rows recovers every row" in attack.stderr


def test_a_quiet_service_prints_no_token(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    service = Service(tmp_path, certificate, "--quiet")
    said = json.loads(
        tacit("curator", "grant", "alice", "--state", str(tmp_path / "state"), "--for", "2h", "--json").stdout
    )
    assert said["expires"].startswith("20")
    service.start()
    with Client(service.url, token=said["token"], authority=service.authority) as client:
        assert client.answers() == []
    assert service.end() == 0
    assert (tmp_path / "errors.txt").read_text() == ""
    shown = tacit("curator", "status", "--state", str(tmp_path / "state")).stdout
    assert "token      alice, may ask until 20" in shown
    assert "curator" not in {line.split()[1].strip(",") for line in shown.splitlines() if line.startswith("token")}
    assert "alice  GET /v1/answers: 200" in tacit("curator", "log", "--state", str(tmp_path / "state")).stdout
    wrong = tacit("curator", "grant", "alice", "--state", str(tmp_path / "state"), "--for", "soon")
    assert (wrong.returncode, "such as 30d" in wrong.stderr) == (2, True)
