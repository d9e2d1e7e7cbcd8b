"""Tables in text files, read in blocks. A column in which every cell reads as a number, or as missing, is held as
numbers, and any other as text, cell for cell as in the file.

The separator is judged by the line of names alone. What a cell is depends on that cell: its encoding (UTF-8, or
Latin-1 if it is not), and in files with semicolons a comma as decimal point. No row makes a file unreadable
(`csv_text`): cells that it has too many are left out, those that it lacks are missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import extra
from tacit.integrations.csv_text import CsvText
from tacit.integrations.header import choose_separator
from tacit.schema.cells import MISSING, Cells, read_numbers

BLOCK = 100_000  # rows
DECIMAL = re.compile(r"\s*[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?\s*")  # what pandas reads as a number, too
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
Tell = Callable[[int], None]


class TextFile:
    """How a text file is to be read: by its first line alone."""

    def __init__(self, path: Path) -> None:
        pandas = extra("pandas", "sklearn", "reading a table")
        with pandas.io.common.get_handle(path, "rb", compression="infer", is_text=False) as opened:
            line = opened.handle.readline(1 << 20)
        self.path, self.encoding = path, MARKS.get(line[:2], "latin-1")
        text = line.decode("utf-8" if self.encoding == "latin-1" else "utf-16", "replace")
        self.separator = "\t" if ".tsv" in {s.lower() for s in path.suffixes} else choose_separator(text)
        settings: dict[str, Any] = {"sep": self.separator, "nrows": 0, "dtype": object, "index_col": False}
        with CsvText(path, self.separator, self.encoding) as opened:
            self.names: list[str] = [repair_text(n) for n in pandas.read_csv(opened, **settings).columns]

    def blocks(self, texts: set[str], only: list[str]) -> Iterator[Any]:
        """Blocks of rows. Numbers are read to the last bit, as float() reads them; columns in ``texts`` are not looked
        at.

        Positions of columns are named, and no column names rows: then pandas leaves out cells beyond them, without a
        word.
        """
        pandas = extra("pandas", "sklearn", "reading a table")
        old = tuple(int(p) for p in pandas.__version__.split(".")[:2]) < (3, 1)  # newer ones read so by themselves
        with CsvText(self.path, self.separator, self.encoding) as text:
            yield from pandas.read_csv(
                text,
                sep=self.separator,
                header=0,
                names=self.names,
                decimal="," if self.separator == ";" else ".",
                usecols=[i for i, name in enumerate(self.names) if name in only],
                index_col=False,
                dtype=dict.fromkeys(texts, object),
                keep_default_na=False,
                na_values={name: [] if name in texts else sorted(MISSING) for name in self.names},
                low_memory=False,
                chunksize=BLOCK,
                **({"float_precision": "round_trip"} if old else {}),
            )


def read_text(path: Path, spelled: Sequence[str], tell: Tell) -> Any:
    """A text file as a DataFrame; columns in ``spelled`` keep their spelling."""
    pandas = extra("pandas", "sklearn", "reading a table")
    file = TextFile(path)
    names, commas = file.names, file.separator == ";"
    parts: dict[str, list[Cells]] = {name: [] for name in names}
    words: dict[str, Any] = {}  # each spelling is held once
    texts = set(spelled) & set(names)
    for block in file.blocks(texts, names):
        for name in names:
            cells = block[name].to_numpy()
            if cells.dtype == object:
                cells = _share(cells, words, commas and name not in texts)
            if name not in texts:
                numbers, strange = read_numbers(cells)
                cells = cells if strange.any() else numbers
            parts[name].append(cells)
        tell(len(block))
    again = [n for n in names if n not in texts and len({p.dtype == object for p in parts[n]}) == 2]
    if again:  # words came after blocks of numbers, whose spelling is gone
        for name in again:
            parts[name] = []
        for block in file.blocks(set(again), again):
            for name in again:
                parts[name].append(_share(block[name].to_numpy(object), words, commas))
    columns = {i: np.concatenate(parts.pop(name)) for i, name in enumerate(names)}
    table = pandas.DataFrame({i: pandas.Series(c, dtype=c.dtype) for i, c in columns.items()})
    table.columns = names
    return table


def repair_text(text: str) -> str:
    """Text that was read byte by byte: UTF-8 where its bytes are, and otherwise Latin-1, as it is.

    >>> repair_text("ZÃ¼rich"), repair_text("Zürich"), repair_text("plain")
    ('Zürich', 'Zürich', 'plain')
    """
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return text


def _share(cells: Cells, words: dict[str, Any], commas: bool) -> Cells:
    """The same cells, repaired, with each spelling held once for the whole file."""
    shared = np.empty(len(cells), object)
    shared[:] = [_repair_cell(c, words, commas) if type(c) is str else c for c in cells.tolist()]
    return shared


def _repair_cell(cell: str, words: dict[str, Any], commas: bool) -> Any:
    known = words.get(cell)
    if known is None:
        known = words[cell] = repair_text(cell)
    return known.replace(",", ".") if commas and DECIMAL.fullmatch(known) else known
