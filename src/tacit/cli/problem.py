"""What `tacit tune` searches: an objective of the user's own, or a shipped model of a table."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from tacit.cli.options import MetricOptions, OutputOptions, TableOptions, complete, model_names
from tacit.cli.shell import ask_person
from tacit.errors import BadInput, TaskUnclear

if TYPE_CHECKING:
    from tacit.data.metrics.metric import Metric
    from tacit.methods.registry import Method
    from tacit.privacy.guarantee import Budget

NO_BOUNDS = (
    "--bounds LOW HIGH must say within which bounds one loss is counted, such as 0 and {most}the largest error that "
    "matters, chosen without looking at the data; or --task classification, or another --metric. Nothing was spent"
)
LARGE = 1_000_000  # rows of Parquet: a table of more is read in parts
TASKS, DIRECTIONS = complete("classification", "regression"), complete("minimize", "maximize")


@dataclass(frozen=True)
class ObjectiveOptions:
    """What is minimised: a function of the user's, or a model of a table."""

    TITLE: ClassVar = "Objective"

    space: Annotated[Path | None, typer.Option(help="Search space in TOML or JSON; FILE#TABLE for a part.")] = None
    records: Annotated[int | None, typer.Option(help="Number of private records.")] = None
    train: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION", help="Makes a model of parameters; the objective then scores --table in parts."
        ),
    ] = None
    direction: Annotated[str, typer.Option(help="minimize or maximize.", autocompletion=DIRECTIONS)] = "minimize"
    model: Annotated[str, typer.Option(help="Of a table: {models}.", autocompletion=model_names)] = "linear"
    task: Annotated[
        str | None, typer.Option(help="Of a table: classification or regression.", autocompletion=TASKS)
    ] = None
    validation: Annotated[float, typer.Option(help="Share of a table's rows that validate, and are protected.")] = 0.5


@dataclass(frozen=True)
class Problem:
    """What a search is about: an objective, its space, and the public numbers of its records."""

    function: Any
    space: Any
    records: Any
    bounds: tuple[float, float]
    of_table: bool = False


def problem_of_function(
    objective: str | None, own: ObjectiveOptions, table: TableOptions, bounds: tuple[float, float] | None
) -> Problem:
    """An objective of the user's own, on so many records or on the parts of a table."""
    from tacit.objective import import_object
    from tacit.run.shards import Shards
    from tacit.space import Space

    records: Any = own.records
    if own.train is not None and table.table is not None:
        records = Shards.from_parquet(table.table)
    if objective is None:
        raise BadInput("give an objective as module:function, or a table with --table and --target")
    if own.space is None or records is None or bounds is None:
        raise BadInput("an objective needs --space FILE, --records N and --bounds LOW HIGH, all public")
    return Problem(import_object(objective), Space.read(own.space), records, bounds)


def problem_of_table(
    own: ObjectiveOptions,
    table: TableOptions,
    metric: MetricOptions,
    method: Method,
    seed: int,
    parts: bool,
    output: OutputOptions,
) -> Problem:
    """A shipped model of a table; a person is asked whether a target is classes or amounts, if there is one."""
    from tacit.data.header import remarks_on_names
    from tacit.space import Space

    measured, target = metric.find(), table.column
    if measured is not None and method.separate:
        from tacit.data.metrics.objective import one_matching

        measured = one_matching(measured)
    make, rows = read_rows(table, parts, output)
    output.remark(*remarks_on_names(table.file))

    def build(task: str | None) -> Any:
        return make(
            rows,
            target,
            own.model,
            schema=table.read_schema(),
            task=task,
            validation=own.validation,
            seed=seed,
            bounds=metric.bounds,
            metric=measured,
            person=table.person,
            drop=table.drop or [],
            name=table.file.name,
        )

    try:
        function = build(own.task)
    except TaskUnclear as unclear:
        if output.as_json or not sys.stdin.isatty():
            raise
        output.remark(str(unclear))
        function = build(ask_person("classification or regression", "classification"))
    refuse_no_bounds(function.metric, target)
    space = function.space if own.space is None else Space.read(own.space)
    if own.space is not None:
        function.refuse_space(space)
    return Problem(function, space, function.facts.records, function.facts.bounds, of_table=True)


def refuse_no_bounds(metric: Metric, target: str) -> None:
    """Refuse amounts whose losses have no public bounds."""
    if metric.bounds is None:
        rule = NO_BOUNDS.format(most="the square of " if metric.power == 2 else "")
        raise BadInput(f"{target!r} is taken for amounts to regress on, by {metric.name} errors. {rule}")


def read_rows(table: TableOptions, parts: bool, output: OutputOptions) -> tuple[Any, Any]:
    """What makes an objective of a table, and its rows: all in memory, or files that are read in parts."""
    from tacit.data.files import count_rows, list_files, read_table
    from tacit.run.progress import progress_bar

    files = list_files(table.file)
    rows = count_rows(files)
    if parts or (rows or 0) > LARGE:
        from tacit.integrations.table_parts import table_shards

        if rows is None:
            raise BadInput("a table is scored in parts from .parquet files: write it as Parquet first")
        return table_shards, files
    from tacit.integrations.table import table_objective

    shown = output.progress and table.person is None  # how many rows persons have is private
    with progress_bar("reading rows", None, wanted=shown) as tell:
        return table_objective, read_table(table.file, table.read_schema(), tell=tell)


def remarks_on_table(function: Any, table: TableOptions, method: Method, budget: Budget | None) -> list[str]:
    """What a person should know of a table before a search: what is protected, and what looks odd."""
    from tacit.integrations.table import PERSONS, PROTECTED

    pure = method.notions[:1] == ("pure",)
    names = [name.remark(budget, pure=pure, ask_person=table.person is None) for name in function.identifiers]
    leaks = [leak.remark(str(table.target)) for leak in function.target_leaks]
    whose = PROTECTED if table.person is None else PERSONS
    return [whose, *function.describe(), function.baseline(), *names, *leaks]


def import_train(train: str | None) -> Any:
    """The function that makes a model of parameters, if one is named."""
    from tacit.objective import import_object

    return None if train is None else import_object(train, "train function", "mymodel:train")
