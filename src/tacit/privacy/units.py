"""Units of privacy: the change of the data that a guarantee is about, and which of them one ledger counts together.

A release protects the records of one part: a tuning its validation rows, a front its test rows, a training every row of
its table. A replaced record may count on the releases that protect it, and on no other. So releases of two
units count together only for changes that both are about.
"""

from __future__ import annotations

from tacit.privacy.guarantee import RECORD

VALIDATION, TEST, TRAINING = (f"one {part} record replaced" for part in ("validation", "test", "training"))
TABLE = "one record of the table replaced"
EVERY_PART = "one record replaced, whether it trains, validates or tests"
VALIDATION_PERSON = "one person replaced, with all their validation rows"
TABLE_PERSON = "one person of the table replaced, with all their rows"
SAME_RECORDS = "one record replaced, of those that every release of this ledger protects"
SAME_PERSONS = "one person replaced with all their rows, of those whom every release of this ledger protects"

# Units that a ledger counts beside its own: who replaces a record of the first replaces one of the others too.
COUNTED = {
    VALIDATION: {TABLE, EVERY_PART},
    TEST: {TABLE, EVERY_PART},
    TRAINING: {TABLE, EVERY_PART},
    VALIDATION_PERSON: {TABLE_PERSON},
    SAME_RECORDS: {RECORD, VALIDATION, TEST, TRAINING, TABLE, EVERY_PART},
    SAME_PERSONS: {VALIDATION_PERSON, TABLE_PERSON},
}
NAMES = {"record": SAME_RECORDS, "person": SAME_PERSONS}  # what people declare when they open a ledger


def counts_unit(counted: str, stated: str) -> bool:
    """Whether a ledger that counts one unit can count a release that protects another.

    >>> counts_unit(VALIDATION, TABLE), counts_unit(TABLE, VALIDATION), counts_unit(SAME_RECORDS, VALIDATION)
    (True, False, True)
    """
    return stated == counted or stated in COUNTED.get(counted, ())


def refuse_unit(name: str, counted: str, stated: str) -> str:
    """Why a release is not counted by a ledger of another unit, and what to do."""
    records, persons = (stated in COUNTED[unit] for unit in (SAME_RECORDS, SAME_PERSONS))
    text = f"ledger {name!r} counts {counted!r}, and this release is for {stated!r}"
    if not (records or persons):
        return f"{text}: another unit of privacy. Open a ledger of its own for it. Nothing was released."
    word = "record" if records else "person"
    return (
        f"{text}. Validation rows, test rows, training rows and a curator's rows are different units: a release says "
        "nothing of rows that it does not protect. Open a ledger of its own for it; or, if they are the same "
        f"{word}s, one that counts those: tacit ledger open NAME --unit {word}. Nothing was released."
    )
