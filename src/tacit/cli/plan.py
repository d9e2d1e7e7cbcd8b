"""`tacit plan`: what each method would give, before anything is spent."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.options import METRIC, search_budget
from tacit.cli.shell import AsJson, print_result, remark
from tacit.errors import BadInput
from tacit.files import write_file


def plan_command(
    records: Annotated[int | None, typer.Option(help="Number of private records; of a table: as it has.")] = None,
    dimensions: Annotated[int | None, typer.Option(help="Number of parameters to tune.")] = None,
    table: Annotated[Path | None, typer.Option(help="A table as for tacit tune: its sizes are read, no loss.")] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict (with --table).")] = None,
    model: Annotated[str, typer.Option(help="Model whose space is searched (with --table).")] = "linear",
    metric: Annotated[str | None, typer.Option(help=METRIC)] = None,
    person: Annotated[str | None, typer.Option(help="Column that names whose each row is (with --table).")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out (with --table).")] = None,
    task: Annotated[str | None, typer.Option(help="classification or regression (with --table).")] = None,
    validation: Annotated[float, typer.Option(help="Share of private validation rows (with --table).")] = 0.5,
    train: Annotated[bool, typer.Option("--train", help="Plan tacit train instead: every record protected.")] = False,
    runs: Annotated[float, typer.Option(help="With --train: about how many models to train at the most.")] = 40.0,
    trials: Annotated[int, typer.Option(help="Evaluations, fixed in advance (of gibo: steps).")] = 30,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of the whole search; 1 if no budget is given.")] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of the whole search; 1e-6 with --epsilon.")] = None,
    rho: Annotated[float | None, typer.Option(help="Rho instead, for zCDP.")] = None,
    mu: Annotated[float | None, typer.Option(help="Mu instead, for GDP.")] = None,
    pure: Annotated[bool, typer.Option("--pure", help="Pure epsilon, without a delta.")] = False,
    bounds: Annotated[
        tuple[float, float] | None, typer.Option(help="Public bounds of a loss; 0 and 1 if left out.")
    ] = None,
    spread: Annotated[
        float | None, typer.Option(help="How much a typical setting loses against the best one, if known.")
    ] = None,
    candidates: Annotated[int, typer.Option(help="Candidates of Kusner's algorithms.")] = 256,
    want: Annotated[float | None, typer.Option(help="Backwards: what a loss of quality this small needs.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Write a drawing (.svg) to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what each method would give for so many records and this budget. Spends nothing, reads no data.

    What a modeler could find in rows of yours is planned by: tacit curator try --count N --widths W,W --scale S,S

    \b
    Examples:
      tacit plan --records 5000 --dimensions 3 --trials 50 --epsilon 1 \\
        --spread 0.05
      tacit plan --records 5000 --dimensions 20 --want 0.01 \\
        --picture plan.svg
      tacit plan --table patients.csv --target readmitted --model boosting
      tacit plan --train --records 30000 --epsilon 1 --delta 1e-6
    """
    from tacit.planning.plan import plan
    from tacit.planning.recommend import shell

    budget, words = search_budget(epsilon, delta, rho, mu, pure), ""
    if table is not None:
        if target is None:
            raise BadInput("a table needs --target COLUMN")
        if records is not None or dimensions is not None:
            raise BadInput("a table knows its records and its model's parameters: leave --records and --dimensions out")
        about: dict[str, Any] = {"metric": metric, "bounds": bounds, "person": person, "validation": validation}
        about |= {"drop": tuple(drop or ()), "task": task}
        if train:
            records = _count_units(table, target, person)
        else:
            records, dimensions, bounds, spread = _measure_table(table, target, model, spread, about)
        given = {"table": table, "target": target, "model": model, "metric": metric, "person": person, "task": task}
        given |= {"validation": validation if validation != 0.5 else None}
        named = [*given.items(), *(("drop", name) for name in drop or ())]
        words = " ".join(f"--{k} {shlex.quote(str(v))}" for k, v in named if v is not None)
        words += f" --bounds {bounds[0]:g} {bounds[1]:g}" if bounds and about["bounds"] is not None else ""
    if records is None:
        raise BadInput("a plan needs --records, the number of private records, or --table FILE with --target COLUMN")
    bounds = (0.0, 1.0) if bounds is None else bounds
    if train:
        from tacit.planning.training import plan_training

        training = plan_training(records=records, budget=budget, runs=runs)
        print_result(training.to_json(), as_json, str(training))
        return
    if dimensions is None:
        raise BadInput("a plan needs --dimensions, the number of parameters to tune; or --train to plan a training")
    made = plan(
        records=records,
        trials=trials,
        dimensions=dimensions,
        budget=budget,
        spread=spread,
        bounds=bounds,
        candidates=candidates,
        want=want,
    )
    if words and made.recommendation.shell:
        line = shell(made.case, made[made.recommendation.method].arguments, words)
        made = replace(made, recommendation=replace(made.recommendation, shell=line))
    files = {"picture": _save(made.picture(), picture)} if picture is not None else {}
    for note in made.notes:
        remark(note)
    text = str(made) + "".join(f"\n{name:12} {path}" for name, path in files.items())
    print_result({**made.to_json(), "files": files}, as_json, text)


def _count_units(table: Path, target: str, person: str | None) -> int:
    """Rows of a table, or persons. Nothing else is read off it: a training protects every row."""
    from tacit.integrations.files import read_table
    from tacit.persons import number_persons

    rows = read_table(table, spelled=[person] if person else [])
    missing = [name for name in (target, person) if name is not None and name not in rows.columns]
    if missing:
        raise BadInput(f"the table has no column {', '.join(map(repr, missing))} among its {rows.shape[1]} columns")
    units = len(rows) if person is None else len(set(number_persons(rows[person], len(rows)).tolist()))
    remark(f"{units:,} {'rows' if person is None else 'persons'}, all of them private")
    return units


def _measure_table(
    table: Path, target: str, model: str, spread: float | None, about: dict[str, Any]
) -> tuple[int, int, tuple[float, float], float | None]:
    """Losses, parameters, bounds and spread of a table: public numbers, and what training rows show. No loss is read.

    Where means can differ by less than the bounds allow, as those of AUC, the spread that is assumed is less too.
    """
    from tacit.integrations.files import read_table
    from tacit.integrations.table import table_objective

    rows = read_table(table, spelled=[about["person"]] if about["person"] else [])
    made = table_objective(rows, target, model, **about)
    for line in made.describe():
        remark(line)
    facts = made.facts
    if facts.reading is not None and spread is None and made.metric.pairs:
        spread = 0.1 / abs(facts.reading.factor)
        remark(f"spread: {spread:.3g} is assumed, which is 0.1 of {facts.reading.name}")
    return facts.records, made.space.dimensions, facts.bounds, spread


def _save(svg: str, path: Path) -> str:
    if path.suffix != ".svg":
        raise BadInput(f"a picture is saved as .svg, got {path.name}")
    return str(write_file(path, svg + "\n"))
