"""`tacit verify`: whether a ledger paid for a certificate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import LedgerUrl
from tacit.cli.shell import AsJson, print_result
from tacit.errors import BadInput


def verify_command(
    certificate: Annotated[Path, typer.Argument(help="A certificate in JSON.")],
    ledger: LedgerUrl = "ledger.db",
    as_json: AsJson = False,
) -> None:
    """Whether a ledger really paid for a certificate. Exit code 1 if not.

    Example: tacit verify out/certificate.json --ledger ledger.db
    """
    from tacit.privacy.ledger import Ledger

    try:
        document = json.loads(certificate.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"{certificate} is not a readable certificate ({type(error).__name__})") from None
    payment = document.get("payment") if isinstance(document, dict) else None
    names = Ledger.names(ledger)
    name = payment.get("name") if isinstance(payment, dict) else None
    if name not in names:
        why = f"the certificate names no ledger of {ledger}: " + (f"it was paid by {name!r}" if name else "nobody paid")
        print_result({"paid": False, "checks": [["payment", False, why]]}, as_json, why)
        raise typer.Exit(1)
    verdict = Ledger.open(ledger, str(name)).verify_certificate(document)
    print_result({"paid": verdict.paid, "checks": [list(c) for c in verdict.checks]}, as_json, str(verdict))
    if not verdict.paid:
        raise typer.Exit(1)
