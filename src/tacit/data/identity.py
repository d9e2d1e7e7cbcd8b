"""Which data a run is about: told apart from other data, without telling anything of them.

A study, a journal and a certificate carry a document of public facts (a name, numbers of rows and columns, the target,
a mark of the column names) and a digest of the content under a secret key, with a salt of its own. Whoever has the key,
which lies in the owner's own folder and travels with nothing, can tell whether two contents are one; to everybody else
a digest is a random number, also beside another digest of the same data.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacit.errors import BadInput, name_type
from tacit.files import Json, create_private_folder, open_private

FORMAT = "tacit.data/1"
CONTENT = "cells"  # what a digest is made of; those of the first releases, which do not say, cannot be compared
KEY_FILE = "TACIT_DATA_KEY"  # environment: another place of the key, such as one that machines share
REMEDY = "Go on with the data it was begun with, or choose another folder, study name or storage"
WORDS = {"rows": "its rows were {}, now {}", "columns": "its columns were {}, now {}"}
WORDS |= {"target": "the target was {!r}, now {!r}", "use": "it was used with {}, now with {}"}
command = ""  # the line that the shell is running, for who made what; "" from Python
_date: ContextVar[str] = ContextVar("date", default="")  # stands for today's if it is set


@dataclass(frozen=True, repr=False)
class DataIdentity:
    """What is publicly known of a data set, and how to know its content again.

    ``rows`` is None where it is private, as with persons that have several rows. A ``name`` that the user gave stands
    for the content: no digest is made. ``content`` is a digest of the cells; it is private and travels with no pickle.

    >>> import pandas
    >>> houses = pandas.DataFrame({"rooms": [3, 4], "price": [1.5, 2.0]})
    >>> mine = DataIdentity.of_table(houses, name="king.csv", target="price")
    >>> agree_on_data(mine.seal(), mine)["name"]
    'king.csv'
    """

    name: str
    rows: int | None = None
    columns: int | None = None
    target: str | None = None
    schema: str | None = None  # a mark of the names of the columns, and of what was declared of them
    use: str | None = None  # what decides which rows train and which are looked at, such as "seed 0"
    content: bytes | None = None

    @classmethod
    def of_table(
        cls,
        table: Any,
        *,
        name: str,
        target: str | None = None,
        declared: Any = None,
        persons: bool = False,
        use: str | None = None,
        others: Sequence[Any] = (),
    ) -> DataIdentity:
        """A table in whatever container and ``others``, columns beside it; ``declared`` is its schema in JSON.

        ``persons`` says that persons have several rows, whose number is private.
        """
        from tacit.data.table import Table

        table = Table.of(table)
        names = list(table.names)
        mark = hashlib.sha256(json.dumps([names, declared], sort_keys=True, default=str).encode()).hexdigest()[:16]
        rows = None if persons else len(table)
        return cls(name, rows, len(names), target, mark, use, _digest_of_table(table) + _digest_of_columns(others))

    @classmethod
    def of_arrays(cls, arrays: Sequence[Any], *, name: str = "arrays", use: str | None = None) -> DataIdentity:
        """Features (n, d) first; whatever arrays belong to them after."""
        first = arrays[0]
        columns = first.shape[1] if getattr(first, "ndim", 1) > 1 else 1
        return cls(name, len(first), int(columns), use=use, content=_digest_of_arrays(arrays))

    def rename(self, name: str | None) -> DataIdentity:
        """Under a name that the user gave, which stands for the content."""
        return self if name is None else replace(self, name=str(name), content=None)

    def describe(self) -> dict[str, Any]:
        """The public facts."""
        facts: Json = {"rows": self.rows, "columns": self.columns, "target": self.target}
        facts |= {"schema": self.schema, "use": self.use}
        return {"format": FORMAT, "name": self.name, **{k: v for k, v in facts.items() if v is not None}}

    def seal(self) -> dict[str, Any]:
        """The public facts and a keyed digest of the content, with a fresh salt. Reveals nothing without the key."""
        key = read_key() if self.content is not None else None
        if key is None or self.content is None:
            return self.describe()
        salt = secrets.token_hex(16)
        digest = _keyed_digest(key, salt, self.content)
        return {**self.describe(), "salt": salt, "key": _mark(key), "digest": digest, "digest_of": CONTENT}

    def __repr__(self) -> str:
        return f"<the identity of {self.name!r}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "content": None}


def describe_making() -> dict[str, str]:
    """By what version of tacit, when, and by which line of the shell something is made."""
    from datetime import UTC, datetime

    made = {"version": _version(), "date": _date.get() or datetime.now(UTC).isoformat(timespec="seconds")}
    return {**made, **({"command": command} if command else {})}


@contextmanager
def hold_date() -> Iterator[None]:
    """Date all that is made inside alike, for runs that are compared: when they ended is not what they tell."""
    token = _date.set("2000-01-01T00:00:00+00:00")
    try:
        yield
    finally:
        _date.reset(token)


@lru_cache(maxsize=1)
def _version() -> str:
    from importlib.metadata import version

    return version("tacit")


def identify(data: str | DataIdentity | None) -> DataIdentity | None:
    """An identity, or the name of one; None if nothing is said."""
    if data is None or isinstance(data, DataIdentity):
        return data
    if not isinstance(data, str) or not data.strip():
        raise BadInput(f"data must be a name or a tacit.data.identity.DataIdentity, got {name_type(data)}")
    return DataIdentity(data.strip())


def data_of(thing: Any) -> DataIdentity | None:
    """What an objective or an algorithm says of its data in ``data``, if that is an identity or a name."""
    said = getattr(thing, "data", None)
    return identify(said) if isinstance(said, (str, DataIdentity)) else None


def agree_on_data(stored: dict[str, Any] | None, now: DataIdentity | None, what: str = "this study") -> Any:
    """The document to keep for a run: the stored one, if the data are still the same. BadInput says how they differ.

    Edges. A run that said nothing of its data when it was begun takes any. Where the digest was made with another key,
    or by an earlier release, name, sizes and columns decide.
    """
    if stored is None:
        return now.seal() if now is not None else None
    if now is None:
        raise BadInput(f"{what} is about {_say(stored)}; now nothing is said of the data. {REMEDY}")
    try:
        other = _differences(stored, now)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BadInput(f"what {what} says of its data is not what was written there. {REMEDY}") from None
    if other:
        raise BadInput(
            f"{what} is about {_say(stored)}, and this is {_say(now.describe())}: {other}. Results of both would be "
            f"mixed. {REMEDY}"
        )
    return stored


def _differences(stored: dict[str, Any], now: DataIdentity) -> str:
    facts, same = now.describe(), None
    key = read_key() if "digest" in stored and now.content is not None else None
    if (
        key is not None
        and now.content is not None
        and stored.get("key") == _mark(key)
        and stored.get("digest_of") == CONTENT
    ):
        same = hmac.compare_digest(stored["digest"], _keyed_digest(key, stored["salt"], now.content))
    found = [words.format(stored.get(k), facts.get(k)) for k, words in WORDS.items() if stored.get(k) != facts.get(k)]
    if stored.get("schema") != facts.get("schema") and stored.get("columns") == facts.get("columns"):
        found.append("the columns have other names, or were declared otherwise")
    if same is False and not found:
        found.append("the cells differ")
    if same is None and stored.get("name") != facts["name"]:
        found.insert(0, f"the name was {stored.get('name')!r}, now {facts['name']!r}")
    return "; ".join(found)


def _say(facts: Json) -> str:
    sizes = [f"{facts[k]:,} {k}" for k in ("rows", "columns") if k in facts]
    return f"{facts.get('name')!r}" + (f" ({', '.join(sizes)})" if sizes else "")


def _keyed_digest(key: bytes, salt: str, content: bytes) -> str:
    return hmac.new(key, b"data\0" + salt.encode() + b"\0" + content, hashlib.sha256).hexdigest()


def _mark(key: bytes) -> str:
    """By which a key is known and not revealed."""
    return hmac.new(key, b"mark", hashlib.sha256).hexdigest()[:16]


def key_path() -> Path:
    """Where the key lies."""
    if given := os.environ.get(KEY_FILE):
        return Path(given)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "tacit" / "data.key"


def read_key() -> bytes | None:
    """The key of this user, made when it is first wanted; None where none can be kept."""
    try:
        path = key_path()
        if not path.exists():
            create_private_folder(path.parent)
            part = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
            with os.fdopen(open_private(part, os.O_WRONLY), "wb") as file:
                file.write(secrets.token_bytes(32))
            try:
                os.link(part, path)  # of two processes that make it at once, one does
            except FileExistsError:
                pass
            finally:
                part.unlink()
        key = path.read_bytes()
    except (OSError, RuntimeError):
        return None
    if len(key) < 32:
        raise BadInput(f"{key_path()} is no key: it must hold 32 random bytes. Remove it, and another one is made")
    return key


def _digest_of_table(table: Any) -> bytes:
    hashed = hashlib.sha256(json.dumps(list(table.names)).encode())
    for cells in table.cells:
        hashed.update(cells.digest())
    return hashed.digest()


def _digest_of_columns(columns: Sequence[Any]) -> bytes:
    from tacit.data.containers import read_column

    return hashlib.sha256(b"".join(read_column(column).digest() for column in columns)).digest()


def _digest_of_arrays(arrays: Sequence[Any]) -> bytes:
    """Arrays of numbers by their bytes; rows of anything else by their cells."""
    import numpy as np

    hashed = hashlib.sha256()
    for array in arrays:
        cells = array if isinstance(array, np.ndarray) else None
        if cells is not None and cells.dtype.kind in "fiubcM":
            hashed.update(f"{cells.dtype}{cells.shape}".encode())
            hashed.update(np.ascontiguousarray(cells).data)
        elif cells is not None and cells.ndim == 1 and cells.dtype.names is None:
            hashed.update(_digest_of_columns([cells]))
        else:
            from tacit.data.table import Table

            hashed.update(_digest_of_table(Table.of(array)))
    return hashed.digest()
