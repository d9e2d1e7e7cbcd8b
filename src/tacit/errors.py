"""Every way tacit says no, and the checks that say it.

    TacitError            .spent: whether something was paid for, None if unknown; .remedy: what to do about it
    ├── BadInput              an argument breaks a rule (also a ValueError)
    │   ├── DataRefused           a table or a column that cannot be used as it is
    │   │   └── TaskUnclear           a target that may be classes or amounts
    │   └── ExcessiveNoise        the result would be little better than a random choice; accept_noise=True overrules
    ├── GuaranteeError        a privacy statement that cannot be made, such as an epsilon for no guarantee
    ├── ObjectiveError        the user's objective raised, or answered with something unusable
    ├── BudgetRefused         the budget does not cover a release; nothing was drawn
    ├── GeneratorFailed       the random generator does not work; nothing was drawn
    ├── LedgerError           the ledger cannot be read, written or found
    │   ├── NoLedger              there is none of this name
    │   └── LedgerTampered        its entries are not what was written
    ├── StateError            the state of a curator cannot be read, written or held
    │   └── DamagedState          it does not hold what was written
    ├── Refused               a curator's service says no: tacit.outsource.protocol.terms
    ├── Unreachable           the other party does not answer: tacit.outsource.protocol.terms
    ├── RunFailed             a run of a front failed twice: tacit.pareto.algorithm
    ├── Stopped               Ctrl-C or SIGTERM ended a command: tacit.cli.shell
    └── MissingExtra          an optional library is not installed (also an ImportError)

A message states the rule, the value and the remedy. It shows parameters and shapes, never data, scores or noise.
A caller distinguishes errors by their class; no code matches or rewrites a text.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NoReturn


class TacitError(Exception):
    """Any refusal by tacit.

    Args:
        message: The rule, the value, and what did not happen.
        remedy: What to do about it; shown after the message.
        spent: Whether something was paid for before; each class has its usual answer.
    """

    spent: bool | None = None
    remedy: str = ""

    def __init__(self, message: str = "", *, remedy: str = "", spent: bool | None = None) -> None:
        super().__init__(message)
        self.remedy = remedy or self.remedy
        self.spent = self.spent if spent is None else spent

    @property
    def message(self) -> str:
        """The text without the remedy."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}" if self.remedy else self.message


class BadInput(TacitError, ValueError):
    """An argument breaks a rule; nothing was spent."""

    spent = False


class DataRefused(BadInput):
    """A table or a column that cannot be used as it is; nothing was spent."""


@contextmanager
def refuse_short_memory() -> Iterator[None]:
    """Before anything is paid: say in a type of ours that memory ran out. How much was asked for may tell of rows."""
    try:
        yield
    except MemoryError:
        raise_alone(
            DataRefused(
                "there is too little memory to read the data. Nothing was spent",
                remedy="Give the process more memory, then run the same line again",
                spent=False,
            )
        )


def raise_alone(error: TacitError) -> NoReturn:
    """Raise an error without the one that led to it, whose words and frames may hold rows."""
    try:
        raise error
    finally:
        error.__context__ = None


class TaskUnclear(DataRefused):
    """A target that may be classes or amounts: a question for the user."""


class ExcessiveNoise(BadInput):
    """The noise would drown the differences that a search looks for; nothing was spent."""


class GuaranteeError(TacitError):
    """A privacy statement that cannot be made."""

    spent = False


class ObjectiveError(TacitError):
    """The user's objective raised, or its answer is unusable. Never shows the answer."""


class BudgetRefused(TacitError):
    """The budget does not cover this release; nothing was drawn."""

    spent = False


class GeneratorFailed(TacitError):
    """The random generator does not work; nothing was drawn."""


class LedgerError(TacitError):
    """The ledger cannot be read, written or found."""


class NoLedger(LedgerError):
    """There is no ledger of this name; nothing was spent.

    Args:
        message: Where it was looked for, and what is there.
        name: The name that was asked for.
        place: The database, without a password.
    """

    spent = False

    def __init__(self, message: str = "", *, name: str = "", place: str = "") -> None:
        budget = "Budget.approximate(epsilon, delta)"
        super().__init__(message, remedy=f"To make it, give its budget: Ledger.open(url, {name!r}, {budget})")
        self.name, self.place = name, place


class LedgerTampered(LedgerError):
    """The ledger's entries are not what was written."""


class StateError(TacitError):
    """A curator's state cannot be read, written or held."""


class DamagedState(StateError):
    """A curator's state does not hold what was written."""


class PrivacyWarning(UserWarning):
    """A promise that can be made and is hardly worth making: a delta of 1/n or more, a large epsilon."""


class MissingExtra(TacitError, ImportError):
    """An optional library is not installed."""


