"""Tables in files: text, Excel and Parquet, cell by cell."""

from __future__ import annotations

import glob
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tacit.data.columns import Builder
from tacit.data.containers import add_arrow, read_column
from tacit.data.csv_text import name_columns
from tacit.data.schema import Schema
from tacit.data.table import Table
from tacit.data.text_files import read_text
from tacit.errors import BadInput, DataRefused, extra, refuse_short_memory

TEXT, EXCEL = (".csv", ".tsv", ".txt"), (".xlsx", ".xlsm")
KINDS = "a .csv, .tsv, .txt, .xlsx or .parquet file, a folder of .parquet files, or a pattern such as 'stays/*.parquet'"
BLOCK = 1 << 16  # rows of Parquet
Tell = Callable[[int], None]


@refuse_short_memory()
def read_table(
    path: str | Path,
    schema: Schema | None = None,
    *,
    spelled: Sequence[str] = (),
    tell: Tell = lambda rows: None,
) -> Table:
    """A table from a file: text with commas, semicolons or tabs, Excel, Parquet, or many Parquet files.

    Columns for which a schema declares two words of one number, such as "01" and "1", or text, keep their spelling, and
    so do those in ``spelled``. ``tell`` is called with the number of rows that were read, as they come.
    Edges. Of an Excel file the first sheet is read, as wide as its line of names; rows that are empty at its end are
    not in the file, and are not counted. Text is UTF-8, or Latin-1 where a cell is not: cell by cell.
    """
    files = list_files(path)
    declared = [] if schema is None else [*schema.columns, *([schema.target] if schema.target else [])]
    spelled = [*spelled, *(c.name for c in declared if c.kind == "text" or c.is_spelled)]
    kind = suffix_of(files[0])
    if kind == ".parquet":
        extra("pyarrow", "parquet", "reading Parquet")
    if kind in EXCEL:
        extra("openpyxl", "excel", "reading Excel")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl quotes cells that it cannot make a date of
            if kind == ".parquet":
                return _join([_read_parquet(file, tell) for file in files], files)
            if kind in EXCEL:
                return _read_excel(files[0])
            return read_text(files[0], spelled, tell)
    except (BadInput, MemoryError):
        raise
    except OSError as error:
        raise DataRefused(f"the table {path} cannot be read: {error.strerror or type(error).__name__}") from None
    except Exception as error:  # parsers quote lines of the file: never repeat them
        said = type(error).__name__
    raise DataRefused(f"the table {path} cannot be parsed ({said})")


def list_files(path: str | Path) -> list[Path]:
    """The files of a table: one, or all Parquet files of a folder or pattern, in the order of their names."""
    given = Path(path)
    if given.is_dir():
        found = sorted(p for p in given.rglob("*.parquet") if p.is_file())
        if not found:
            raise DataRefused(f"the folder {given} holds no .parquet files; a table must be {KINDS}")
        return found
    if not given.exists() and glob.has_magic(str(path)):
        found = sorted(Path(p) for p in glob.glob(str(path), recursive=True) if Path(p).is_file())
        if not found:
            raise DataRefused(f"no file fits the pattern {path}")
        if {suffix_of(p) for p in found} != {".parquet"}:
            raise DataRefused(f"a pattern must fit .parquet files alone, got {path}")
        return found
    if suffix_of(given) not in (*TEXT, *EXCEL, ".parquet"):
        raise DataRefused(f"a table must be {KINDS}, got {given.name}")
    return [given]


def count_rows(files: Sequence[Path]) -> int | None:
    """How many rows Parquet files hold, by their tables of contents; None for other files."""
    if any(suffix_of(path) != ".parquet" for path in files):
        return None
    parquet = extra("pyarrow.parquet", "parquet", "reading Parquet")
    try:
        return sum(int(parquet.read_metadata(path).num_rows) for path in files)
    except Exception:
        return 0  # who reads it says what is wrong


def suffix_of(path: Path) -> str:
    """The suffix, before one that says how a text file is compressed."""
    kinds = [s.lower() for s in path.suffixes[-2:]]
    return next((k for k in reversed(kinds) if k in (*TEXT, *EXCEL, ".parquet")), "")


def _read_excel(path: Path) -> Table:
    """The first sheet, as wide as its line of names: a cell beyond it, in any row, would make a column of its own."""
    openpyxl = extra("openpyxl", "excel", "reading Excel")
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    rows = book.worksheets[0].iter_rows(values_only=True)
    names = list(next(rows, ()))
    while names and (names[-1] is None or not str(names[-1]).strip()):
        names.pop()
    if not names:
        raise DataRefused(f"the table {path} cannot be parsed (it is empty)")
    width = len(names)
    columns: list[list[Any]] = [[] for _ in names]
    count = 0
    for row in rows:
        for place, column in enumerate(columns):
            column.append(row[place] if place < len(row) else None)
        count += 1
    book.close()
    called = name_columns(["" if name is None else str(name) for name in names[:width]])
    return Table(tuple(called), tuple(read_column(column) for column in columns), count)


def _read_parquet(path: Path, tell: Tell) -> Table:
    """One file, column by column."""
    parquet = extra("pyarrow.parquet", "parquet", "reading Parquet")
    with parquet.ParquetFile(path) as file:
        names = [str(name) for name in file.schema_arrow.names]
        builders = [Builder() for _ in names]
        rows = 0
        for batch in file.iter_batches(BLOCK, use_threads=False):
            for place, build in enumerate(builders):
                add_arrow(build, batch.column(place))
            rows += len(batch)
            tell(len(batch))
    return Table(tuple(names), tuple(build.finish() for build in builders), rows)


def _join(tables: list[Table], files: list[Path]) -> Table:
    """Rows of many files below each other; all must have the columns of the first."""
    names = list(tables[0].names)
    for table, file in zip(tables, files, strict=True):
        if sorted(table.names) != sorted(names):
            raise DataRefused(f"all files of a table must have the same columns, and {file.name} has others")
    return Table.join(tables)
