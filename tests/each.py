"""One test over many values. As a test of its own, each would cost more than what it looks at."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any


def each(names: str | tuple[str, ...], values: Iterable[Any], **_: Any) -> Callable[[Callable[..., None]], Any]:
    """As pytest.mark.parametrize, in a loop; a failure names the values. For tests that share nothing between them."""
    names = tuple(n.strip() for n in names.split(",")) if isinstance(names, str) else names
    cases = [dict(zip(names, (v,) if len(names) == 1 else v, strict=True)) for v in values]
    assert cases, "a test over nothing cannot fail"

    def over(test: Callable[..., None]) -> Any:
        def run(**given: Any) -> None:
            for case in cases:
                try:
                    test(**given, **case)
                except BaseException as error:
                    error.add_note(f"with {case}")
                    raise

        update_wrapper(run, test)
        del run.__wrapped__  # type: ignore[attr-defined]
        left = [p for name, p in inspect.signature(test).parameters.items() if name not in names]
        run.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
        return run

    return over
