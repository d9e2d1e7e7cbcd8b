"""A ledger by where it is kept: wherever a Ledger is taken, a path or URL will do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import BadInput, LedgerError, name_type

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

    LedgerLike = Ledger | str | Path | None


def as_ledger(ledger: LedgerLike) -> Ledger | None:
    """The ledger itself; or the one that is kept at a path or URL, by name where there are several: "l.db#icu".

    Edges. None is made: without a ledger there, nothing says what may be spent. That is a LedgerError.

    >>> import tempfile
    >>> from tacit.privacy.ledger import Ledger
    >>> from tacit.privacy.guarantee import Budget
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Ledger.open(f"{folder}/l.db", "icu", Budget.pure(1.0))
    ...     found = as_ledger(f"{folder}/l.db")
    >>> found.name, found.id == made.id
    ('icu', True)
    """
    if ledger is None:
        return None
    from tacit.privacy.ledger import Ledger  # a database is loaded only where one is used

    if isinstance(ledger, Ledger):
        return ledger
    if not isinstance(ledger, (str, Path)):
        raise BadInput(f"ledger must be a tacit.Ledger, a path or a URL, got {name_type(ledger)}. Nothing was spent")
    url, _, name = str(ledger).partition("#")
    if name:
        return Ledger.open(url, name)
    names = Ledger.names(url)
    if len(names) != 1:
        listed = ", ".join(f"{url}#{n}" for n in names)
        remedy = f"name one: {listed}" if names else "open one: tacit ledger open NAME --epsilon 1 --delta 1e-6"
        raise LedgerError(f"there are {len(names)} ledgers at {url}; {remedy}. Nothing was spent")
    return Ledger.open(url, names[0])
