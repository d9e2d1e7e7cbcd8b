"""`tacit tune`."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from tacit.cli.options import (
    BudgetOptions,
    DataName,
    EngineOptions,
    LedgerOptions,
    MetricOptions,
    OutputOptions,
    StudyOptions,
    TableOptions,
    complete,
    name_data,
)
from tacit.cli.problem import (
    ObjectiveOptions,
    import_train,
    problem_of_function,
    problem_of_table,
    remarks_on_table,
)
from tacit.cli.shell import (
    ask_person,
    explain_stop,
    format_certified,
    is_from_file,
    mask_passwords,
    print_result,
    read_certificate,
    this_command,
)
from tacit.errors import BadInput, ExcessiveNoise, choice
from tacit.files import Json
from tacit.methods.registry import ABOUT_AUTO, AUTO, METHODS, Method

if TYPE_CHECKING:
    from tacit.methods.tuned import Tuned
    from tacit.privacy.guarantee import Budget
    from tacit.privacy.release import Release
    from tacit.space import Params

ABOUT = f"How to search: {AUTO}, {ABOUT_AUTO}; " + "; ".join(f"{m.name}, {m.about}" for m in METHODS.values()) + "."


@dataclass(frozen=True)
class SearchOptions:
    """How the search goes."""

    TITLE: ClassVar = "Search"

    method: Annotated[str, typer.Option(help=ABOUT, autocompletion=complete(AUTO, *METHODS))] = AUTO
    trials: Annotated[int, typer.Option(help="Evaluations that are allowed (with --method gibo: steps).")] = 30
    candidates: Annotated[int | None, typer.Option(help="Search a finite set of this many candidates.")] = None
    constraint: Annotated[
        str | None, typer.Option(help="'recall>=0.8', a second column of the objective; 'cost<=3 within 0 10'.")
    ] = None
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="For a method, such as constants=icml.")
    ] = None
    yes: Annotated[bool, typer.Option("--yes", help="Accept noise that drowns the differences.")] = False

    @property
    def settings(self) -> Json:
        """name=value pairs; values are JSON where they parse, words otherwise."""
        settings: Json = {}
        for pair in self.option or []:
            name, equals, text = pair.partition("=")
            if not equals:
                raise BadInput(f"--option takes name=value, got {pair!r}")
            try:
                settings[name] = json.loads(text)
            except ValueError:
                settings[name] = text
        return settings


def tune_command(
    ctx: typer.Context,
    own: ObjectiveOptions,
    table: TableOptions,
    metric: MetricOptions,
    budget: BudgetOptions,
    search: SearchOptions,
    ledger: LedgerOptions,
    study: StudyOptions,
    engine: EngineOptions,
    output: OutputOptions,
    objective: Annotated[
        str | None, typer.Argument(metavar="MODULE:FUNCTION", help="Returns one loss per record.")
    ] = None,
    data: DataName = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Score there: tcp://host:8786 (Dask), ray, or ray://host:10001."),
    ] = None,
    code: Annotated[bool, typer.Option("--code", help="Print a script that rebuilds the model of a table.")] = False,
) -> None:
    """Tune on private records; release the best parameters and their score.

    \b
    Examples:
      tacit tune --table patients.csv --target readmitted --model boosting \\
        --out release
      tacit tune mymodel:losses --space space.toml --records 5000 \\
        --bounds 0 1 --epsilon 1 --ledger ledger.db
      tacit tune mymodel:score --train mymodel:train --space space.toml \\
        --table 'stays/*.parquet' --bounds 0 1 --cluster tcp://head:8786
    """
    from tacit.methods.constraint import Constraint
    from tacit.methods.tune import tune
    from tacit.privacy.guarantee import remarks_on

    if objective is not None and table.table is not None and own.train is None:
        if is_from_file(ctx, "table") == is_from_file(ctx, "objective"):
            raise BadInput("give an objective as module:function or a table with --table, not both")
        objective, table = (None, table) if is_from_file(ctx, "objective") else (objective, replace(table, table=None))
    choice("method", search.method, (AUTO, *METHODS))
    method = METHODS[search.method if search.method != AUTO else "pool" if budget.pure else "observed"]
    if method.notions == ("pure",) and is_from_file(ctx, "delta"):
        budget = replace(budget, delta=None)
    budget_for(method, budget)  # before the data are read
    limit = Constraint.parse(search.constraint) if search.constraint is not None else None
    refuse_strangers(objective, own, table, metric, cluster, code)
    if own.train is None and table.table is not None:
        parts = cluster is not None
        problem = problem_of_table(own, table, metric, method, engine.seed, parts, output)
    else:
        problem = problem_of_function(objective, own, table, metric.bounds)
    count = getattr(problem.records, "records", problem.records)
    spend = budget_for(method, budget, count)
    with ExitStack() as stack:
        stack.enter_context(explain_stop(explain_leftovers(method, output.out, ledger, study.storage)))
        if problem.of_table:
            output.remark(*remarks_on_table(problem.function, table, method, spend))
        output.remark(*(remarks_on(spend, count) if spend is not None else ()))
        if cluster is not None:
            from tacit.run.clusters import open_cluster

            cluster = stack.enter_context(open_cluster(cluster))
        pool, paid = stack.enter_context(engine.pool()), stack.enter_context(ledger.open())

        def run(accept_noise: bool) -> Release[Tuned]:
            return tune(
                problem.function,
                problem.space,
                records=problem.records,
                bounds=problem.bounds,
                budget=spend,
                trials=search.trials,
                method=search.method,
                candidates=search.candidates,
                constraint=limit,
                direction=own.direction,
                seed=engine.seed,
                ledger=paid,
                executor=pool,
                cluster=cluster,
                train=import_train(own.train),
                storage=study.storage,
                study_name=study.study or "tacit",
                out=output.out,
                data=name_data(problem.function, data, objective),
                accept_noise=accept_noise,
                progress=output.progress,
                **search.settings,
            )

        release = run_or_ask(run, search.yes, output)
    script = write_code(problem.function, own, table, engine.seed, release.value.params) if code else ""
    show_release(release, output, script)


def refuse_strangers(
    objective: str | None, own: ObjectiveOptions, table: TableOptions, metric: MetricOptions, cluster: Any, code: bool
) -> None:
    """Refuse options that do not go together."""
    if own.train is not None and (objective is None or table.table is None):
        raise BadInput("--train needs an objective module:score, which scores a frame by a model, and --table")
    of_table = table.table is not None and own.train is None
    if of_table and own.direction == "maximize":
        raise BadInput(
            "a table has errors of its own, which are minimized: with --direction maximize the worst parameters would "
            "be released. Leave --direction out, or give an objective of your own as module:function"
        )
    for_tables = {"metric": metric.metric, "person": table.person, "drop": table.drop, "code": code}
    if not of_table and (given := [name for name, value in for_tables.items() if value]):
        raise BadInput(f"--{given[0]} is for --table; an objective of your own returns losses, whatever they are of")
    if cluster is not None and table.table is None:
        raise BadInput("--cluster scores a table in parts: give --table FILES with --target, or with --train")


def budget_for(method: Method, options: BudgetOptions, records: int = 0) -> Budget | None:
    """The budget, of a kind that the method can take; none for a search without privacy."""
    if method.notions == ("pure",) and (options.delta, options.rho, options.mu) == (None, None, None):
        options = replace(options, epsilon=1.0 if options.epsilon is None else options.epsilon, pure=True)
    budget = options.budget(records)
    if not method.notions:
        return None
    method.check_budget(budget)
    return budget


def explain_leftovers(method: Method, out: Path | None, ledger: LedgerOptions, storage: str | None) -> str:
    """What an interruption leaves, and how to go on."""
    if (out is not None or storage is not None) and method.resumable:
        place = out if out is not None else "the storage"
        return f"What was observed is kept in {place} and is not paid for again. To go on: {this_command()}"
    why = "give --out FOLDER to be able to go on" if method.resumable else f"method {method.name} starts anew"
    if ledger.ledger:
        shown = mask_passwords(ledger.ledger)
        why += f". What was debited stays debited: tacit ledger show {ledger.ledger_name} --ledger {shown}"
    return f"Nothing is kept: {why}"


def run_or_ask(run: Any, yes: bool, output: OutputOptions) -> Release[Tuned]:
    """Run; if the noise would drown the result, say so and ask, where there is somebody to ask."""
    try:
        return run(yes)  # type: ignore[no-any-return]
    except ExcessiveNoise as refusal:
        if output.as_json or not sys.stdin.isatty():
            raise
        output.remark(str(refusal))
        if ask_person("Run all the same, yes or no", "no") not in ("y", "yes"):
            raise
        return run(True)  # type: ignore[no-any-return]


def write_code(function: Any, own: ObjectiveOptions, table: TableOptions, seed: int, params: Params) -> str:
    """A script that rebuilds the model of a table."""
    from tacit.integrations.table_code import write_script

    if hasattr(function, "parts"):
        raise BadInput("--code rebuilds models of tables that are read whole, not of parts")
    about = {"task": function.task, "validation": own.validation, "seed": seed}
    about |= {"person": table.person, "drop": table.drop}
    return write_script(str(table.file), table.column, own.model, about, params, table.schema)


def show_release(release: Release[Tuned], output: OutputOptions, script: str) -> None:
    """Write the report, and print what was released, or the script alone."""
    value, paths = release.value, _write_report(output.out)
    shown: Json = {"params": value.params, "metric": value.metric, "score": value.score}
    shown |= {"loss": value.loss, "interval": value.interval, "intervals": dict(value.intervals())}
    shown["deviation"] = value.deviation
    shown["noise"] = value.noise
    shown |= {"constraint": value.details["constraint"]} if "constraint" in value.details else {}
    text = format_release(release, paths)
    if script:
        shown["code"] = script
        output.remark(text.strip())
        text = script
    document = {**shown, **read_certificate(release, paths), "files": paths}
    print_result(document, output.as_json, text, released=True)


def _write_report(out: Path | None) -> dict[str, str]:
    if out is None:
        return {}
    from tacit.report.pages.tuned import write

    page = write(out)
    names = {"certificate": "certificate.json", "trials": "trials.csv", "study": "study.db"}
    return {**{k: str(out / v) for k, v in names.items() if (out / v).exists()}, "report": str(page)}


def format_release(release: Release[Tuned], paths: dict[str, str]) -> str:
    """A release for a person to read."""
    return format_certified(["", *str(release.value).splitlines()], release, paths)
