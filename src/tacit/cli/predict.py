"""`tacit predict`: what a released model says of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import AsJson
from tacit.errors import BadInput, extra


def predict_command(
    model: Annotated[Path, typer.Argument(help="Folder of a release, or its model.json or model.joblib.")],
    table: Annotated[
        Path, typer.Argument(help="A CSV, Excel or Parquet table with the columns that it was trained on.")
    ],
    probabilities: Annotated[bool, typer.Option("--probabilities", help="One column for each class.")] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Read model.joblib, a pickle, which can run any code, if there is no JSON.")
    ] = False,
    keep: Annotated[list[str] | None, typer.Option("--id", help="Column to keep beside, such as an id; again.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV or Parquet file; standard output if left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What a released model predicts for each row of a table, as CSV or Parquet.

    Example: tacit predict release new.csv --out predictions.csv
    """
    import json

    from tacit.data.files import read_table
    from tacit.training.model_files import read_model

    read = read_model(model, trust=trust)
    rows = read_table(table, read.preparation.schema, spelled=keep or [])
    if probabilities:
        names = [str(label) for label in read.classes_]
        listed = read.predict_proba(rows).tolist()
    else:
        names, listed = ["prediction"], [[value] for value in read.predict(rows).tolist()]
    for name in reversed(keep or []):
        names, column = [name, *names], rows[name].spell().tolist()
        listed = [["" if own != own else own, *row] for own, row in zip(column, listed, strict=True)]
    if out is not None and out.suffix.lower() == ".parquet":
        arrow, parquet = extra("pyarrow", "parquet", "writing Parquet"), extra("pyarrow.parquet", "parquet", "Parquet")
        parquet.write_table(arrow.table({name: [row[i] for row in listed] for i, name in enumerate(names)}), out)
        return
    if as_json:
        typer.echo(json.dumps({name: [row[i] for row in listed] for i, name in enumerate(names)}))
        return
    import csv

    try:
        file = out.open("w", newline="") if out else sys.stdout
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    csv.writer(file).writerows([names, *listed])
    if out:
        file.close()
