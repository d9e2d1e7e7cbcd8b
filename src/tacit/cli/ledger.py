"""`tacit ledger open|show|verify|export`: the privacy budget of a data set."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import AsJson, BudgetOptions, LedgerUrl, complete, ledger_names
from tacit.cli.shell import PLAIN, print_result
from tacit.cli.verbs import Verbs
from tacit.errors import LedgerTampered, clean
from tacit.files import Json, write_file

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.room import Room

COMPOSITIONS, NAMES = ("any", "gdp", "zcdp", "basic"), ("record", "person")
KINDS = {
    "any": "every kind of release, while any of three ways of adding them up holds",
    "gdp": "tunings (squares of mu add); others at a high cost or not at all",
    "zcdp": "tunings and zCDP (rhos add); others at a high cost or not at all",
    "basic": "every kind of release; epsilons and deltas add",
}
ledger = Verbs(help="The privacy budget of a data set.", **PLAIN)
Name = Annotated[str, typer.Argument(help="Name of the ledger.", autocompletion=ledger_names)]


@ledger.command("open")
def ledger_open(
    name: Name,
    total: BudgetOptions,
    ledger: LedgerUrl = "ledger.db",
    composition: Annotated[
        str | None,
        typer.Option(help="any, gdp, zcdp or basic; any for (epsilon, delta).", autocompletion=complete(*COMPOSITIONS)),
    ] = None,
    reserve: Annotated[float, typer.Option(help="Of gdp and zcdp: part of delta for charges with their own.")] = 0.0,
    unit: Annotated[
        str | None,
        typer.Option(
            help="record or person: those of all releases are the same. Left out, the first charge decides.",
            autocompletion=complete(*NAMES),
        ),
    ] = None,
    description: Annotated[str, typer.Option(help="What the data set is.")] = "",
    as_json: AsJson = False,
) -> None:
    """Open a ledger: made with its budget if it is new. --epsilon alone has a delta of 1e-6; --pure has none.

    \b
    Example:
      tacit ledger open icu --epsilon 1 --delta 1e-6 \\
        --description "ICU stays 2024"
    """
    from tacit.privacy.ledger import Ledger

    opened = Ledger.open(
        ledger,
        name,
        total.optional_budget(),
        composition=composition,
        reserve=reserve,
        description=description,
        unit=unit,
    )
    kind = KINDS[opened.filter.composition]
    lines = [f"ledger {name!r} at {ledger}: {opened.budget}", f"takes     {kind}", f"left      {opened.room()}"]
    print_result(_summary(opened), as_json, "\n".join([*lines, *_describe_unit(opened)]))


def _describe_unit(ledger: Ledger) -> list[str]:
    """The unit that is counted, if it is known."""
    return [f"counts    {ledger.unit}"] if ledger.unit else []


def _summary(ledger: Ledger) -> Json:
    about = {"name": ledger.name, "id": ledger.id, "description": ledger.description, "unit": ledger.unit}
    amounts = {"budget": ledger.budget.to_json(), "remaining": ledger.remaining().to_json()}
    terms = {"composition": ledger.filter.composition, "order": getattr(ledger.filter, "order", 0) or None}
    return {**about, **amounts, **terms, "spent": ledger.spent().to_json(), "room": ledger.room().to_json()}


@ledger.command("show")
def ledger_show(
    name: Annotated[
        str | None, typer.Argument(help="Name of the ledger; all names if left out.", autocompletion=ledger_names)
    ] = None,
    ledger: LedgerUrl = "ledger.db",
    as_json: AsJson = False,
) -> None:
    """What was spent, on what, and what is left.

    Example: tacit ledger show icu --ledger postgresql://officer@db/privacy
    """
    from tacit.page.parts import STATES
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.room import WHY

    if name is None:
        names = Ledger.names(ledger)
        return print_result(names, as_json, "\n".join(names) or f"no ledgers at {ledger}")
    opened = Ledger.open(ledger, name)
    entries = opened.entries()
    room = _with_training(opened)
    lines = [f"ledger {name!r}: {opened.description or 'no description'}", f"budget    {opened.budget}"]
    lines += _describe_unit(opened)
    lines += [f"spent     {opened.spent().budget if entries else 'nothing'}", f"left      {room}"]
    lines += [WHY] if opened.filter.composition != "basic" else []
    lines += [""]
    for e in entries:
        if e.kind != "drawn":
            stated = e.guarantee.budget if e.guarantee else ""
            lines.append(f"{e.number:5}  {e.time[:19]}  {STATES.get(e.status, e.status):28}  {stated}  {e.purpose}")
    rows = [{**e.to_json(), "status": e.status} for e in entries]
    print_result({**_summary(opened), "room": room.to_json(), "entries": rows}, as_json, "\n".join(lines))


def _with_training(ledger: Ledger) -> Room:
    """What is left, a training too, where the ledger takes one."""
    from tacit.training.training_room import largest_training

    room, budget = ledger.room(), ledger.budget
    if budget.notion != "approximate":
        return room
    return room.with_kind("a training", largest_training(ledger.takes, budget))


@ledger.command("verify")
def ledger_verify(
    name: Name,
    ledger: LedgerUrl = "ledger.db",
    head: Annotated[str | None, typer.Option(help="Last hash of an export kept elsewhere.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check that no entry was edited, dropped, added or moved. Exit code 1 if one was.

    Example: tacit ledger verify icu --ledger ledger.db
    """
    from tacit.privacy.ledger import Ledger

    try:
        opened = Ledger.open(ledger, name)  # looks at the last entry already
        opened.verify(head=head)
    except LedgerTampered as error:
        if as_json:
            print_result({"name": name, "intact": False, "found": str(error)}, True, "")
        raise
    entries = opened.entries()
    last = entries[-1].hash if entries else None
    text = f"ledger {name!r} is intact: {len(entries)} entries, last hash {last or 'none'}"
    print_result({"name": name, "intact": True, "entries": len(entries), "head": last}, as_json, text)


