"""Who may ask: one bearer token for each modeler and for the curator, kept as hashes, revocable while serving.

Tokens are in the state's database, so that whoever grants and revokes at once loses neither; they expire. Or they come
from the environment as TACIT_TOKENS="alice=...,bob=...". They are random and long, so one SHA-256 is hash enough: there
is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType

import sqlalchemy as sa

from tacit.errors import BadInput
from tacit.outsource.curator.queries import damage, now
from tacit.outsource.curator.state import State
from tacit.outsource.curator.tables import tokens

VARIABLE = "TACIT_TOKENS"
LEAST = 20  # characters of a token from the environment
CURATOR = "curator"
EARLIER = "tokens.json"  # where the first release kept them, beside the state
FRESH = 1.0  # seconds for which what was read is believed; queries look at the moment they are claimed


@dataclass(frozen=True)
class Grant:
    """Who holds a token, known by its hash."""

    name: str
    hash: str
    revoked: str | None = None
    expires: str | None = None

    @property
    def standing(self) -> str:
        """In words: may ask, expired, or revoked, and since when."""
        if self.revoked:
            return f"revoked {self.revoked}"
        if self.expires is None:
            return "may ask"
        return f"{'expired' if self.expires <= now() else 'may ask until'} {self.expires}"

    @property
    def valid(self) -> bool:
        return self.revoked is None and (self.expires is None or self.expires > now())


class Tokens:
    """The tokens of one study. Another process may grant or revoke: a service knows it at once.

    ``place`` is the state's: a folder or a PostgreSQL URL, made if it is not there; None for those of the environment
    alone.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Tokens(folder, environment="") as tokens:
    ...     token = tokens.grant("alice")
    ...     print(tokens.who(token), tokens.who(token + "x"), tokens.revoke("alice"), tokens.who(token))
    alice None True None
    """

    def __init__(self, place: str | Path | None, *, name: str = "study", environment: str | None = None) -> None:
        text = os.environ.get(VARIABLE, "") if environment is None else environment
        self._given = [_from_environment(pair) for pair in text.split(",") if pair.strip()]
        self._alone = threading.Lock()
        self._read, self._known = float("-inf"), list[Grant]()
        self._state = None if place is None else State(place, name, hold=False, make=True)
        if place is not None and "://" not in str(place):
            self._take_over(Path(place) / EARLIER)

    def grants(self) -> list[Grant]:
        """All of them, revoked and expired ones too. Who is revoked here is revoked in the environment as well."""
        filed = self._load()
        revoked = {g.name: g.revoked for g in filed if g.revoked}
        return [*filed, *(replace(g, revoked=revoked.get(g.name)) for g in self._given)]

    def fresh(self, *, since: float = FRESH) -> bool:
        """Whether what ``find`` knows was read within so many seconds."""
        return time.monotonic() - self._read < since

    def refresh(self) -> None:
        """Read the grants again; asks the database, so not for a thread that may not wait."""
        known = self.grants()
        with self._alone:
            self._known, self._read = known, time.monotonic()

    def find(self, token: str) -> str | None:
        """The holder of a token by what was read last. Compares with every hash, each in constant time."""
        offered, found = _hash(token), None
        for grant in self._known:
            if hmac.compare_digest(grant.hash, offered) and grant.valid:
                found = grant.name
        return found

    def who(self, token: str) -> str | None:
        """The holder of a token, or None."""
        self.refresh()
        return self.find(token)

    def grant(self, name: str, *, lasts: timedelta | None = None) -> str:
        """A new token for this name, shown once and kept as a hash; an earlier one of the name is replaced."""
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
            raise BadInput(f"a name has 1 to 64 letters, digits, dots and dashes, got {name!r}")
        token = secrets.token_urlsafe(32)
        until = None if lasts is None else (datetime.now(UTC) + lasts).isoformat(timespec="milliseconds")
        self._write(Grant(name, _hash(token), None, until))
        return token

    def revoke(self, name: str) -> bool:
        """Refuse this name from now on; False if nobody has it."""
        found = next((g for g in self.grants() if g.name == name), None)
        if found is None:
            return False
        t = tokens.c
        state = self._writable()
        with state.writing() as c:
            state.lock_tokens(c)
            done = c.execute(tokens.update().where(t.name == state.name, t.holder == name).values(revoked=now()))
            if done.rowcount == 0:  # a token of the environment
                c.execute(tokens.insert().values(self._row(replace(found, hash="", revoked=now()))))
        self._read = float("-inf")
        return True

    def close(self) -> None:
        if self._state is not None:
            self._state.close()

    def __enter__(self) -> Tokens:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _load(self) -> list[Grant]:
        if self._state is None:
            return []
        t = tokens.c
        query = sa.select(t.holder, t.hash, t.revoked, t.expires).where(t.name == self._state.name).order_by(t.holder)
        with self._state.reading() as c:
            lines = [tuple(line) for line in c.execute(query)]
        if any(not isinstance(value, str | None) for line in lines for value in line):
            raise damage()
        return [Grant(*line) for line in lines]

    def _write(self, grant: Grant) -> None:
        state, t = self._writable(), tokens.c
        with state.writing() as c:
            state.lock_tokens(c)
            c.execute(tokens.delete().where(t.name == state.name, t.holder == grant.name))
            c.execute(tokens.insert().values(self._row(grant)))
        self._read = float("-inf")

    def _row(self, grant: Grant) -> dict[str, str | None]:
        rest = {"hash": grant.hash, "granted": now(), "expires": grant.expires, "revoked": grant.revoked}
        return {"name": self._writable().name, "holder": grant.name, **rest}

    def _writable(self) -> State:
        if self._state is None:
            raise BadInput("tokens that come from the environment alone cannot be changed; give the state they are for")
        return self._state

    def _take_over(self, file: Path) -> None:
        """Tokens of the first release move into the database, once."""
        if not file.exists():
            return
        try:
            listed = [
                Grant(str(t["name"]), str(t["hash"]), t["revoked"]) for t in json.loads(file.read_text())["tokens"]
            ]
        except (OSError, ValueError, KeyError, TypeError):
            raise BadInput(f"{file} is no file of tokens; remove it and grant anew: tacit curator grant NAME") from None
        there = {g.name for g in self._load()}
        for grant in listed:
            if grant.name not in there:
                self._write(grant)
        file.unlink()


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _from_environment(pair: str) -> Grant:
    name, equals, token = pair.strip().partition("=")
    if not equals or not name or len(token) < LEAST:
        raise BadInput(
            f"{VARIABLE} holds name=token pairs with commas between, each token of {LEAST} characters or more"
        )
    return Grant(name, _hash(token))
