"""`tacit report`: a page again from the folder of a run."""

from __future__ import annotations

import json
from pathlib import Path

from command_parts import Run


def test_a_report_is_written_again_from_the_folder(run: Run, place: Path) -> None:
    (place / "out" / "report.html").unlink()
    assert run("report", "out", "--json", at=place).json == {
        "report": "out/report.html",
        "kind": "release",
        "changed": [],
    }
    assert (place / "out" / "report.html").read_text().startswith("<!doctype html>")


def test_a_changed_certificate_is_marked_on_the_page_and_in_the_shell(run: Run, place: Path, tmp_path: Path) -> None:
    document = json.loads((place / "out" / "certificate.json").read_text())
    document["value"]["score"] = 0.01
    (tmp_path / "certificate.json").write_text(json.dumps(document))
    said = run("report", str(tmp_path), at=place)
    assert "DO NOT RELY ON IT: the value is not the one whose digest it states" in said.err
    shown = (tmp_path / "report.html").read_text()
    assert "Do not rely on anything on this page" in shown
    assert "Do not rely" not in (place / "out" / "report.html").read_text()
