"""The command for tests that need many of them: in this process, or in a child that signals may end."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main

from tacit.cli import app, main


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)  # fails on anything but one document


def tacit(*words: str) -> Said:
    """The command in this process, its streams in memory and nobody at the keyboard."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    given = mock.patch.multiple(sys, argv=["tacit", *words], path=list(sys.path), stdin=io.StringIO())
    with given, redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Said(code, out.getvalue(), err.getvalue())


def child(*words: str, at: Path, ready: Callable[[], bool], number: int, stdout: str | int = "out") -> Said:
    """The command in a child of this process, in a session of its own; sent a signal as soon as it is ready."""
    pid = os.fork()
    if not pid:
        os.setsid()
        os.chdir(at)
        for descriptor, name in enumerate((os.devnull, stdout, "err")):
            opened = name if isinstance(name, int) else os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, descriptor)
        for name, descriptor in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
            setattr(sys, name, os.fdopen(descriptor, "r" if not descriptor else "w"))
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
        sys.argv = ["tacit", *words]
        for name, module in list(sys.modules.items()):  # a module of another test's folder, which has the same name
            if str(getattr(module, "__file__", None) or "").startswith(str(at.parent)):
                del sys.modules[name]
        code = 99
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    while number and not ready():
        time.sleep(0.02)
        ended, status = os.waitpid(pid, os.WNOHANG)
        assert not ended, (os.waitstatus_to_exitcode(status), (at / "err").read_text())
    if number:
        os.killpg(pid, number)  # as a terminal does: workers hear it too
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    out = (at / "out").read_text() if stdout == "out" else ""
    return Said(code, out, (at / "err").read_text())


def leaves(command: Any = None, trail: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every verb that does something, as 'ledger open', with Click's command."""
    command = command or typer.main.get_command(app)
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from leaves(inner, (*trail, name))
    else:
        yield " ".join(trail), command
