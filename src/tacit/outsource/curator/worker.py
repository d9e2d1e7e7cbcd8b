"""The curator's one worker: a thread that evaluates and records, watched, while many wait for it."""

from __future__ import annotations

import contextlib
import queue
import threading
from concurrent.futures import Future, InvalidStateError
from functools import partial

from tacit.errors import TacitError
from tacit.outsource.curator import Curator, Result
from tacit.outsource.protocol.terms import Answer, Refused

TOGETHER = 256  # requests in one commit
EACH = 256  # requests of one modeler that may wait: they are kept in memory, however long an evaluation takes
Key = tuple[str, str, tuple[int, ...]]
"""A modeler, the name of its request, its rows."""
Waiting = tuple[Key, Future[list[Answer]]]


class Worker:
    """Takes requests in order, many to a commit; a repeated request waits with the first.

    Edges. Of one modeler so many requests wait; one more is refused until one of them is answered. Whatever an
    evaluation raises ends no more than its request. Should the thread end all the same, the next request starts another
    one.
    """

    def __init__(self, curator: Curator) -> None:
        self.curator = curator
        self.fault = ""  # the kind of the error with which the last turn of work ended; empty when it went well
        self._queue: queue.Queue[Waiting | None] = queue.Queue()
        self._waiting: dict[Key, Future[list[Answer]]] = {}
        self._alone = threading.Lock()
        self._closed = False
        self._thread = self._start()

    def submit(self, modeler: str, request: str, rows: list[int]) -> Future[list[Answer]]:
        key = (modeler, request, tuple(rows))
        with self._alone:
            if key not in self._waiting:
                if sum(1 for other, _, _ in self._waiting if other == modeler) >= EACH:
                    raise Refused("rate", f"{EACH} requests of yours wait already. Nothing was evaluated")
                self._waiting[key] = Future()
                self._queue.put((key, self._waiting[key]))
            if not self.works():
                self._thread = self._start()
            return self._waiting[key]

    def works(self) -> bool:
        """Whether the thread is there."""
        return self._thread.is_alive() or self._closed

    def length(self) -> int:
        """Requests that wait or are being worked on."""
        return len(self._waiting)

    def _start(self) -> threading.Thread:
        thread = threading.Thread(target=self._work, name="tacit-curator", daemon=True)
        thread.start()
        return thread

    def _work(self) -> None:
        while True:
            taken = [self._queue.get()]
            while len(taken) < TOGETHER:
                try:
                    taken.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            todo = [t for t in taken if t is not None]
            try:
                self.curator.ask_all([(m, q, list(rows)) for (m, q, rows), _ in todo], partial(self._tell, todo))
                self.fault = ""
            except BaseException as error:  # earlier answers stand; the thread goes on, whatever it was
                self.fault = type(error).__name__
                failure = error if isinstance(error, Exception) else TacitError(f"the worker met {self.fault}")
                for place in range(len(todo)):
                    self._tell(todo, place, failure)
            if len(todo) < len(taken):
                return

    def _tell(self, todo: list[Waiting], place: int, result: Result) -> None:
        key, future = todo[place]
        with self._alone:
            self._waiting.pop(key, None)
        with contextlib.suppress(InvalidStateError):  # it was answered before
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    def close(self) -> None:
        self._closed = True
        self._queue.put(None)
        self._thread.join(timeout=10)
