"""`tacit plan`: what each method would give, before anything is spent."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import (
    AsJson,
    BudgetOptions,
    LedgerOptions,
    MetricOptions,
    TableOptions,
    complete,
    refuse_no_delta,
)
from tacit.cli.shell import print_result, remark
from tacit.errors import BadInput, LedgerError, choice
from tacit.files import write_file

if TYPE_CHECKING:
    from tacit.planning.plan import Plan
    from tacit.privacy.guarantee import Guarantee

GOALS = ("tune", "train")


def plan_command(
    table: TableOptions,
    metric: MetricOptions,
    budget: BudgetOptions,
    ledger: LedgerOptions,
    goal: Annotated[
        str, typer.Option(help="tune; or train, where every record is protected.", autocompletion=complete(*GOALS))
    ] = "tune",
    records: Annotated[int | None, typer.Option(help="Number of private records; of a table: as it has.")] = None,
    dimensions: Annotated[int | None, typer.Option(help="Number of parameters to tune.")] = None,
    model: Annotated[str, typer.Option(help="Model whose space is searched (with --table).")] = "linear",
    task: Annotated[str | None, typer.Option(help="classification or regression (with --table).")] = None,
    validation: Annotated[float, typer.Option(help="Share of private validation rows (with --table).")] = 0.5,
    runs: Annotated[float, typer.Option(help="With --goal train: about how many models to train at the most.")] = 40.0,
    trials: Annotated[int, typer.Option(help="Evaluations, fixed in advance (of gibo: steps).")] = 30,
    spread: Annotated[
        float | None, typer.Option(help="How much a typical setting loses against the best one, if known.")
    ] = None,
    candidates: Annotated[int, typer.Option(help="Candidates of Kusner's algorithms.")] = 256,
    want: Annotated[float | None, typer.Option(help="Backwards: what a loss of quality this small needs.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every method, in a table, and what is behind it.")] = False,
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
      tacit plan --goal train --records 30000 --epsilon 1 \\
        --ledger ledger.db --ledger-name icu
    """
    from tacit.planning.plan import plan
    from tacit.planning.recommend import shell

    choice("goal", goal, GOALS)
    bounds, words = metric.bounds, ""
    if table.table is not None:
        if records is not None or dimensions is not None:
            raise BadInput("a table knows its records and its model's parameters: leave --records and --dimensions out")
        if goal == "train":
            records = _count_units(table)
        else:
            records, dimensions, bounds, spread = _measure_table(table, metric, model, task, validation, spread)
        words = _repeat(table, metric, model, task, validation)
    if records is None:
        raise BadInput("a plan needs --records, the number of private records, or --table FILE with --target COLUMN")
    spend = budget.budget(records)
    if goal == "train":
        refuse_no_delta(spend)
        training = plan(goal="train", records=records, budget=spend, runs=runs)
        effect = _foresee(ledger, training.guarantee)
        text = str(training) + "".join(f"\n  {'ledger':15} {words}" for words in effect.values())
        print_result({**training.to_json(), **effect}, as_json, text)
        return
    if dimensions is None:
        raise BadInput("a plan needs --dimensions, the number of parameters to tune; or --goal train")
    plans = plan(
        records=records,
        trials=trials,
        dimensions=dimensions,
        budget=spend,
        spread=spread,
        bounds=(0.0, 1.0) if bounds is None else bounds,
        candidates=candidates,
        want=want,
    )
    if words and plans.recommendation.shell:
        line = shell(plans.case, plans.recommendation.arguments, words)
        plans = replace(plans, recommendation=replace(plans.recommendation, shell=line))
    files = {"picture": _save(plans.picture(), picture)} if picture is not None else {}
    for note in plans.notes:
        remark(note)
    effect = _foresee(ledger, plans[plans.recommendation.method].guarantee)
    whole = str(plans) if every or want is not None else format_answer(plans)
    text = whole + "".join(f"\n{name:12} {path}" for name, path in {**effect, **files}.items())
    print_result({**plans.to_json(), **effect, "files": files}, as_json, text)


