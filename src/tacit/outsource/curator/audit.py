"""Who asked the service for what, and what became of it: in the state's database, bounded, never an answer or a token.

Queries are listed one by one. Everything else is counted by minute: who, what, how it ended, how often. So a
client without a token, however often it asks, adds a few lines to each write, one a second; what they ask for is
named only if the service knows it, since words of their choice would make a line each. What is counted never pushes
queries out of the log (see State.append_audit).
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Collection
from typing import Any

from tacit.files import Json
from tacit.outsource.curator.queries import now

EVERY = 1.0  # seconds between two writes
MOST = 2000  # lines kept in memory while the state cannot be written
QUERIES = ("POST", "/v1/queries", 200)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})  # worth naming, of those with a token


class AuditLog:
    """Takes lines quickly and writes them now and then, from a thread of its own. ``paths`` are those worth naming."""

    def __init__(self, write: Callable[[list[Json]], None], paths: Collection[str]) -> None:
        self._write, self._paths = write, frozenset(paths)
        self._listed: list[Json] = []
        self._counted: dict[tuple[Any, ...], Json] = {}
        self._alone, self._end = threading.Lock(), threading.Event()
        self._log = logging.getLogger("tacit.curator")
        self._thread = threading.Thread(target=self._run, name="tacit-audit", daemon=True)
        self._thread.start()

    def note(self, who: str | None, method: str, path: str, status: int, **about: Any) -> None:
        path = path if path in self._paths else "other"
        method = method if who is not None and method in METHODS else "any"
        time = now()
        line = {"time": time, "who": who, "method": method, "path": path, "status": status}
        with self._alone:
            if who is not None and (method, path, status) == QUERIES and len(self._listed) < MOST:
                self._listed.append({**line, **about})
                return
            key = (time[:16], who, method, path, status)
            self._counted.setdefault(key, {**line, "times": 0})["times"] += 1

    def flush(self) -> None:
        """Write what was noted; what cannot be written is kept for the next time, as much of it as fits."""
        with self._alone:
            listed, self._listed = self._listed, []
            counted, self._counted = self._counted, {}
        lines = [*listed, *counted.values()]
        if not lines:
            return
        try:
            self._write(lines)
        except Exception:  # whatever it was, this thread goes on
            with self._alone:
                self._listed = [*listed, *self._listed][:MOST]
                for key, line in counted.items():
                    if key in self._counted or len(self._counted) < MOST:
                        self._counted.setdefault(key, {**line, "times": 0})["times"] += line["times"]
            return
        for line in lines:
            self._log.info(json.dumps(line))

    def close(self) -> None:
        self._end.set()
        self._thread.join(timeout=10)
        self.flush()

    def _run(self) -> None:
        while not self._end.wait(EVERY):
            self.flush()
