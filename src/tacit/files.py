"""Files: those that only their owner may read, whatever the umask says, and those that a person asked for.

Everything private is made by the functions that say so.
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

from tacit.errors import BadInput

FILE, FOLDER = 0o600, 0o700
Json = dict[str, Any]
"""An object of a JSON document: its names are those of a format, which golden files hold."""


def create_private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, for its owner alone. One that exists is left as it is."""
    for folder in (*reversed(path.parents), path):
        try:
            folder.mkdir(mode=FOLDER)
        except FileExistsError:
            continue
        folder.chmod(FOLDER)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(path))


def open_private(path: Path, flags: int = os.O_RDWR) -> int:
    """A descriptor of a file that is its owner's alone: made so, or, if it was there, made so now where we may.

    ``flags`` are those of os.open; O_CREAT is added, and no child process inherits the descriptor.
    """
    descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, FILE)
    try:
        if os.fstat(descriptor).st_mode & 0o777 != FILE:
            os.fchmod(descriptor, FILE)
    except PermissionError:  # another user's, who let us in
        pass
    return descriptor


def create_private(path: Path) -> None:
    """Make a file of ours alone, or take away what others may do with one that is there."""
    os.close(open_private(path))


def write_private(path: Path, content: bytes) -> None:
    """Write a whole file of ours alone, under its name only once it is on disk."""
    part = path.with_name(f"{path.name}.part")
    with os.fdopen(open_private(part, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    flush_folder(path.parent)


def flush_folder(path: Path) -> None:
    """See to it that the names in a folder are on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path: str | Path, what: str) -> Any:
    """The JSON document in a file that a person named; BadInput says why it is no ``what``."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # text that is none, numbers or depths beyond all measure
        why = getattr(error, "strerror", None) or type(error).__name__
        raise BadInput(f"{path} is not a readable {what} ({why})") from None


def write_file(path: str | Path, content: str | bytes) -> Path:
    """Write a file that a person asked for, as the umask says; BadInput says why it cannot be written."""
    target = Path(path)
    try:
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror}") from None
    return target
