"""`tacit init`: options and a few questions, and a tacit.toml that answers them for every later command."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import config
from tacit.cli.options import (
    ALGORITHMS,
    AsJson,
    BudgetOptions,
    LedgerOptions,
    MetricOptions,
    TableOptions,
    complete,
    given_values,
    model_names,
)
from tacit.cli.problem import ObjectiveOptions
from tacit.cli.questions import Asker, read_float, read_interval, read_whole
from tacit.cli.shell import print_result, remark
from tacit.errors import BadInput, choice, did_you_mean, positive
from tacit.files import Json, write_file
from tacit.methods.registry import AUTO, METHODS

GOALS = {"tune": "tacit tune", "train": "tacit train", "pareto": "tacit pareto"}
TRIALS = 30
COMMENTED = ("tune", "train", "curator.serve")
HELD = 0.5  # the share of a table's rows that `tacit tune` validates on, and protects
HEAD = """\
# Options of tacit, read by every command in this folder: `{verb}` needs no more than this.
# The command line beats the environment, which beats this file. No secrets here: they are refused.
"""
ABOUT = {  # what is said above a table of the file
    "train": "every row is protected",
    "tune": 'a line ledger = "ledger.db" charges a ledger, which tacit ledger open makes',
    "tune.space": "the hyperparameters that the function takes: change them to yours. Others look like\n"
    '# rate = {low = 1e-4, high = 1.0, log = true}, depth = {low = 1, high = 12}, loss = ["hinge", "log"]',
    "pareto": "the front is NOT private: it is measured on the data, for people who may see them",
    "curator.serve": 'a line scale = "9000,0.04,5e4" gives public divisors; after it a row may move by norm 1',
    "ledger.open": "what all runs on these data may spend together; fixed when the ledger is opened",
}
WHY = {  # what is said beside a line of it
    "target": "half of the rows train the model and are NOT protected; the other half are, as n records",
    "bounds": "losses outside are clipped; must not come from the data",
    "epsilon": "what is concluded with probability p has at most e^epsilon p + delta, had one record been another",
    "delta": "min(1e-6, 1/(10 n)) for n records is usual",
    "trials": "fixed in advance: more trials, more noise in each",
    "evaluate": "or module:function of a row, or - for a person who types",
}


def init_command(
    ctx: typer.Context,
    table: TableOptions,
    own: ObjectiveOptions,
    metric: MetricOptions,
    budget: BudgetOptions,
    ledger: LedgerOptions,
    goal: Annotated[str | None, typer.Option(help="tune, train or pareto.", autocompletion=complete(*GOALS))] = None,
    objective: Annotated[str | None, typer.Option(help="module:function instead of a table.")] = None,
    algorithm: Annotated[
        str, typer.Option(help="pareto: a shipped one.", autocompletion=complete(*ALGORITHMS))
    ] = ALGORITHMS[0],
    method: Annotated[str, typer.Option(help="How to tune.", autocompletion=complete(AUTO, *METHODS))] = AUTO,
    out: Annotated[str | None, typer.Option(help="Folder for what comes out.")] = None,
    file: Annotated[Path, typer.Option(help="File to write.")] = Path(config.FILE),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Take the default of every question that has one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write options to tacit.toml, asking for what is missing, so that later commands need none.

    Of a table only the header is read. A curator, who publishes a table and answers for its rows, begins with:
    tacit curator init

    \b
    Examples:
      tacit init
      tacit init --table patients.csv --target readmitted --records 5000 \\
        --epsilon 1 --yes && tacit tune
    """
    if file.exists() and not force:
        raise BadInput(f"{file} is there already and was left as it is; give --force to replace it, or --file NAME")
    ask = Asker(yes, sys.stdin.isatty() and not as_json)
    goal = ask(
        "goal", f"What do you want to do: {', '.join(GOALS)}", "tune", goal, lambda g: choice("goal", g, tuple(GOALS))
    )
    verb, source = GOALS[goal], _ask_source(ask, table.table, objective, goal)
    if isinstance(source, Path):
        target = ask("target", "Column to predict", None, table.target, lambda name: _check_column(source, name))
        table = replace(table, table=source, target=target)
    needed = goal == "tune" and table.table is None
    question = "How many records has it" + ("" if needed else " (0: not to be said)")
    n = ask("records", question, None if needed else 0, own.records, lambda n: read_whole("records", n, int(needed)))
    n = round(n * HELD) if goal == "tune" and not needed else n
    if goal != "pareto" and (budget.epsilon, budget.rho, budget.mu) == (None, None, None):
        epsilon = ask("epsilon", "Epsilon", 1.0, None, lambda given: positive("epsilon", read_float(given)))
        budget = replace(budget, epsilon=epsilon)
    if needed or own.task == "regression":
        bounds = ask(
            "bounds", "Public bounds LOW,HIGH of a loss", "0,1" if needed else None, metric.bounds, read_interval
        )
        metric = replace(metric, bounds=bounds)
    spent = budget.budget(n)
    price = given_values(budget) | ({"delta": spent.delta} if spent.notion == "approximate" else {})
    values = given_values(table) | given_values(metric)
    tables: dict[str, Json] = {goal: values}
    if goal == "pareto":
        named = choice("algorithm", algorithm, ALGORITHMS) if table.table else source
        values |= {"algorithm": named, "delta": spent.delta, "trials": 100, "out": out or "front"}
    elif goal == "train":
        values |= price | given_values(ledger) | {"out": out or "release"}
    else:
        choice("method", method, (AUTO, *METHODS)), choice("model", own.model, tuple(model_names()))
        values |= given_values(replace(own, records=None)) | (
            {} if table.table else {"objective": source, "records": n}
        )
        values |= price | given_values(ledger) | {"trials": TRIALS, "method": method, "out": out or "release"}
        tables |= {"tune.space": {"x": {"low": 0.0, "high": 1.0}}} if needed and own.space is None else {}
    paid = goal != "pareto" and ledger.ledger is not None
    if paid:
        tables["ledger.open"] = {"name": ledger.ledger_name, "ledger": ledger.ledger, **price}
        tables["verify"] = {"ledger": ledger.ledger}
    text = HEAD.format(verb=verb) + "".join(format_table(name, values) for name, values in tables.items())
    config.parse(file, text, ctx.find_root().command)  # what is written can be read
    write_file(file, text)
    if table.table is not None:
        remark(f"of {source} only the header was read")
    if goal == "tune" and n:
        _warn_of_noise(n, metric.bounds or (0.0, 1.0), spent, method)
    steps = ["tacit ledger open"] * paid + [verb]
    document = {"file": str(file), "goal": goal, "next": steps}
    print_result(document, as_json, f"wrote {file}. Read it, then run: {', then '.join(steps)}")


