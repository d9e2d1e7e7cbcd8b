"""`tacit modeler run`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.options import AsJson, Quiet, complete, parse_duration
from tacit.cli.shell import PLAIN, explain_stop, print_result, remark, this_command
from tacit.cli.verbs import Verbs
from tacit.errors import BadInput, extra

modeler = Verbs(help="Optimise over a table that a curator published.", **PLAIN)


@modeler.command("run")
def run_command(
    url: Annotated[str, typer.Argument(help="Where the curator serves.")],
    trials: Annotated[int, typer.Option(help="Rows to ask for, earlier runs included.")] = 50,
    token_file: Annotated[Path | None, typer.Option(help="File of the token; else TACIT_TOKEN.")] = None,
    authority: Annotated[Path | None, typer.Option(help="Certificates to trust, a PEM file.")] = None,
    direction: Annotated[
        str, typer.Option(help="maximize or minimize.", autocompletion=complete("maximize", "minimize"))
    ] = "maximize",
    lengthscale: Annotated[float | None, typer.Option(help="Of the prior, scaled units; else fitted.")] = None,
    variance: Annotated[float, typer.Option(help="Of the prior, with --lengthscale.")] = 1.0,
    mean: Annotated[float, typer.Option(help="Of the prior, with --lengthscale.")] = 0.0,
    batch: Annotated[int, typer.Option(help="Rows in one request.")] = 1,
    patience: Annotated[float, typer.Option(help="Seconds to wait for a curator that does not answer.")] = 60.0,
    wait: Annotated[str, typer.Option(help="Longest wait for one answer: 30m, 12h, 2d.")] = "1h",
    seed: Annotated[int, typer.Option(help="Of the first rows that are asked.")] = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Search a published table for the row with the best answer. Run again to go on.

    \b
    Example:
      tacit modeler run https://curator.example:8733 \\
        --token-file alice.token --trials 50
    """
    extra("httpx", "service", "talking to a curator's service")
    from tacit.outsource.modeler import Modeler, Prior
    from tacit.outsource.modeler.client import Client

    try:
        token = token_file.read_text().strip() if token_file else os.environ.get("TACIT_TOKEN", "").strip()
    except OSError as error:
        raise BadInput(f"{token_file} cannot be read: {error.strerror}") from None
    if not token:
        raise BadInput("give the token in --token-file FILE, or in the environment as TACIT_TOKEN")
    prior = Prior(lengthscale, variance, mean) if lengthscale else None
    leftovers = f"The curator keeps every answer, and none is asked twice. To go on: {this_command()}"
    with (
        explain_stop(leftovers),
        Client(
            url,
            token=token,
            authority=authority,
            patience=patience,
            wait=parse_duration(wait).total_seconds(),
            remark=lambda text: remark(text, quiet),
        ) as client,
    ):

        def tell(trial: int, answer: Any) -> None:
            if not quiet:
                typer.echo(f"{trial:5}  row {answer.row}: {answer.value}", err=True)

        best = Modeler(client, prior=prior, direction=direction, batch=batch, seed=seed, progress=tell).run(trials)
    if best.ended:
        remark(f"{best.ended}; what follows is the best of {best.trials} of {trials} queries", quiet)
    noisy = f", an answer with noise ±{best.noise:.3g}," if best.noise else ""
    text = f"best row {best.row}: {best.value:g}{noisy} after {best.trials} queries\n{best.guarantee}"
    print_result(best.to_json(), as_json, text)
