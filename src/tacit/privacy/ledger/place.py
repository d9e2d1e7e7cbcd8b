"""The one name of an SQLite file: its own folder and inode, noted in the file itself.

SQLite keeps its journal beside the name under which a file is opened. Under two names, by a hard link or by a file that
is mounted alone into a container, a journal that was left under one of them is not seen under the other, and is rolled
back later over what was charged since. So a file is opened under the name that it notes. A file that was moved, copied
or restored notes its new one.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from sqlalchemy.engine import Connection

from tacit.errors import LedgerError

MOUNTS = Path("/proc/self/mountinfo")
BESIDE = ("-journal", "-wal")  # what a process that died leaves beside the name that it used


def check_place(connection: Connection, path: Path) -> bool:
    """Whether a file notes the name under which it is opened; LedgerError if it is in use under another one.

    The file must have the table tacit_meta.
    """
    real = Path(os.path.realpath(path))
    if _is_mounted(real):
        raise _second_name(path, "it is mounted alone", f"mount the folder that holds {real.name}, not the file")
    found = connection.exec_driver_sql("SELECT value FROM tacit_meta WHERE key = 'place'").scalar()
    here, noted = _describe(real), _read(found)
    if noted == here:
        return True
    if noted.get("file") != here["file"] or (noted["name"], noted["folder"]) == (here["name"], here["folder"]):
        return False  # another file: one that was copied or restored; or a folder that is reached by another path
    before = Path(noted["path"])
    if os.stat(real).st_nlink > 1 or _is_same(before, real):
        raise _second_name(path, f"its own name is {before}", f"use that one, and remove the link {path}")
    left = [f"{before.name}{end}" for end in BESIDE if _has_content(before.with_name(before.name + end))]
    if left:
        raise _second_name(path, f"it was moved from {before}, and {left[0]} is still there", "move that with it")
    return False


def note_place(connection: Connection, path: Path) -> None:
    """Note the name under which a file is opened, in its own table tacit_meta."""
    said = json.dumps(_describe(Path(os.path.realpath(path))))
    connection.exec_driver_sql("DELETE FROM tacit_meta WHERE key = 'place'")
    connection.exec_driver_sql("INSERT INTO tacit_meta (key, value) VALUES ('place', ?)", (said,))


def _describe(real: Path) -> dict[str, Any]:
    return {
        "name": real.name,
        "folder": os.stat(real.parent).st_ino,
        "file": os.stat(real).st_ino,
        "path": str(real),
    }


def _read(said: Any) -> dict[str, Any]:
    """What a file notes; nothing if it is of an earlier release."""
    try:
        noted = json.loads(said)
        return {"name": str(noted["name"]), "folder": noted["folder"], "file": noted["file"], "path": noted["path"]}
    except (TypeError, ValueError, KeyError):
        return {}


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _is_mounted(real: Path) -> bool:
    """Whether a file was mounted alone, as Linux tells it."""
    try:
        lines = MOUNTS.read_text().splitlines()
    except OSError:
        return False
    points = (re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), line.split()[4]) for line in lines)
    return any(point == str(real) for point in points)


def _second_name(path: Path, what: str, remedy: str) -> LedgerError:
    return LedgerError(
        f"{path} is a second name of a file ({what}): what is written under one name can be lost under the other. "
        f"Remedy: {remedy}. Nothing was released"
    )
