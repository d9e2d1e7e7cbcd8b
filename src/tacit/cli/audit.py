"""`tacit audit`: claimed against measured."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import BudgetOptions, EngineOptions, OutputOptions, game_names, split_numbers
from tacit.cli.shell import explain_stop, print_result, this_command
from tacit.errors import BadInput, count


def audit_command(
    budget: BudgetOptions,
    engine: EngineOptions,
    output: OutputOptions,
    method: Annotated[
        str | None, typer.Argument(help="A method, or module:mechanism; none lists them.", autocompletion=game_names)
    ] = None,
    objective: Annotated[str | None, typer.Argument(help="With objective: module:function.")] = None,
    data: Annotated[str | None, typer.Option(help="With objective: module:name of its records.")] = None,
    space: Annotated[Path | None, typer.Option(help="With objective: search space, TOML or JSON.")] = None,
    trials: Annotated[int | None, typer.Option(help="Runs on each data set, fixed in advance.")] = None,
    confidence: Annotated[float, typer.Option(help="That the bound holds.")] = 0.99,
    exact: Annotated[bool | None, typer.Option("--exact/--simulated", help="Release-grade or seeded noise.")] = None,
    rows: Annotated[Path | None, typer.Option(help="With outsource: your own table, CSV or Parquet.")] = None,
    columns: Annotated[str | None, typer.Option(help="With outsource: its columns, with commas between.")] = None,
    scale: Annotated[str | None, typer.Option(help="With outsource: public divisors of the columns.")] = None,
) -> None:
    """Measure what is promised: a lower bound on epsilon from outputs alone. Exit code 1 if it exceeds the claim.

    A mechanism of your own is a function of the side: mechanism(0) and mechanism(1), one output on each data set.

    \b
    Examples:
      tacit audit laplace
      tacit audit observed --trials 1000 --workers 2 --out audit
      tacit audit outsource --rows loans.csv --columns amount,rate,income \\
        --scale 9000,0.04,5e4
      tacit audit my_module:mechanism --epsilon 1
      tacit audit objective mymodel:losses --data mymodel:records \\
        --space space.toml
    """
    from tacit.audit.games import GAMES
    from tacit.audit.play import run_game
    from tacit.report.pages.audit import write

    seed, out, as_json = count("seed", engine.seed, least=0), output.out, output.as_json
    if method == "objective":
        return _objective(objective, data, space, trials, seed, as_json)
    if objective is not None or data is not None or space is not None:
        raise BadInput("a second name, --data and --space go with tacit audit objective")
    if method == "outsource":
        if out is not None:
            raise BadInput("tacit audit outsource prints its picture: no --out")
        return _outsource(rows, columns, scale, budget, seed, as_json)
    if rows is not None or columns is not None or scale is not None:
        raise BadInput("--rows, --columns and --scale go with tacit audit outsource")
    if method is None:
        games = {name: make() for name, make in GAMES.items()}
        known = [{"method": name, "claim": str(g.claim or "none"), "about": g.about} for name, g in games.items()]
        about = "whether each loss of yours depends on its own record alone: mymodel:losses --data --space"
        known.append({"method": "objective", "claim": "none", "about": about})
        known.append(
            {"method": "outsource", "claim": "none", "about": "the known-row attack on a table of yours: --rows"}
        )
        wide = [max(len(k[part]) for k in known) for part in ("method", "claim")]
        shown = "\n".join(f"{k['method']:{wide[0]}}  {k['claim']:{wide[1]}}  {k['about']}" for k in known)
        return print_result(known, as_json, shown)
    claim = budget.optional_budget()
    if claim is not None and ":" not in method:
        raise BadInput(f"the claim of {method!r} is its own; --epsilon, --rho and --mu are for module:mechanism")
    with ExitStack() as stack:
        stack.enter_context(explain_stop(_explain_leftovers(out)))
        audit = run_game(
            method,
            trials,
            claim=claim,
            confidence=confidence,
            exact=exact,
            seed=seed,
            out=out,
            executor=stack.enter_context(engine.pool()),
            progress=output.progress,
        )
    files = [str(path) for path in write(audit, out)] if out is not None else []
    document = {**audit.to_json(), **({"files": files} if files else {})}
    print_result(document, as_json, str(audit) + "".join(f"\nwrote {file}" for file in files))
    if audit.verdict == "BROKEN":
        raise typer.Exit(1)


def _objective(
    spec: str | None, data: str | None, space: Path | None, trials: int | None, seed: int, as_json: bool
) -> None:
    """Single records of the user's own data are replaced: no other loss may move."""
    import sys

    from tacit.audit.premises import check_objective, reading, takes_records
    from tacit.objective import import_object
    from tacit.space import Space

    if spec is None or data is None or space is None:
        raise BadInput("tacit audit objective needs module:function, --data module:name and --space FILE")
    function, records = import_object(spec), import_object(data, "records", "mymodel:records")
    module, _, name = data.partition(":")
    asked = function if takes_records(function) else reading(sys.modules[module], name, function)
    check = check_objective(asked, records, Space.read(space), replacements=20 if trials is None else trials, seed=seed)
    print_result(check.to_json(), as_json, str(check))
    if not check.holds:
        raise typer.Exit(1)


def _outsource(
    rows: Path | None, columns: str | None, scale: str | None, budget: BudgetOptions, seed: int, as_json: bool
) -> None:
    """The known-row attack on a user's own table."""
    from tacit.audit.games.outsourced import attack_table, format_attack
    from tacit.outsource.curator.rows import numbers, read

    if rows is None:
        raise BadInput("tacit audit outsource needs --rows FILE: the table whose publication is to be tried")
    table = read(rows, [c.strip() for c in columns.split(",")] if columns else None)
    size = table.shape
    claim = (replace(budget, epsilon=3.0) if budget.epsilon is None else budget).budget(size[0])
    if claim.notion != "approximate":
        raise BadInput(f"a table is published under (epsilon, delta), got {claim}")
    epsilon, delta = claim.amount, claim.delta
    recoveries = attack_table(numbers(table), epsilon=epsilon, delta=delta, scale=split_numbers(scale), seed=seed)
    document = {"rows": size[0], "columns": size[1], "epsilon": epsilon, "delta": delta}
    print_result({**document, "attack": [asdict(a) for a in recoveries]}, as_json, format_attack(recoveries, size))


def _explain_leftovers(out: Path | None) -> str:
    """What an end before the end leaves, and how to go on."""
    if out is None:
        return "Nothing is kept: give --out FOLDER to be able to go on"
    return f"The runs made so far are kept in {out}. To go on: {this_command()}"
