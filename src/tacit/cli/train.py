"""`tacit train`: from a private table to a released model."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import (
    BudgetOptions,
    DataName,
    EngineOptions,
    LedgerOptions,
    MetricOptions,
    OutputOptions,
    TableOptions,
    complete,
    refuse_no_delta,
)
from tacit.cli.shell import explain_stop, format_certified, print_result, read_certificate, this_command
from tacit.training.registry import TRAINERS, find_trainer

if TYPE_CHECKING:
    from tacit.privacy.release import Release
    from tacit.training.trained import PublishedModel, Trained

LEARNT = "classes or numbers, learnt too"
CODES = frozenset(
    ["?", "-", "--", ".", "unknown", "unk", "missing", "not available", "not known", "no data", "n.a.", "#"]
)
TELLTALE = 0.02  # a score so near to perfect, where a constant's is farther, is too good to be true


def train_command(
    table: TableOptions,
    metric: MetricOptions,
    budget: BudgetOptions,
    ledger: LedgerOptions,
    engine: EngineOptions,
    output: OutputOptions,
    model: Annotated[str, typer.Option(help=", ".join(TRAINERS) + ".", autocompletion=complete(*TRAINERS))] = "auto",
    runs: Annotated[
        float | None,
        typer.Option(
            help="Above 1: search, about so many models, a number drawn in secret; seldom gains. One if left out."
        ),
    ] = None,
    labels: Annotated[str | None, typer.Option(help="Public labels of the target, such as no,yes.")] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            help="A code that stands for a missing cell, such as -99, 999 or '?'; else it is a value. Repeat."
        ),
    ] = None,
    space: Annotated[Path | None, typer.Option(help="Search space in TOML or JSON instead of the model's own.")] = None,
    hide_runs: Annotated[
        bool, typer.Option("--hide-runs", help="Always do the most runs: their number need not be hidden.")
    ] = False,
    data: DataName = None,
) -> None:
    """Train on a private table; release the model, its parameters and an honest score. One charge for all.

    \b
    Examples:
      tacit train --table patients.csv --target readmitted --epsilon 1 \\
        --out release
      tacit predict release new.csv
    """
    from tacit.data.files import read_table
    from tacit.data.header import remarks_on_identifiers, remarks_on_names
    from tacit.data.identity import DataIdentity
    from tacit.data.metrics import find
    from tacit.data.units import number_persons
    from tacit.privacy.guarantee import remarks_on
    from tacit.space import Space
    from tacit.training.learn import rows_of_a_label
    from tacit.training.private_table import settle_schema
    from tacit.training.task import settle_task
    from tacit.training.train import count_runs, train
    from tacit.training.trainer import NUMBERS

    find_trainer(model)
    target, declared = table.column, table.read_schema()
    about = count_runs(runs, space)
    refuse_no_delta(budget.budget())
    rows = read_table(table.file, declared).mark_missing(missing or [])
    table.refuse_missing(rows.names)
    named = None if labels is None else [label.strip() for label in labels.split(",")]
    measured = metric.find()
    task = settle_task(model, named, declared, measured)
    leave = [*(table.drop or []), *([table.person] if table.person else [])]
    groups = rows[table.person] if table.person else None
    units = len(rows) if groups is None else int(number_persons(groups, len(rows)).max()) + 1
    spend, columns = budget.budget(units), rows.shape[1] - 1 - len(leave)
    features = [name for name in rows.names if name not in (*leave, target)]
    output.remark(*remarks_on_names(table.file), *remarks_on_identifiers(features, table.person))
    output.remark(*remarks_on(spend, units))
    how = "as the schema declares" if declared else "learnt with noise, paid from epsilon"
    whose = f"{units} persons" if table.person else f"{units} rows"
    output.remark(f"{whose}, {columns} columns ({how}), target {target!r}: {task or LEARNT}")
    open_target = settle_schema(declared, named, measured or find("error"), target)
    if (open_target is None or open_target.target is None) and task != NUMBERS:
        output.remark(
            f"a class needs about {rows_of_a_label(columns, spend, about, task)} training rows to be seen through the "
            "noise; rarer ones count as wrong. Declare classes that are public: --labels no,yes; for amounts use "
            "--model auto-numbers"
        )
    if about != 1 and not hide_runs:
        output.remark(f"about {about:g} models are trained; how many is secret, so the bar shows the time alone")
    with ExitStack() as stack:
        stack.enter_context(explain_stop(_explain_leftovers(output.out)))
        release = train(
            model,
            rows.drop(leave),
            target=target,
            space=Space.read(space) if space else None,
            budget=spend,
            runs=runs,
            schema=declared,
            labels=named,
            groups=groups,
            metric=measured,
            hide_runs=hide_runs,
            ledger=stack.enter_context(ledger.open()),
            executor=stack.enter_context(engine.pool()),
            out=output.out,
            progress=output.progress,
            seed=engine.seed,
            data=DataIdentity.of_table(
                rows,
                name=table.file.name,
                target=target,
                declared=declared.to_json() if declared is not None else None,
                persons=table.person is not None,
            ).rename(data),
        )
    output.remark(*remarks_on_leakage(release.value), *remarks_on_codes(release.value.model, missing or []))
    show_training(release, output)


def remarks_on_leakage(value: Trained) -> list[str]:
    """A remark on a score that is too good to be true."""
    if value.metric != "error" or not value.score + value.half_width < TELLTALE < value.details.get("baseline", 0.0):
        return []
    return [f"an error of {value.score:.2g}: does a column tell the answer? If so, --drop it: it is target leakage"]


def remarks_on_codes(model: PublishedModel, named: Sequence[str]) -> list[str]:
    """Of the words that were released, those that often stand for a missing cell; else that no code was named.

    Post-processing of the release: no cell is looked at.
    """
    schema = model.preparation.schema
    words = {(column.name, word) for column in schema.columns for word in map(str, column.categories)}
    codes = sorted((name, word) for name, word in words if word.strip().casefold() in CODES)
    remarks = [
        f"{name!r} holds the word {word!r}: if it stands for a missing cell, --missing {shlex.quote(word)} says so. "
        "Another training is paid for anew"
        for name, word in codes
        if not schema.declared
    ]
    if remarks or named or all(column.kind == "category" for column in schema.columns):
        return remarks
    return ["-99, 999 and other codes for a missing cell count as numbers, unless --missing -99 names them"]


def _explain_leftovers(out: Path | None) -> str:
    again = f"What was done is kept in {out} and is not paid for again. To go on: {this_command()}"
    return again if out else "Nothing is kept"


def show_training(release: Release[Trained], output: OutputOptions) -> None:
    """Write the report, and print what was released."""
    paths, value = _write_report(output.out), release.value
    names = ("params", "metric", "score", "loss", "interval", "deviation", "half_width")
    document = {**{name: getattr(value, name) for name in names}, **read_certificate(release, paths), "files": paths}
    print_result(document, output.as_json, format_training(release, paths), released=True)


def _write_report(out: Path | None) -> dict[str, str]:
    if out is None:
        return {}
    from tacit.report.pages.trained import write

    write(out)
    names = {
        "model": "model.joblib",
        "as JSON": "model.json",
        "certificate": "certificate.json",
        "report": "report.html",
    }
    return {name: str(out / file) for name, file in names.items() if (out / file).exists()}


def format_training(release: Release[Trained], paths: dict[str, str]) -> str:
    """A trained model for a person to read."""
    return format_certified(["", *str(release.value).splitlines()], release, paths)
