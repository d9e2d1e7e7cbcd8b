"""`tacit init`: a few questions, and a tacit.toml that answers them for every later command."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import config as configuration
from tacit.cli.options import MODELS, algorithms, words
from tacit.cli.shell import AsJson, asked, remark
from tacit.errors import BadInput, choice, count, interval, positive, probability
from tacit.methods.registry import METHODS

GOALS = ("tune", "pareto", "outsource")
TASKS = ("classification", "regression")
USUAL_DELTA = 1e-6
LONGEST_HEADER = 1 << 20
NONE = "-"
HELD = 0.5  # the share of a table's rows that `tacit tune` validates on, and protects


def init_command(
    ctx: typer.Context,
    goal: Annotated[str | None, typer.Option(help="tune, pareto or outsource.", autocompletion=words(*GOALS))] = None,
    table: Annotated[Path | None, typer.Option(help="CSV or Parquet table. Only its header is read.")] = None,
    objective: Annotated[str | None, typer.Option(help="module:function instead of a table.")] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict; outsource: column to answer with.")] = None,
    model: Annotated[str | None, typer.Option(help=", ".join(MODELS) + ".", autocompletion=words(*MODELS))] = None,
    task: Annotated[str | None, typer.Option(help=" or ".join(TASKS) + ".", autocompletion=words(*TASKS))] = None,
    algorithm: Annotated[str | None, typer.Option(help="pareto: a shipped one.", autocompletion=algorithms)] = None,
    records: Annotated[int | None, typer.Option(help="Rows of the table, or records of the objective; public.")] = None,
    bounds: Annotated[tuple[float, float] | None, typer.Option(help="Public bounds of a loss, such as 0 1.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of the whole search or table.")] = None,
    delta: Annotated[float | None, typer.Option(help="Its delta; 1/(10 n) for n records if left out.")] = None,
    method: Annotated[str | None, typer.Option(help="How to tune.", autocompletion=words(*METHODS))] = None,
    ledger: Annotated[str | None, typer.Option(help="Ledger that pays, a path or URL; - for none.")] = None,
    ledger_name: Annotated[str | None, typer.Option(help="Name of the ledger in it.")] = None,
    out: Annotated[str | None, typer.Option(help="Folder for what comes out.")] = None,
    file: Annotated[Path, typer.Option(help="File to write.")] = Path(configuration.FILE),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Take the default of every question that has one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write tacit.toml by asking, so that later commands need no options. Of a table it reads the header only.

    \b
    Examples:
      tacit init
      tacit init --table patients.csv --target readmitted --records 5000 \\
        --epsilon 1 --yes && tacit tune
    """
    if file.exists() and not force:
        raise BadInput(f"{file} is there already and was left as it is; give --force to replace it, or --file NAME")
    ask = Asking(yes, sys.stdin.isatty() and not as_json)
    goal = choice("goal", ask("goal", "What do you want to do: tune, pareto or outsource", "tune", goal), GOALS)
    given = {"model": model, "task": task, "method": method, "algorithm": algorithm, "bounds": bounds}
    where = _where(ask, table, objective, goal)
    if where.table is not None:
        given["target"] = _column(where.table, ask("target", f"Column to {_verb(goal)}", None, target))
    needed = where.table is None and goal == "tune"
    question = "How many records has it" + ("" if needed else " (0: not to be said)")
    n = count("records", int(ask("records", question, None if needed else 0, records)), least=int(needed))
    protected = round(n * HELD) if where.table is not None and goal == "tune" else n
    price = _price(ask, goal, protected, epsilon, delta)
    payer = (
        NONE if goal == "pareto" else ask("ledger", f"Ledger that pays, such as ledger.db ({NONE}: none)", NONE, ledger)
    )
    name = ask("ledger-name", "Name of the ledger", "default", ledger_name) if payer != NONE else "default"
    text = MAKERS[goal](ask, where, n, price, (None if payer == NONE else payer, name), out, given)
    configuration.parsed(file, text, ctx.find_root().command)  # what is written can be read
    _write(file, text)
    if where.table is not None:
        remark(f"of {where.table} only the header was read")
    steps = ["tacit ledger open"] * (payer != NONE) + [{"outsource": "tacit curator serve"}.get(goal, f"tacit {goal}")]
    if goal == "tune" and protected:
        _warned(protected, bounds or (0.0, 1.0), price)
    if as_json:
        return typer.echo(json.dumps({"file": str(file), "goal": goal, "next": steps}, indent=1))
    typer.echo(f"wrote {file}. Read it, then run: {', then '.join(steps)}")


@dataclass(frozen=True)
class Where:
    """Where the private records are: in a table or behind a function."""

    table: Path | None
    objective: str | None


