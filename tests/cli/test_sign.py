"""`tacit sign`, and `tacit verify --public-key` on a machine that has neither ledger nor study."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

from command_parts import Run


def test_a_signed_certificate_is_verified_without_the_ledger(run: Run, place: Path, tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    shutil.copy(place / "out" / "certificate.json", home)
    run("sign", "--new-key", "curator.key", at=home)
    assert "signed" in run("sign", "certificate.json", "--signing-key", "curator.key", at=home).out
    for file in ("certificate.json", "curator.pub"):
        shutil.copy(home / file, away)

    found = run("verify", "certificate.json", "--public-key", "curator.pub", "--json", at=away).json
    assert found["signed"] is True
    assert "paid" not in found
    assert "The ledger was not asked" in run("verify", "certificate.json", "--public-key", "curator.pub", at=away).out
    both = run(
        "verify",
        "certificate.json",
        "--public-key",
        "curator.pub",
        "--ledger",
        str(place / "ledger.db"),
        "--json",
        at=away,
    )
    assert both.json["signed"]
    assert both.json["paid"]

    document = json.loads((away / "certificate.json").read_text())
    document["about"]["data"] = None
    (away / "changed.json").write_text(json.dumps(document))
    assert (
        "changed after it was signed"
        in run("verify", "changed.json", "--public-key", "curator.pub", at=away, code=1).out
    )
    run("sign", "--new-key", "other.key", at=away)
    assert "another key" in run("verify", "certificate.json", "--public-key", "other.pub", at=away, code=1).out


def test_a_ledger_is_exported_as_a_table(run: Run, place: Path, tmp_path: Path) -> None:
    run("ledger", "export", "icu", "--ledger", str(place / "ledger.db"), "--out", "icu.csv", at=tmp_path)
    rows = list(csv.DictReader((tmp_path / "icu.csv").open()))
    whole = run("ledger", "export", "icu", "--ledger", str(place / "ledger.db"), at=tmp_path).json
    assert [row["hash"] for row in rows] == [e["hash"] for e in whole["entries"]]
    assert rows[0]["kind"] == "charge"
    assert float(rows[0]["epsilon"]) > 0
    assert rows[0]["unit"] == whole["entries"][0]["guarantee"]["unit"]


def test_signing_needs_a_certificate_and_a_key(run: Run, tmp_path: Path) -> None:
    assert "--new-key" in run("sign", at=tmp_path, code=2).err
    (tmp_path / "front.json").write_text("{}")
    run("sign", "--new-key", "k.key", at=tmp_path)
    assert "is no certificate" in run("sign", "front.json", "--signing-key", "k.key", at=tmp_path, code=2).err
