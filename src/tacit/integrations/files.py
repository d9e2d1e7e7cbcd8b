"""Tables in files as DataFrames, whose types say nothing that a schema would go by: text, Excel and Parquet.

Which type a column is held in may depend on one private cell; what a schema makes of the other cells does not, since
text that reads as a number is that number (tests/integrations/test_files.py).
"""

from __future__ import annotations

import glob
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tacit.errors import BadInput, extra
from tacit.integrations.text_files import read_text
from tacit.schema import Schema

TEXT, EXCEL = (".csv", ".tsv", ".txt"), (".xlsx", ".xlsm")
KINDS = "a .csv, .tsv, .txt, .xlsx or .parquet file, a folder of .parquet files, or a pattern such as 'stays/*.parquet'"
Tell = Callable[[int], None]


def read_table(
    path: str | Path,
    schema: Schema | None = None,
    *,
    spelled: Sequence[str] = (),
    tell: Tell = lambda rows: None,
) -> Any:
    """A table as a pandas DataFrame: text with commas, semicolons or tabs, Excel, Parquet, or many Parquet files.

    Columns of words that a schema declares keep their spelling, and so do those in ``spelled``: names of persons may be
    longer than a number holds. ``tell`` is called with the number of rows that were read, as they come.
    Edges. Of an Excel file the first sheet is read, as wide as its line of names. Text is UTF-8, or Latin-1 where a
    cell is not: cell by cell.
    """
    pandas = extra("pandas", "sklearn", "reading a table")
    files = list_files(path)
    spelled = [*spelled, *(c.name for c in (schema.columns if schema else ()) if c.kind in ("category", "text"))]
    kind = suffix_of(files[0])
    if kind == ".parquet":
        extra("pyarrow", "parquet", "reading Parquet")
    if kind in EXCEL:
        extra("openpyxl", "excel", "reading Excel")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl quotes cells that it cannot make a date of
            if kind == ".parquet":
                return _join([_read_parquet(file, spelled, tell) for file in files], files)
            if kind in EXCEL:
                return _read_excel(files[0])
            return read_text(files[0], spelled, tell)
    except BadInput:
        raise
    except OSError as error:
        raise BadInput(f"the table {path} cannot be read: {error.strerror or type(error).__name__}") from None
    except Exception as error:  # parsers quote lines of the file: never repeat them
        said = "it is empty" if isinstance(error, pandas.errors.EmptyDataError) else type(error).__name__
    raise BadInput(f"the table {path} cannot be parsed ({said})")


def list_files(path: str | Path) -> list[Path]:
    """The files of a table: one, or all Parquet files of a folder or pattern, in the order of their names."""
    given = Path(path)
    if given.is_dir():
        found = sorted(p for p in given.rglob("*.parquet") if p.is_file())
        if not found:
            raise BadInput(f"the folder {given} holds no .parquet files; a table must be {KINDS}")
        return found
    if not given.exists() and glob.has_magic(str(path)):
        found = sorted(Path(p) for p in glob.glob(str(path), recursive=True) if Path(p).is_file())
        if not found:
            raise BadInput(f"no file fits the pattern {path}")
        if {suffix_of(p) for p in found} != {".parquet"}:
            raise BadInput(f"a pattern must fit .parquet files alone, got {path}")
        return found
    if suffix_of(given) not in (*TEXT, *EXCEL, ".parquet"):
        raise BadInput(f"a table must be {KINDS}, got {given.name}")
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


def _read_excel(path: Path) -> Any:
    """The first sheet, as wide as its line of names: a cell beyond it, in any row, would make a column of its own."""
    pandas = extra("pandas", "sklearn", "reading a table")
    table = pandas.read_excel(path, dtype=object, keep_default_na=False, engine="openpyxl")
    width = table.shape[1]
    while width > 1 and table.columns[width - 1] == f"Unnamed: {width - 1}":
        width -= 1
    return table.iloc[:, :width]


def _read_parquet(path: Path, spelled: Sequence[str], tell: Tell) -> Any:
    """One file. Whole numbers that are names stay whole beside a missing one, where floats would join long ones."""
    pandas = extra("pandas", "sklearn", "reading a table")
    table = pandas.read_parquet(path)
    parquet = extra("pyarrow.parquet", "parquet", "reading Parquet")
    for name in [n for n in spelled if n in table.columns and table[n].dtype.kind == "f"]:
        table[name] = parquet.read_table(path, columns=[name])[name].to_pandas(integer_object_nulls=True).to_numpy()
    tell(len(table))
    return table


def _join(tables: list[Any], files: list[Path]) -> Any:
    """Rows of many files below each other; all must have the columns of the first."""
    if len(tables) == 1:
        return tables[0]
    pandas = extra("pandas", "sklearn", "reading a table")
    names = list(tables[0].columns)
    for table, file in zip(tables, files, strict=True):
        if set(table.columns) != set(names) or len(table.columns) != len(names):
            raise BadInput(f"all files of a table must have the same columns, and {file.name} has others")
    return pandas.concat([t[names] for t in tables], ignore_index=True)
