"""`kill -9` of a run with workers: nobody is left behind, and the same line goes on without paying again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from shell_parts import tacit

MODEL = """
import pathlib, time, os
import numpy as np
def losses(params):
    pathlib.Path(f"seen-{os.getpid()}").touch()
    if not pathlib.Path("go").exists():
        time.sleep(600)
    return np.full(3000, 0.2 + (params["x"] - 0.3) ** 2)
"""


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()  # whoever should reap it may be busy
    except FileNotFoundError:
        return False


def test_a_killed_run_leaves_no_workers_and_no_lock(tmp_path: Path) -> None:
    (tmp_path / "killed_model.py").write_text(MODEL)
    (tmp_path / "space.toml").write_text("x = {low = 0.0, high = 1.0}\n")
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        tacit("ledger", "open", "icu", "--mu", "1")
        words = ["tune", "killed_model:losses", "--space", "space.toml", "--records", "3000", "--bounds", "0", "1"]
        words += ["--trials", "4", "--method", "random", "--mu", "0.5", "--ledger", "ledger.db", "--ledger-name", "icu"]
        words += ["--out", "run"]
        command = [sys.executable, "-c", "from tacit.cli import main; main()", *words, "--workers", "2"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            while len(workers := [int(p.name[5:]) for p in tmp_path.glob("seen-*")]) < 2:
                assert process.poll() is None
                time.sleep(0.05)
            held = tacit(*words)
            assert held.code == 1
            assert f"another run is writing to run: process {process.pid} on " in held.err
            assert "run the same line again: that goes on where it stopped and pays nothing twice" in held.err
            os.kill(process.pid, signal.SIGKILL)
        limit = time.monotonic() + 60
        while any(map(alive, workers)) and time.monotonic() < limit:
            time.sleep(0.05)
        assert not any(map(alive, workers))
        (tmp_path / "go").touch()
        assert tacit(*words).code == 0
        kinds = [e["kind"] for e in tacit("ledger", "export", "icu").json["entries"]]
        assert kinds.count("charge") == 1
    finally:
        os.chdir(before)
