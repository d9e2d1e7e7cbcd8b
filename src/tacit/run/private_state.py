"""What a run must remember until its release, and nobody may see: a folder marked private, wiped afterwards."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit.data.identity import DataIdentity, agree_on_data, key_path, read_key
from tacit.errors import BadInput, TacitError
from tacit.files import Json, create_private_folder, write_private
from tacit.privacy.claim_store import process_name

DIGEST = 32  # bytes
PRIVATE = "private"  # the name of the folder
WORDS = "PRIVATE: the state of a run that is not finished. It is wiped when the result is released.\n"


class PrivateState:
    """Named documents in a folder of mode 0700, each on disk before it counts; in memory without a folder.

    Documents are JSON: reading one runs nothing. A model that has no JSON form (``store_model``) is pickled, and sealed
    with the key of this user, which lies elsewhere: a pickle that somebody else put there is refused unread.

    Edges. A file cut short by a crash was never there: it is written beside and moved. One that was changed or cut
    since is refused: each file begins with the digest of what follows, and of its own name. A fork in the midst of a
    run may not use it.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder, self._memory, self._owner = folder, Json(), process_name()
        self.paid = ""  # in words what this process knows to be paid for; not stored
        if folder is None:
            return
        create_private_folder(folder)
        os.chmod(folder, 0o700)
        write_private(folder / "README", WORDS.encode())

    def __repr__(self) -> str:
        return "<the private state of a run>"

    def load(self, name: str) -> Any:
        """A document that was stored, or None."""
        content = self._read(name)
        if self.folder is None or content is None:
            return content
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            old = " (an earlier release wrote it as a pickle, which could run code)" if content[:1] == b"\x80" else ""
            raise self._refusal(name, old) from None

    def store(self, name: str, document: Any) -> Any:
        """Keep a document, durably, and give it back."""
        self._write(name, document, lambda: json.dumps(document).encode())
        return document

    def load_model(self, name: str) -> Any:
        """A model that was stored by this user."""
        if self.folder is None:
            return self._memory.get(name)
        content = self._read(name, _key())
        try:
            return pickle.loads(content)
        except Exception:  # its class may be gone, or have changed
            raise self._refusal(name) from None

    def store_model(self, name: str, model: Any) -> None:
        """Keep a model that has no JSON form."""
        self._write(name, model, lambda: pickle.dumps(model), sealed=True)

    def _write(self, name: str, value: Any, to_bytes: Callable[[], bytes], *, sealed: bool = False) -> None:
        self._refuse_fork()
        if self.folder is None:
            self._memory[name] = value
        else:
            content = to_bytes()
            write_private(self.folder / name, _digest(name, content, _key() if sealed else b"") + content)

    def _refuse_fork(self) -> None:
        if self._owner != process_name():
            raise TacitError(
                "this process was forked in the midst of a run, which goes on in its parent alone: two would draw "
                "twice for one payment. Nothing was released"
            )

    def _read(self, name: str, key: bytes = b"") -> Any:
        """What was stored, in bytes if there is a folder; None if nothing was."""
        self._refuse_fork()
        if self.folder is None:
            return self._memory.get(name)
        try:
            content = (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None
        if not hmac.compare_digest(content[:DIGEST], _digest(name, content[DIGEST:], key)):
            raise self._refusal(name, " by this user, on this machine" if key else "")
        return content[DIGEST:]

    def _refusal(self, name: str, why: str = "") -> BadInput:
        return BadInput(
            f"{(self.folder or Path()) / name} is not what was written there{why}: the run cannot go on. Start again "
            "with another folder, which is paid for anew"
        )

    def agree(self, terms: Json, data: DataIdentity | None = None) -> None:
        """Store the terms of the run and what data it is about, or refuse a folder that was begun under others."""
        mine = json.loads(json.dumps(terms))
        stored = self.load("terms")
        if stored is None:
            self.store("data", agree_on_data(None, data))
            self.store("terms", mine)
            return
        agree_on_data(self.load("data"), data, f"the run in {self.folder}")
        if stored != mine:
            other = ", ".join(sorted(k for k in {*stored, *mine} if stored.get(k) != mine.get(k)))
            raise BadInput(
                f"{self.folder} was begun under other terms ({other}), or by another release of tacit. A run started "
                "with other settings cannot be resumed: finish it as it was begun, or use another folder, which is "
                "paid for anew"
            )

    def wipe(self) -> None:
        """Overwrite and remove everything. The folder is renamed first: what is half wiped is not read again."""
        self._refuse_fork()
        self._memory.clear()
        if self.folder is None or not self.folder.exists():
            return
        os.replace(self.folder, _wiping_place(self.folder))
        self.finish_wiping(self.folder)

    @staticmethod
    def finish_wiping(folder: Path) -> None:
        """Go on with a wiping that was cut short, if one was."""
        left = _wiping_place(folder)
        if not left.exists():
            return
        for file in left.iterdir():
            with file.open("r+b") as handle:
                handle.write(b"\0" * file.stat().st_size)
                handle.flush()
                os.fsync(handle.fileno())
        shutil.rmtree(left)


def _digest(name: str, content: bytes, key: bytes = b"") -> bytes:
    """Of a document; with a key, of a model, which cannot be made without the key."""
    named = name.encode() + b"\0" + content
    return hmac.digest(key, b"model\0" + named, "sha256") if key else hashlib.sha256(named).digest()


def _key() -> bytes:
    key = read_key()
    if key is None:
        raise BadInput(
            f"this model has no JSON form, and no key to seal its pickle with can be kept at {key_path()}: set "
            "TACIT_DATA_KEY to a file that may be written, or leave out the folder"
        )
    return key


def _wiping_place(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.wiped")
