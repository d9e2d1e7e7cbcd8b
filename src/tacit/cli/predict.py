"""`tacit predict`: what a released model says of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.shell import AsJson
from tacit.errors import BadInput


def predict_command(
    model: Annotated[Path, typer.Argument(help="Folder of a release, or its model.json or model.joblib.")],
    table: Annotated[
        Path, typer.Argument(help="A CSV, Excel or Parquet table with the columns that it was trained on.")
    ],
    probabilities: Annotated[bool, typer.Option("--probabilities", help="One column for each class.")] = False,
    out: Annotated[Path | None, typer.Option(help="CSV file to write; standard output if left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """What a released model predicts for each row of a table, as CSV.

    Example: tacit predict release new.csv --out predictions.csv
    """
    import json

    from tacit.integrations.files import read_table
    from tacit.trainers.model_files import read_model

    read = read_model(model)
    rows = read_table(table, read.preparation.schema)
    if probabilities:
        names = [str(label) for label in read.classes_]
        listed = read.predict_proba(rows).tolist()
    else:
        names, listed = ["prediction"], [[value] for value in read.predict(rows).tolist()]
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
