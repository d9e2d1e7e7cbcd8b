"""`tacit curator init|try|serve|grant|revoke|status|log`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from tacit.cli.curator_init import init_command
from tacit.cli.curator_options import AnswerOptions, NetworkOptions, PublishOptions
from tacit.cli.curator_try import try_command
from tacit.cli.options import AsJson, LedgerOptions, Quiet, complete, parse_duration
from tacit.cli.shell import PLAIN, ask_person, explain_stop, mask_passwords, remark, this_command
from tacit.cli.verbs import Verbs
from tacit.errors import BadInput, TacitError, count, extra
from tacit.files import Json, open_private

curator = Verbs(help="Hold rows that may not be shown, answer for single ones.", **PLAIN)

State = Annotated[str, typer.Option(help="Folder, or PostgreSQL URL, in which the study survives.")]
NAMED = "study"
LASTS = "30d"  # a token, unless said otherwise

curator.command("init", short_help="Make keys, ledger, state and a token, by asking.")(init_command)
curator.command("try", short_help="Simulate what a modeler could find.")(try_command)


@curator.command("serve", short_help="Publish a table once and answer queries.")
def serve_command(
    rows: Annotated[Path, typer.Argument(help="A CSV or Parquet table.")],
    evaluate: Annotated[str, typer.Option(help="Column, module:function of a row, or - for a person who types.")],
    epsilon: Annotated[float, typer.Option(help="Epsilon of the published table.")],
    published: PublishOptions,
    answers: AnswerOptions,
    network: NetworkOptions,
    ledger: LedgerOptions,
    state: State = "curator",
    transform: Annotated[
        str, typer.Option(help="noisy or projection.", autocompletion=complete("noisy", "projection"))
    ] = "noisy",
    insist: Annotated[str | None, typer.Option(help="Words that accept the published projection's attack.")] = None,
    queries: Annotated[int, typer.Option(help="Most queries of all modelers together.")] = 100,
    per_modeler: Annotated[int | None, typer.Option(help="Most queries of one modeler.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    proxy: Annotated[
        str | None, typer.Option(help="Addresses of proxies that say where a request comes from, commas between.")
    ] = None,
    rate_limit: Annotated[float, typer.Option(help="Requests a second for each modeler.")] = 50.0,
    page_port: Annotated[int, typer.Option(help="Port of the curator's page, on this machine; 0 for any free.")] = 0,
    remote_page: Annotated[bool, typer.Option("--remote-page", help="Show the curator's page elsewhere too.")] = False,
    reopen: Annotated[bool, typer.Option("--reopen", help="Answer again after a stop.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Publish without --scale, or with excessive noise on answers.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Publish a table once and answer queries until it is ended; started again, it goes on where it was.

    \b
    Example:
      tacit curator serve loans.csv --evaluate roi --epsilon 3 --delta 1e-5 \\
        --state loans --scale 9000,0.04,5e4
    """
    extra("fastapi", "service", "serving")
    extra("uvicorn", "service", "serving")
    from tacit.outsource.curator import Curator
    from tacit.outsource.curator.server import bind, serve
    from tacit.outsource.curator.tokens import CURATOR

    private = answers.private()
    certificate, key = (None if p is None else str(p) for p in (network.tls_certificate, network.tls_key))
    tls: dict[str, Any] = {"certificate": certificate, "key": key, "behind_proxy": network.behind_proxy}
    leftovers = f"Terms, table, answers and tokens are kept in {mask_passwords(state)}. To go on: {this_command()}"
    with ExitStack() as stack:
        stack.enter_context(explain_stop(leftovers))
        listening = stack.enter_context(bind(host, network.port, **tls))
        paid = stack.enter_context(ledger.open())
        frame, how = _load(rows, evaluate, published.names)
        terms = {**published.terms(epsilon, len(frame)), "queries": queries, "answers": private}
        if not _is_published(state):
            names = [str(c) for c in frame.columns if c is not how and c != how]
            _show_preview(names, terms, transform, yes, quiet, as_json)
        held = Curator(
            frame,
            how,
            **terms,
            transform=transform,
            insist=insist,
            per_modeler=per_modeler,
            state=state,
            name=NAMED,
            ledger=paid,
        )
        stack.enter_context(held)
        if reopen:
            held.stop(False)
        known = stack.enter_context(_tokens(state))
        mine = not quiet and not any(g.name == CURATOR and g.valid for g in known.grants())
        secret = known.grant(CURATOR, lasts=parse_duration(LASTS)) if mine else None

        def ready(url: str, page: str) -> None:
            terms = held.published()
            remark(f"published {terms.rows} rows as {terms.columns} columns, transform {terms.transform}", quiet)
            remark(f"the table: {terms.guarantee}", quiet)
            remark(f"table and answers: {terms.whole}", quiet)
            fragment = f"#token={secret}" if secret else "  (a new token: tacit curator grant curator)"
            remark(f"the curator's page: {page}{fragment}", quiet)
            typer.echo(json.dumps({"url": url}) if as_json else url)
            sys.stdout.flush()

        serve(
            held,
            known,
            host=host,
            port=network.port,
            page_port=page_port,
            **tls,
            proxies=[one.strip() for one in proxy.split(",")] if proxy else (),
            listening=listening,
            rate=rate_limit,
            burst=max(1, int(2 * rate_limit)),
            remote=remote_page,
            ready=ready,
        )
    remark(f"ended. {leftovers}", quiet)


