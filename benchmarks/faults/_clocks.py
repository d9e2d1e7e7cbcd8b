"""Clocks that jump under a running process: libfaketime reads the offset from a file at every look at the time."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
PLACES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/local/lib/faketime/libfaketimeMT.so.1")
SECONDS = (1, 60, 3600, 86400, 86400 * 30, 86400 * 400, 86400 * 4000)


def library() -> str | None:
    return next((path for place in PLACES for path in glob.glob(place)), None)


class Clock:
    """The clock of one process."""

    def __init__(self, file: Path, process: subprocess.Popen[bytes]) -> None:
        self.file, self.process = file, process

    def jump(self, random: Random) -> None:
        self.set(random.choice((-1, 1)) * random.choice(SECONDS))

    def set(self, offset: int) -> None:
        part = self.file.with_suffix(".part")
        part.write_text(f"{offset:+d}\n")
        part.replace(self.file)


@contextmanager
def clock_process(folder: Path, work: str, *arguments: str, monotonic: bool = False) -> Iterator[Clock | None]:
    """A process that does ``work.<work>(*arguments)``; None without libfaketime. ``monotonic``: so jumps that clock."""
    found = library()
    if found is None:
        yield None
        return
    file = folder / "clock"
    file.write_text("+0\n")
    fake = {"LD_PRELOAD": found, "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"}
    fake |= {"FAKETIME_DONT_FAKE_MONOTONIC": "0" if monotonic else "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    given = [int(a) if a.isdigit() else a for a in arguments]
    line = f"from benchmarks.faults import _work as work; work.{work}(*{given!r})"
    with subprocess.Popen([sys.executable, "-c", line], env={**os.environ, **fake}, cwd=ROOT) as process:
        try:
            yield Clock(file, process)
        finally:
            process.kill()
            process.wait()
