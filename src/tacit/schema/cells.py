"""Cells of one column, whatever they are, as numbers, words or times.

What becomes of a cell depends on that cell alone: not on its neighbours, nor on the type that a container gave all of
them because of one. So text that reads as a number is that number, and a word for a missing value is missing.
"""

from __future__ import annotations

import datetime
import math
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[Any]
Mask = NDArray[np.bool_]
MISSING = frozenset(
    ["", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "NaT", "None", "n/a", "nan", "null", "-nan", "-NaN", "#NA"]
)
TRUTHS = {"True": 1.0, "False": 0.0, "true": 1.0, "false": 0.0, "TRUE": 1.0, "FALSE": 0.0}
CLOCK = r"([T ]\d\d:\d\d(:\d\d(\.\d{3}|\.\d{6})?)?(Z|[+-]\d\d:\d\d)?)?"
BY_YEAR = re.compile(r"\d{4}-\d\d-\d\d" + CLOCK, re.ASCII)
BY_DAY = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})" + CLOCK, re.ASCII)  # slashes: nobody knows which is the month
PLAIN = {float, int, bool, np.float64}  # NumPy turns these into floats as float() does, one by one


def read_cells(column: Any) -> Cells:
    """A column of a pandas DataFrame, an array or a list as an array of its cells, shape (rows,)."""
    if isinstance(column, np.ndarray):
        return column
    dtype = getattr(column, "dtype", None)
    if dtype is None or not hasattr(column, "to_numpy"):
        return fill(column)
    if isinstance(dtype, np.dtype):
        return np.asarray(column)
    if getattr(dtype, "kind", "O") in "fiub" and type(dtype).__name__ != "CategoricalDtype":
        return np.asarray(column.to_numpy(float, na_value=math.nan))
    return np.asarray(column.to_numpy(object))


def fill(cells: Iterable[Any]) -> Cells:
    """Cells as an array of objects, shape (rows,); a list among them stays one cell."""
    kept = list(cells)
    array = np.empty(len(kept), object)
    for i, cell in enumerate(kept):
        array[i] = cell
    return array


def read_numbers(cells: Cells) -> tuple[NDArray[np.float64], Mask]:
    """Each cell as a finite number, nan where there is none; and where a cell is there and is no number.

    >>> read_numbers(fill([3, "2.5", True, "n/a", None, 10**400, "north"]))[0].tolist()
    [3.0, 2.5, 1.0, nan, nan, nan, nan]
    """
    few, codes = distinct(cells)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        values, strange = _read_numbers(few)
        values[~np.isfinite(values)] = np.nan
    return (values, strange) if codes is None else (values[codes], strange[codes])


def _read_numbers(cells: Cells) -> tuple[NDArray[np.float64], Mask]:
    kind = cells.dtype.kind
    if kind in "fiub":
        return cells.astype(float), np.zeros(cells.shape, bool)
    if kind == "c":
        return np.where(cells.imag == 0, cells.real, np.nan).astype(float), cells.imag != 0
    if kind in "mM":
        return np.full(len(cells), np.nan), ~np.isnat(cells)
    listed = cells.tolist()
    types = set(map(type, listed))
    if types <= PLAIN or types <= {str}:
        try:
            return np.array(listed, object).astype(float), np.zeros(len(listed), bool)
        except (ValueError, OverflowError):
            pass  # a word, or a whole number past all floats: one by one
    return _each(listed, read_number, np.nan, float)


def read_losses(losses: Cells) -> Cells:
    """Losses that are held as objects because of some of them, a None or a whole number past all bits, as floats.

    Others are left as they are, and so are objects of which none is a number: one record of several makes no such.

    >>> read_losses(np.array([0.5, None, 10**400], object)).tolist()
    [0.5, nan, nan]
    """
    if losses.dtype != object or losses.ndim != 1 or not len(losses):
        return losses
    numbers = read_numbers(losses)[0]
    return losses if np.isnan(numbers).all() else numbers


def _each(listed: list[Any], read: Callable[[Any], Any], missing: Any, dtype: Any) -> tuple[Any, Mask]:
    """Every cell by itself; ``read`` answers None for a strange cell, and so counts one whose own code fails."""

    def read_one(cell: Any) -> Any:
        try:
            return read(cell)
        except (Exception, SystemExit, GeneratorExit):  # what it says may quote the cell
            return None

    found = [read_one(cell) for cell in listed]
    strange = np.array([value is None for value in found], bool)
    array = np.empty(len(found), dtype)
    array[:] = [missing if value is None else value for value in found]
    return array, strange


