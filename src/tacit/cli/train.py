"""`tacit train`: from a private table to a released model."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import METRIC, METRICS, DataName, LedgerName, MaybeLedger, complete, read_rates
from tacit.cli.shell import (
    AsJson,
    Quiet,
    explain_stop,
    format_certified,
    print_result,
    processes,
    read_certificate,
    remark,
    this_command,
)
from tacit.errors import BadInput, count
from tacit.trainers import TRAINERS

if TYPE_CHECKING:
    from tacit.privacy.release import Release
    from tacit.trainers.trained import Trained

NAMES = ", ".join(TRAINERS)


def train_command(
    table: Annotated[Path, typer.Option(help="A CSV, Parquet or Excel table; every row of it is protected.")],
    target: Annotated[str, typer.Option(help="Column of the table to predict.")],
    model: Annotated[
        str, typer.Option(help=", ".join(TRAINERS) + ".", autocompletion=complete(*TRAINERS))
    ] = "logistic",
    epsilon: Annotated[float, typer.Option(help="Epsilon of everything: columns, search, model and score.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Delta of everything.")] = 1e-6,
    runs: Annotated[
        float | None,
        typer.Option(help="About how many models to train, 40 or as suits the model; the number is drawn in secret."),
    ] = None,
    person: Annotated[str | None, typer.Option(help="Column that says whose row it is: protects persons.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given again.")] = None,
    schema: Annotated[Path | None, typer.Option(help="Public facts about the columns, in TOML or JSON.")] = None,
    space: Annotated[Path | None, typer.Option(help="Search space in TOML or JSON instead of the model's own.")] = None,
    metric: Annotated[str | None, typer.Option(help=METRIC, autocompletion=complete(*METRICS))] = None,
    rate: Annotated[list[str] | None, typer.Option(help="For balanced and auc: label=share, one for each.")] = None,
    bounds: Annotated[tuple[float, float] | None, typer.Option(help="Of one loss, if not the widest.")] = None,
    hide_runs: Annotated[
        bool, typer.Option("--hide-runs", help="Always do the most runs: their number need not be hidden.")
    ] = False,
    ledger: MaybeLedger = None,
    ledger_name: LedgerName = "default",
    out: Annotated[Path | None, typer.Option(help="Folder for the model, certificate and report.")] = None,
    data: DataName = None,
    workers: Annotated[int, typer.Option(help="Models trained at once, in processes.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the division of the rows; the noise has none.")] = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train on a private table; release the best model, its parameters and an honest score. One charge for all.

    \b
    Examples:
      tacit train --table patients.csv --target readmitted --epsilon 1 \\
        --delta 1e-6 --out release
      tacit predict release new.csv
    """
    from tacit.identity import DataIdentity
    from tacit.integrations.files import read_table
    from tacit.integrations.header import remarks_on_names
    from tacit.metrics import find
    from tacit.persons import number_persons
    from tacit.privacy.guarantee import Budget, remarks_on
    from tacit.privacy.ledger import Ledger
    from tacit.schema import Schema
    from tacit.space import Space
    from tacit.trainers.learn import rows_of_a_label
    from tacit.trainers.train import load_trainer, train, usual_runs
    from tacit.trainers.trainer import CLASSES

    chosen = load_trainer(model)
    about = usual_runs(chosen) if runs is None else runs
    known = Schema.read(schema) if schema is not None else None
    rows = read_table(table, known, spelled=[person] if person else [])
    leave = [*(drop or []), *([person] if person else [])]
    missing = [name for name in (*leave, target) if name not in rows.columns]
    if missing:
        raise BadInput(f"the table has no column {', '.join(map(repr, missing))} among its {rows.shape[1]} columns")
    groups = rows[person] if person else None
    budget = Budget.approximate(epsilon, delta)
    units = len(rows) if groups is None else int(number_persons(groups, len(rows)).max()) + 1
    for said in (*remarks_on_names(table), *remarks_on(budget, units)):
        remark(said, quiet)
    how = "as the schema declares" if known else "learnt with noise, paid from epsilon"
    whose = f"{units} persons" if person else f"{units} rows"
    remark(f"{whose}, {rows.shape[1] - 1 - len(leave)} columns ({how}), target {target!r}: {chosen.task}", quiet)
    if known is None and chosen.task == CLASSES:
        least = rows_of_a_label(rows.shape[1] - 1 - len(leave), budget, about)
        remark(
            f"a class needs about {least} training rows to be seen through the noise; rarer ones count as wrong. "
            "Declare classes that are public in a --schema; for amounts use --model ridge",
            quiet,
        )
    if not hide_runs:
        remark(f"about {about:g} models are trained; how many is secret, so no bar shows how far it is", quiet)
    kept = (
        f"What was done is kept in {out} and is not paid for again. To go on: {this_command()}"
        if out
        else "Nothing is kept"
    )
    with ExitStack() as stack:
        stack.enter_context(explain_stop(kept))
        pool = stack.enter_context(processes(workers)) if count("workers", workers) > 1 else None
        paid = stack.enter_context(Ledger.open(ledger, ledger_name)) if ledger else None
        release = train(
            chosen,
            rows.drop(columns=leave),
            target=target,
            space=Space.read(space) if space else None,
            budget=budget,
            runs=runs,
            schema=known,
            groups=groups,
            metric=find(metric, bounds=bounds, rates=read_rates(rate)) if metric is not None else None,
            hide_runs=hide_runs,
            ledger=paid,
            executor=pool,
            out=out,
            progress=not (quiet or as_json),
            seed=seed,
            data=DataIdentity.of_table(
                rows,
                name=table.name,
                target=target,
                declared=known.to_json() if known is not None else None,
                persons=person is not None,
            ).rename(data),
        )
    paths = _write_report(out)
    value = release.value
    shown = {"params": value.params, "score": value.score, "deviation": value.deviation, "half_width": value.half_width}
    print_result(
        {**shown, **read_certificate(release, paths), "files": paths}, as_json, format_training(release, paths)
    )


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
