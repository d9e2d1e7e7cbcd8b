"""`tacit verify`: whether a ledger paid for a certificate, and whether a curator signed it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.options import AsJson, LedgerUrl
from tacit.cli.shell import is_given, print_result
from tacit.files import Json, read_json

Checks = list[tuple[str, bool, str]]


def verify_command(
    ctx: typer.Context,
    certificate: Annotated[Path, typer.Argument(help="A certificate in JSON.")],
    ledger: LedgerUrl = "ledger.db",
    public_key: Annotated[Path | None, typer.Option(help="The curator's: check the signature.")] = None,
    as_json: AsJson = False,
) -> None:
    """Whether a ledger paid for a certificate, or who signed it. Exit code 1 if not.

    With --public-key alone no ledger and no database is needed.

    \b
    Examples:
      tacit verify out/certificate.json --ledger ledger.db
      tacit verify out/certificate.json --public-key curator.pub
    """
    from tacit.privacy.origin import UNCHECKED

    document = read_json(certificate, "certificate")
    verdicts: Json = {}
    checks: Checks = []
    if public_key is not None:
        checks += check_signature(document, public_key)
        verdicts["signed"] = all(good for _, good, _ in checks)
    if public_key is None or is_given(ctx, "ledger"):
        paid = _check_payment(document, ledger)
        verdicts["paid"] = all(good for _, good, _ in paid)
        checks += paid
    text = "\n".join(f"{'yes' if good else 'NO ':3}  {name}: {why}" for name, good, why in checks)
    verdicts["unchecked"] = [] if verdicts.get("signed") else [f"{UNCHECKED} (--public-key)"]
    if verdicts["unchecked"]:
        text += f"\n--   not checked: {verdicts['unchecked'][0]}"
    if "paid" in verdicts:
        text += f"\n{'Paid' if verdicts['paid'] else 'NOT paid'} for by this ledger."
    else:
        text += "\nThe ledger was not asked: that it paid is the curator's word."
    print_result({**verdicts, "checks": [list(c) for c in checks]}, as_json, text)
    if not all(good for _, good, _ in checks):
        raise typer.Exit(1)


def check_signature(document: Any, key: Path) -> Checks:
    """What a third party can check with a public key alone."""
    from tacit.page.parts import find_changes
    from tacit.privacy.signing import find_fault

    held = document if isinstance(document, dict) else {}
    fault, changes = find_fault(held, key), find_changes(held)
    signed = fault if fault else f"by the holder of key {held['signature']['key']}"
    return [
        ("signature", not fault, signed),
        ("statement", not changes, "; ".join(changes) or "value and epsilon are those it states"),
    ]


def _check_payment(document: Any, ledger: str) -> Checks:
    from tacit.privacy.ledger import Ledger

    payment = document.get("payment") if isinstance(document, dict) else None
    name = payment.get("name") if isinstance(payment, dict) else None
    if name is None:
        return [("payment", False, "the certificate names no ledger: nobody paid")]
    if name not in Ledger.names(ledger):
        return [("payment", False, f"the certificate names no ledger of {ledger}: it was paid by {name!r}")]
    return list(Ledger.open(ledger, str(name)).verify_certificate(document).checks)
