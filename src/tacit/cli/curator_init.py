"""`tacit curator init`: everything a curator needs before the first query, made once and written down."""

from __future__ import annotations

import math
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import config
from tacit.cli.asking import Asker, Check, read_float, read_interval, read_whole
from tacit.cli.init import format_table
from tacit.cli.options import AsJson, Quiet, complete, parse_duration, split_numbers
from tacit.cli.shell import print_result, remark
from tacit.errors import BadInput, choice, extra, positive, probability

if TYPE_CHECKING:
    from tacit.data.table import Table
    from tacit.privacy.guarantee import Budget, Guarantee

HEAD = """\
# The terms of a study, written by tacit curator init; read with tacit --config THIS_FILE curator serve.
# Once the table is published, its terms stay: other ones need another folder.
"""


def init_command(
    ctx: typer.Context,
    rows: Annotated[Path | None, typer.Argument(help="A CSV or Parquet table.")] = None,
    evaluate: Annotated[
        str | None, typer.Option(help="Column, module:function of a row, or - for a person who types.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="Input columns, with commas between; - for all others.")] = None,
    scale: Annotated[
        str | None, typer.Option(help="For each column the change that counts as 1: public, commas between.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of the published table.")] = None,
    delta: Annotated[float | None, typer.Option(help="Its delta; min(1e-6, 1/(10 n)) for n rows if left out.")] = None,
    answers: Annotated[
        str | None, typer.Option(help="open or private.", autocompletion=complete("open", "private"))
    ] = None,
    bounds: Annotated[tuple[float, float] | None, typer.Option(help="Private answers: public bounds.")] = None,
    answer_mu: Annotated[float | None, typer.Option(help="Private answers: mu of one; its noise is width/mu.")] = None,
    charged: Annotated[
        str | None,
        typer.Option(help="Private answers: pay for each, or once.", autocompletion=complete("each", "once")),
    ] = None,
    queries: Annotated[int | None, typer.Option(help="Most queries of all modelers together.")] = None,
    host: Annotated[str | None, typer.Option(help="Name or address under which modelers reach this machine.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    modeler: Annotated[str | None, typer.Option(help="Name of the first modeler, who is granted a token.")] = None,
    lasts: Annotated[str, typer.Option("--for", help="How long the token is good for: 30d, 12h, or ever.")] = "30d",
    tls_certificate: Annotated[Path | None, typer.Option(help="A certificate that you have: PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key: PEM.")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="No TLS here: a proxy on this machine has it.")
    ] = False,
    folder: Annotated[Path, typer.Option(help="Folder for keys, tokens, ledger and state.")] = Path("curator"),
    state: Annotated[str | None, typer.Option(help="PostgreSQL URL of the state, instead of the folder.")] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Path or URL of the ledger's database, if not the folder's.")
    ] = None,
    ledger_name: Annotated[str | None, typer.Option(help="Name of the ledger in it.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Take the default of every question; accept noisy answers.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make keys, ledger, state and a modeler's token, and print the lines that start both sides.

    Nothing is published and nothing is spent. What is there already is left as it is, so it may be run again.

    \b
    Examples:
      tacit curator init
      tacit curator init loans.csv --evaluate roi --scale 9000,0.04,5e4 \\
        --epsilon 3 --host curator.example --modeler alice --folder loans --yes
    """
    extra("fastapi", "service", "serving")
    from tacit.cli.curator_folder import CERTIFICATE, KEY, StudyFolder, shorten
    from tacit.outsource.curator.certificate import host_name
    from tacit.outsource.curator.foresight import LOUD, foresee, private_answers, refuse_loud_answers
    from tacit.privacy.guarantee import default_delta

    if (tls_certificate is None) != (tls_key is None):
        raise BadInput("TLS needs a certificate and its key, got only one of them")
    good_for = None if lasts == "ever" else parse_duration(lasts)
    ask = Asker(yes, sys.stdin.isatty() and not as_json)
    path, table = ask("ROWS", "The table, a .csv or .parquet file", None, rows, _read_rows)
    how = ask(
        "evaluate", "Column to answer with, module:function, or - for a person", None, evaluate, _check_name_in(table)
    )
    asked = ask("columns", "Input columns, commas between (-: all others)", "-", columns, _columns_of(table, how))
    names = asked.split(",")
    about = f"For {', '.join(names)}: the change that counts as 1, public, commas between"
    sizes = ask("scale", about, None, scale, _scale_of(len(names)))
    n = len(table)
    price = {
        "epsilon": ask("epsilon", "Epsilon of the table", 3.0, epsilon, lambda v: positive("epsilon", read_float(v))),
        "delta": ask(
            "delta",
            f"Delta (min(1e-6, 1/(10 n)) for {n} rows)",
            default_delta(n),
            delta,
            lambda v: probability("delta", read_float(v)),
        ),
    }
    most = ask("queries", "Most queries of all modelers together", 100, queries, lambda v: read_whole("queries", v))
    noisy = _ask_answers(ask, answers, bounds, answer_mu, charged)
    private = private_answers(**noisy) if noisy else None
    where = ask("host", "Name or address under which modelers reach this machine", "localhost", host, host_name)
    door = ask("port", "Port", 8733, port, _port)
    who = ask("modeler", "Name of the first modeler", "modeler", modeler, _name)
    seen = foresee(names, **price, scale=sizes, answers=private, queries=most)
    refuse_loud_answers(seen, yes)

    here = folder.expanduser().absolute()
    shown = ",".join(f"{size:g}" for size in (sizes if isinstance(sizes, list) else [sizes]))
    paid = {"ledger": ledger or str(here / "ledger.db"), "ledger-name": ledger_name or path.stem}
    serve: dict[str, Any] = {"rows": path, "evaluate": how, "columns": asked, "scale": shown, **price}
    if private is not None:
        serve |= {"bounds": private.bounds, "answer-mu": noisy["mu"], "charged": private.charged}
    asked_for = {k: v for k, v in serve.items() if k not in ("evaluate", "charged")}
    serve |= {"queries": most, "state": state or str(here), **paid, "port": door}
    if seen.answer_noise > LOUD * seen.answer_width:
        serve |= {"yes": True}  # it was accepted here
    local = behind_proxy or where in ("localhost", "127.0.0.1", "::1")
    serve |= {"host": ("::1" if where == "::1" else "127.0.0.1") if local else "::" if ":" in where else "0.0.0.0"}
    own = tls_certificate is None and not behind_proxy
    if not behind_proxy:
        pems = (here / CERTIFICATE, here / KEY) if own else (tls_certificate, tls_key)
        serve |= {"tls-certificate": str(Path(pems[0]).absolute()), "tls-key": str(Path(pems[1]).absolute())}  # type: ignore[arg-type]
    else:
        serve |= {"proxy": "127.0.0.1,::1"}
    kept = {"state": serve["state"]}
    tables = {"curator.serve": serve, "curator.try": {**asked_for, "queries": min(most, 50)}}
    tables |= {f"curator.{verb}": kept for verb in ("grant", "revoke", "status", "log")}
    text = HEAD + "".join(format_table(name, values) for name, values in tables.items())
    file = here / config.FILE
    config.parse(file, text, ctx.find_root().command)  # what is written can be read
    made = StudyFolder(here, file, text)
    with made.alone():
        if own:
            made.certificate(where)
        made.open_ledger(
            paid["ledger"], paid["ledger-name"], _whole_budget(seen.guarantee, private is not None, **price), path
        )
        hand = made.grant(who, good_for, str(serve["state"]), own)
        made.finish()

    address = f"https://{f'[{where}]' if ':' in where else where}" + ("" if behind_proxy else f":{door}")
    trust = f" --authority {CERTIFICATE}" if own else ""
    line = f"tacit modeler run {address} --token-file {who}.token{trust} --trials {min(most, 50)}"
    for said in [
        *made.remarks,
        *seen.remarks,
        f"the table: one row moved by norm 1 after dividing by {shown} is hidden",
    ]:
        remark(said, quiet)
    begin = f"tacit --config {shlex.quote(shorten(file))} curator"
    lines = {"try": f"{begin} try", "serve": f"{begin} serve", "modeler": line}
    document: dict[str, Any] = {
        "folder": str(here),
        "made": made.new,
        "kept": made.kept,
        "hand_over": str(hand),
        **lines,
    }
    document |= {"noise": seen.columns, "answer_noise": seen.answer_noise}
    text = "\n".join(
        [
            *(["Made:   " + ", ".join(made.new)] if made.new else []),
            *(["Kept:   " + ", ".join(made.kept)] if made.kept else []),
            "",
            "1. Try what a modeler could find, on made-up answers; nothing is published or spent:",
            f"   {lines['try']}",
            "2. Publish the table and answer queries:",
            f"   {lines['serve']}",
            f"3. Hand {shorten(hand)} to {who}, by a way that nobody else reads. There they run:",
            f"   {line}",
            *([f"   SHA-256 of the certificate, to be compared by telephone: {made.fingerprint}"] if own else []),
        ]
    )
    print_result(document | ({"fingerprint": made.fingerprint} if own else {}), as_json, text)


def _whole_budget(guarantee: Guarantee, private: bool, epsilon: float, delta: float) -> Budget:
    """What a ledger must hold for the table and, if they are private, all answers."""
    from tacit.privacy.guarantee import Budget

    if not private or guarantee.budget is None:
        return Budget.approximate(epsilon, delta)
    most = guarantee.budget.epsilon(2 * delta)
    step = 10.0 ** (math.floor(math.log10(most)) - 1)
    return Budget.approximate(round(math.ceil(most / step) * step, 12), 2 * delta)  # two digits, rounded up


def _read_rows(given: Any) -> tuple[Path, Table]:
    from tacit.outsource.curator.rows import read

    path = Path(given).expanduser().absolute()
    return path, read(path)


def _check_name_in(table: Table) -> Check:
    def check(name: str) -> str:
        if name != "-" and ":" not in name and name not in table.names:
            raise BadInput(f"there is no column {name!r}; there are {', '.join(table.names)}")
        return name

    return check


def _columns_of(table: Table, evaluate: str) -> Check:
    """The inputs that are wanted, all of them finite numbers."""
    from tacit.outsource.curator.rows import numbers, select
    from tacit.outsource.curator.transform import usable

    def check(text: str) -> str:
        named = [c.strip() for c in text.split(",") if c.strip()]
        wanted = [c for c in table.names if c != evaluate] if text.strip() == "-" else named
        inputs = select(table, wanted or [""])
        if evaluate in wanted:
            raise BadInput(f"{evaluate!r} is the answer, so it cannot be an input")
        usable(numbers(inputs), 0.5 / max(1, len(table)))
        if evaluate in table.names:
            numbers(select(table, [evaluate]))
        return ",".join(wanted)

    return check


def _scale_of(columns: int) -> Check:
    def check(text: Any) -> Any:
        sizes = split_numbers(str(text)) or []
        for size in sizes:
            positive("scale", size)
        if len(sizes) not in (1, columns):
            raise BadInput(f"scale has one number for each of {columns} columns, or one for all, got {len(sizes)}")
        return sizes[0] if len(sizes) == 1 else sizes

    return check


def _ask_answers(ask: Asker, answers: str | None, bounds: Any, mu: float | None, charged: str | None) -> dict[str, Any]:
    """Arguments of private answers; none if answers are told as they are."""
    kinds = ("open", "private")
    kind = "private" if bounds is not None or mu is not None else answers
    question = "Answers: open (told as they are) or private (with noise)"
    if ask("answers", question, "open", kind, lambda v: choice("answers", v, kinds)) == "open":
        return {}
    limits = ask("bounds", "Bounds LOW,HIGH of an answer, public", None, bounds, read_interval)
    about = f"Mu of one answer (its noise is {limits[1] - limits[0]:g}/mu)"
    each = "Pay for each answer, or once (right if an answer depends on its own row alone)"
    return {
        "bounds": limits,
        "mu": ask("answer-mu", about, None, mu, lambda v: positive("answer-mu", read_float(v))),
        "charged": ask("charged", each, "each", charged, lambda v: choice("charged", v, ("each", "once"))),
    }


def _port(given: Any) -> int:
    port = read_whole("port", given)
    if not 1 <= port <= 65_535:
        raise BadInput(f"a port is 1 to 65535, got {port}")
    return port


def _name(given: str) -> str:
    import re

    from tacit.outsource.curator.tokens import CURATOR

    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", given) or given == CURATOR:
        raise BadInput(
            f"a modeler's name has 1 to 64 letters, digits, dots and dashes and is not curator, got {given!r}"
        )
    return given