class Asking:
    """An answer from the options, from the person at the keyboard, or by default."""

    def __init__(self, yes: bool, person: bool) -> None:
        self.yes, self.person = yes, person

    def __call__(self, option: str, question: str, default: Any, given: Any) -> Any:
        if given is not None:
            return given
        if self.yes and default is not None:
            return default
        if not self.person:
            remedy = "" if default is None or self.yes else f", or --yes to take {default}"
            raise BadInput(f"nobody can be asked for --{option} here: give it{remedy}. {question}?")
        return asked(question, default)


def _where(ask: Asking, table: Path | None, objective: str | None, goal: str) -> Where:
    if table is not None and objective is not None:
        raise BadInput("give --table or --objective, not both")
    kind = (
        "the table to publish (CSV or Parquet)"
        if goal == "outsource"
        else "a table (CSV or Parquet) or module:function"
    )
    text = str(
        ask(
            "table" if goal == "outsource" else "table or --objective",
            f"Where are the records: {kind}",
            None,
            table or objective,
        )
    )
    if table is None and ":" in text and not Path(text).exists():
        if goal == "outsource":
            raise BadInput(f"outsourcing needs a table of rows, got {text!r}: give --table FILE")
        return Where(None, text)
    return Where(Path(text), None)


def _verb(goal: str) -> str:
    return "answer with" if goal == "outsource" else "predict"


def _column(table: Path, name: str) -> str:
    """The name, if the header has it. Other names are not shown: a file without a header begins with a record."""
    import difflib

    known = header(table)
    if known is not None and name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "; the first line of the file must name the columns"
        raise BadInput(f"{table} has no column {name!r} among its {len(known)}{meant}")
    return name


def header(table: Path) -> list[str] | None:
    """The names of the columns; None where they cannot be had without reading more."""
    import csv

    try:
        if table.suffix.lower() == ".parquet":
            try:
                from pyarrow import parquet
            except ImportError:
                return None
            return list(parquet.read_schema(table).names)
        descriptor = os.open(table, os.O_RDONLY)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"the table {table} cannot be read: {getattr(error, 'strerror', None) or 'not Parquet'}"
        ) from None
    try:  # byte by byte, so that not even a buffer holds a record
        line = bytearray()
        while len(line) < LONGEST_HEADER and (byte := os.read(descriptor, 1)) not in (b"", b"\n"):
            line += byte
    except OSError as error:
        raise BadInput(f"the table {table} cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)
    if line[:2] == b"\x1f\x8b":  # compressed
        return None
    text = line.decode("utf-8-sig", errors="replace").rstrip("\r")
    return next(csv.reader([text], delimiter="\t" if table.suffix.lower() == ".tsv" else ","), [])


def _price(ask: Asking, goal: str, n: int, epsilon: float | None, delta: float | None) -> tuple[float, float]:
    usual = float(f"{_floored(1 / (10 * n)):.0e}") if n else USUAL_DELTA
    why = f"1/(10 n) for the {n} records protected" if n else "a tenth of one in the number of records, or less"
    epsilon = 1.0 if goal == "pareto" else positive("epsilon", float(ask("epsilon", "Epsilon", 1.0, epsilon)))
    return epsilon, probability("delta", float(ask("delta", f"Delta ({why})", usual, delta)))


def _floored(value: float) -> float:
    """Rounded down to one digit: delta must not grow by rounding."""
    digits, _, power = f"{value:.15e}".partition("e")
    return float(f"{digits[0]}e{power}")


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}") from None


def _warned(n: int, bounds: tuple[float, float], price: tuple[float, float]) -> None:
    """Say now what `tacit tune` would refuse."""
    from tacit.methods.observed import Terms
    from tacit.methods.search import refuse_loud_noise
    from tacit.privacy.guarantee import Budget

    try:
        refuse_loud_noise(Terms(n, bounds, Budget.approximate(*price), TRIALS), False)
    except BadInput as error:
        remark(f"tacit tune will refuse this as it stands: {error}")


TRIALS = 30


