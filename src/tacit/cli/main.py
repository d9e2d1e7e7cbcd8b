"""The command `tacit`: one function per verb: parse, call, print.

With --json a command prints one JSON document on standard output and nothing else there; progress and prose go to
standard error. Exit codes: 0 done, 1 failed, 2 bad usage, 3 budget refused; 130 and 143 for Ctrl-C and SIGTERM.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from tacit.cli import config as configuration
from tacit.cli import shell as cli_shell
from tacit.cli.options import ledger_names, words
from tacit.cli.shell import AsJson
from tacit.cli.shell import printed as _print
from tacit.errors import BadInput, LedgerTampered

if TYPE_CHECKING:
    from tacit.privacy.guarantee import Budget
    from tacit.privacy.ledger import Ledger

ORDER = ("init", "plan", "tune", "pareto", "report", "dashboard", "ledger", "verify", "audit", "curator", "modeler")


class Root(typer.core.TyperGroup):
    """The verbs in the order of a user's work. Hears Ctrl-C wherever no verb has something to say about it."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["tacit.words"] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with cli_shell.keeping(""):
            return super().invoke(ctx)


app = typer.Typer(
    cls=Root,
    help="Tune on data you cannot show: differentially private tuning with a ledger that charges it.",
    epilog="Start with tacit init, or tacit VERB --help. Exit codes: 0 done, 1 failed, 2 bad usage, 3 budget refused.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
ledgers = typer.Typer(help="The privacy budget of a data set.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(ledgers, name="ledger")

Url = Annotated[str, typer.Option("--ledger", envvar="TACIT_LEDGER", help="Path or URL of the ledger's database.")]
Name = Annotated[str, typer.Argument(help="Name of the ledger.", autocompletion=ledger_names)]


def main() -> None:
    """Run the command; a refusal becomes one line on standard error and an exit code."""
    sys.exit(cli_shell.run(app))


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
    given, path = ctx.meta["tacit.words"], configuration.found(config)
    verb = ctx.invoked_subcommand
    if path is None or verb in configuration.WITHOUT or "--help" in given:
        return
    ctx.default_map = configuration.read(path, ctx.command, given)
    if verb in ctx.default_map and sys.stderr.isatty():
        cli_shell.remark(f"options of {verb} from {path}", quiet=bool({"--quiet", "-q"} & set(given)))


def _budget(epsilon: float | None, delta: float | None, rho: float | None, mu: float | None) -> Budget | None:
    """The one budget that the options describe; None if they describe none."""
    from tacit.privacy.guarantee import Budget

    given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(given) > 1 or (delta is not None and epsilon is None):
        raise BadInput("give one budget: --epsilon, --epsilon with --delta, --rho or --mu")
    if epsilon is not None:
        return Budget.pure(epsilon) if delta is None else Budget.approximate(epsilon, delta)
    return Budget.zcdp(rho) if rho is not None else Budget.gdp(mu) if mu is not None else None


@ledgers.command("open")
def ledger_open(
    name: Name,
    ledger: Url = "ledger.db",
    epsilon: Annotated[float | None, typer.Option(help="Total epsilon.")] = None,
    delta: Annotated[float | None, typer.Option(help="Total delta.")] = None,
    rho: Annotated[float | None, typer.Option(help="Total rho, for zCDP.")] = None,
    mu: Annotated[float | None, typer.Option(help="Total mu, for GDP.")] = None,
    composition: Annotated[
        str | None,
        typer.Option(
            help="basic, gdp or zcdp; gdp for (epsilon, delta).", autocompletion=words("basic", "gdp", "zcdp")
        ),
    ] = None,
    reserve: Annotated[float, typer.Option(help="Part of delta kept for charges with their own delta.")] = 0.0,
    description: Annotated[str, typer.Option(help="What the data set is.")] = "",
    as_json: AsJson = False,
) -> None:
    """Open a ledger: made with its budget if it is new.

    \b
    Example:
      tacit ledger open icu --epsilon 1 --delta 1e-6 \\
        --description "ICU stays 2024"
    """
    from tacit.privacy.ledger import Ledger

    budget = _budget(epsilon, delta, rho, mu)
    opened = Ledger.open(ledger, name, budget, composition=composition, reserve=reserve, description=description)
    _print(_summary(opened), as_json, f"ledger {name!r} at {ledger}: {opened.budget}; {opened.remaining()} left")


def _summary(ledger: Ledger) -> dict[str, Any]:
    about = {"name": ledger.name, "id": ledger.id, "description": ledger.description, "unit": ledger.unit}
    amounts = {"budget": ledger.budget.to_json(), "remaining": ledger.remaining().to_json()}
    return {**about, **amounts, "composition": ledger.filter.composition, "spent": ledger.spent().to_json()}


@ledgers.command("show")
def ledger_show(
    name: Annotated[
        str | None, typer.Argument(help="Name of the ledger; all names if left out.", autocompletion=ledger_names)
    ] = None,
    ledger: Url = "ledger.db",
    as_json: AsJson = False,
) -> None:
    """What was spent, on what, and what is left.

    Example: tacit ledger show icu --ledger postgresql://officer@db/privacy
    """
    from tacit.privacy.ledger import Ledger

    if name is None:
        names = Ledger.names(ledger)
        return _print(names, as_json, "\n".join(names) or f"no ledgers at {ledger}")
    opened = Ledger.open(ledger, name)
    entries = opened.entries()
    lines = [f"ledger {name!r}: {opened.description or 'no description'}", f"budget    {opened.budget}"]
    lines += [f"spent     {opened.filter.stated(entries[-1].spent) if entries else 'nothing'}"]
    lines += [f"left      {opened.remaining()}"]
    if opened.filter.composition != "basic":
        lines += ["amounts are composed, not added: spent and left need not sum to the budget"]
    lines += [""]
    for e in entries:
        if e.kind != "drawn":
            stated = e.guarantee.budget if e.guarantee else ""
            lines.append(f"{e.number:5}  {e.time[:19]}  {e.status:20}  {stated}  {e.purpose}")
    rows = [{**e.to_json(), "status": e.status} for e in entries]
    _print({**_summary(opened), "entries": rows}, as_json, "\n".join(lines))


@ledgers.command("verify")
def ledger_verify(
    name: Name,
    ledger: Url = "ledger.db",
    head: Annotated[str | None, typer.Option(help="Last hash of an export kept elsewhere.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check that no entry was edited, dropped, added or moved. Exit code 1 if one was.

    Example: tacit ledger verify icu --ledger ledger.db
    """
    from tacit.privacy.ledger import Ledger

    try:
        opened = Ledger.open(ledger, name)  # looks at the last entry already
        opened.verify(head=head)
    except LedgerTampered as error:
        if as_json:
            _print({"name": name, "intact": False, "found": str(error)}, True, "")
        raise
    entries = opened.entries()
    last = entries[-1].hash if entries else None
    found = f"ledger {name!r} is intact: {len(entries)} entries, last hash {last or 'none'}"
    _print({"name": name, "intact": True, "entries": len(entries), "head": last}, as_json, found)


@ledgers.command("export")
def ledger_export(
    name: Name,
    ledger: Url = "ledger.db",
    out: Annotated[Path | None, typer.Option(help="File to write; standard output if left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """The whole ledger as one JSON document.

    Example: tacit ledger export icu --ledger ledger.db --out icu.json
    """
    from tacit.privacy.ledger import Ledger

    text = json.dumps(Ledger.open(ledger, name).export(), indent=1)
    if out is None:
        return typer.echo(text)
    try:
        out.write_text(text + "\n")
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    if as_json:
        _print({"name": name, "file": str(out)}, True, "")
    typer.echo(f"wrote {out}", err=True)


@app.command("verify")
def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate in JSON.")],
    ledger: Url = "ledger.db",
    as_json: AsJson = False,
) -> None:
    """Whether a ledger really paid for a certificate. Exit code 1 if not.

    Example: tacit verify out/certificate.json --ledger ledger.db
    """
    from tacit.privacy.ledger import Ledger

    try:
        document = json.loads(certificate.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"{certificate} is not a readable certificate ({type(error).__name__})") from None
    payment = document.get("payment") if isinstance(document, dict) else None
    names = Ledger.names(ledger)
    name = payment.get("name") if isinstance(payment, dict) else None
    if name not in names:
        why = f"the certificate names no ledger of {ledger}: " + (f"it was paid by {name!r}" if name else "nobody paid")
        _print({"paid": False, "checks": [["payment", False, why]]}, as_json, why)
        raise typer.Exit(1)
    verdict = Ledger.open(ledger, str(name)).verify_certificate(document)
    _print({"paid": verdict.paid, "checks": [list(c) for c in verdict.checks]}, as_json, str(verdict))
    if not verdict.paid:
        raise typer.Exit(1)


def _register() -> None:
    """Verbs that have a file of their own."""
    from tacit.cli import audit as cli_audit
    from tacit.cli import init as cli_init
    from tacit.cli import outsource as cli_outsource
    from tacit.cli import pareto as cli_pareto
    from tacit.cli import plan as cli_plan
    from tacit.cli import report as cli_report
    from tacit.cli import tune as cli_tune

    app.command("init", short_help="Write tacit.toml by asking.")(cli_init.init_command)
    app.command("audit", short_help="Measure what is promised.")(cli_audit.audit_command)
    app.add_typer(cli_outsource.curator, name="curator")
    app.add_typer(cli_outsource.modeler, name="modeler")
    app.command("pareto")(cli_pareto.pareto_command)
    app.command("plan", short_help="Say what each method would give.")(cli_plan.plan_command)
    app.command("tune", short_help="Tune on private records, release the best parameters.")(cli_tune.tune_command)
    app.command("report", short_help="Write one HTML page that opens offline.")(cli_report.report_command)
    app.command("dashboard", short_help="Serve the pages of runs while they run.")(cli_report.dashboard_command)


_register()
