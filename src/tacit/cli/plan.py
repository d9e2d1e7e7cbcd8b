"""`tacit plan`: what each method would give, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import search_budget
from tacit.cli.shell import AsJson, print_result, remark
from tacit.errors import BadInput
from tacit.files import write_file


def plan_command(
    records: Annotated[int, typer.Option(help="Number of private records.")],
    dimensions: Annotated[int | None, typer.Option(help="Number of parameters to tune.")] = None,
    train: Annotated[bool, typer.Option("--train", help="Plan tacit train instead: every record protected.")] = False,
    runs: Annotated[float, typer.Option(help="With --train: about how many models to train at the most.")] = 40.0,
    trials: Annotated[int, typer.Option(help="Evaluations, fixed in advance (of gibo: steps).")] = 30,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of the whole search; 1 if no budget is given.")] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of the whole search; 1e-6 with --epsilon.")] = None,
    rho: Annotated[float | None, typer.Option(help="Rho instead, for zCDP.")] = None,
    mu: Annotated[float | None, typer.Option(help="Mu instead, for GDP.")] = None,
    pure: Annotated[bool, typer.Option("--pure", help="Pure epsilon, without a delta.")] = False,
    bounds: Annotated[tuple[float, float], typer.Option(help="Public bounds of a loss.")] = (0.0, 1.0),
    spread: Annotated[
        float | None, typer.Option(help="How much a typical setting loses against the best one, if known.")
    ] = None,
    candidates: Annotated[int, typer.Option(help="Candidates of Kusner's algorithms.")] = 256,
    want: Annotated[float | None, typer.Option(help="Backwards: what a loss of quality this small needs.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Write a drawing (.svg) to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what each method would give for so many records and this budget. Spends nothing, reads no data.

    \b
    Examples:
      tacit plan --records 5000 --dimensions 3 --trials 50 --epsilon 1 \\
        --spread 0.05
      tacit plan --records 5000 --dimensions 20 --want 0.01 \\
        --picture plan.svg
      tacit plan --train --records 30000 --epsilon 1 --delta 1e-6
    """
    from tacit.planning.plan import plan

    budget = search_budget(epsilon, delta, rho, mu, pure)
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
    files = {"picture": _save(made.picture(), picture)} if picture is not None else {}
    for note in made.notes:
        remark(note)
    text = str(made) + "".join(f"\n{name:12} {path}" for name, path in files.items())
    print_result({**made.to_json(), "files": files}, as_json, text)


def _save(svg: str, path: Path) -> str:
    if path.suffix != ".svg":
        raise BadInput(f"a picture is saved as .svg, got {path.name}")
    return str(write_file(path, svg + "\n"))
