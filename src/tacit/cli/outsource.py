"""`tacit curator serve|grant|revoke|status` and `tacit modeler run`."""

from __future__ import annotations

import importlib
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.options import LedgerName, MaybeLedger, words
from tacit.cli.shell import AsJson, Quiet, again, keeping, masked, remark
from tacit.errors import BadInput, TacitError, extra

PLAIN: dict[str, Any] = {"no_args_is_help": True, "rich_markup_mode": None}
curator = typer.Typer(help="Hold rows that may not be shown, answer for single ones.", **PLAIN)
modeler = typer.Typer(help="Optimise over a table that a curator published.", **PLAIN)

State = Annotated[str, typer.Option(help="Folder, or PostgreSQL URL, in which the study survives.")]
TokenFile = Annotated[Path | None, typer.Option("--tokens", help="File of tokens; in the state folder if left out.")]
NAMED = "study"


@curator.command("serve", short_help="Publish a table once and answer queries.")
def serve_command(
    rows: Annotated[Path, typer.Argument(help="A CSV or Parquet table.")],
    evaluate: Annotated[str, typer.Option(help="Column, module:function of a row, or - for a person who types.")],
    epsilon: Annotated[float, typer.Option(help="Epsilon of the published table.")],
    delta: Annotated[float, typer.Option(help="Delta of the published table.")],
    state: State = "curator",
    columns: Annotated[str | None, typer.Option(help="Input columns, with commas between; all if left out.")] = None,
    scale: Annotated[str | None, typer.Option(help="Public divisors of the columns, with commas between.")] = None,
    distance: Annotated[float, typer.Option(help="How far a row may move and still be protected.")] = 1.0,
    transform: Annotated[
        str, typer.Option(help="noisy or projection.", autocompletion=words("noisy", "projection"))
    ] = "noisy",
    dimensions: Annotated[int | None, typer.Option(help="Columns of the published table.")] = None,
    insist: Annotated[str | None, typer.Option(help="Words that accept the published projection's attack.")] = None,
    queries: Annotated[int, typer.Option(help="Most queries of all modelers together.")] = 100,
    per_modeler: Annotated[int | None, typer.Option(help="Most queries of one modeler.")] = None,
    bounds: Annotated[tuple[float, float] | None, typer.Option(help="Public bounds: makes answers private.")] = None,
    answer_mu: Annotated[float, typer.Option(help="Privacy of one private answer, as mu of GDP.")] = 0.1,
    charged: Annotated[
        str, typer.Option(help="Private answers: pay for each, or once.", autocompletion=words("each", "once"))
    ] = "each",
    ledger: MaybeLedger = None,
    ledger_name: LedgerName = "default",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free one.")] = 8733,
    certificate: Annotated[str | None, typer.Option(help="TLS certificate, a PEM file.")] = None,
    key: Annotated[str | None, typer.Option(help="Its key, a PEM file.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="No TLS on a network: behind a proxy only.")] = False,
    rate: Annotated[float, typer.Option(help="Requests a second for each modeler.")] = 50.0,
    remote_page: Annotated[bool, typer.Option("--remote-page", help="Show the curator's page elsewhere too.")] = False,
    reopen: Annotated[bool, typer.Option("--reopen", help="Answer again after a stop.")] = False,
    tokens: TokenFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Publish a table once and answer queries until told to end; started again, it goes on where it was.

    \b
    Example:
      tacit curator serve loans.csv --evaluate roi --epsilon 3 --delta 1e-5 \\
        --state loans --scale 9000,0.04,5e4
    """
    extra("fastapi", "service", "serving")
    extra("uvicorn", "service", "serving")
    from tacit.outsource.curator import Curator
    from tacit.outsource.curator.rows import PrivateAnswers
    from tacit.outsource.curator.server import bound, serve
    from tacit.outsource.curator.tokens import CURATOR
    from tacit.privacy.guarantee import Budget
    from tacit.privacy.ledger import Ledger

    known = _tokens(tokens, state)
    answers = PrivateAnswers(bounds, Budget.gdp(answer_mu), charged) if bounds else None
    kept = f"Terms, table, answers and tokens are kept in {masked(state)}. To go on: {again()}"
    with ExitStack() as stack:
        stack.enter_context(keeping(kept))
        listening = stack.enter_context(bound(host, port, certificate=certificate, key=key, insecure=insecure))
        paid = stack.enter_context(Ledger.open(ledger, ledger_name)) if ledger else None
        held = Curator(
            *_given(rows, evaluate, columns),
            epsilon=epsilon,
            delta=delta,
            transform=transform,
            dimensions=dimensions,
            scale=_numbers(scale),
            distance=distance,
            insist=insist,
            answers=answers,
            queries=queries,
            per_modeler=per_modeler,
            state=state,
            name=NAMED,
            ledger=paid,
        )
        stack.enter_context(held)
        if reopen:
            held.stop(False)
        secret = None if CURATOR in {g.name for g in known.grants()} or known.path is None else known.grant(CURATOR)

        def ready(url: str) -> None:
            terms = held.published()
            size = f"{terms.rows} rows as {terms.columns} columns, transform {terms.transform}"
            remark(f"published {size}", quiet)
            remark(f"the table: {terms.guarantee}", quiet)
            remark(f"table and answers: {terms.whole}", quiet)
            fragment = f"#token={secret}" if secret else "  (a new token: tacit curator grant curator)"
            remark(f"the curator's page: {url}/curator{fragment}", quiet and secret is None)
            typer.echo(json.dumps({"url": url}) if as_json else url)
            sys.stdout.flush()

        log = Path(state) / "audit.jsonl" if "://" not in state else None
        serve(
            held,
            known,
            host=host,
            port=port,
            certificate=certificate,
            key=key,
            insecure=insecure,
            listening=listening,
            rate=rate,
            burst=max(1, int(2 * rate)),
            audit=log,
            remote=remote_page,
            ready=ready,
        )
    remark(f"ended. {kept}", quiet)


@curator.command("grant")
def grant_command(
    name: Annotated[str, typer.Argument(help="Name of a modeler, or curator.")],
    state: State = "curator",
    tokens: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Give a modeler a token, printed once and kept as a hash. A running service knows it at once.

    Example: tacit curator grant alice --state loans > alice.token
    """
    token = _tokens(tokens, state).grant(name)
    typer.echo(json.dumps({"name": name, "token": token}) if as_json else token)


@curator.command("revoke")
def revoke_command(
    name: Annotated[str, typer.Argument(help="Name of a modeler.")],
    state: State = "curator",
    tokens: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Refuse a modeler from now on. A running service knows it at once.

    Example: tacit curator revoke alice --state loans
    """
    known = _tokens(tokens, state)
    if not known.revoke(name):
        names = ", ".join(sorted({g.name for g in known.grants()})) or "nobody"
        raise BadInput(f"nobody is called {name!r}; tokens have {names}")
    typer.echo(json.dumps({"name": name, "revoked": True}) if as_json else f"{name} may ask no more")


@curator.command("status")
def status_command(state: State = "curator", tokens: TokenFile = None, as_json: AsJson = False) -> None:
    """What was published, who asked what, what is left. Looks at the state, beside a running service or without one.

    Example: tacit curator status --state loans
    """
    from tacit.outsource.curator.state import State as Kept
    from tacit.outsource.protocol.terms import Published

    kept = Kept(state, NAMED, hold=False)
    terms = kept.terms()
    if terms is None:
        raise TacitError(f"nothing was published from {state} yet")
    log, _ = kept.load()
    published, stopped = Published.from_json(terms), kept.stopped()
    kept.close()
    granted = [{"name": g.name, "revoked": g.revoked} for g in _tokens(tokens, state).grants()]
    left = max(0, published.queries - len(log))
    if as_json:
        told = {"terms": terms, "used": len(log), "left": left, "stopped": stopped, "tokens": granted}
        return typer.echo(json.dumps({**told, "exchanges": [e.__dict__ for e in log]}, indent=1))
    lines = [
        f"study      {published.study}, {published.rows} rows as {published.columns} columns, {published.transform}",
        f"table      {published.guarantee}",
        f"together   {published.whole}",
        f"queries    {len(log)} answered, {left} left" + (f", STOPPED {stopped}" if stopped else ""),
    ]
    lines += [f"token      {g['name']}" + (f", revoked {g['revoked']}" if g["revoked"] else "") for g in granted]
    typer.echo("\n".join([*lines, *(f"{e.number:6}  {e.time}  {e.modeler}  row {e.row}" for e in log[-20:])]))


@modeler.command("run")
def run_command(
    url: Annotated[str, typer.Argument(help="Where the curator serves.")],
    trials: Annotated[int, typer.Option(help="Rows to ask for, earlier runs included.")] = 50,
    token_file: Annotated[Path | None, typer.Option(help="File of the token; else TACIT_TOKEN.")] = None,
    authority: Annotated[Path | None, typer.Option(help="Certificates to trust, a PEM file.")] = None,
    direction: Annotated[
        str, typer.Option(help="maximize or minimize.", autocompletion=words("maximize", "minimize"))
    ] = "maximize",
    lengthscale: Annotated[float | None, typer.Option(help="Of the prior, scaled units; else fitted.")] = None,
    variance: Annotated[float, typer.Option(help="Of the prior, with --lengthscale.")] = 1.0,
    mean: Annotated[float, typer.Option(help="Of the prior, with --lengthscale.")] = 0.0,
    batch: Annotated[int, typer.Option(help="Rows in one request.")] = 1,
    patience: Annotated[float, typer.Option(help="Seconds to wait for a curator that does not answer.")] = 60.0,
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
    kept = f"The curator keeps every answer, and none is asked twice. To go on: {again()}"
    with keeping(kept), Client(url, token=token, authority=authority, patience=patience) as client:
        wanted: dict[str, Any] = {"prior": prior, "direction": direction, "batch": batch, "seed": seed}

        def tell(trial: int, answer: Any) -> None:
            if not quiet:
                typer.echo(f"{trial:5}  row {answer.row}: {answer.value}", err=True)

        found = Modeler(client, **wanted, progress=tell).run(trials)
    told = f"best row {found.row}: {found.value:g} after {found.trials} queries\n{found.guarantee}"
    typer.echo(json.dumps(found.to_json(), indent=1) if as_json else told)


def _tokens(path: Path | None, state: str) -> Any:
    from tacit.outsource.curator.tokens import Tokens

    return Tokens(path or (None if "://" in state else Path(state) / "tokens.json"))


def _numbers(text: str | None) -> list[float] | None:
    try:
        return [float(part) for part in text.split(",")] if text else None
    except ValueError:
        raise BadInput(f"numbers with commas between, such as 1,2.5, got {text!r}") from None


def _given(rows: Path, evaluate: str, columns: str | None) -> tuple[Any, Any]:
    """The table, of the wanted columns, and the evaluation that the words name."""
    from tacit.outsource.curator.rows import Prompt, read

    frame = read(rows)
    wanted = [c.strip() for c in columns.split(",")] if columns else None
    how: Any = evaluate
    if evaluate == "-":
        how = Prompt()
    elif ":" in evaluate:
        module, _, function = evaluate.partition(":")
        sys.path.insert(0, str(Path.cwd()))
        try:
            how = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError):
            raise BadInput(f"no function {evaluate!r}; write module:function, importable from here") from None
    if wanted is not None:
        kept = [*wanted, *([evaluate] if how is evaluate and evaluate not in wanted else [])]
        missing = [c for c in kept if c not in frame.columns]
        if missing:
            raise BadInput(f"there is no column {missing[0]!r}; there are {', '.join(map(str, frame.columns))}")
        frame = frame[kept]
    return frame, how