def is_storage_error(error: BaseException) -> bool:
    """Whether an error is about the database of a study: raised by Optuna's storage, or below it, by whatever it met.

    By name, since neither Optuna nor SQLAlchemy need be imported here. A changed bit may meet a parser of dates, of
    JSON or of names, each with errors of its own; an objective never runs below a storage.
    """
    if type(error).__name__ == "StorageInternalError" or type(error).__module__ == "sqlalchemy.exc":
        return True
    at = error.__traceback__
    while at is not None:
        if str(at.tb_frame.f_globals.get("__name__", "")).startswith("optuna.storages"):
            return True
        at = at.tb_next
    return False


def positive(name: str, value: float) -> float:
    """Return value as a float if it is finite and above zero.

    >>> positive("epsilon", 0.5)
    0.5
    """
    number = real(name, value)
    if not number > 0:
        raise BadInput(f"{name} must be positive, got {name}={value!r}")
    return number


def real(name: str, value: float) -> float:
    """Return value as a finite float."""
    if isinstance(value, bool) or (not isinstance(value, (int, float)) and not hasattr(value, "__float__")):
        raise BadInput(f"{name} must be a number, got {name_type(value)}")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} must be a number, got {name_type(value)}") from None
    if not math.isfinite(number):
        raise BadInput(f"{name} must be finite, got {name}={number}")
    return number


def probability(name: str, value: float, *, zero: bool = False) -> float:
    """Return value as a float in (0, 1), or in [0, 1) with ``zero=True``."""
    number = real(name, value)
    if not (0 < number < 1 or (zero and number == 0)):
        raise BadInput(f"{name} must be in {'[' if zero else '('}0, 1), got {name}={value!r}")
    return number


def count(name: str, value: int, *, least: int = 1) -> int:
    """Return value as an int that is at least ``least``."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise BadInput(f"{name} must be a whole number, got {name}={value!r}")
    number = int(value)
    if number < least:
        raise BadInput(f"{name} must be at least {least}, got {name}={number}")
    return number


def interval(name: str, value: tuple[float, float]) -> tuple[float, float]:
    """Return value as a pair (low, high) with low < high."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise BadInput(f"{name} must be a pair (low, high), got {name_type(value)}") from None
    low, high = real(f"{name}[0]", low), real(f"{name}[1]", high)
    if not low < high:
        raise BadInput(f"{name} must have low < high, got {name}=({low:g}, {high:g})")
    return low, high


def choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return value if it is one of the allowed words."""
    if value not in allowed:
        meant = did_you_mean(value, allowed)
        raise BadInput(f"{name} must be one of {', '.join(allowed)}, got {name}={value!r}{meant}")
    return value


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """The nearest word, as the end of a refusal; nothing if none is near.

    >>> did_you_mean("obsered", ("random", "observed"))
    "; did you mean 'observed'?"
    """
    import difflib

    near = difflib.get_close_matches(str(value), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def extra(module: str, name: str, purpose: str) -> ModuleType:
    """Import an optional library, or say the exact line that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{purpose} needs {module.split('.')[0]}: pip install 'tacit[{name}]'") from error


def differences(before: str, now: str) -> str:
    """Where two JSON objects differ, for an error: public terms only.

    >>> differences('{"trials": 8, "records": 500}', '{"trials": 9, "records": 500}')
    'trials was 8, now 9'
    """
    old, new = _leaves(json.loads(before)), _leaves(json.loads(now))
    names = sorted(name for name in {**old, **new} if old.get(name) != new.get(name))
    return "; ".join(f"{n} was {json.dumps(old.get(n))}, now {json.dumps(new.get(n))}" for n in names)


def _leaves(document: dict[str, Any]) -> dict[str, Any]:
    """A JSON object without objects in it: theirs have names such as budget.mu."""
    flat = dict[str, Any]()
    for name, value in document.items():
        inner = _leaves(value) if isinstance(value, dict) else None
        flat |= {name: value} if inner is None else {f"{name}.{k}": v for k, v in inner.items()}
    return flat


def clean(text: str) -> str:
    r"""Text as a terminal may show it: what is not printable, such as a sequence that commands it, becomes "?".

    >>> clean("a mean\x1b[2J\nof stays")
    'a mean?[2J\nof stays'
    """
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def name_type(value: Any) -> str:
    """The type of a value with its article.

    >>> name_type(3), name_type("a"), type_and_shape(__import__("numpy").zeros(2))
    ('an int', 'a str', 'an ndarray of shape (2,)')
    """
    name = type(value).__name__
    return f"{article(name)} {name}"


def article(word: str) -> str:
    """The article that is spoken before a word.

    >>> article("observed"), article("random"), article("ndarray")
    ('an', 'a', 'an')
    """
    return "an" if word[:1].lower() in "aeiou" or word == "ndarray" else "a"


def type_and_shape(value: Any) -> str:
    """What may be said of a value in an error: its type and shape, never its content."""
    shape = getattr(value, "shape", None)
    return name_type(value) + (f" of shape {tuple(shape)}" if shape is not None else "")
