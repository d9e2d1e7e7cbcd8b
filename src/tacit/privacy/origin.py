"""What a certificate says beside the value and the guarantee: of which data, when, by what, whose unit, how chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.data.identity import describe_making
from tacit.files import Json
from tacit.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

PAID = "by the search that this certificate covers: what it learnt of the records is paid for"
UNCHECKED = (
    "what the certificate says of the data (name, rows), its date, the command and what was left then; a signature "
    "covers it"
)
NONE = "none was chosen: every setting that was tested is shown"


def describe_origin(
    guarantee: Guarantee, *, chosen: str, data: Json | None = None, ledger: Ledger | None = None
) -> Json:
    """Where a release comes from, in JSON's own types.

    ``chosen`` is how its setting was chosen. ``data`` is a sealed identity (tacit.data.identity). Of the ledger it
    tells what is left when this is made.

    >>> describe_origin(Guarantee.none("an example"), chosen=NONE)["unit"]
    'record: one row of the data'
    """
    about: Json = {"data": data, **describe_making(), "unit": unit_in_words(guarantee), "chosen": chosen}
    if ledger is not None:
        left = ledger.remaining()
        about["left"] = {"ledger": ledger.name, **left.to_json(), "words": f"{left} of {ledger.budget}"}
    return about


def unit_in_words(guarantee: Guarantee) -> str:
    """Record or person."""
    if "person" in guarantee.unit:
        return "person: one human being with all their rows"
    return "record: one row of the data"
