"""One BLAS thread for small matrices: waking a second one costs more than it saves (measured in benchmarks)."""

from __future__ import annotations

from functools import lru_cache
from types import TracebackType
from typing import Any


@lru_cache(maxsize=1)
def _libraries() -> tuple[Any, ...]:
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


class OneThread:
    """A context in which linear algebra uses one thread; afterwards it has the threads that it had."""

    def __enter__(self) -> None:
        had = ((library, library.get_num_threads()) for library in _libraries())
        self._had = [(library, n) for library, n in had if n != 1]
        for library, _ in self._had:
            library.set_num_threads(1)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for library, n in self._had:
            library.set_num_threads(n)


def one_thread() -> OneThread:
    """A context in which linear algebra uses one thread; elsewhere the user's own setting holds.

    >>> with one_thread():
    ...     1 + 1
    2
    """
    return OneThread()
