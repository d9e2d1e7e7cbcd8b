"""The folder of a study that `tacit curator init` makes: keys, ledger, state, what is handed over, the terms."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tacit.errors import BadInput, LedgerError
from tacit.files import create_private_folder, write_private
from tacit.locks import lock_briefly

CERTIFICATE, KEY, STUDY = "certificate.pem", "key.pem", "study"


class StudyFolder:
    """What is in the folder, and what had to be made for it to be complete."""

    def __init__(self, folder: Path, file: Path, text: str) -> None:
        self.folder, self.file, self.text = folder, file, text
        self.new: list[str] = []
        self.kept: list[str] = []
        self.remarks: list[str] = []
        self.fingerprint = ""
        self._refuse_other_terms()
        create_private_folder(folder)

    def _refuse_other_terms(self) -> None:
        if self.file.exists() and (there := self.file.read_text()) != self.text:
            raise BadInput(
                f"{shorten(self.file)} is there with other terms and was left as it is: start with what it says, or "
                f"give --folder for another study. {_first_difference(there, self.text)}"
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the folder: of two who make it at once, one would have the other's key, or a token that was replaced."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            with lock_briefly(descriptor, 60.0):
                self._refuse_other_terms()
                yield
        finally:
            os.close(descriptor)

    def note(self, what: str, new: bool) -> None:
        (self.new if new else self.kept).append(what)

    def certificate(self, host: str) -> None:
        from tacit.outsource.curator.certificate import expiry, fingerprint, is_expiring, make_certificate

        paths = self.folder / CERTIFICATE, self.folder / KEY
        there = [path.exists() for path in paths]
        if any(there) and not all(there):
            gone = paths[there.index(False)]
            raise BadInput(
                f"{gone.name} is missing beside its other half in {self.folder}: put it back, or remove both"
            )
        if not all(there):
            make_certificate(host, *paths)
        self.fingerprint = fingerprint(paths[0])
        self.note(f"certificate and key for {host}", not all(there))
        if is_expiring(paths[0]):
            self.remarks.append(
                f"the certificate ends {expiry(paths[0])}: remove {CERTIFICATE} and {KEY}, run this again, and hand "
                "the new certificate over"
            )

    def open_ledger(self, url: str, name: str, budget: Any, rows: Path) -> None:
        from tacit.privacy.ledger import Ledger

        try:
            new = name not in Ledger.names(url)
        except LedgerError:  # no such file; one that is lost is refused below
            new = True
        words = f"rows of {rows.name}" if new else ""
        kind = "gdp" if new else None  # a study's noise is Gaussian
        with Ledger.open(url, name, budget if new else None, description=words, composition=kind) as opened:
            self.note(f"ledger {name!r} with {opened.budget}", new)

    def grant(self, who: str, lasts: timedelta | None, state: str, own: bool) -> Path:
        """A folder to hand over: the token, and the certificate to trust."""
        from tacit.outsource.curator.tokens import Tokens

        hand = self.folder / f"for-{who}"
        create_private_folder(hand)
        file = hand / f"{who}.token"
        with Tokens(state, name=STUDY) as known:
            granted = any(g.name == who and g.valid for g in known.grants())
            if file.exists() and known.who(file.read_text().strip()) != who:
                raise BadInput(
                    f"{shorten(file)} is no token that {who} could ask with now, and was left as it is. Remove it and "
                    "run this again: then a new one is granted, and an earlier one ends"
                )
            new = not file.exists()
            if new and granted:
                self.remarks.append(
                    f"{who} had a token, of which there is no copy here: it is replaced, the old one ends"
                )
            if new:
                token = known.grant(who, lasts=lasts)
                write_private(file, (token + "\n").encode())
        if own:
            write_private(hand / CERTIFICATE, (self.folder / CERTIFICATE).read_bytes())
        self.note(f"token of {who}", new)
        return hand

    def finish(self) -> None:
        """The terms come last: while they are missing, the next run goes on."""
        new = not self.file.exists()
        if new:
            write_private(self.file, self.text.encode())
        self.note(f"terms in {shorten(self.file)}", new)


def shorten(path: Path) -> str:
    """A path as one would type it here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _first_difference(before: str, after: str) -> str:
    """The first line that differs, of two files of terms."""
    was, now = ([line.partition("  #")[0] for line in text.splitlines()] for text in (before, after))
    gone, new = ([a for a in one if a not in other] for one, other in ((was, now), (now, was)))
    return f"It says {(gone or ['no more'])[0]}, you said {(new or ['less'])[0]}"
