"""One BLAS thread for small matrices: waking a second one costs more than it saves (measured in benchmarks)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> Any:
    """A context in which linear algebra uses one thread; elsewhere the user's own setting holds.

    >>> with one_thread():
    ...     1 + 1
    2
    """
    return _controller().limit(limits=1, user_api="blas")
