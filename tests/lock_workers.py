"""What child processes do in the tests of locks."""

from __future__ import annotations

import signal
import subprocess
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tacit.locks import lock


def hold_and_fork(path: str, pipe: Any) -> None:
    """Hold a lock and have two children, one forked and one that runs another program, then wait to be killed."""
    lock(Path(path))
    sleeper = get_context("fork").Process(target=signal.pause)
    sleeper.start()
    child = subprocess.Popen(["sleep", "600"], close_fds=False)
    pipe.send((sleeper.pid, child.pid))
    signal.pause()
