"""Who may ask: one bearer token for each modeler and for the curator, kept as hashes, revocable while serving.

Tokens come from a file that ``grant`` writes, or from the environment as TACIT_TOKENS="alice=...,bob=...". They are
random and long, so one SHA-256 is hash enough: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.errors import BadInput
from tacit.files import create_private_folder, write_private
from tacit.outsource.curator.state import now

FORMAT = "tacit.tokens/1"
VARIABLE = "TACIT_TOKENS"
LEAST = 20  # characters of a token from the environment
CURATOR = "curator"


@dataclass(frozen=True)
class Grant:
    """Who holds a token, known by its hash."""

    name: str
    hash: str
    revoked: str | None = None


class Tokens:
    """The tokens of one service. Another process may grant or revoke: the file is read again when it changes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokens = Tokens(Path(folder) / "tokens.json", environment="")
    ...     token = tokens.grant("alice")
    ...     print(tokens.who(token), tokens.who(token + "x"), tokens.revoke("alice"), tokens.who(token))
    alice None True None
    """

    def __init__(self, path: str | Path | None, *, environment: str | None = None) -> None:
        self.path = None if path is None else Path(path)
        text = os.environ.get(VARIABLE, "") if environment is None else environment
        self._given = [_from_environment(pair) for pair in text.split(",") if pair.strip()]
        self._seen: tuple[int, int] | None = None
        self._filed: list[Grant] = []

    def grants(self) -> list[Grant]:
        """All of them, revoked ones too. A name that the file revokes is revoked in the environment as well."""
        if self.path is not None:
            try:
                found = self.path.stat()
            except FileNotFoundError:
                self._seen, self._filed = None, []
            else:
                if self._seen != (found.st_mtime_ns, found.st_size):
                    self._filed = _read(self.path)
                    self._seen = (found.st_mtime_ns, found.st_size)
        revoked = {g.name: g.revoked for g in self._filed if g.revoked}
        return [*self._filed, *(replace(g, revoked=revoked.get(g.name)) for g in self._given)]

    def who(self, token: str) -> str | None:
        """The holder of a token, or None. Compares with every hash, each in constant time."""
        offered = _hash(token)
        found = None
        for grant in self.grants():
            same = hmac.compare_digest(grant.hash, offered)
            if same and grant.revoked is None:
                found = grant.name
        return found

    def grant(self, name: str) -> str:
        """A new token for this name, shown once and kept as a hash; an earlier one of the name is replaced."""
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
            raise BadInput(f"a name has 1 to 64 letters, digits, dots and dashes, got {name!r}")
        token = secrets.token_urlsafe(32)
        self._write([*(g for g in self._file() if g.name != name), Grant(name, _hash(token))])
        return token

    def revoke(self, name: str) -> bool:
        """Refuse this name from now on; False if nobody has it."""
        if name not in {g.name for g in self.grants()}:
            return False
        filed = [g for g in self._file() if g.name != name]
        mine = next((g.hash for g in self._file() if g.name == name), "")
        self._write([*filed, Grant(name, mine, now())])
        return True

    def _file(self) -> list[Grant]:
        if self.path is None:
            raise BadInput("tokens that come from the environment alone cannot be changed; give a file of tokens")
        return _read(self.path) if self.path.exists() else []

    def _write(self, grants: list[Grant]) -> None:
        assert self.path is not None
        create_private_folder(self.path.parent)
        content = json.dumps({"format": FORMAT, "tokens": [g.__dict__ for g in grants]}, indent=1)
        write_private(self.path, content.encode())


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _from_environment(pair: str) -> Grant:
    name, equals, token = pair.strip().partition("=")
    if not equals or not name or len(token) < LEAST:
        raise BadInput(
            f"{VARIABLE} holds name=token pairs with commas between, each token of {LEAST} characters or more"
        )
    return Grant(name, _hash(token))


def _read(path: Path) -> list[Grant]:
    try:
        document = json.loads(path.read_text())
        if document["format"] != FORMAT:
            raise KeyError
        return [Grant(str(t["name"]), str(t["hash"]), t["revoked"]) for t in document["tokens"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{path} is no file of tokens; make one with: tacit curator grant NAME") from None
