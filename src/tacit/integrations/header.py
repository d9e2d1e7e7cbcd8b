"""The names of a table's columns, read without reading a record."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from tacit.errors import BadInput

LONGEST = 1 << 20  # bytes of a first line


def read_header(table: Path) -> list[str] | None:
    """The names of the columns; None where they cannot be had without reading more."""
    try:
        if table.suffix.lower() == ".parquet":
            try:
                from pyarrow import parquet
            except ImportError:
                return None
            return list(parquet.read_schema(table).names)
        line = _first_line(table)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not Parquet"
        raise BadInput(f"the table {table} cannot be read: {why}") from None
    if line[:2] == b"\x1f\x8b":  # compressed
        return None
    text = line.decode("utf-8-sig", errors="replace").rstrip("\r")
    return next(csv.reader([text], delimiter="\t" if table.suffix.lower() == ".tsv" else ","), [])


def _first_line(table: Path) -> bytes:
    """Byte by byte, so that not even a buffer holds a record."""
    descriptor, line = os.open(table, os.O_RDONLY), bytearray()
    try:
        while len(line) < LONGEST and (byte := os.read(descriptor, 1)) not in (b"", b"\n"):
            line += byte
    finally:
        os.close(descriptor)
    return bytes(line)