def _ask_source(ask: Asker, table: Path | None, objective: str | None, goal: str) -> Path | str:
    """Where the private records are: in a table, or behind module:function."""
    from tacit.data.header import read_header

    if table is not None and objective is not None:
        raise BadInput("give --table or --objective, not both")
    rows = goal == "train"

    def check(given: Any) -> Path | str:
        text = str(given)
        if table is not None or ":" not in text or Path(text).exists():
            read_header(Path(text))  # says so if it cannot be read
            return Path(text)
        if rows:
            raise BadInput(f"{goal} needs a table of rows, got {text!r}: give --table FILE")
        return text

    question = "Where are the records: a table (CSV or Parquet)" + ("" if rows else " or module:function")
    source: Path | str = ask("table" if rows else "table or --objective", question, None, table or objective, check)
    return source


def _check_column(table: Path, name: str) -> str:
    """The name, if the header has it. Other names are not shown: a file without a header begins with a record."""
    from tacit.data.header import read_header

    known = read_header(table)
    if known is not None and name not in known:
        meant = did_you_mean(name, known) or "; the first line of the file must name the columns"
        raise BadInput(f"{table} has no column {name!r} among its {len(known)}{meant}")
    return name


def _warn_of_noise(n: int, bounds: tuple[float, float], budget: Any, method: str) -> None:
    """Say now what `tacit tune` would refuse."""
    from tacit.methods.auto import AMONG, ASSUMED, is_refused
    from tacit.methods.forecast import PlanInput

    case = PlanInput(n, TRIALS, 1, budget, ASSUMED * (bounds[1] - bounds[0]), bounds)
    asked = [m for m in (AMONG if method == AUTO else (method,)) if budget.notion in METHODS[m].notions]
    if asked and all(is_refused(m, case) for m in asked):
        remark(
            f"tacit tune will refuse this as it stands: {n} records and this budget give noise that drowns the "
            "differences between settings. Use more records or a larger budget, or accept it with --yes"
        )


def format_table(name: str, values: Json) -> str:
    """A table of the file, with what is said above it and beside its lines."""
    why = {k: v for k, v in WHY.items() if name == "tune" or k != "target"} if name in COMMENTED else {}
    shown = name in ABOUT and "scale" not in values  # what is there needs no hint
    lines = ["", *([f"# {ABOUT[name]}"] if shown else []), f"[{name}]"]
    for key, value in values.items():
        lines.append(f"{key} = {_format_value(value)}" + (f"  # {why[key]}" if key in why else ""))
    return "\n".join([*lines, ""])


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {_format_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_format_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else json.dumps(str(value), ensure_ascii=False)
