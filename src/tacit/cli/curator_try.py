"""`tacit curator try`: what a modeler could find, on made-up answers, before anything is published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.curator_options import AnswerOptions, PublishOptions
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
    published: PublishOptions,
    answers: AnswerOptions,
    rows: Annotated[Path | None, typer.Argument(help="A CSV or Parquet table; or --widths and --count.")] = None,
    epsilon: Annotated[float, typer.Option(help="Epsilon of the table.")] = 3.0,
    widths: Annotated[
        str | None, typer.Option(help="Public widths of the columns, commas between: no row is read.")
    ] = None,
    rows_count: Annotated[int | None, typer.Option("--count", help="With --widths: how many rows there are.")] = None,
    queries: Annotated[int, typer.Option(help="Queries of the search.")] = 50,
    informative: Annotated[
        str | None, typer.Option(help="How many columns carry the answer, commas between; 1,2,3,5 and all.")
    ] = None,
    surfaces: Annotated[int, typer.Option(help="Made-up surfaces for each of these.")] = 8,
    smooth: Annotated[
        str, typer.Option(help="Over which shares of a column's spread answers may change, commas between.")
    ] = "0.3,0.1",
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
    from tacit.outsource.curator.preview import preview, refuse_no_scale
    from tacit.planning.outsourcing import count_informative, made_up_rows, try_out
    from tacit.run.progress import progress_bar

    values, names = _load(rows, published.names, split_numbers(widths), rows_count)
    if published.scale is None:
        refuse_no_scale(names, False)
    terms = published.terms(epsilon, values[0] if isinstance(values, tuple) else len(values))
    terms |= {"answers": answers.private(), "queries": queries}
    seen = preview(names, **terms)
    for text in seen.remarks:
        remark(text, quiet)
    if widths is None:
        remark(LOOKED, quiet)
    X = made_up_rows(values[0], values[1], seed) if isinstance(values, tuple) else values
    ks = [int(k) for k in split_numbers(informative) or ()] or None
    lengths = split_numbers(smooth) or []
    total = surfaces * len(lengths) * len(count_informative(X, ks))
    with progress_bar("surfaces", total, wanted=not (quiet or as_json)) as advance:
        trial = try_out(X, **terms, informative=ks, surfaces=surfaces, smooth=lengths, seed=seed, progress=advance)
    of = "made-up rows, spread evenly" if widths else "of your rows"
    price = f"epsilon {epsilon:g}, delta {terms['delta']:g}"
    head = f"{trial.rows} {of}, {trial.columns} columns, {trial.queries} queries, {price}; {surfaces} made-up surfaces"
    lines = [f"{head} each.", "", str(trial), "", LEGEND.format(rows=trial.rows), trial.advice]
    if trial.rank:
        lines.append(f"The published projection, which protects nothing here: its authors would take r = {trial.rank}.")
    document = {**trial.to_json(), "epsilon": epsilon, "delta": terms["delta"], "noise_of_columns": seen.columns}
    document |= {"advice": trial.advice, "looked_at_rows": widths is None}
    print_result(document, as_json, "\n".join([*lines, "Nothing was published and nothing was spent."]))


def _load(
    rows: Path | None, named: list[str] | None, widths: list[float] | None, number: int | None
) -> tuple[Any, list[str]]:
    """The rows themselves, or what made-up ones are made of; and the names of their columns."""
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
