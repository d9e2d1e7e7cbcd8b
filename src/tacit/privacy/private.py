"""A box for values that must not be seen by accident."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, TypeVar

from tacit.errors import type_and_shape

T = TypeVar("T")


class Private(Generic[T]):
    """Holds a private value. Printing, formatting, comparing, pickling, copying and JSON do not reveal it.

    Only ``reveal()`` takes the value out; search for that word to see every place where private data is touched.

    >>> import numpy as np
    >>> Private(np.arange(3.0))
    <private: an ndarray of shape (3,)>
    """

    __slots__ = ("__value",)

    def __init__(self, value: T) -> None:
        self.__value = value

    def reveal(self) -> T:
        """The private value itself. What you do with it is no longer protected."""
        return self.__value

    def __repr__(self) -> str:
        return f"<private: {type_and_shape(self.__value)}>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a private value is not pickled or copied; call reveal() where it may be seen")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a private value is not pickled or copied; call reveal() where it may be seen")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("comparing private values would reveal them; call reveal() where they may be seen")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError("branching on a private value would reveal it; call reveal() where it may be seen")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("a private value is not an array; call reveal() where it may be seen")
