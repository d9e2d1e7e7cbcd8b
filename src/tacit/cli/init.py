"""`tacit init`: a few questions, and a tacit.toml that answers them for every later command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import config
from tacit.cli.asking import Asker, read_float, read_interval, read_whole
from tacit.cli.options import ALGORITHMS, MODELS, AsJson, algorithm_names, complete
from tacit.cli.shell import print_result, remark
from tacit.errors import BadInput, choice, did_you_mean, interval, positive, probability
from tacit.files import write_file
from tacit.methods.registry import AUTO, METHODS

GOALS = {"tune": "tacit tune", "train": "tacit train", "pareto": "tacit pareto"}
TASKS = ("classification", "regression")
NONE, TRIALS = "-", 30
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
    goal: Annotated[str | None, typer.Option(help="tune, train or pareto.", autocompletion=complete(*GOALS))] = None,
    table: Annotated[Path | None, typer.Option(help="CSV or Parquet table. Only its header is read.")] = None,
    objective: Annotated[str | None, typer.Option(help="module:function instead of a table.")] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict.")] = None,
    model: Annotated[str | None, typer.Option(help=", ".join(MODELS) + ".", autocompletion=complete(*MODELS))] = None,
    task: Annotated[str | None, typer.Option(help=" or ".join(TASKS) + ".", autocompletion=complete(*TASKS))] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="pareto: a shipped one.", autocompletion=algorithm_names)
    ] = None,
    records: Annotated[int | None, typer.Option(help="Rows of the table, or records of the objective; public.")] = None,
    bounds: Annotated[tuple[float, float] | None, typer.Option(help="Public bounds of a loss, such as 0 1.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of the whole search or table.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Its delta; min(1e-6, 1/(10 n)) for n records if left out.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="How to tune.", autocompletion=complete(AUTO, *METHODS))] = None,
    ledger: Annotated[str | None, typer.Option(help="Ledger that pays, a path or URL; - for none.")] = None,
    ledger_name: Annotated[str | None, typer.Option(help="Name of the ledger in it.")] = None,
    out: Annotated[str | None, typer.Option(help="Folder for what comes out.")] = None,
    file: Annotated[Path, typer.Option(help="File to write.")] = Path(config.FILE),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Take the default of every question that has one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write tacit.toml by asking, so that later commands need no options. Of a table it reads the header only.

    A curator, who publishes a table and answers for its rows, begins with: tacit curator init

    \b
    Examples:
      tacit init
      tacit init --table patients.csv --target readmitted --records 5000 \\
        --epsilon 1 --yes && tacit tune
    """
    if file.exists() and not force:
        raise BadInput(f"{file} is there already and was left as it is; give --force to replace it, or --file NAME")
    ask = Asker(yes, sys.stdin.isatty() and not as_json)
    goal = ask("goal", f"What do you want to do: {', '.join(GOALS)}", "tune", goal, _one_of("goal", tuple(GOALS)))
    source = _ask_source(ask, table, objective, goal)
    rows = isinstance(source, Path)
    if rows:
        target = ask("target", "Column to predict", None, target, lambda name: _check_column(Path(source), name))
    needed = not rows and goal == "tune"
    question = "How many records has it" + ("" if needed else " (0: not to be said)")
    n = ask("records", question, None if needed else 0, records, lambda n: read_whole("records", n, int(needed)))
    n = round(n * HELD) if rows and goal == "tune" else n
    price = _ask_price(ask, goal, n, epsilon, delta)
    payer: dict[str, Any] = {}
    if goal != "pareto":
        paid = ask("ledger", f"Ledger that pays, such as ledger.db ({NONE}: none)", NONE, ledger)
        name = ask("ledger-name", "Name of the ledger", "default", ledger_name) if paid != NONE else ""
        payer = {"ledger": paid, "ledger-name": name} if name else {}
    tables: dict[str, dict[str, Any]]
    if goal == "tune":
        about: dict[str, Any] = _ask_model(ask, task, model) if rows else {"objective": source, "records": n}
        about = {"table": source, "target": target, **about} if rows else about
        limits = _ask_bounds(ask, bounds, about.get("task"))
        how = choice("method", method or AUTO, (AUTO, *METHODS))
        about |= {**limits, **price, **payer, "trials": TRIALS, "method": how, "out": out or "release"}
        tables = {"tune": about} | ({} if rows else {"tune.space": {"x": {"low": 0.0, "high": 1.0}}})
    elif goal == "train":
        about = {"table": source, "target": target, **price, **payer, "out": out or "release"}
        tables = {"train": about}
    else:
        known = _one_of("algorithm", ALGORITHMS)
        shipped = ask("algorithm", "Algorithm that is shipped", "logistic_sgd", algorithm, known) if rows else source
        about = {"algorithm": shipped} | ({"table": source, "target": target} if rows else {})
        tables = {"pareto": about | {"delta": price["delta"], "trials": 100, "out": out or "front"}}
    if payer:
        tables["ledger.open"] = {"name": payer["ledger-name"], "ledger": payer["ledger"], **price}
        tables["verify"] = {"ledger": payer["ledger"]}
    text = HEAD.format(verb=GOALS[goal]) + "".join(format_table(name, values) for name, values in tables.items())
    config.parse(file, text, ctx.find_root().command)  # what is written can be read
    write_file(file, text)
    if rows:
        remark(f"of {source} only the header was read")
    if goal == "tune" and n:
        _warn_of_noise(n, tables["tune"].get("bounds", (0.0, 1.0)), price, how)
    steps = ["tacit ledger open"] * bool(payer) + [GOALS[goal]]
    document = {"file": str(file), "goal": goal, "next": steps}
    print_result(document, as_json, f"wrote {file}. Read it, then run: {', then '.join(steps)}")


