"""`tacit tune`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import (
    METRIC,
    METRICS,
    MODELS,
    DataName,
    LedgerName,
    MaybeLedger,
    complete,
    name_data,
    read_rates,
    search_budget,
)
from tacit.cli.shell import (
    AsJson,
    Quiet,
    ask_person,
    explain_stop,
    format_certified,
    is_from_file,
    mask_passwords,
    print_result,
    processes,
    read_certificate,
    remark,
    this_command,
)
from tacit.errors import BadInput, choice, count
from tacit.methods.registry import METHODS, Method

if TYPE_CHECKING:
    from tacit.methods.tuned import Tuned
    from tacit.privacy.guarantee import Budget
    from tacit.privacy.release import Release

ABOUT = "How to search: " + "; ".join(f"{m.name}, {m.about}" for m in METHODS.values()) + "."
NO_BOUNDS = (
    "--bounds LOW HIGH must say within which bounds one loss is counted, such as 0 and {most}the largest error that "
    "matters, chosen without looking at the data; or --task classification, or another --metric. Nothing was spent"
)
LARGE = 1_000_000  # rows of Parquet: a table of more is read in parts
TASKS, DIRECTIONS = complete("classification", "regression"), complete("minimize", "maximize")


def tune_command(
    ctx: typer.Context,
    objective: Annotated[str | None, typer.Argument(help="module:function returning one loss per record.")] = None,
    space: Annotated[Path | None, typer.Option(help="Search space in TOML or JSON; FILE#TABLE for a part.")] = None,
    records: Annotated[int | None, typer.Option(help="Number of private records.")] = None,
    bounds: Annotated[tuple[float, float] | None, typer.Option(help="Public bounds of a loss, such as 0 1.")] = None,
    table: Annotated[Path | None, typer.Option(help="A CSV, Excel or Parquet table, not an objective.")] = None,
    train: Annotated[
        str | None, typer.Option(help="module:function making a model; the objective then scores --table in parts.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column of the table to predict.")] = None,
    schema: Annotated[Path | None, typer.Option(help="Public kinds of the columns, in TOML or JSON.")] = None,
    model: Annotated[str, typer.Option(help=", ".join(MODELS) + ".", autocompletion=complete(*MODELS))] = "linear",
    metric: Annotated[str | None, typer.Option(help=METRIC, autocompletion=complete(*METRICS))] = None,
    person: Annotated[
        str | None, typer.Option(help="Column that says whose a row is: the person is protected.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column of the table to leave out.")] = None,
    rate: Annotated[list[str] | None, typer.Option(help="label=share, the public rate of a class.")] = None,
    task: Annotated[str | None, typer.Option(help="classification or regression.", autocompletion=TASKS)] = None,
    validation: Annotated[float, typer.Option(help="Share of rows that are private validation rows.")] = 0.5,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of the whole search; 1 if no budget is given.")] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of the whole search; 1e-6 with --epsilon.")] = None,
    rho: Annotated[float | None, typer.Option(help="Rho instead, for zCDP.")] = None,
    mu: Annotated[float | None, typer.Option(help="Mu instead, for GDP.")] = None,
    pure: Annotated[bool, typer.Option("--pure", help="Pure epsilon, without a delta.")] = False,
    trials: Annotated[int, typer.Option(help="Evaluations, fixed in advance (of gibo: steps).")] = 30,
    method: Annotated[str, typer.Option(help=ABOUT, autocompletion=complete(*METHODS))] = "observed",
    direction: Annotated[str, typer.Option(help="minimize or maximize.", autocompletion=DIRECTIONS)] = "minimize",
    candidates: Annotated[int | None, typer.Option(help="Search a finite set of this many candidates.")] = None,
    ledger: MaybeLedger = None,
    ledger_name: LedgerName = "default",
    out: Annotated[Path | None, typer.Option(help="Folder for the study, certificate and report.")] = None,
    data: DataName = None,
    storage: Annotated[str | None, typer.Option(help="URL of a study that several machines may share.")] = None,
    study: Annotated[str, typer.Option(help="Name of the study in --storage.")] = "tacit",
    cluster: Annotated[
        str | None, typer.Option(help="Score there: tcp://host:8786 (Dask), ray, or ray://host:10001.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Evaluations at once, in processes.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the split and the search; the noise has none.")] = 0,
    option: Annotated[list[str] | None, typer.Option(help="name=value for a method, such as constants=icml.")] = None,
    code: Annotated[bool, typer.Option("--code", help="Print a script that rebuilds the model of a table.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Accept noise that drowns the differences.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
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
    from contextlib import ExitStack

    from tacit.methods.tune import tune
    from tacit.privacy.guarantee import remarks_on
    from tacit.privacy.ledger import Ledger

    scored = train is not None
    if scored and (objective is None or table is None):
        raise BadInput("--train needs an objective module:score, which scores a frame by a model, and --table")
    if objective is not None and table is not None and not scored:
        if is_from_file(ctx, "table") == is_from_file(ctx, "objective"):
            raise BadInput("give an objective as module:function or a table with --table, not both")
        objective, table = (objective, None) if is_from_file(ctx, "table") else (None, table)
    if table is not None and direction == "maximize" and not scored:
        raise BadInput(
            "a table has errors of its own, which are minimized: with --direction maximize the worst parameters would "
            "be released. Leave --direction out, or give an objective of your own as module:function"
        )
    how = METHODS[choice("method", method, tuple(METHODS))]
    if how.notions == ("pure",) and is_from_file(ctx, "delta"):
        delta = None
    budget = _budget_for(how, epsilon, delta, rho, mu, pure)
    if (table is None or scored) and (
        given := [n for n, v in (("metric", metric), ("person", person), ("drop", drop), ("code", code)) if v]
    ):
        raise BadInput(f"--{given[0]} is for --table; an objective of your own returns losses, whatever they are of")
    if cluster is not None and table is None:
        raise BadInput("--cluster scores a table in parts: give --table FILES with --target, or with --train")
    asked = None
    if table is not None and not scored:
        from tacit.metrics import find
        from tacit.metrics.objective import one_matching

        measured = find(metric, bounds=bounds, rates=read_rates(rate)) if metric is not None else None
        if measured is not None and how.separate:
            measured = one_matching(measured)
        about: dict[str, Any] = {"task": task, "validation": validation, "seed": seed, "bounds": bounds}
        about |= {"metric": measured, "person": person, "drop": drop or [], "name": table.name}
        about |= {"parts": cluster is not None}
        asked = _from_table(table, target, schema, model, space, about, ask=not as_json, quiet=quiet or as_json)
    if scored and table is not None:
        from tacit.run.shards import Shards

        records = Shards.from_parquet(table)  # type: ignore[assignment]
    function, where, n, limits = asked or _from_module(objective, space, records, bounds)
    with ExitStack() as stack:
        stack.enter_context(explain_stop(_explain_leftovers(how, out, ledger, ledger_name, storage)))
        pool = stack.enter_context(processes(workers)) if count("workers", workers) > 1 else None
        if cluster is not None:
            from tacit.run.clusters import open_cluster

            cluster = stack.enter_context(open_cluster(cluster))
        arguments: dict[str, Any] = {"records": n, "bounds": limits, "trials": trials, "seed": seed}
        arguments |= {"budget": budget, "candidates": candidates, "direction": direction, "method": method, "out": out}
        arguments |= {"executor": pool, **_options(option), "data": name_data(function, data, objective)}
        arguments |= {"train": import_train(train), "cluster": cluster, "storage": storage, "study_name": study}
        arguments["ledger"] = stack.enter_context(Ledger.open(ledger, ledger_name)) if ledger else None
        if asked:
            from tacit.integrations.table import PERSONS, PROTECTED

            remark(PROTECTED if person is None else PERSONS, quiet)
            for said in [*function.describe(), function.baseline()]:
                remark(said, quiet)
            pure = how.notions[:1] == ("pure",)
            for name in function.identifiers:
                remark(name.remark(budget, pure=pure, ask_person=person is None), quiet)
            for told in function.giveaways:
                remark(told.remark(str(target)), quiet)
        for said in remarks_on(budget, getattr(n, "records", n)) if budget is not None else ():
            remark(said, quiet)
        release = _tune_or_ask(tune, function, where, arguments, yes, as_json, quiet)
    paths = _write_report(release, out)
    value = release.value
    shown = {"params": value.params, "score": value.score, "deviation": value.deviation, "noise": value.noise}
    if value.reading is not None and value.score is not None:
        shown["metric"] = {
            "name": value.metric,
            "value": value.metric_score,
            "intervals": dict(value.metric_intervals()),
        }
    text = format_release(release, paths)
    if code and table is not None and target is not None:
        if hasattr(function, "parts"):
            raise BadInput("--code rebuilds models of tables that are read whole, not of parts")
        from tacit.integrations.table_code import write_script

        about = {"task": function.task, "validation": validation, "seed": seed, "person": person, "drop": drop}
        script = write_script(str(table), target, model, about, value.params, schema)
        shown["code"] = script
        remark(text.strip())
        text = script
    print_result({**shown, **read_certificate(release, paths), "files": paths}, as_json, text)


def import_train(train: str | None) -> Any:
    """The function that makes a model of parameters, if one is named."""
    from tacit.objective import import_object

    return None if train is None else import_object(train, "train function", "mymodel:train")


def _explain_leftovers(
    method: Method, out: Path | None, ledger: str | None, name: str, storage: str | None = None
) -> str:
    """What an interruption leaves, and how to go on."""
    if (out is not None or storage is not None) and method.resumable:
        place = out if out is not None else "the storage"
        return f"What was observed is kept in {place} and is not paid for again. To go on: {this_command()}"
    why = "give --out FOLDER to be able to go on" if method.resumable else f"method {method.name} starts anew"
    if ledger:
        why += f". What was debited stays debited: tacit ledger show {name} --ledger {mask_passwords(ledger)}"
    return f"Nothing is kept: {why}"


def _budget_for(
    method: Method, epsilon: float | None, delta: float | None, rho: float | None, mu: float | None, pure: bool
) -> Budget | None:
    """The budget, of a kind that the method can take; none for a search without privacy."""
    if method.notions == ("pure",) and (delta, rho, mu) == (None, None, None):
        epsilon, pure = 1.0 if epsilon is None else epsilon, True
    budget = search_budget(epsilon, delta, rho, mu, pure)
    if not method.notions:
        return None
    method.check_budget(budget)
    return budget


def _options(given: list[str] | None) -> dict[str, Any]:
    """name=value pairs; values are JSON where they parse, words otherwise."""
    options: dict[str, Any] = {}
    for pair in given or []:
        name, equals, text = pair.partition("=")
        if not equals:
            raise BadInput(f"--option takes name=value, got {pair!r}")
        try:
            options[name] = json.loads(text)
        except ValueError:
            options[name] = text
    return options


def _from_module(objective: str | None, space: Path | None, records: int | None, bounds: Any) -> tuple[Any, ...]:
    from tacit.objective import import_object
    from tacit.space import Space

    if objective is None:
        raise BadInput("give an objective as module:function, or a table with --table and --target")
    if space is None or records is None or bounds is None:
        raise BadInput("an objective needs --space FILE, --records N and --bounds LOW HIGH, all public")
    return import_object(objective), Space.read(space), records, bounds


def _from_table(
    table: Path,
    target: str | None,
    schema: Path | None,
    model: str,
    space: Path | None,
    about: dict[str, Any],
    *,
    ask: bool,
    quiet: bool,
) -> tuple[Any, ...]:
    from tacit.integrations.header import remarks_on_names
    from tacit.integrations.table_facts import TaskUnclear
    from tacit.schema import Schema
    from tacit.space import Space

    if target is None:
        raise BadInput("a table needs --target COLUMN")
    known = Schema.read(schema) if schema is not None else None
    table_objective, rows = _read_rows(table, known, about, quiet)
    for said in remarks_on_names(table):
        remark(said, quiet)
    try:
        made = table_objective(rows, target, model, schema=known, **about)
    except TaskUnclear as unclear:
        if not ask or not sys.stdin.isatty():
            raise
        remark(str(unclear))
        task = ask_person("classification or regression", "classification")
        made = table_objective(rows, target, model, schema=known, **{**about, "task": task})
    if made.metric.bounds is None:
        rule = NO_BOUNDS.format(most="" if made.metric.name.startswith(("absolute", "quantile")) else "the square of ")
        raise BadInput(f"{target!r} is taken for amounts to regress on, by {made.metric.name} errors. {rule}")
    own = made.space if space is None else Space.read(space)
    if space is not None:
        made.refuse_space(own)
    return made, own, made.facts.records, made.facts.bounds


def _read_rows(table: Path, known: Any, about: dict[str, Any], quiet: bool) -> tuple[Any, Any]:
    """The rows of a table and what makes an objective of them: all in memory, or files that are read in parts."""
    from tacit.integrations.files import count_rows, list_files, read_table
    from tacit.run.progress import progress_bar

    files = list_files(table)
    rows = count_rows(files)
    if about.pop("parts") or (rows or 0) > LARGE:
        from tacit.integrations.table_parts import table_shards

        if rows is None:
            raise BadInput("a table is scored in parts from .parquet files: write it as Parquet first")
        return table_shards, files
    from tacit.integrations.table import table_objective

    shown = not quiet and about["person"] is None  # how many rows persons have is private
    with progress_bar("reading rows", None, wanted=shown) as tell:
        return table_objective, read_table(
            table, known, spelled=[about["person"]] if about["person"] else [], tell=tell
        )


def _tune_or_ask(
    tune: Any, function: Any, space: Any, arguments: dict[str, Any], yes: bool, as_json: bool, quiet: bool
) -> Any:
    """Run; if the noise would drown the result, say so and ask, where there is somebody to ask."""
    try:
        return tune(function, space, **arguments, accept_noise=yes, progress=not (as_json or quiet))
    except BadInput as refusal:
        if "accept_noise" not in str(refusal) or as_json or not sys.stdin.isatty():
            raise
        remark(str(refusal))
        if ask_person("Run all the same, yes or no", "no") not in ("y", "yes"):
            raise
        return tune(function, space, **arguments, accept_noise=True, progress=not quiet)


def _write_report(release: Release[Tuned], out: Path | None) -> dict[str, str]:
    if out is None:
        return {}
    from tacit.report.pages.tuned import write

    page = write(out)
    names = {"certificate": "certificate.json", "trials": "trials.csv", "study": "study.db"}
    return {**{k: str(out / v) for k, v in names.items() if (out / v).exists()}, "report": str(page)}


def format_release(release: Release[Tuned], paths: dict[str, str]) -> str:
    """A release for a person to read."""
    return format_certified(["", *str(release.value).splitlines()], release, paths)
