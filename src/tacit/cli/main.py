"""The command `tacit`: one function per verb: parse, call, print.

With --json a command prints one JSON document on standard output and nothing else there; progress and prose go to
standard error. Exit codes: 0 done, 1 failed, 2 bad usage, 3 budget refused; 130 and 143 for Ctrl-C and SIGTERM.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
import typer.core

from tacit.cli import config as configuration
from tacit.cli import shell
from tacit.cli.audit import audit_command
from tacit.cli.curator import curator
from tacit.cli.dashboard import dashboard_command
from tacit.cli.init import init_command
from tacit.cli.ledger import ledgers
from tacit.cli.modeler import modeler
from tacit.cli.pareto import pareto_command
from tacit.cli.plan import plan_command
from tacit.cli.predict import predict_command
from tacit.cli.report import report_command
from tacit.cli.sign import sign_command
from tacit.cli.train import train_command
from tacit.cli.tune import tune_command
from tacit.cli.verbs import Verbs
from tacit.cli.verify import verify_command

ORDER = (
    "init",
    "plan",
    "tune",
    "train",
    "predict",
    "pareto",
    "report",
    "dashboard",
    "ledger",
    "sign",
    "verify",
    "audit",
    "curator",
    "modeler",
)


class Root(shell.VerbGroup):
    """The verbs in the order of a user's work."""

    order = ORDER


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


app.command("init", short_help="Write tacit.toml by asking.")(init_command)
app.command("plan", short_help="Say what each method would give.")(plan_command)
app.command("tune", short_help="Tune on private records, release the best parameters.")(tune_command)
app.command("train", short_help="Train on a private table, release the best model.")(train_command)
app.command("predict", short_help="Ask a released model about a table.")(predict_command)
app.command("pareto")(pareto_command)
app.command("report", short_help="Write one HTML page that opens offline.")(report_command)
app.command("dashboard", short_help="Serve the pages of runs while they run.")(dashboard_command)
app.add_typer(ledgers, name="ledger")
app.command("sign", short_help="Sign a certificate, or make the key for it.")(sign_command)
app.command("verify")(verify_command)
app.command("audit", short_help="Measure what is promised.")(audit_command)
app.add_typer(curator, name="curator")
app.add_typer(modeler, name="modeler")
