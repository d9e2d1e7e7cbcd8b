"""`tacit dashboard`: the pages of runs while they run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import AsJson
from tacit.errors import BadInput


def dashboard_command(
    places: Annotated[list[Path] | None, typer.Argument(metavar="DIR...", help="Folders with runs; else this.")] = None,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free one.")] = 8734,
    host: Annotated[str, typer.Option(help="Address to listen on; this machine alone unless changed.")] = "127.0.0.1",
    ledger: Annotated[str | None, typer.Option(help="Path or URL of the ledger that pays.")] = None,
    show_private: Annotated[bool, typer.Option("--show-private", help="Show exact values, on this machine.")] = False,
    as_json: AsJson = False,
) -> None:
    """Serve the pages of runs while they run, read-only: progress, ledgers, fronts that grow. Ctrl-C ends it.

    Example: tacit dashboard release front --ledger ledger.db
    """
    from tacit.report.dashboard import Dashboard, Runs

    wanted = places or [Path()]
    missing = [str(p) for p in wanted if not p.exists()]
    if missing:
        raise BadInput(f"there is no {missing[0]}")
    with Dashboard(Runs(wanted, private=show_private, ledger=ledger), host=host, port=port) as server:
        typer.echo(json.dumps({"url": server.url}) if as_json else server.url)
        sys.stdout.flush()
        if show_private:
            typer.echo("tacit: this address opens private values; give it to nobody who may not see the data", err=True)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            typer.echo("tacit: the dashboard has ended; runs go on without it", err=True)
