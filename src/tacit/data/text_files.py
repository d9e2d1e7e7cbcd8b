"""Tables in text files, read in blocks: every field as text, and then as a cell.

Separator, line ends and encoding are judged by the line of names alone. What a cell is depends on that cell: its
encoding (UTF-8, or Latin-1 if it is not), and in files with semicolons a comma as decimal point. No row makes a file
unreadable (`csv_text`): cells that it has too many are left out, those that it lacks are missing.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tacit.data.columns import Builder
from tacit.data.csv_text import FIRST_LINE, CsvRows, choose_separator, end_of_line, name_columns
from tacit.data.table import Table
from tacit.errors import DataRefused, extra

DECIMAL = re.compile(r"\s*[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?\s*")
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
Tell = Callable[[int], None]


class TextFile:
    """How a text file is to be read: by its first line alone."""

    def __init__(self, path: Path) -> None:
        with _open(path) as file:
            start: bytes = file.handle.read(FIRST_LINE)
        self.path, self.encoding = path, MARKS.get(start[:2], "latin-1")
        self.marked = start.startswith(codecs.BOM_UTF8)
        text = start.decode("utf-8-sig" if self.encoding == "latin-1" else "utf-16", "replace")
        line, self.ends = end_of_line(text)
        self.separator = "\t" if ".tsv" in {s.lower() for s in path.suffixes} else choose_separator(line)
        names = next(self.open_rows()[1], None)
        if not isinstance(names, list):
            raise DataRefused(f"the table {path} cannot be parsed (it is empty)")
        self.names = name_columns([repair_text(name) for (name,) in names])

    def open_rows(self) -> tuple[CsvRows, Iterator[str | list[list[str]]]]:
        """The rows of the file, and their blocks: the names first."""
        file = _open(self.path)
        if self.marked:
            file.handle.read(len(codecs.BOM_UTF8))
        text = io.TextIOWrapper(file.handle, self.encoding, errors="replace", newline=self.ends)
        rows = CsvRows(text, self.separator, self.ends)
        return rows, iter(rows)

    def repair(self, texts: list[str], *, spelled: bool) -> list[str]:
        """Texts as cells: each by itself."""
        if self.encoding == "latin-1" and not "".join(texts).isascii():
            texts = [repair_text(text) for text in texts]
        if self.separator == ";" and not spelled:
            texts = [t.replace(",", ".") if "," in t and DECIMAL.fullmatch(t) else t for t in texts]
        return texts


def _open(path: Path) -> Any:
    """Decompressed bytes."""
    common = extra("pandas.io.common", "sklearn", "reading a table")
    return common.get_handle(path, "rb", compression="infer", is_text=False)


def read_text(path: Path, spelled: Sequence[str], tell: Tell) -> Table:
    """A text file as a table; columns in ``spelled`` keep their spelling."""
    file = TextFile(path)
    builders = [Builder(spelling=name in spelled) for name in file.names]
    rows, blocks = file.open_rows()
    next(blocks)
    count = 0
    for block in blocks:
        arrow = _divide_by_arrow(file, block) if isinstance(block, str) else None
        if arrow is not None:
            for build, column in zip(builders, arrow.columns, strict=True):
                _add_bytes(build, column, file)
        else:
            columns = rows.divide(block[:-1].split("\n")) if isinstance(block, str) else block
            for build, texts in zip(builders, columns, strict=True):
                build.add_texts(file.repair(texts, spelled=build.spelling))
        many = len(columns[0]) if arrow is None else len(arrow)
        count += many
        tell(many)
    return Table(tuple(file.names), tuple(build.finish() for build in builders), count)


def _divide_by_arrow(file: TextFile, block: str) -> Any:
    """The columns of a block as bytes, by Arrow, which is quicker; None where it is not there or would not do."""
    try:
        from pyarrow import ArrowInvalid, binary, csv, py_buffer
    except ImportError:
        return None
    names = [str(i) for i in range(len(file.names))]
    try:
        data = block.encode("latin-1" if file.encoding == "latin-1" else "utf-8")
        return csv.read_csv(
            py_buffer(data),
            csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            csv.ParseOptions(delimiter=file.separator, ignore_empty_lines=False),
            csv.ConvertOptions(
                check_utf8=False, column_types=dict.fromkeys(names, binary()), null_values=[], strings_can_be_null=False
            ),
        )
    except (ArrowInvalid, UnicodeEncodeError):  # rows of other widths, letters that cannot be read
        return None


def _add_bytes(build: Builder, column: Any, file: TextFile) -> None:
    """Numbers as Arrow reads them, to the last bit like Python, if all are; else each text once."""
    from pyarrow import ArrowInvalid, float64, string

    chunk = column.combine_chunks()
    if build.numbers_alone:
        try:
            if build.add_floats(chunk.view(string()).cast(float64()).to_numpy()):
                return
        except ArrowInvalid:
            pass
    coded = chunk.dictionary_encode()
    decode = "latin-1" if file.encoding == "latin-1" else "utf-8"
    texts = [cell.decode(decode) for cell in coded.dictionary.to_pylist()]
    build.add_distinct(file.repair(texts, spelled=build.spelling), coded.indices.to_numpy())


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
