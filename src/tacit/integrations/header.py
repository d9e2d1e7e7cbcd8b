"""The names of a table's columns, read without reading a record."""

from __future__ import annotations

import csv
import os
import re
import shlex
from collections import Counter
from pathlib import Path

from tacit.errors import BadInput

LONGEST = 1 << 20  # bytes of a first line


def read_header(table: Path) -> list[str] | None:
    """The names of the columns; None where they cannot be had without reading more."""
    from tacit.integrations.files import EXCEL, list_files, suffix_of

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
        raise BadInput(f"the table {table} cannot be read: {why}") from None
    if line[:2] in (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff"):  # compressed, or two bytes for each letter
        return None
    try:
        text = line.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError:
        text = line.decode("latin-1").rstrip("\r")
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


def choose_separator(line: str) -> str:
    """Comma, semicolon or tab: whichever the line of names has most of, outside quotes.

    >>> choose_separator('id;"name, first";age'), choose_separator("a"), choose_separator("a\\tb")
    (';', ',', '\\t')
    """
    bare = re.sub(r'"[^"]*"', "", line)
    return max(",;\t", key=bare.count)


def _first_line(table: Path) -> bytes:
    """Byte by byte, so that not even a buffer holds a record."""
    descriptor, line = os.open(table, os.O_RDONLY), bytearray()
    try:
        while len(line) < LONGEST and (byte := os.read(descriptor, 1)) not in (b"", b"\n"):
            line += byte
    finally:
        os.close(descriptor)
    return bytes(line)