@curator.command("grant")
def grant_command(
    name: Annotated[str, typer.Argument(help="Name of a modeler, or curator.")],
    state: State = "curator",
    lasts: Annotated[str, typer.Option("--for", help="How long it is good for: 30d, 12h, 90m, or ever.")] = LASTS,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A new file for it, its owner's alone; else it is printed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Give a modeler a token, shown once and kept as a hash. A running service knows it at once.

    Example: tacit curator grant alice --state loans --for 14d --out alice.token
    """
    with ExitStack() as stack:
        file = stack.enter_context(_new_file(out)) if out is not None else None  # first: a token is shown once
        known = stack.enter_context(_tokens(state))
        token = known.grant(name, lasts=None if lasts == "ever" else parse_duration(lasts))
        until = next(g.expires for g in known.grants() if g.name == name)
        if file is not None:
            file.write(token + "\n")
    document = {"name": name, **({"file": str(out)} if file else {"token": token}), "expires": until}
    text = f"token of {name} in {out}, good until {until or 'revoked'}" if file else token
    typer.echo(json.dumps(document) if as_json else text)


@contextmanager
def _new_file(path: Path) -> Iterator[TextIO]:
    """A file that was not there, its owner's alone; gone again if what follows fails."""
    try:
        descriptor = open_private(path, os.O_WRONLY | os.O_EXCL)
    except OSError as error:
        raise BadInput(f"no token can be written to {path}: {error.strerror}. Nothing was granted") from None
    try:
        with os.fdopen(descriptor, "w") as file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@curator.command("revoke")
def revoke_command(
    name: Annotated[str, typer.Argument(help="Name of a modeler.")],
    state: State = "curator",
    as_json: AsJson = False,
) -> None:
    """Refuse a modeler from now on. A running service knows it at once.

    Example: tacit curator revoke alice --state loans
    """
    with _tokens(state) as known:
        if not known.revoke(name):
            names = ", ".join(sorted({g.name for g in known.grants()})) or "nobody"
            raise BadInput(f"nobody is called {name!r}; tokens have {names}")
    typer.echo(json.dumps({"name": name, "revoked": True}) if as_json else f"{name} may ask no more")


@curator.command("status")
def status_command(state: State = "curator", as_json: AsJson = False) -> None:
    """What was published, who asked what, what is left. Looks at the state, beside a running service or without one.

    Example: tacit curator status --state loans
    """
    from tacit.outsource.curator.state import State as Kept
    from tacit.outsource.protocol.terms import Published

    study = Kept(state, NAMED, hold=False)
    terms = study.terms()
    if terms is None:
        raise TacitError(f"nothing was published from {state} yet")
    log, _ = study.load()
    published, stopped = Published.from_json(terms), study.stop_time()
    study.close()
    with _tokens(state) as known:
        grants = known.grants()
    granted = [{"name": g.name, "revoked": g.revoked, "expires": g.expires} for g in grants]
    left = max(0, published.queries - len(log))
    if as_json:
        document = {"terms": terms, "used": len(log), "left": left, "stopped": stopped, "tokens": granted}
        return typer.echo(json.dumps({**document, "exchanges": [e.__dict__ for e in log]}, indent=1))
    lines = [
        f"study      {published.study}, {published.rows} rows as {published.columns} columns, {published.transform}",
        f"table      {published.guarantee}",
        f"together   {published.whole}",
        f"queries    {len(log)} answered, {left} left" + (f", STOPPED {stopped}" if stopped else ""),
    ]
    lines += [f"token      {g.name}, {g.standing}" for g in grants]
    typer.echo("\n".join([*lines, *(f"{e.number:6}  {e.time}  {e.modeler}  row {e.row}" for e in log[-20:])]))


@curator.command("log", short_help="Who asked the service for what.")
def log_command(
    state: State = "curator",
    latest: Annotated[int, typer.Option(help="Lines to show, the latest.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Who asked the service for what, and what became of it: the audit log.

    Of queries the latest 10,000 lines are kept, and as many that count everything else.

    Example: tacit curator log --state loans
    """
    from tacit.outsource.curator.state import State as Kept

    study = Kept(state, NAMED, hold=False)
    lines = study.audit(count("latest", latest))
    study.close()
    if as_json:
        return typer.echo(json.dumps(lines, indent=1))
    for line in lines:
        often = f" x {line['times']}" if line.get("times", 1) > 1 else ""
        rows = f" rows {', '.join(map(str, line['rows']))}" if "rows" in line else ""
        what = f"{line['method']} {line['path']}{rows}: {line['status']}{often}"
        typer.echo(f"{line['time'][:19]}  {line['who'] or 'nobody'}  {what}")


def _is_published(state: str) -> bool:
    """Whether this state has a table already: then its terms are settled."""
    from tacit.outsource.curator.state import State as Kept

    try:
        study = Kept(state, NAMED, hold=False)
    except TacitError:
        return False  # whatever is wrong, the curator says
    try:
        return study.terms() is not None
    finally:
        study.close()


def _show_preview(names: list[str], terms: Json, transform: str, yes: bool, quiet: bool, as_json: bool) -> None:
    """Say what noise there will be, and refuse what nobody wants, or ask: a table is published once."""
    from tacit.outsource.curator.preview import preview, refuse_excessive_noise, refuse_no_scale

    seen = preview(names, **{**terms, "dimensions": terms["dimensions"] if transform == "noisy" else None})
    for text in seen.remarks[transform != "noisy" :]:
        remark(text, quiet)
    try:
        if terms["scale"] is None:
            refuse_no_scale(names, yes)
        refuse_excessive_noise(seen, yes)
    except BadInput as refusal:
        if as_json or not sys.stdin.isatty():
            raise
        remark(str(refusal))
        if ask_person("Publish all the same, yes or no", "no") not in ("y", "yes"):
            raise


def _tokens(state: str) -> Any:
    from tacit.outsource.curator.tokens import Tokens

    return Tokens(state, name=NAMED)


def _load(rows: Path, evaluate: str, wanted: list[str] | None) -> tuple[Any, Any]:
    """The table, of the wanted columns, and the evaluation that the words name."""
    from tacit.objective import import_object
    from tacit.outsource.curator.rows import Prompt, read

    how: Any = evaluate
    if evaluate == "-":
        how = Prompt()
    elif ":" in evaluate:
        how = import_object(evaluate, "function", "mymodel:answer")
    if wanted is not None and how is evaluate and evaluate not in wanted:
        wanted = [*wanted, evaluate]
    return read(rows, wanted), how
