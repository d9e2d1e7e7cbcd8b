"""A small disk of our own, which can be filled and made read-only. Root mounts one in memory; others do without."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SIZE = 16 << 20
LACK = "may not mount a file system here (not root): full and read-only disks are left out"


class Disk:
    """A mounted file system of 16 MB."""

    def __init__(self, path: Path) -> None:
        self.path, self._filler = path, path / ".filler"

    def fill(self) -> None:
        """Leave no room at all, not even in pages that are half used."""
        descriptor = os.open(self._filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with suppress(OSError):
            while True:
                os.write(descriptor, b"\0" * 4096)
        os.close(descriptor)

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    def freeze(self, patience: float = 5.0) -> bool:
        """Make it read-only. Not possible while a file is open for writing: try until there is a moment."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if self._remount("ro"):
                return True
            time.sleep(0.001)
        return False

    def thaw(self) -> None:
        while not self._remount("rw"):
            time.sleep(0.01)

    def _remount(self, how: str) -> bool:
        return subprocess.run(["mount", "-o", f"remount,{how}", str(self.path)], capture_output=True).returncode == 0


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk | None]:
    """A small disk below this folder; None where it cannot be mounted."""
    place = folder / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(words, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield Disk(place) if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], check=True)
