"""Two organisations in two folders that know nothing but what `tacit curator init` prints: over TLS, by the command."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from shell_parts import tacit as run

TACIT = [sys.executable, "-c", "from tacit.cli import main; main()"]


@pytest.fixture
def lines(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The bank serves; the consultancy is in a folder with what it was handed. The words of the modeler's line."""
    bank, consultancy = tmp_path / "bank", tmp_path / "consultancy"
    bank.mkdir()
    monkeypatch.chdir(bank)
    rows = np.random.default_rng(0).uniform(0, 20, (80, 2))
    answers = -np.abs(rows - 10).sum(axis=1)
    Path("rows.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for (a, b), y in zip(rows, answers, strict=True)))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    words = ["--evaluate", "y", "--scale", "1", "--queries", "12", "--modeler", "alice", "--port", port, "--yes"]
    words += getattr(request, "param", [])
    made = run("curator", "init", "rows.csv", *words, "--json").json
    shutil.copytree(made["hand_over"], consultancy)
    program, *words = shlex.split(made["serve"])
    assert program == "tacit"
    with subprocess.Popen(
        [*TACIT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ}
    ) as service:
        assert service.stdout is not None
        assert service.stdout.readline().startswith("https://127.0.0.1:")
        monkeypatch.chdir(consultancy)
        yield shlex.split(made["modeler"])[1:]
        service.terminate()


def test_two_organisations_get_by_with_what_is_printed(lines: list[str]) -> None:
    found = run(*lines)
    assert found.code == 0, found.err
    assert found.out.startswith("best row ")
    assert "after 12 queries" in found.out
    again = run(*lines, "--trials", "20")  # the limit is reached before that
    assert again.code == 0, again.err
    assert "this study answers 12 queries" in again.err
    assert "what follows is the best of 12 of 20 queries" in again.err
    assert again.out.startswith("best row ")
    # the certificate that was handed over is what makes the connection: without it nothing is sent
    bare = [word for word in lines if word not in ("--authority", "certificate.pem")]
    said = run(*bare)
    assert (said.code, said.out) == (1, "")
    assert "is not trusted: self-signed certificate. Give the curator's own" in said.err
    assert "did not answer" not in said.err
    said = run(*[word if word != "certificate.pem" else "nope.pem" for word in lines])
    assert (said.code, said.out) == (2, "")
    assert "the authority nope.pem cannot be used: No such file" in said.err


@pytest.mark.parametrize("lines", [["--bounds", "-20", "0", "--answer-mu", "4"]], indirect=True)
def test_whoever_gets_noisy_answers_is_told_how_noisy(lines: list[str]) -> None:
    assert ", an answer with noise ±5, after 12 queries" in run(*lines).out
