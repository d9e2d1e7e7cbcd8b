"""`tacit curator init`: everything a curator needs before the first query, made once and written down."""

from __future__ import annotations

import math
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import config
from tacit.cli.curator_options import AnswerOptions, NetworkOptions, PublishOptions
from tacit.cli.init import format_table
from tacit.cli.options import AsJson, Quiet, given_values, parse_duration
from tacit.cli.questions import Asker, Check, read_float
from tacit.cli.shell import print_result, remark
from tacit.errors import BadInput, count, extra, positive
from tacit.files import Json

if TYPE_CHECKING:
    from tacit.data.table import Table
    from tacit.privacy.guarantee import Budget, Guarantee

HEAD = """\
# The terms of a study, written by tacit curator init; read with tacit --config THIS_FILE curator serve.
# Once the table is published, its terms stay: other ones need another folder.
"""
STEPS = """
1. Try what a modeler could find, on made-up answers; nothing is published or spent:
   {try_line}
2. Publish the table and answer queries:
   {serve_line}
3. Hand {hand} to {modeler}, by a way that nobody else reads. There they run:
   {modeler_line}"""
FINGERPRINT = "\n   SHA-256 of the certificate, to be compared by telephone: {}"


def init_command(
    ctx: typer.Context,
    published: PublishOptions,
    answers: AnswerOptions,
    network: NetworkOptions,
    rows: Annotated[Path | None, typer.Argument(help="A CSV or Parquet table.")] = None,
    evaluate: Annotated[
        str | None, typer.Option(help="Column, module:function of a row, or - for a person who types.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of the published table.")] = None,
    queries: Annotated[int, typer.Option(help="Most queries of all modelers together.")] = 100,
    host: Annotated[str, typer.Option(help="Name or address under which modelers reach this machine.")] = "localhost",
    modeler: Annotated[str, typer.Option(help="Name of the first modeler, who is granted a token.")] = "modeler",
    lasts: Annotated[str, typer.Option("--for", help="How long the token is good for: 30d, 12h, or ever.")] = "30d",
    folder: Annotated[Path, typer.Option(help="Folder for keys, tokens, ledger and state.")] = Path("curator"),
    state: Annotated[str | None, typer.Option(help="PostgreSQL URL of the state, instead of the folder.")] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Path or URL of the ledger's database, if not the folder's.")
    ] = None,
    ledger_name: Annotated[str | None, typer.Option(help="Name of the ledger in it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Take epsilon = 3; accept answers that are mostly noise.")] = False,
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
    from tacit.outsource.curator.preview import EXCESSIVE, preview, refuse_excessive_noise

    good_for = None if lasts == "ever" else parse_duration(lasts)
    host, private = host_name(host), answers.private()
    _check_name(modeler)
    count("queries", queries)
    ask = Asker(yes, sys.stdin.isatty() and not as_json)
    path, table = ask("ROWS", "The table, a .csv or .parquet file", None, rows, _read_rows)
    question = "Column to answer with, module:function, or - for a person"
    how = ask("evaluate", question, None, evaluate, _check_column_of(table))
    names = _inputs_of(table, how, published.names)
    about = f"For {', '.join(names)}: the change that counts as 1, public, commas between"
    scale = ask("scale", about, None, published.scale, _check_scale_of(names))
    e = ask("epsilon", "Epsilon of the table", 3.0, epsilon, lambda v: positive("epsilon", read_float(v)))
    terms = replace(published, scale=scale).terms(e, len(table))
    seen = preview(names, **terms, answers=private, queries=queries)
    refuse_excessive_noise(seen, yes)

    here = folder.expanduser().absolute()
    paid = {"ledger": ledger or str(here / "ledger.db"), "ledger-name": ledger_name or path.stem}
    tried = {"rows": path, **given_values(published), "columns": ",".join(names), "scale": scale, "epsilon": e}
    tried |= {"delta": terms["delta"], **{k: v for k, v in given_values(answers).items() if k != "charged"}}
    serve = {**tried, "evaluate": how, "queries": queries, "state": state or str(here), **paid, "port": network.port}
    serve |= {"charged": answers.charged} if private is not None else {}
    serve |= {"yes": True} if seen.answer_noise > EXCESSIVE * seen.answer_width else {}  # it was accepted here
    serve |= _listen(host, network, here)
    place = {"state": serve["state"]}
    tables = {"curator.serve": serve, "curator.try": {**tried, "queries": min(queries, 50)}}
    tables |= {f"curator.{verb}": place for verb in ("grant", "revoke", "status", "log")}
    text = HEAD + "".join(format_table(name, values) for name, values in tables.items())
    file = here / config.FILE
    config.parse(file, text, ctx.find_root().command)  # what is written can be read
    study, own = StudyFolder(here, file, text), serve.get("tls-key") == str(here / KEY)
    with study.alone():
        if own:
            study.certificate(host)
        whole = _whole_budget(seen.guarantee, private is not None, e, terms["delta"])
        study.open_ledger(paid["ledger"], paid["ledger-name"], whole, path)
        hand = study.grant(modeler, good_for, str(serve["state"]), own)
        study.finish()

    address = f"https://{f'[{host}]' if ':' in host else host}" + ("" if network.behind_proxy else f":{network.port}")
    trust = f" --authority {CERTIFICATE}" if own else ""
    begin = f"tacit --config {shlex.quote(shorten(file))} curator"
    line = f"tacit modeler run {address} --token-file {modeler}.token{trust} --trials {min(queries, 50)}"
    lines = {"try": f"{begin} try", "serve": f"{begin} serve", "modeler": line}
    hidden = f"the table: one row moved by norm {published.distance:g} after dividing by {scale} is hidden"
    for text in (*study.remarks, *seen.remarks, hidden):
        remark(text, quiet)
    document: Json = {
        "folder": str(here),
        "made": study.new,
        "kept": study.kept,
        "hand_over": str(hand),
        **lines,
    }
    document |= {"noise": seen.columns, "answer_noise": seen.answer_noise}
    document |= {"fingerprint": study.fingerprint} if own else {}
    lists = [f"{word}:   {', '.join(part)}\n" for word, part in (("Made", study.new), ("Kept", study.kept)) if part]
    steps = STEPS.format(
        try_line=lines["try"], serve_line=lines["serve"], hand=shorten(hand), modeler=modeler, modeler_line=line
    )
    print_result(document, as_json, "".join(lists) + steps + (FINGERPRINT.format(study.fingerprint) if own else ""))


