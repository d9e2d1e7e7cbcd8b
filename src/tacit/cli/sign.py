"""`tacit sign`: a curator's signature under a certificate, and the key for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import AsJson
from tacit.cli.shell import print_result
from tacit.errors import BadInput
from tacit.files import read_json


def sign_command(
    certificate: Annotated[
        Path | None, typer.Argument(help="A certificate in JSON; the signature goes into it.")
    ] = None,
    signing_key: Annotated[Path | None, typer.Option(help="Private key in PEM.")] = None,
    new_key: Annotated[Path | None, typer.Option(help="Make a key here, and its public half beside it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Sign a certificate, so that somebody without the ledger can check it. Needs tacit[sign].

    \b
    Examples:
      tacit sign --new-key curator.key
      tacit sign release/certificate.json --signing-key curator.key
      tacit verify release/certificate.json --public-key curator.pub
    """
    from tacit.files import write_private
    from tacit.privacy.signing import make_key, sign

    if new_key is not None:
        if certificate is not None or signing_key is not None:
            raise BadInput("--new-key makes a key and signs nothing; sign in a second call, with --signing-key")
        secret, public = make_key(new_key)
        text = f"{secret} signs: keep it secret\n{public} checks: hand it to those who verify"
        return print_result({"private": str(secret), "public": str(public)}, as_json, text)
    if certificate is None or signing_key is None:
        raise BadInput("give a certificate and --signing-key FILE; to make a key: tacit sign --new-key curator.key")
    document = read_certificate(certificate)
    signed = sign(document, signing_key)
    mode = certificate.stat().st_mode & 0o777
    write_private(certificate, (json.dumps(signed, indent=1) + "\n").encode())
    certificate.chmod(mode)
    mark = signed["signature"]["key"]
    print_result({"file": str(certificate), "key": mark}, as_json, f"signed {certificate} with key {mark}")


def read_certificate(path: Path) -> dict[str, object]:
    """A certificate from its file."""
    from tacit.privacy.release import FORMAT

    document = read_json(path, "certificate")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadInput(f"{path} is no certificate: it must have the format {FORMAT!r}")
    return document
