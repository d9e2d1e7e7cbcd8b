"""The names of a table's columns, read without reading a record."""

from __future__ import annotations

import csv
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tacit.data.csv_text import FIRST_LINE, choose_separator
from tacit.data.files import EXCEL, list_files, suffix_of
from tacit.errors import DataRefused

CALLED = re.compile(
    r"(^|_)(id|ids|uuid|guid|ssn|mrn|key|nbr|patient|person|user|customer|client|member|subject|account|name|email)$"
    r"|_(no|nr|number)$"
)


def read_header(table: Path) -> list[str] | None:
    """The names of the columns; None where they cannot be had without reading more."""
    first = list_files(table)[0] if table.is_dir() or not table.exists() else table
    try:
        if suffix_of(first) == ".parquet":
            try:
                from pyarrow import parquet
            except ImportError:
                return None
            return list(parquet.read_schema(first).names)
        if suffix_of(first) in EXCEL:  # its cells are not in order: names cannot be had alone
            os.close(os.open(first, os.O_RDONLY))
            return None
        line = _first_line(first)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not Parquet"
        raise DataRefused(f"the table {table} cannot be read: {why}") from None
    if line[:2] in (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff"):  # compressed, or two bytes for each letter
        return None
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = line.decode("latin-1")
    return next(csv.reader([text], delimiter="\t" if first.suffix.lower() == ".tsv" else choose_separator(text)), [])


def remarks_on_names(table: Path) -> list[str]:
    """What is said of a text file in which several columns have one name: how the others are called."""
    counts = Counter(name for name in read_header(table) or () if name)
    return [
        f"{many} columns are called {name!r}: {name!r} is the first of them, {f'{name}.1'!r} the next. To leave that "
        f"out: --drop {shlex.quote(f'{name}.1')}"
        for name, many in counts.items()
        if many > 1
    ]


def names_identifier(name: str) -> bool:
    """Whether a column is called as those are that name rows or persons.

    >>> [names_identifier(n) for n in ("member_id", "patientNumber", "PatientId", "age", "valid")]
    [True, True, True, False, False]
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name).lower()
    return CALLED.search(spaced) is not None


def remarks_on_identifiers(names: Iterable[str], person: str | None) -> list[str]:
    """What is said of columns that are called like identifiers, by their names alone."""
    return [
        f"{name!r} is called like an identifier: "
        + (f"if it names persons, --person {shlex.quote(name)} protects them; else " if person is None else "")
        + f"--drop {shlex.quote(name)} leaves it out"
        for name in names
        if name != person and names_identifier(name)
    ]


def _first_line(table: Path) -> bytes:
    """Byte by byte, so that not even a buffer holds a record."""
    descriptor, line = os.open(table, os.O_RDONLY), bytearray()
    try:
        while len(line) < FIRST_LINE and (byte := os.read(descriptor, 1)) not in (b"", b"\n", b"\r"):
            line += byte
    finally:
        os.close(descriptor)
    return bytes(line)
