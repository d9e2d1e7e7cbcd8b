"""Tables in files: CSV, TSV and Parquet as DataFrames, whose types say nothing that a schema would go by.

A text file is read in blocks. A column in which every cell reads as a number, or as missing, is held as numbers, and
any other as text, cell for cell as in the file. Which of the two may depend on one private cell; what a schema makes of
the other cells does not, since text that reads as a number is that number (tests/integrations/test_files.py).
No row makes a file unreadable (`csv_text`): cells that it has too many are left out, those that it lacks are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import BadInput, extra
from tacit.integrations.csv_text import CsvText
from tacit.schema import Schema
from tacit.schema.cells import MISSING, Cells, read_numbers

BLOCK = 100_000  # rows


def read_table(path: str | Path, schema: Schema | None = None, *, spelled: Sequence[str] = ()) -> Any:
    """A CSV, TSV or Parquet file as a pandas DataFrame; columns of words that a schema declares keep their spelling.

    So do the columns in ``spelled``: names of persons may be longer than a number holds.
    """
    pandas = extra("pandas", "sklearn", "reading a table")
    path = Path(path)
    kinds = [suffix.lower() for suffix in path.suffixes[-2:]]
    if not {".csv", ".tsv", ".parquet"} & set(kinds):
        raise BadInput(f"a table must be a .csv, .tsv or .parquet file, got {path.name}")
    if ".parquet" in kinds:
        extra("pyarrow", "parquet", "reading Parquet")
    spelled = [*spelled, *(c.name for c in (schema.columns if schema else ()) if c.kind in ("category", "text"))]
    try:
        if ".parquet" in kinds:
            return pandas.read_parquet(path)
        return _read_text(path, "\t" if ".tsv" in kinds else ",", spelled)
    except OSError as error:
        raise BadInput(f"the table {path} cannot be read: {error.strerror or type(error).__name__}") from None
    except Exception as error:  # parsers quote lines of the file: never repeat them
        kind = "it is empty" if isinstance(error, pandas.errors.EmptyDataError) else type(error).__name__
    raise BadInput(f"the table {path} cannot be parsed ({kind})")


def _read_text(path: Path, separator: str, spelled: Sequence[str]) -> Any:
    pandas = extra("pandas", "sklearn", "reading a table")
    with CsvText(path, separator) as text:
        names: list[str] = list(pandas.read_csv(text, sep=separator, nrows=0, dtype=object, index_col=False).columns)
    parts: dict[str, list[Cells]] = {name: [] for name in names}
    words: dict[str, str] = {}  # each spelling is held once
    texts = set(spelled) & set(names)
    for block in _blocks(path, separator, texts, names, names):
        for name in names:
            cells = block[name].to_numpy()
            if name not in texts:
                numbers, strange = read_numbers(cells)
                cells = cells if strange.any() else numbers
            parts[name].append(_share(cells, words) if cells.dtype == object else cells)
    again = [n for n in names if n not in texts and len({p.dtype == object for p in parts[n]}) == 2]
    if again:  # words came after blocks of numbers, whose spelling is gone
        for name in again:
            parts[name] = []
        for block in _blocks(path, separator, set(again), names, again):
            for name in again:
                parts[name].append(_share(block[name].to_numpy(object), words))
    columns = {i: np.concatenate(parts.pop(name)) for i, name in enumerate(names)}
    table = pandas.DataFrame({i: pandas.Series(c, dtype=c.dtype) for i, c in columns.items()})
    table.columns = names
    return table


def _blocks(path: Path, separator: str, texts: set[str], names: list[str], only: list[str]) -> Iterator[Any]:
    """Blocks of rows. Numbers are read to the last bit, as float() reads them; declared words are not looked at.

    Positions of columns are named, and no column names rows: then pandas leaves out cells beyond them, without a word.
    """
    pandas = extra("pandas", "sklearn", "reading a table")
    old = tuple(int(part) for part in pandas.__version__.split(".")[:2]) < (3, 1)  # newer ones read so by themselves
    with CsvText(path, separator) as text:
        yield from pandas.read_csv(
            text,
            sep=separator,
            usecols=[i for i, name in enumerate(names) if name in only],
            index_col=False,
            dtype=dict.fromkeys(texts, object),
            keep_default_na=False,
            na_values={name: [] if name in texts else sorted(MISSING) for name in names},
            low_memory=False,
            chunksize=BLOCK,
            **({"float_precision": "round_trip"} if old else {}),
        )


def _share(cells: Cells, words: dict[str, str]) -> Cells:
    """The same cells, with each spelling held once for the whole file."""
    shared = np.empty(len(cells), object)
    shared[:] = [words.setdefault(c, c) if type(c) is str else c for c in cells.tolist()]
    return shared