def _listen(host: str, network: NetworkOptions, here: Path) -> Json:
    """Where the service listens, with a certificate of its own, the one that was given, or behind a proxy."""
    from tacit.cli.curator_folder import CERTIFICATE, KEY

    local = "::1" if host == "::1" else "127.0.0.1"
    if network.behind_proxy:
        return {"host": local, "proxy": "127.0.0.1,::1"}
    pems = network.tls_certificate or here / CERTIFICATE, network.tls_key or here / KEY
    everywhere = "::" if ":" in host else "0.0.0.0"
    where = {"host": local if host in ("localhost", "127.0.0.1", "::1") else everywhere}
    return where | {"tls-certificate": str(pems[0].absolute()), "tls-key": str(pems[1].absolute())}


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


def _check_column_of(table: Table) -> Check:
    def check(name: str) -> str:
        if name != "-" and ":" not in name and name not in table.names:
            raise BadInput(f"there is no column {name!r}; there are {', '.join(table.names)}")
        return name

    return check


def _inputs_of(table: Table, evaluate: str, wanted: list[str] | None) -> list[str]:
    """The inputs, all of them finite numbers; the answer is none of them."""
    from tacit.outsource.curator.rows import numbers, select
    from tacit.outsource.curator.transform import usable

    names = [name for name in table.names if name != evaluate] if wanted is None else wanted
    if evaluate in names:
        raise BadInput(f"{evaluate!r} is the answer, so it cannot be an input")
    usable(numbers(select(table, names)), 0.5 / max(1, len(table)))
    if evaluate in table.names:
        numbers(select(table, [evaluate]))
    return list(names)


def _check_scale_of(names: list[str]) -> Check:
    """Divisors as they were written, if a table of these columns can be divided by them."""
    from tacit.outsource.curator.transform import NoisyProjection

    def check(text: str) -> str:
        NoisyProjection(len(names), epsilon=1.0, delta=1e-6, scale=PublishOptions(scale=text).divisors)
        return ",".join(part.strip() for part in text.split(","))

    return check


def _check_name(name: str) -> None:
    from tacit.outsource.curator.tokens import CURATOR

    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", name) or name == CURATOR:
        rule = "a modeler's name has 1 to 64 letters, digits, dots and dashes and is not curator"
        raise BadInput(f"{rule}, got {name!r}")