@ledger.command("export")
def ledger_export(
    name: Name,
    ledger: LedgerUrl = "ledger.db",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; standard output if left out.")
    ] = None,
    csv_table: Annotated[bool, typer.Option("--csv", help="Entries as CSV, as with a name that ends so.")] = False,
    as_json: AsJson = False,
) -> None:
    """The whole ledger as JSON, or its entries as CSV.

    \b
    Examples:
      tacit ledger export icu --ledger ledger.db --out icu.json
      tacit ledger export icu --ledger ledger.db --out icu.csv
    """
    from tacit.privacy.ledger import Ledger

    document = Ledger.open(ledger, name).export()
    as_table = csv_table or (out is not None and out.suffix == ".csv")
    text = format_entries(document) if as_table else json.dumps(document, indent=1) + "\n"
    if out is None:
        return typer.echo(text, nl=False)
    write_file(out, text)
    if as_json:
        print_result({"name": name, "file": str(out)}, True, "")
    typer.echo(f"wrote {out}", err=True)


def format_entries(document: Json) -> str:
    """The entries of an export as CSV: what was charged, for what, and what was spent by then."""
    heads = ["ledger", "number", "time", "kind", "status", "purpose", "unit", "notion", "epsilon", "delta"]
    heads += ["cost", "cost_delta", "spent", "spent_delta", "settles", "digest", "hash"]
    text = io.StringIO()
    writer = csv.DictWriter(text, heads, restval="", lineterminator="\n")
    writer.writeheader()
    for entry in document["entries"]:
        stated = entry["guarantee"] if isinstance(entry["guarantee"], dict) else {}
        row = {
            name: entry[name] for name in ("number", "time", "kind", "status", "purpose", "settles", "digest", "hash")
        }
        row |= {name: stated.get(name, "") for name in ("unit", "notion", "epsilon", "delta")}
        for name in ("cost", "spent"):
            row |= {name: entry[name]["amount"], f"{name}_delta": entry[name]["delta"]}
        words = {name: _cell(row[name]) for name in ("time", "kind", "purpose", "unit", "notion", "digest", "hash")}
        writer.writerow({"ledger": _cell(document["name"]), **row, **words})
    return text.getvalue()


def _cell(value: Any) -> str:
    """Text that a spreadsheet does not run, nor a terminal obey."""
    text = clean(str("" if value is None else value))
    return f"'{text}" if text.lstrip(" '\"").startswith(("=", "+", "-", "@")) else text
