"""Questions of the verbs that ask: answered by an option, by default, or by a person, asked again after a typo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit.cli.options import split_numbers
from tacit.cli.shell import ask_person, remark
from tacit.errors import BadInput, TacitError, count, interval

Check = Callable[[Any], Any]


class Asker:
    """Asks for what no option gave. ``yes`` takes defaults; without a ``person`` what is missing is refused by name."""

    def __init__(self, yes: bool, person: bool) -> None:
        self.yes, self.person = yes, person

    def __call__(self, option: str, question: str, default: Any, given: Any, check: Check | None = None) -> Any:
        read: Check = check or (lambda answer: answer)
        if given is not None:
            return read(given)
        if self.yes and default is not None:
            return read(default)
        if not self.person:
            remedy = "" if default is None or self.yes else f", or --yes to take {default}"
            name = f"--{option}" if option == option.lower() else option
            raise BadInput(f"nobody can be asked for {name} here: give it{remedy}. {question}?")
        while True:
            try:
                return read(ask_person(question, default))
            except TacitError as error:
                remark(f"{error}. Once more:")


def read_float(given: Any) -> float:
    try:
        return float(given)
    except ValueError:
        raise BadInput(f"a number is wanted, got {given!r}") from None


def read_whole(name: str, given: Any, least: int = 1) -> int:
    """A whole number, as people write it.

    >>> read_whole("records", "20,640")
    20640
    """
    try:
        number = int(str(given).replace(",", "").replace("_", ""))
    except ValueError:
        raise BadInput(f"{name} must be a whole number, got {given!r}") from None
    return count(name, number, least=least)


def read_interval(given: Any) -> tuple[float, float]:
    """Two numbers LOW,HIGH, or a pair of them.

    >>> read_interval("0, 10")
    (0.0, 10.0)
    """
    try:
        low, high = (
            given if isinstance(given, tuple) else (split_numbers(",".join(given.replace(",", " ").split())) or ())
        )
    except ValueError:
        raise BadInput(f"bounds must be two numbers LOW,HIGH, got {given!r}") from None
    return interval("bounds", (low, high))
