"""`tacit verify`: whether a ledger paid for a certificate."""

from __future__ import annotations

import json
from pathlib import Path

from command_parts import Run

import tacit


def test_a_certificate_is_verified_against_the_ledger_that_paid(run: Run, place: Path, tmp_path: Path) -> None:
    assert run("verify", "out/certificate.json", "--json", at=place).json["paid"] is True
    assert run("verify", "out/certificate.json", at=place).out.strip()

    document = json.loads((place / "out" / "certificate.json").read_text())
    document["value"]["score"] += 0.001
    (tmp_path / "tampered.json").write_text(json.dumps(document))
    said = run("verify", str(tmp_path / "tampered.json"), "--json", at=place, code=1)
    assert said.json["paid"] is False
    assert any(not good for _, good, _ in said.json["checks"])

    tacit.Ledger.open(tmp_path / "other.db", "icu", tacit.Budget.gdp(1.0))  # of the same name
    tacit.Ledger.open(tmp_path / "strange.db", "stars", tacit.Budget.gdp(1.0))
    for wrong in ("other.db", "strange.db"):
        said = run("verify", "out/certificate.json", "--ledger", str(tmp_path / wrong), "--json", at=place, code=1)
        assert said.json["paid"] is False

    document = json.loads((place / "out" / "certificate.json").read_text())
    for path in (("data", "name"), ("data", "rows"), ("date",), ("left", "words")):  # of these the ledger knows nothing
        forged = json.loads(json.dumps(document))
        part = forged["about"]
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = "forged"
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        said = run("verify", str(tmp_path / "forged.json"), "--json", at=place).json
        assert "data (name, rows), its date" in said["unchecked"][0]
        assert "not checked: what the certificate says" in run("verify", str(tmp_path / "forged.json"), at=place).out
    forged = json.loads(json.dumps(document))
    forged["about"]["unit"] = "person: one human being with all their rows"
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    said = run("verify", str(tmp_path / "forged.json"), "--json", at=place, code=1).json
    assert [name for name, good, _ in said["checks"] if not good] == ["unit"]

    document["payment"] = None
    (tmp_path / "unpaid.json").write_text(json.dumps(document))
    assert "nobody paid" in run("verify", str(tmp_path / "unpaid.json"), at=place, code=1).out
    (tmp_path / "nowhere").mkdir()  # with no ledger at all
    assert "nobody paid" in run("verify", str(tmp_path / "unpaid.json"), at=tmp_path / "nowhere", code=1).out