def distinct(cells: Cells) -> tuple[Cells, NDArray[np.intp] | None]:
    """Columns of text: each spelling once, and which each cell has. Other columns as they are.

    One with a float 0 is left as it is: 0 and -0 would be taken for the same cell, and are spelled in two ways.
    """
    if cells.dtype != object:
        return cells, None
    listed = cells.tolist()
    if not set(map(type, listed)) <= {str, float, type(None)} or 0.0 in listed:
        return cells, None
    try:
        import pandas
    except ImportError:
        return cells, None
    codes, kept = pandas.factorize(cells, use_na_sentinel=False)
    return fill(kept), codes


def read_number(cell: Any) -> float | None:
    """One cell as a number: nan if it is missing or not finite, None if it is something else."""
    if isinstance(cell, (str, bytes)):
        cell = _text(cell).strip()
        if cell in MISSING:
            return math.nan
        if cell in TRUTHS:
            return TRUTHS[cell]
    elif isinstance(cell, (complex, np.complexfloating)):
        if cell.imag != 0:
            return None
        cell = cell.real
    elif isinstance(cell, (np.ndarray, np.datetime64, np.timedelta64)) or is_missing(cell):
        return math.nan if is_missing(cell) else None
    try:
        value = float(cell)
    except OverflowError:
        return math.nan
    except Exception:  # whatever a cell's own conversion says, it may quote the cell
        return None
    return value if math.isfinite(value) else math.nan


def is_missing(cell: Any) -> bool:
    """Whether a cell that is no text is one of the marks for a missing value."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(cell))
    return isinstance(cell, (float, np.floating)) and bool(np.isnan(cell))


def read_words(cells: Cells, keep: frozenset[Any] = frozenset()) -> tuple[Cells, Mask]:
    """Each cell as text, nan where there is none; and where a cell is there and is neither text nor a number.

    Words in ``keep`` are words, even those that otherwise stand for a missing value.

    >>> read_words(fill(["north", 3, True, b"west", None, ["south"]]))[0].tolist()
    ['north', '3', 'True', 'west', nan, nan]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few, codes = distinct(cells)
        listed = list(few) if few.dtype.kind in "mM" else few.tolist()
        words, strange = _each(listed, lambda cell: _word(cell, keep), math.nan, object)
    return (words, strange) if codes is None else (words[codes], strange[codes])


def _word(cell: Any, keep: frozenset[Any]) -> Any:
    if isinstance(cell, (str, bytes)):
        text = _text(cell)
        return math.nan if text.strip() in MISSING and text not in keep else text
    if is_missing(cell):
        return math.nan
    if isinstance(cell, (bool, int, float, np.bool_, np.integer, np.floating)):
        try:
            return str(cell) if math.isfinite(cell) else math.nan
        except (OverflowError, ValueError):  # a whole number of thousands of digits
            return None
    return None


def _text(cell: str | bytes) -> str:
    if type(cell) is str:
        return cell
    return str.__str__(cell) if isinstance(cell, str) else bytes.decode(cell, "utf-8", "replace")  # not by its own code


def read_times(cells: Cells) -> tuple[NDArray[np.datetime64], Mask]:
    """Each cell as a moment in microseconds, in UTC where it names a zone; and where a cell is there and is no time.

    Text is one as 2024-05-01 or 1.5.2024, with or without a time of day.

    >>> read_times(fill([datetime.date(2024, 5, 1), "01.05.2024", None, "soon"]))[0].astype(str).tolist()
    ['2024-05-01T00:00:00.000000', '2024-05-01T00:00:00.000000', 'NaT', 'NaT']
    """
    if cells.dtype.kind == "M":
        return cells.astype("datetime64[us]"), np.zeros(len(cells), bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nothing = np.datetime64("NaT", "us")
        few, codes = distinct(cells)
        times, strange = _each(list(few), _time, nothing, "datetime64[us]")
    return (times, strange) if codes is None else (times[codes], strange[codes])


def _time(cell: Any) -> Any:
    if is_missing(cell) or (isinstance(cell, (str, bytes)) and _text(cell).strip() in MISSING):
        return np.datetime64("NaT", "us")
    try:
        if isinstance(cell, (str, bytes)):
            cell = _read_text_as_time(_text(cell).strip())
        if isinstance(cell, datetime.datetime):
            naive = cell if cell.tzinfo is None else cell.astimezone(datetime.UTC)
            return np.datetime64(naive.replace(tzinfo=None), "us")
        if isinstance(cell, np.datetime64):
            return cell.astype("datetime64[us]")
        if isinstance(cell, datetime.date):
            return np.datetime64(cell.isoformat(), "us")
    except Exception:  # beyond the years that can be held
        return None
    return None


def _read_text_as_time(text: str) -> datetime.datetime | None:
    by_day = BY_DAY.fullmatch(text)
    if by_day:
        day, month, year, clock = by_day.group(1, 2, 3, 4)
        text = f"{year}-{month:0>2}-{day:0>2}{clock or ''}"
    return datetime.datetime.fromisoformat(text) if BY_YEAR.fullmatch(text) else None