def _one_of(name: str, allowed: tuple[str, ...]) -> Callable[[str], str]:
    return lambda value: choice(name, value, allowed)


def _ask_source(ask: Any, table: Path | None, objective: str | None, goal: str) -> Path | str:
    """Where the private records are: in a table, or behind module:function."""
    from tacit.data.header import read_header

    if table is not None and objective is not None:
        raise BadInput("give --table or --objective, not both")
    rows = goal == "train"
    kind = "a table (CSV or Parquet)" if rows else "a table (CSV or Parquet) or module:function"
    option = "table" if rows else "table or --objective"

    def check(given: Any) -> Path | str:
        text = str(given)
        if table is not None or ":" not in text or Path(text).exists():
            read_header(Path(text))  # says so if it cannot be read
            return Path(text)
        if rows:
            raise BadInput(f"{goal} needs a table of rows, got {text!r}: give --table FILE")
        return text

    found: Path | str = ask(option, f"Where are the records: {kind}", None, table or objective, check)
    return found


def _check_column(table: Path, name: str) -> str:
    """The name, if the header has it. Other names are not shown: a file without a header begins with a record."""
    from tacit.data.header import read_header

    known = read_header(table)
    if known is not None and name not in known:
        meant = did_you_mean(name, known) or "; the first line of the file must name the columns"
        raise BadInput(f"{table} has no column {name!r} among its {len(known)}{meant}")
    return name


def _ask_price(ask: Any, goal: str, n: int, epsilon: float | None, delta: float | None) -> dict[str, float]:
    from tacit.privacy.guarantee import default_delta

    why = "min(1e-6, 1/(10 n))" + (f" for the {n} records protected" if n else "")
    if goal != "pareto":
        epsilon = ask("epsilon", "Epsilon", 1.0, epsilon, lambda given: positive("epsilon", read_float(given)))
    part = ask(
        "delta", f"Delta ({why})", default_delta(n), delta, lambda given: probability("delta", read_float(given))
    )
    return {"epsilon": epsilon or 1.0, "delta": part}


def _ask_model(ask: Any, task: str | None, model: str | None) -> dict[str, Any]:
    task = ask("task", "Task: classification or regression", TASKS[0], task, _one_of("task", TASKS))
    model = ask("model", f"Model: {', '.join(MODELS)}", MODELS[0], model, _one_of("model", MODELS))
    return {"task": task, "model": model}


def _ask_bounds(ask: Any, bounds: tuple[float, float] | None, task: str | None) -> dict[str, Any]:
    """Public bounds of a loss; a classification has its own."""
    if bounds is None and task != TASKS[0]:
        of = "of the squared error, from public knowledge" if task else "of a loss, public"
        bounds = ask("bounds", f"Bounds LOW,HIGH {of}", None if task else "0,1", None, read_interval)
    return {} if bounds is None else {"bounds": interval("bounds", bounds)}


def _warn_of_noise(n: int, bounds: tuple[float, float], price: dict[str, float], method: str) -> None:
    """Say now what `tacit tune` would refuse."""
    from tacit.methods.auto import AMONG, ASSUMED, is_refused
    from tacit.methods.case import Case
    from tacit.privacy.guarantee import Budget

    budget = Budget.approximate(**price)
    case = Case(n, TRIALS, 1, budget, ASSUMED * (bounds[1] - bounds[0]), bounds)
    asked = [m for m in (AMONG if method == AUTO else (method,)) if budget.notion in METHODS[m].notions]
    if asked and all(is_refused(m, case) for m in asked):
        remark(
            f"tacit tune will refuse this as it stands: {n} records and this budget give noise that drowns the "
            "differences between settings. Use more records or a larger budget, or accept it with --yes"
        )


def format_table(name: str, values: dict[str, Any]) -> str:
    why = {k: v for k, v in WHY.items() if name == "tune" or k != "target"} if name in COMMENTED else {}
    said = name in ABOUT and "scale" not in values  # what is there needs no hint
    lines = ["", *([f"# {ABOUT[name]}"] if said else []), f"[{name}]"]
    for key, value in values.items():
        lines.append(f"{key} = {_format_value(value)}" + (f"  # {why[key]}" if key in why else ""))
    return "\n".join([*lines, ""])


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {_format_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_format_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else json.dumps(str(value), ensure_ascii=False)