def format_answer(plan: Plan) -> str:
    """The recommendation in five lines: the case, what to run, what it may lose, and the line that runs it."""
    best, case = plan.recommendation, plan.case
    spread = f"{case.spread:g}" + (", assumed: give yours" if plan.assumed_spread else "")
    head = f"{case.records:,} records, {case.dimensions} parameters, {case.budget}; losses in [{case.bounds[0]:g}, "
    lines = [f"{head}{case.bounds[1]:g}], spread {spread}"]
    if best.shell:
        chosen = plan[best.method]
        lost = "; ".join(f"{m.mean:.2g} ({m.low:.2g} to {m.high:.2g}), {name}" for name, m in chosen.measured.items())
        lines += [f"Recommended: {best.method}, {chosen.evaluations:,} evaluations; releases {chosen.releases}"]
        lines += [f"Expected loss against the best setting: {lost}", f"  {best.shell}"]
    else:
        lines += [f"Recommended: {best.method}. {best.reason[0].upper()}{best.reason[1:]}"]
    return "\n".join([*lines, "Nothing was spent. Every method, and why: --all"])


def _foresee(ledger: LedgerOptions, guarantee: Guarantee) -> dict[str, str]:
    """What the recommendation would do to the ledger that was given, if one was."""
    try:
        with ledger.open() as opened:
            return {} if opened is None or guarantee.budget is None else {"ledger": opened.foresee(guarantee)}
    except LedgerError as error:  # a plan needs none
        remark(str(error))
        return {}


def _repeat(table: TableOptions, metric: MetricOptions, model: str, task: str | None, validation: float) -> str:
    """The options of a table as they are typed again."""
    given: dict[str, object] = {"table": table.table, "target": table.target, "model": model, "metric": metric.metric}
    given |= {"person": table.person, "task": task, "validation": validation if validation != 0.5 else None}
    named = [*given.items(), *(("drop", name) for name in table.drop or ())]
    words = " ".join(f"--{k} {shlex.quote(str(v))}" for k, v in named if v is not None)
    return words + (f" --bounds {metric.bounds[0]:g} {metric.bounds[1]:g}" if metric.bounds is not None else "")


def _count_units(table: TableOptions) -> int:
    """Rows of a table, or persons. Nothing else is read off it: a training protects every row."""
    from tacit.data.files import read_table
    from tacit.data.header import remarks_on_identifiers
    from tacit.data.units import number_persons

    rows, person = read_table(table.file), table.person
    table.refuse_missing(rows.names)
    units = len(rows) if person is None else len(set(number_persons(rows[person], len(rows)).tolist()))
    for text in remarks_on_identifiers([name for name in rows.names if name != table.target], person):
        remark(text)
    remark(f"{units:,} {'rows' if person is None else 'persons'}, all of them private")
    return units


def _measure_table(
    table: TableOptions,
    metric: MetricOptions,
    model: str,
    task: str | None,
    validation: float,
    spread: float | None,
) -> tuple[int, int, tuple[float, float], float | None]:
    """Losses, parameters, bounds and spread of a table: public numbers, and what training rows show. No loss is read.

    Where means can differ by less than the bounds allow, as those of AUC, the spread that is assumed is less too.
    """
    from tacit.data.files import read_table
    from tacit.integrations.table import table_objective

    objective = table_objective(
        read_table(table.file),
        table.column,
        model,
        metric=metric.find(),
        bounds=metric.bounds,
        person=table.person,
        drop=tuple(table.drop or ()),
        task=task,
        validation=validation,
    )
    for line in objective.describe():
        remark(line)
    facts = objective.facts
    if facts.reading is not None and spread is None and objective.metric.pairs:
        spread = 0.1 / abs(facts.reading.factor)
        remark(f"spread: {spread:.3g} is assumed, which is 0.1 of {facts.reading.name}")
    return facts.records, objective.space.dimensions, facts.bounds, spread


def _save(svg: str, path: Path) -> str:
    if path.suffix != ".svg":
        raise BadInput(f"a picture is saved as .svg, got {path.name}")
    return str(write_file(path, svg + "\n"))
