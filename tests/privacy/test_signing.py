"""Certificates that somebody without the ledger can check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.data.identity import DataIdentity
from tacit.errors import BadInput
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.origin import PAID, describe_origin, unit_in_words
from tacit.privacy.release import Release
from tacit.privacy.signing import find_fault, make_key, sign


@pytest.fixture
def certificate(tmp_path: Path) -> dict[str, Any]:
    guarantee = Guarantee(Budget.pure(0.25), "one person replaced, with all their rows")
    with Ledger.open(tmp_path / "ledger.db", "ward", Budget.pure(1.0)) as ledger:
        payment = ledger.charge(guarantee, "a count")
        about = describe_origin(guarantee, chosen=PAID, data=DataIdentity("ward 3", 120).seal(), ledger=ledger)
    return Release({"count": 17.5, "far": float("inf")}, guarantee, payment, about).certificate()


def test_a_certificate_says_of_what_when_by_whom_and_what_is_left(certificate: dict[str, Any]) -> None:
    about = certificate["about"]
    assert about["data"]["name"] == "ward 3"
    assert about["data"]["rows"] == 120
    assert about["unit"] == "person: one human being with all their rows"
    assert about["chosen"] == PAID
    assert about["left"]["words"] == "epsilon = 0.75 of epsilon = 1"
    assert about["date"][:2] == "20"
    assert about["version"]
    assert unit_in_words(Guarantee.none("x")).startswith("record")


def test_a_signature_holds_for_the_very_document(tmp_path: Path, certificate: dict[str, Any]) -> None:
    secret, public = make_key(tmp_path / "curator.key")
    assert secret.stat().st_mode & 0o777 == 0o600
    assert public.name == "curator.pub"
    signed = json.loads(json.dumps(sign(certificate, secret)))
    assert find_fault(signed, public) == ""
    assert find_fault(json.loads(json.dumps(signed, indent=3, sort_keys=True)), public) == ""  # spaces are no change


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["value"].update(count=18.0),
        lambda d: d["guarantee"].update(epsilon=0.1),
        lambda d: d["about"]["data"].update(name="ward 4"),
        lambda d: d["about"].update(chosen="by nobody"),
        lambda d: d["payment"].update(entry=2),
        lambda d: d.pop("about"),
        lambda d: d.update(more="words"),
        lambda d: d["signature"].update(value=d["signature"]["value"][:-4] + "AAA="),
        lambda d: d["signature"].update(value="no base64"),
    ],
)
def test_any_change_breaks_it(tmp_path: Path, certificate: dict[str, Any], change: Any) -> None:
    secret, public = make_key(tmp_path / "curator.key")
    signed = sign(certificate, secret)
    change(signed)
    assert "changed" in find_fault(signed, public)


def test_a_key_that_the_certificate_names_itself_is_not_trusted(tmp_path: Path, certificate: dict[str, Any]) -> None:
    """An attacker signs a better epsilon with a key of their own, and says it is the curator's."""
    _, public = make_key(tmp_path / "curator.key")
    mine, mine_public = make_key(tmp_path / "attacker.key")
    forged = sign(certificate, mine)
    assert "another key" in find_fault(forged, public)
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    from tacit.privacy.signing import key_mark

    forged["signature"]["key"] = key_mark(load_pem_public_key(public.read_bytes()))
    assert "another key signed it" in find_fault(forged, public)
    assert mine_public.exists()


def test_what_is_not_signed_or_no_key_is_refused_in_words(tmp_path: Path, certificate: dict[str, Any]) -> None:
    secret, public = make_key(tmp_path / "curator.key")
    assert find_fault(certificate, public) == "it is not signed"
    assert "another kind" in find_fault({**certificate, "signature": {"algorithm": "none"}}, public)
    with pytest.raises(BadInput, match="left as it is"):
        make_key(secret)
    with pytest.raises(BadInput, match="not a private key"):
        sign(certificate, public)
    with pytest.raises(BadInput, match="not a public key"):
        find_fault(certificate, secret)
    with pytest.raises(BadInput, match="--new-key"):
        sign(certificate, tmp_path / "nowhere.key")
