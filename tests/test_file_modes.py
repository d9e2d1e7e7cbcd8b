"""Every file that tacit writes, under a umask that would let everybody in: its owner's alone, in folders as private."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from outsource_parts import hill, some_rows
from shell_parts import tacit as command

import tacit
from tacit.errors import BadInput
from tacit.files import create_private, create_private_folder, open_private, write_private
from tacit.outsource.curator.tokens import Tokens
from tacit.privacy.guarantee import Budget, Guarantee

RELEASED = {"certificate.json", "trials.csv"}  # by the library, in a folder that is its owner's alone


@pytest.fixture(autouse=True, params=[0o000, 0o777], ids=["umask 000", "umask 777"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def others_may(folder: Path) -> list[str]:
    """Files and folders below this one that anybody but their owner may touch, with their modes."""
    return [
        f"{path.relative_to(folder)} {path.stat().st_mode & 0o777:o}"
        for path in sorted(folder.rglob("*"))
        if path.stat().st_mode & 0o777 != (0o700 if path.is_dir() else 0o600)
    ]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_private_files_are_made_private_and_stay_so(at: Path) -> None:
    create_private_folder(at / "a" / "b")
    create_private(at / "a" / "b" / "made")
    write_private(at / "a" / "written", b"content")
    (at / "a" / "loose").touch(0o600)
    (at / "a" / "loose").chmod(0o644)
    os.close(open_private(at / "a" / "loose"))
    assert others_may(at) == []
    assert (at / "a" / "written").read_bytes() == b"content"
    with pytest.raises(NotADirectoryError):
        create_private_folder(at / "a" / "loose")


def test_a_ledger_is_its_owners_alone(at: Path) -> None:
    ledger = tacit.Ledger.open(at / "ledger.db", "icu", Budget.pure(1.0))
    ledger.charge(Guarantee(Budget.pure(0.5)), key="run 1")
    assert {p.name for p in at.iterdir()} == {"ledger.db", "ledger.db.made"}
    assert others_may(at) == []


def test_a_curators_state_is_its_owners_alone_whoever_makes_the_folder(at: Path) -> None:
    rows = some_rows(30)
    Tokens(at / "state", environment="").grant("alice")  # the order that the documentation shows
    with tacit.Curator(rows, hill(rows), epsilon=2.0, delta=1e-3, state=at / "state") as curator:
        curator.ask([1])
        with curator._state.reading() as connection:  # SQLite's own files live as long as a connection
            connection.exec_driver_sql("SELECT 1")
            assert {"curator.db", "curator.db-wal", "lock"} <= {p.name for p in (at / "state").iterdir()}
            assert others_may(at) == []
    assert others_may(at) == []


def test_a_state_of_an_earlier_release_is_closed_to_others(at: Path, umask: int) -> None:
    os.umask(0o022)
    rows = some_rows(30)
    with tacit.Curator(rows, hill(rows), epsilon=2.0, delta=1e-3, state=at / "state"):
        pass
    (at / "state" / "curator.db").chmod(0o644)
    os.umask(umask)
    with tacit.Curator(rows, hill(rows), epsilon=2.0, delta=1e-3, state=at / "state"):
        assert others_may(at) == []


def test_the_folder_of_a_search_is_its_owners_alone(at: Path, umask: int) -> None:
    if umask:
        os.umask(0o077)  # what is released is written by the umask, which must let its owner in
    tacit.tune(
        lambda params: np.full(500, params["x"]),
        {"x": tacit.Float(0, 1)},
        records=500,
        bounds=(0, 1),
        budget=Budget.gdp(1.0),
        trials=3,
        method="random",
        out=at / "run",
        progress=False,
    )
    assert {line.split()[0].split("/")[-1] for line in others_may(at)} <= RELEASED
    assert (at / "run").stat().st_mode & 0o777 == 0o700


MODEL = "import numpy as np\ndef losses(params):\n    return np.full(3000, 0.2 + (params['x'] - 0.3) ** 2)\n"


@pytest.mark.parametrize("umask", [0o000], indirect=True)
def test_what_the_command_writes_is_its_owners_alone(at: Path, umask: int) -> None:
    given = {"files_model.py": MODEL, "space.toml": "x = {low = 0.0, high = 1.0}\n", "rows.csv": ""}
    given["rows.csv"] = "a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(30))
    given["table.csv"] = "a,b,sick\n" + "".join(f"{i % 11},{i * i % 7},{i % 2}\n" for i in range(400))
    for name, text in given.items():
        (at / name).touch(0o600)
        (at / name).chmod(0o600)
        (at / name).write_text(text)
    search = ["tune", "files_model:losses", "--space", "space.toml", "--records", "3000", "--bounds", "0", "1"]
    search += ["--trials", "3", "--method", "random", "--ledger", "ledger.db", "--ledger-name", "icu", "--mu", "0.2"]
    for words in (
        ["ledger", "open", "icu", "--mu", "1"],
        [*search, "--out", "new/run"],
        ["ledger", "export", "icu", "--out", "icu.json"],
        ["report", "new/run"],
        ["audit", "laplace", "--trials", "200", "--out", "audit"],
        ["curator", "grant", "alice", "--state", "state"],
        ["curator", "init", "rows.csv", "--evaluate", "y", "--scale", "1,1", "--epsilon", "1", "--folder", "study",
         "--host", "localhost", "--modeler", "bob", "--yes"],
        ["train", "--table", "table.csv", "--target", "sick", "--epsilon", "8", "--runs", "2", "--out", "model"],
        ["predict", "model", "table.csv", "--out", "predicted.csv"],
        ["report", "model"],
    ):  # fmt: skip
        said = command(*words)
        assert said.code == 0, (words, said.err)
    serve = ["curator", "serve", "rows.csv", "--evaluate", "y", "--epsilon", "1", "--delta", "1e-3", "--state", "state"]
    serve += ["--scale", "1"]
    program = [sys.executable, "-c", "from tacit.cli import main; main()", *serve, "--port", "0"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
        assert service.stdout is not None
        assert service.stdout.readline().startswith("http://")
        assert others_may(at) == []
        service.send_signal(signal.SIGTERM)
    assert {"report.html", "certificate.json", "study.db", "curator.db", "icu.json", "key.pem", "predicted.csv"} <= {
        p.name for p in at.rglob("*")
    }
    assert others_may(at) == []


def test_a_folder_that_may_not_be_written_is_said_so(at: Path) -> None:
    (at / "file").touch(0o600)
    (at / "file").chmod(0o600)
    with pytest.raises(BadInput, match="cannot be written"):
        tacit.tune(
            lambda params: np.full(500, 0.5),
            {"x": tacit.Float(0, 1)},
            records=500,
            bounds=(0, 1),
            budget=Budget.gdp(1.0),
            trials=3,
            method="random",
            out=at / "file" / "run",
            progress=False,
        )
