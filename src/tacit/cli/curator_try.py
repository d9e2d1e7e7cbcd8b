"""`tacit curator try`: what a modeler could find, on made-up answers, before anything is published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.options import AsJson, Quiet, split_numbers
from tacit.cli.shell import print_result, remark
from tacit.errors import BadInput, count

LEGEND = (
    "gain: 0 is an average row, 1 the best one. rank: 1 is the best of {rows} rows, the median. best: how often found."
)
LOOKED = (
    "these figures depend on your rows: they are for you, and an epsilon or scale chosen by them was chosen by "
    "looking. --widths and --count try public numbers instead"
)


def try_command(
    rows: Annotated[Path | None, typer.Argument(help="A CSV or Parquet table; or --widths and --count.")] = None,
    epsilon: Annotated[float, typer.Option(help="Epsilon of the table.")] = 3.0,
    delta: Annotated[float | None, typer.Option(help="Its delta; min(1e-6, 1/(10 n)) if left out.")] = None,
    columns: Annotated[str | None, typer.Option(help="Input columns, with commas between.")] = None,
    scale: Annotated[str | None, typer.Option(help="Public divisors of the columns, with commas between.")] = None,
    widths: Annotated[
        str | None, typer.Option(help="Public widths of the columns, commas between: no row is read.")
    ] = None,
    rows_count: Annotated[int | None, typer.Option("--count", help="With --widths: how many rows there are.")] = None,
    distance: Annotated[float, typer.Option(help="How far a row may move and still be protected.")] = 1.0,
    dimensions: Annotated[int | None, typer.Option(help="Columns of the published table.")] = None,
    queries: Annotated[int, typer.Option(help="Queries of the search.")] = 50,
    bounds: Annotated[tuple[float, float] | None, typer.Option(help="Private answers: public bounds.")] = None,
    answer_mu: Annotated[float | None, typer.Option(help="Private answers: mu of one; its noise is width/mu.")] = None,
    informative: Annotated[
        str | None, typer.Option(help="How many columns carry the answer, commas between; 1,2,3,5 and all.")
    ] = None,
    surfaces: Annotated[int, typer.Option(help="Made-up surfaces for each of these.")] = 8,
    smooth: Annotated[float, typer.Option(help="Over which share of a column's width answers change.")] = 0.3,
    seed: Annotated[int, typer.Option(help="Of what is made up.")] = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Simulate, on made-up answers, what a modeler could find. Publishes nothing, spends nothing, reads no answer.

    \b
    Examples:
      tacit curator try loans.csv --columns amount,rate,income \\
        --scale 9000,0.04,5e4 --epsilon 3
      tacit curator try --count 20000 --widths 35000,0.2,2e5 \\
        --scale 900,0.004,5e3 --epsilon 3
    """
    from tacit.outsource.curator.foresight import foresee, private_answers, refuse_no_scale
    from tacit.planning.outsourcing import count_informative, made_up_rows, try_out
    from tacit.privacy.guarantee import default_delta
    from tacit.run.progress import progress_bar

    values, names = _load(rows, columns, split_numbers(widths), rows_count)
    delta = default_delta(values[0] if isinstance(values, tuple) else len(values)) if delta is None else delta
    divisors: Any = split_numbers(scale)
    if divisors is None:
        refuse_no_scale(names, False)
    divisors = divisors[0] if len(divisors) == 1 else divisors
    private = private_answers(bounds, answer_mu)
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "scale": divisors, "distance": distance}
    terms |= {"dimensions": dimensions, "answers": private, "queries": queries}
    seen = foresee(names, **terms)
    for said in seen.remarks:
        remark(said, quiet)
    if widths is None:
        remark(LOOKED, quiet)
    X = made_up_rows(values[0], values[1], seed) if isinstance(values, tuple) else values
    ks = [int(k) for k in split_numbers(informative) or ()] or None
    total = surfaces * len(count_informative(X, ks))
    with progress_bar("surfaces", total, wanted=not (quiet or as_json)) as advance:
        trial = try_out(X, **terms, informative=ks, surfaces=surfaces, smooth=smooth, seed=seed, progress=advance)
    of = "made-up rows, spread evenly" if widths else "of your rows"
    head = f"{trial.rows} {of}, {trial.columns} columns, {trial.queries} queries, epsilon {epsilon:g}, delta {delta:g}"
    lines = [f"{head}; {surfaces} made-up surfaces each.", "", str(trial), ""]
    lines += [LEGEND.format(rows=trial.rows), trial.advice, "Nothing was published and nothing was spent."]
    document = {**trial.to_json(), "epsilon": epsilon, "delta": delta, "noise_of_columns": seen.columns}
    print_result({**document, "advice": trial.advice, "looked_at_rows": widths is None}, as_json, "\n".join(lines))


def _load(
    rows: Path | None, columns: str | None, widths: list[float] | None, number: int | None
) -> tuple[Any, list[str]]:
    """The rows themselves, or what made-up ones are made of; and the names of their columns."""
    named = [c.strip() for c in columns.split(",")] if columns else None
    if widths is not None:
        if number is None:
            raise BadInput("--widths goes with --count, the number of rows")
        names = named if named and len(named) == len(widths) else [f"column {k + 1}" for k in range(len(widths))]
        return (count("count", number, least=2), widths), names
    if rows is None:
        raise BadInput("give a table, or the public --widths of its columns and the --count of its rows")
    from tacit.outsource.curator.rows import numbers, read
    from tacit.outsource.curator.transform import usable

    table = read(rows, named)
    return usable(numbers(table), 0.5 / max(1, len(table))), table.columns
