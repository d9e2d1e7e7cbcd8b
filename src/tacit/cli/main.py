"""The command `tacit`: one function per verb: parse, call, print.

With --json a command prints one JSON document on standard output and nothing else there; progress and prose go to
standard error. Exit codes: 0 done, 1 failed, 2 bad usage, 3 budget refused; 130 and 143 for Ctrl-C and SIGTERM.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer
import typer.core

from tacit.cli import config as configuration
from tacit.cli import shell
from tacit.cli.verbs import Verbs

VERBS = {  # in the order of a user's work: cli/NAME.py has NAME_command, or a group of verbs of this name
    "init": "Write tacit.toml from options and a few questions.",
    "plan": "Say what each method would give.",
    "tune": "Tune on private records, release the best parameters.",
    "train": "Train on a private table, release the best model.",
    "predict": "Ask a released model about a table.",
    "pareto": None,
    "report": "Write one HTML page that opens offline.",
    "dashboard": "Serve the pages of runs while they run.",
    "ledger": None,
    "sign": "Sign a certificate, or make the key for it.",
    "verify": None,
    "audit": "Measure what is promised.",
    "curator": None,
    "modeler": None,
}


class Root(shell.VerbGroup):
    """The verbs in the order of a user's work."""

    order = tuple(VERBS)


app = Verbs(
    cls=Root,
    help="Tune on data you cannot show: differentially private tuning with a ledger that charges it.",
    epilog="Start with tacit init, or tacit VERB --help. Exit codes: 0 done, 1 failed, 2 bad usage, 3 budget refused.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command; a refusal becomes one line on standard error and an exit code."""
    sys.exit(shell.run(app))


def _version(asked: bool) -> None:
    if asked:
        import tacit

        typer.echo(f"tacit {tacit.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    ctx: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(envvar="TACIT_CONFIG", help="TOML file of options; tacit.toml, if it is here, when left out."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    given, path = ctx.meta["tacit.words"], configuration.find_file(config)
    verb = ctx.invoked_subcommand
    if path is None or verb in configuration.WITHOUT or "--help" in given:
        return
    ctx.default_map = configuration.read(path, ctx.command, given)
    if verb in ctx.default_map and sys.stderr.isatty():
        shell.remark(f"options of {verb} from {path}", quiet=bool({"--quiet", "-q"} & set(given)))


for verb, words in VERBS.items():
    module = vars(importlib.import_module(f"tacit.cli.{verb}"))
    if f"{verb}_command" in module:
        app.command(verb, short_help=words)(module[f"{verb}_command"])
    else:
        app.add_typer(module[verb], name=verb)