def _tune(ask: Asking, where: Where, n: int, price: Any, payer: Any, out: str | None, given: dict[str, Any]) -> str:
    lines = [HEAD.format(goal="tune"), "[tune]"]
    bounds = given["bounds"]
    if where.table is not None:
        task = choice("task", ask("task", "Task: classification or regression", TASKS[0], given["task"]), TASKS)
        model = choice("model", ask("model", f"Model: {', '.join(MODELS)}", MODELS[0], given["model"]), MODELS)
        lines += [_set("table", where.table), _set("target", given["target"]), _set("task", task), _set("model", model)]
        lines += ["# half of the rows train the model and are NOT protected; the other half are, as n records"]
        if task == TASKS[1]:
            bounds = bounds or _two(
                ask("bounds", "Bounds LOW,HIGH of the squared error, from public knowledge", None, None)
            )
    else:
        bounds = bounds or _two(ask("bounds", "Public bounds LOW,HIGH of a loss", "0,1", None))
        lines += [_set("objective", where.objective), _set("records", n)]
    if bounds is not None:
        low, high = interval("bounds", bounds)
        lines += [f"bounds = [{low!r}, {high!r}]  # losses outside are clipped; must not come from the data"]
    method = choice("method", given["method"] or "observed", tuple(METHODS))
    lines += [*_paid(price, payer), _set("trials", TRIALS) + "  # fixed in advance: more trials, more noise in each"]
    lines += [_set("method", method), _set("out", out or "release")]
    if where.table is None:
        lines += ["", "# the hyper-parameters that the function takes: change them to yours", "[tune.space]"]
        lines += ["x = {low = 0.0, high = 1.0}", "# rate = {low = 1e-4, high = 1.0, log = true}"]
        lines += ["# depth = {low = 1, high = 12}", '# loss = ["hinge", "log"]']
    return "\n".join([*lines, *_opened(price, payer), *_verified(payer)]) + "\n"


def _pareto(ask: Asking, where: Where, n: int, price: Any, payer: Any, out: str | None, given: dict[str, Any]) -> str:
    lines = [HEAD.format(goal="pareto"), "[pareto]"]
    if where.table is None:
        lines += [_set("algorithm", where.objective)]
        lines[-1] = lines[-1] + "  # module:object"
    else:
        name = ask("algorithm", "Algorithm that is shipped", "logistic_sgd", given["algorithm"])
        lines += [_set("algorithm", name), _set("table", where.table), _set("target", given["target"])]
    lines += ["# the front is NOT private: it is measured on the data, for people who may see them"]
    lines += [f"delta = {price[1]!r}  # the epsilons are stated at this delta", _set("trials", 100)]
    return "\n".join([*lines, _set("out", out or "front")]) + "\n"


def _outsource(
    ask: Asking, where: Where, n: int, price: Any, payer: Any, out: str | None, given: dict[str, Any]
) -> str:
    lines = [HEAD.format(goal="curator serve"), "[curator.serve]", _set("rows", where.table)]
    lines += [_set("evaluate", given["target"]) + "  # or module:function of a row, or - for a person who types"]
    lines += ['# scale = "9000,0.04,5e4"  # public divisors: a row moved by norm 1 after it is protected']
    lines += [*_paid(price, payer), _set("state", out or "curator"), _set("queries", 100)]
    lines += ["", "# tokens are never kept here: tacit curator grant NAME prints one"]
    for verb in ("grant", "revoke", "status"):
        lines += [f"[curator.{verb}]", _set("state", out or "curator")]
    return "\n".join([*lines, *_opened(price, payer)]) + "\n"


MAKERS = {"tune": _tune, "pareto": _pareto, "outsource": _outsource}
HEAD = """\
# Options of tacit, read by every command in this folder: `tacit {goal}` needs no more than this.
# The command line beats the environment, which beats this file. No secrets here: they are refused.
"""


def _set(key: str, value: Any) -> str:
    return (
        f"{key} = {value}"
        if isinstance(value, (int, float))
        else f"{key} = {json.dumps(str(value), ensure_ascii=False)}"
    )


def _paid(price: tuple[float, float], payer: tuple[str | None, str]) -> list[str]:
    lines = [f"epsilon = {price[0]!r}  # how far the odds on one record may move: a factor e^epsilon"]
    lines += [f"delta = {price[1]!r}  # but for an event of this probability; 1/(10 n) for n records is usual"]
    if payer[0] is None:
        return [*lines, '# ledger = "ledger.db"  # charge a ledger: open it with tacit ledger open']
    return [*lines, _set("ledger", payer[0]), _set("ledger-name", payer[1])]


def _opened(price: tuple[float, float], payer: tuple[str | None, str]) -> list[str]:
    if payer[0] is None:
        return []
    lines = ["", "# what all runs on these data may spend together; fixed when the ledger is opened", "[ledger.open]"]
    return [
        *lines,
        _set("name", payer[1]),
        _set("ledger", payer[0]),
        f"epsilon = {price[0]!r}",
        f"delta = {price[1]!r}",
    ]


def _verified(payer: tuple[str | None, str]) -> list[str]:
    return ["", "[verify]", _set("ledger", payer[0])] if payer[0] is not None else []


def _two(text: Any) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in str(text).replace(" ", ",").split(",") if part)
    except ValueError:
        raise BadInput(f"bounds must be two numbers LOW,HIGH, got {text!r}") from None
    return low, high
