"""What a run must remember until its release, and nobody may see: a folder marked private, wiped afterwards."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

from tacit.errors import BadInput
from tacit.files import create_private_folder, write_private
from tacit.identity import DataIdentity, agree_on_data

DIGEST = 32  # bytes
PRIVATE = "private"  # the name of the folder
WORDS = "PRIVATE: the state of a run that is not finished. It is wiped when the result is released.\n"


class PrivateState:
    """Named values in a folder of mode 0700, each on disk before it counts; in memory without a folder.

    Edges. A file cut short by a crash was never there: it is written beside and moved. A value is stored once. One that
    was changed or cut since is refused: each file begins with the digest of what follows, and of its own name.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder, self._memory = folder, dict[str, Any]()
        if folder is None:
            return
        create_private_folder(folder)
        os.chmod(folder, 0o700)
        write_private(folder / "README", WORDS.encode())

    def __repr__(self) -> str:
        return "<the private state of a run>"

    def load(self, name: str) -> Any:
        """A value that was stored, or None."""
        if self.folder is None:
            return self._memory.get(name)
        try:
            content = (self.folder / name).read_bytes()
            if content[:DIGEST] != _digest(name, content[DIGEST:]):
                raise ValueError
            return pickle.loads(content[DIGEST:])
        except FileNotFoundError:
            return None
        except Exception:
            raise BadInput(
                f"{self.folder / name} is not what was written there: the run cannot go on. Start again with "
                "another folder, which is paid for anew"
            ) from None

    def store(self, name: str, value: Any) -> Any:
        """Keep a value, durably, and give it back."""
        if self.folder is None:
            self._memory[name] = value
        else:
            content = pickle.dumps(value)
            write_private(self.folder / name, _digest(name, content) + content)
        return value

    def agree(self, terms: dict[str, Any], data: DataIdentity | None = None) -> None:
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
            raise BadInput(f"{self.folder} was begun under other terms ({other}); use another folder")

    def wipe(self) -> None:
        """Overwrite and remove everything. The folder is renamed first: what is half wiped is not read again."""
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


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


def _wiping_place(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.wiped")
