"""`tacit report`: a page again from the folder of a run."""

from __future__ import annotations

from pathlib import Path

from command_parts import Run


def test_a_report_is_written_again_from_the_folder(run: Run, place: Path) -> None:
    (place / "out" / "report.html").unlink()
    assert run("report", "out", "--json", at=place).json == {"report": "out/report.html", "kind": "release"}
    assert (place / "out" / "report.html").read_text().startswith("<!doctype html>")
