"""Interrupted runs: nothing is drawn twice, nothing is paid twice, nothing private is on disk."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import gibo_run
import pytest
from forked import start

import tacit
from tacit.errors import BadInput, LedgerError, ObjectiveError
from tacit.methods.gibo import FILE
from tacit.privacy.claims import Claims, Promise
from tacit.run.journal import Journal

FREE = Promise(tacit.Guarantee.none("a test"), None, "run {run}", {})


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


def charges(folder: Path) -> list:
    with tacit.Ledger.open(folder / "ledger.db", "l") as ledger:
        return [e for e in ledger.entries() if e.kind == "charge"]


def wait_for_draw(folder: Path, name: str) -> None:
    for _ in range(6000):
        if (folder / FILE).exists() and f'"keep": "{name}"' in (folder / FILE).read_text():
            return
        time.sleep(0.01)
    raise AssertionError("the run did not get there")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_a_run_that_is_killed_goes_on_without_paying_or_drawing_twice(tmp_path, how) -> None:
    process = start(gibo_run.run, tmp_path, 0.05)
    wait_for_draw(tmp_path, "start 0 step 2")
    os.kill(process.pid, how)
    process.join()
    before = lines(tmp_path)
    kept = {line["keep"]: line["value"] for line in before if "keep" in line}
    lost = {line["claim"] for line in before if "claim" in line} - set(kept)
    release = gibo_run.run(tmp_path)
    gradients = release.value.details["gradients"][0]
    for t in range(gibo_run.STEPS):
        name = f"start 0 step {t}"
        if name in kept:
            assert gradients[t] == kept[name]
        assert (gradients[t] is None) == (name in lost)
    claims = [line["claim"] for line in lines(tmp_path) if "claim" in line]
    assert len(claims) == len(set(claims)) == gibo_run.STEPS + 2  # the first point and the score are draws too
    (charge,) = charges(tmp_path)
    assert charge.drawn is not None
    again = gibo_run.run(tmp_path)
    assert again.value.to_json() == release.value.to_json()
    assert again.payment == release.payment
    assert len(charges(tmp_path)) == 1
    with tacit.Ledger.open(tmp_path / "ledger.db", "l") as ledger:
        assert ledger.verify_certificate(json.loads(json.dumps(again.certificate()))).paid


def test_a_run_killed_after_its_start_was_drawn_begins_there_and_its_copies_draw_nothing(tmp_path) -> None:
    (tmp_path / "copy").mkdir()
    process = start(gibo_run.run, tmp_path, 0.2)
    wait_for_draw(tmp_path, "place")
    process.kill()
    process.join()
    (place,) = (line["value"] for line in lines(tmp_path) if line.get("keep") == "place")
    shutil.copy(tmp_path / FILE, tmp_path / "copy" / FILE)
    assert gibo_run.run(tmp_path).value.details["scan"]["chosen"] == place
    (tmp_path / "copy" / "ledger.db").symlink_to(tmp_path / "ledger.db")
    with pytest.raises(LedgerError, match="an older copy was put back"):
        gibo_run.run(tmp_path / "copy")
    shutil.copy(tmp_path / "copy" / FILE, tmp_path / FILE)
    with pytest.raises(LedgerError, match="an older copy was put back"):
        gibo_run.run(tmp_path)
    assert len(charges(tmp_path)) == 1


def claims(folder: Path, ledger: tacit.Ledger | None = None, promise: Promise = FREE) -> Claims:
    return Claims(Journal(folder / "j"), promise, ledger=ledger)


def test_a_line_cut_short_never_happened(tmp_path) -> None:
    with pytest.raises(ObjectiveError):
        gibo_run.run(tmp_path, fails=True)
    with (tmp_path / FILE).open("a") as file:
        file.write('{"claim": "start 0 st')
    made = gibo_run.run(tmp_path)
    assert made.value.details["lost_steps"] == 0
    assert all(isinstance(line, dict) for line in lines(tmp_path))


def test_an_edited_file_is_refused(tmp_path) -> None:
    claims(tmp_path)
    header = (tmp_path / "j").read_text()
    for bad in ("not json\n", '{"claim": 5}\n', '{"keep": "step 9", "value": 1}\n', header):
        (tmp_path / "k").write_text(header + bad)
        with pytest.raises(BadInput, match="not what was written"):
            Journal(tmp_path / "k")
    (tmp_path / "k").write_text('{"claim": "step 0"}\n')
    with pytest.raises(BadInput, match="not what was written"):
        Journal(tmp_path / "k")


def test_nothing_private_is_written(tmp_path) -> None:
    gibo_run.run(tmp_path)
    kinds = {tuple(line) for line in lines(tmp_path)}
    assert kinds == {("terms", "run"), ("home",), ("paid",), ("claim",), ("keep", "value")}
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith("ledger")) == [FILE]


def test_without_a_file_the_journal_lives_in_memory() -> None:
    run, drawn = Claims(Journal(None), FREE), []
    for _ in range(2):
        assert run.draw("a", lambda: 1, lambda x: drawn.append(x) or x + 1) == 2
    assert drawn == [1]
