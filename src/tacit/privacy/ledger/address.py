"""Where a ledger is to be found: a path or URL, its password apart, and what to do when nothing is found there."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import LedgerError, name_type

POOLER = (
    "a pooler stands between that hands a connection on after each transaction: connect to the server itself, or have "
    "the pooler keep one connection for a session (pool_mode = session)"
)

_secrets: dict[str, str] = {}  # addresses without a password, and with it: in this process alone


def without_password(address: str) -> str:
    """An address that may be pickled."""
    bare = sa.make_url(address).difference_update_query(["password"])._replace(password=None)
    return bare.render_as_string(hide_password=False)


def with_password(address: str) -> str:
    """The address to connect with: as this process knows it, or as TACIT_LEDGER has it; or as it is, for .pgpass."""
    stated = os.environ.get("TACIT_LEDGER", "")
    if address in _secrets or not stated.startswith("postgresql"):
        return _secrets.get(address, address)
    named = parse_url(stated).render_as_string(hide_password=False)
    return named if without_password(named) == address else address


def refuse_alike(name: str, names: Collection[str]) -> None:
    """LedgerError if a new ledger would look like one that is there, or like none: its budget would be taken for it."""
    if name != name.strip() or not name.isprintable():
        raise LedgerError(
            f"a ledger's name has no blanks around it and nothing in it that is not printed, got {name!r}. Nothing was "
            "made"
        )
    alike = next((other for other in names if _look(other) == _look(name)), None)
    if alike is not None:
        raise LedgerError(
            f"ledger {alike!r} is there, and {name!r} looks like it (case, blanks, forms of a letter apart): two "
            "budgets would be taken for one. Open that one, or take another name. Nothing was made"
        )


def _look(name: str) -> str:
    """What a reader sees of a name.

    >>> _look(" I\u200bCU") == _look("icu"), _look("\u212aeller") == _look("keller")
    (True, True)
    """
    plain = unicodedata.normalize("NFKC", name)
    shown = "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Cc"))
    return unicodedata.normalize("NFKC", " ".join(shown.split()).casefold())


def remember_password(address: str) -> None:
    """Keep an address with its password, in this process alone."""
    _secrets[without_password(address)] = address


def parse_url(url: str | Path) -> URL:
    """A path or URL as the URL of a database that outlives the process."""
    text = os.fspath(url) if isinstance(url, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise LedgerError(f"a ledger needs a path or a URL, got {name_type(url)}")
    if "://" not in text:
        parsed = URL.create("sqlite", database=text)
    else:
        try:
            parsed = make_url(text)
        except (SQLAlchemyError, ValueError):
            raise LedgerError("not a URL; write sqlite:///file.db or postgresql://user@host/database") from None
    dialect, _, driver = parsed.drivername.partition("+")
    if dialect in ("postgresql", "postgres") and driver in ("", "psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    if dialect != "sqlite" or driver not in ("", "pysqlite"):
        raise LedgerError(
            f"a ledger is kept in SQLite or PostgreSQL, got {parsed.drivername}://; write a path, sqlite:///file.db or "
            "postgresql://user@host/database"
        )
    if not parsed.database or ":memory:" in parsed.database or parsed.query:
        raise LedgerError(
            "a ledger must outlive the process, so it is kept in a file: write a path or sqlite:///file.db, "
            "without options; it is not kept in memory"
        )
    return URL.create("sqlite", database=str(Path(parsed.database).expanduser().absolute()))


def remedy_for(reason: str) -> str:
    """What to do about a common failure."""
    for sign, remedy in (
        ("readonly", "open it as a user who may write the file and its directory"),
        ("read-only", "connect to a server and as a role that may write"),
        ("connection to server", "check that the server runs and that the URL is right"),
        ("unable to open", "check that the directory exists and may be written"),
        ("No such file or directory", "check that the directory exists and may be written"),
        ("Permission denied", "check that the directory exists and may be written"),
        ("Read-only file system", "check that the directory exists and may be written"),
        ("full", "make room on the disk"),
        ("No space left", "make room on the server's disk"),
        ('prepared statement "tacit_', POOLER),
        ("statement pooling mode", "a charge is a transaction: set pool_mode = transaction or session in the pooler"),
        ("locked", "another process holds it; try again"),
        ("lock timeout", "another process holds it; try again"),
        ("permission denied", "ask for the right to use the tacit_ tables"),
        ("onnection", "check that the server runs and that the URL is right"),
    ):
        if sign in reason:
            return f" ({remedy})"
    return ""
