"""What a cell is. A cell is read alone: by itself and by public things, never by what stands beside it.

    number    1, 1.0, "1", " 1.00" and True are one value; whole numbers are exact however many digits they have
    word      text without the blanks around it
    time      a date or a moment, in microseconds, in UTC where it names a zone; text such as 2024-05-01 or 1.5.2024 too
    missing   everything else: no cell, a word for a missing value, what is not finite, lists and other objects

``read_one`` is this law. Whatever container cells come in, ``read_column(C)[i] == read_one(C[i])``: the type that a
container gave all its cells because of one of them decides nothing (tests/laws/test_cell_law.py).
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Value = int | float | str | np.datetime64 | None
MISSING, NUMBER, WORD, TIME, ODD = range(5)  # kinds of cells; an odd one is there, and is read as missing
MISSING_WORDS = frozenset(
    ["", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "NaT", "None", "n/a", "nan", "null", "-nan", "-NaN", "#NA"]
)
TRUTHS = {"true": 1, "false": 0}
CLOCK = r"([T ]\d\d:\d\d(:\d\d(\.\d{3}|\.\d{6})?)?(Z|[+-]\d\d:\d\d)?)?"
BY_YEAR = re.compile(r"\d{4}-\d\d-\d\d" + CLOCK, re.ASCII)
BY_DAY = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})" + CLOCK, re.ASCII)  # slashes: nobody knows which is the month
LONGEST_TRUTH, LONGEST_TIME, LONGEST_WHOLE = 5, 40, 400  # letters
EXACT = 2**53  # whole numbers below it are floats exactly
NO_TIME = np.datetime64("NaT", "us")


class CellReading(NamedTuple):
    """What one cell is: its kind, and its value as a number, a word or a time; None for a missing and an odd one."""

    kind: int
    value: Value = None


NOTHING, STRANGE = CellReading(MISSING), CellReading(ODD)


def read_one(cell: Any) -> Value:
    """One cell as a number, a word, a time, or None where it is missing. Never fails.

    >>> [read_one(c) for c in (" 1.00", True, "n/a", 10**400, [1], "  north ")]
    [1.0, 1, None, None, None, 'north']
    >>> bool(read_one("1.5.2024") == read_one(datetime.date(2024, 5, 1)))
    True
    """
    return classify(cell).value


def classify(cell: Any) -> CellReading:
    """What one cell is. An odd one, such as a list, is told from a missing one for rows that may be looked at."""
    try:
        return _classify(cell)
    except (Exception, SystemExit, GeneratorExit):  # what a cell's own code says may quote it
        return STRANGE


def _classify(cell: Any) -> CellReading:
    if isinstance(cell, (str, bytes, bytearray)):
        return classify_text(decode(cell))
    if cell is None:
        return NOTHING
    if isinstance(cell, (bool, np.bool_)):
        return CellReading(NUMBER, int(bool(cell)))
    if isinstance(cell, (int, np.integer)):
        return _whole(int.__int__(cell) if isinstance(cell, int) else int(cell))
    if isinstance(cell, (float, np.floating)):
        return _real(float.__float__(cell) if isinstance(cell, float) else float(cell))
    if isinstance(cell, (complex, np.complexfloating)):
        return _real(float(cell.real)) if cell.imag == 0 else STRANGE
    if isinstance(cell, (np.datetime64, datetime.date)):
        return _time(cell)
    if isinstance(cell, (Decimal, Fraction)):
        value = float(cell)
        return _whole(int(cell)) if EXACT <= abs(value) < math.inf and cell == int(cell) else _real(value)
    if type(cell).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return NOTHING
    return STRANGE


def _whole(value: int) -> CellReading:
    try:
        float(value)
    except OverflowError:
        return NOTHING
    return CellReading(NUMBER, value)


def _real(value: float) -> CellReading:
    return CellReading(NUMBER, value) if math.isfinite(value) else NOTHING


def _time(cell: Any) -> CellReading:
    if type(cell).__name__ == "NaTType":
        return NOTHING
    if isinstance(cell, np.datetime64):
        moment = to_microseconds(np.asarray(cell).reshape(1))[0]
    elif isinstance(cell, datetime.datetime):
        naive = cell if cell.tzinfo is None else cell.astimezone(datetime.UTC)
        moment = np.datetime64(naive.replace(tzinfo=None), "us")
    else:
        moment = np.datetime64(cell.isoformat(), "us")
    return NOTHING if np.isnat(moment) else CellReading(TIME, moment)


def decode(cell: str | bytes | bytearray) -> str:
    """The text of a cell, not by its own code; bytes that are no UTF-8 become a sign for what cannot be read."""
    if type(cell) is str:
        return cell
    if isinstance(cell, str):
        return str.__str__(cell)
    return (bytes if isinstance(cell, bytes) else bytearray).decode(cell, "utf-8", "replace")  # type: ignore[arg-type]


def classify_text(text: str) -> CellReading:
    """What a text is: missing, a number, a time, or a word."""
    bare = text.strip()
    if bare in MISSING_WORDS:
        return NOTHING
    if len(bare) <= LONGEST_TRUTH and bare.lower() in TRUTHS:
        return CellReading(NUMBER, TRUTHS[bare.lower()])
    try:
        value = float(bare)
    except ValueError:
        pass
    else:
        exact = EXACT <= abs(value) < math.inf and len(bare) <= LONGEST_WHOLE and bare.lstrip("+-").isdecimal()
        return _whole(int(bare)) if exact else _real(value)
    if len(bare) <= LONGEST_TIME and bare[0].isdigit() and (moment := _text_as_time(bare)) is not None:
        return CellReading(TIME, moment)
    return CellReading(WORD, bare)


def _text_as_time(text: str) -> np.datetime64 | None:
    by_day = BY_DAY.fullmatch(text)
    if by_day:
        day, month, year, clock = by_day.group(1, 2, 3, 4)
        text = f"{year}-{month:0>2}-{day:0>2}{clock or ''}"
    if not BY_YEAR.fullmatch(text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
        return np.datetime64((moment.astimezone(datetime.UTC) if moment.tzinfo else moment).replace(tzinfo=None), "us")
    except (ValueError, OverflowError):
        return None


def to_microseconds(moments: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """Moments of any unit in microseconds; NaT for those that 64 bits cannot hold, where NumPy would wrap around."""
    unit, many = np.datetime_data(moments.dtype)
    if unit == "generic":
        return np.full(moments.shape, NO_TIME)
    years = {
        "Y": 1.0,
        "M": 12.0,
        "W": 52.1775,
        "D": 365.2425,
        "h": 8765.82,
        "m": 525949.2,
        "s": 31556952.0,
        "ms": 3.2e10,
    }
    found = moments.astype("datetime64[us]")
    if unit in years:
        far = abs(moments.view(np.int64).astype(float)) * many > years[unit] * 290_000
        found = np.where(far, NO_TIME, found)
    return np.asarray(found, "datetime64[us]")


def spell(value: Value) -> str:
    """A value as text: whole numbers without a point, others as Python writes them.

    >>> spell(1.0), spell(0.5), spell("north"), spell(np.datetime64("2024-05-01", "us"))
    ('1', '0.5', 'north', '2024-05-01')
    """
    if isinstance(value, np.datetime64):
        return str(value).removesuffix("T00:00:00.000000")
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    return str(value)


def fill(cells: Iterable[Any]) -> NDArray[Any]:
    """CellColumn as an array of objects, shape (rows,); a list among them stays one cell."""
    kept = list(cells)
    array = np.empty(len(kept), object)
    for i, cell in enumerate(kept):
        array[i] = cell
    return array
