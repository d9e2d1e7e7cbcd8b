"""`tacit curator serve|grant|revoke|status`."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.options import LedgerName, MaybeLedger, complete, split_numbers
from tacit.cli.shell import PLAIN, AsJson, Quiet, explain_stop, mask_passwords, remark, this_command
from tacit.errors import BadInput, TacitError, extra

curator = typer.Typer(help="Hold rows that may not be shown, answer for single ones.", **PLAIN)

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
        str, typer.Option(help="noisy or projection.", autocompletion=complete("noisy", "projection"))
    ] = "noisy",
    dimensions: Annotated[int | None, typer.Option(help="Columns of the published table.")] = None,
    insist: Annotated[str | None, typer.Option(help="Words that accept the published projection's attack.")] = None,
    queries: Annotated[int, typer.Option(help="Most queries of all modelers together.")] = 100,
    per_modeler: Annotated[int | None, typer.Option(help="Most queries of one modeler.")] = None,
    bounds: Annotated[tuple[float, float] | None, typer.Option(help="Public bounds: makes answers private.")] = None,
    answer_mu: Annotated[float, typer.Option(help="Privacy of one private answer, as mu of GDP.")] = 0.1,
    charged: Annotated[
        str, typer.Option(help="Private answers: pay for each, or once.", autocompletion=complete("each", "once"))
    ] = "each",
    ledger: MaybeLedger = None,
    ledger_name: LedgerName = "default",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free one.")] = 8733,
    certificate: Annotated[str | None, typer.Option(help="TLS certificate, a PEM file.")] = None,
    key: Annotated[str | None, typer.Option(help="Its key, a PEM file.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="No TLS on a network: behind a proxy only.")] = False,
    proxy: Annotated[
        str | None, typer.Option(help="Addresses of proxies that say where a request comes from, commas between.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Requests a second for each modeler.")] = 50.0,
    page_port: Annotated[int, typer.Option(help="Port of the curator's page, on this machine; 0 for any free.")] = 0,
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
    from tacit.outsource.curator.server import bind, serve
    from tacit.outsource.curator.tokens import CURATOR
    from tacit.privacy.guarantee import Budget
    from tacit.privacy.ledger import Ledger

    known = _tokens(tokens, state)
    answers = PrivateAnswers(bounds, Budget.gdp(answer_mu), charged) if bounds else None
    kept = f"Terms, table, answers and tokens are kept in {mask_passwords(state)}. To go on: {this_command()}"
    with ExitStack() as stack:
        stack.enter_context(explain_stop(kept))
        listening = stack.enter_context(bind(host, port, certificate=certificate, key=key, insecure=insecure))
        paid = stack.enter_context(Ledger.open(ledger, ledger_name)) if ledger else None
        held = Curator(
            *_load(rows, evaluate, columns),
            epsilon=epsilon,
            delta=delta,
            transform=transform,
            dimensions=dimensions,
            scale=split_numbers(scale),
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

        def ready(url: str, page: str) -> None:
            terms = held.published()
            size = f"{terms.rows} rows as {terms.columns} columns, transform {terms.transform}"
            remark(f"published {size}", quiet)
            remark(f"the table: {terms.guarantee}", quiet)
            remark(f"table and answers: {terms.whole}", quiet)
            fragment = f"#token={secret}" if secret else "  (a new token: tacit curator grant curator)"
            remark(f"the curator's page: {page}{fragment}", quiet and secret is None)
            typer.echo(json.dumps({"url": url}) if as_json else url)
            sys.stdout.flush()

        log = Path(state) / "audit.jsonl" if "://" not in state else None
        serve(
            held,
            known,
            host=host,
            port=port,
            page_port=page_port,
            certificate=certificate,
            key=key,
            insecure=insecure,
            proxies=[one.strip() for one in proxy.split(",")] if proxy else (),
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


def _tokens(path: Path | None, state: str) -> Any:
    from tacit.outsource.curator.tokens import Tokens

    return Tokens(path or (None if "://" in state else Path(state) / "tokens.json"))


def _load(rows: Path, evaluate: str, columns: str | None) -> tuple[Any, Any]:
    """The table, of the wanted columns, and the evaluation that the words name."""
    from tacit.objective import import_object
    from tacit.outsource.curator.rows import Prompt, read

    frame = read(rows)
    wanted = [c.strip() for c in columns.split(",")] if columns else None
    how: Any = evaluate
    if evaluate == "-":
        how = Prompt()
    elif ":" in evaluate:
        how = import_object(evaluate, "function", "mymodel:answer")
    if wanted is not None:
        kept = [*wanted, *([evaluate] if how is evaluate and evaluate not in wanted else [])]
        missing = [c for c in kept if c not in frame.columns]
        if missing:
            raise BadInput(f"there is no column {missing[0]!r}; there are {', '.join(map(str, frame.columns))}")
        frame = frame[kept]
    return frame, how
