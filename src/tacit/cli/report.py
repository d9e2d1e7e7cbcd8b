"""`tacit report`: one page that opens offline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import AsJson
from tacit.cli.shell import remark
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.report.subjects import Subject


def report_command(
    places: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folder or file; several fronts or audits.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; report.html in the folder if left out.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Path or URL of the ledger that paid, to show its charges.")
    ] = None,
    show_private: Annotated[
        bool, typer.Option("--show-private", help="Show exact answers of a curator's state too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page that opens offline: of a release, a front, an outsourced study, an audit or a ledger.

    Of a curator's state, --show-private shows exact answers: for people who may see the rows.

    \b
    Examples:
      tacit report release
      tacit report sgd-front adam-front --out fronts.html
      tacit report curator --show-private
    """
    from tacit.report.choose import joint_page, page_path
    from tacit.report.subjects import recognise

    if ledger is not None:
        from tacit.privacy.ledger import Ledger

        Ledger.names(ledger)  # says so if there is none
    subjects = [recognise(place) for place in places]
    if show_private and {s.kind for s in subjects} != {"curator"}:
        raise BadInput("--show-private shows the exact answers of a curator's state; there is none here")
    page = joint_page(subjects, private=show_private, ledger=ledger).write(page_path(subjects, out))
    changed = [text for s in subjects if s.certificate for text in _changes(s, ledger)]
    for text in changed:
        remark(f"DO NOT RELY ON IT: {text}")
    document = {"report": str(page), "kind": subjects[0].kind, "changed": changed}
    typer.echo(json.dumps(document) if as_json else f"wrote {page}")


def _changes(subject: Subject, ledger: str | None) -> list[str]:
    """What a certificate says that is not as it was written, as the page says too."""
    from tacit.page.parts import find_changes
    from tacit.report.choose import ledger_of

    paid = ledger_of(subject.certificate.get("payment"), subject.folder, ledger)
    return find_changes(subject.certificate, paid)
