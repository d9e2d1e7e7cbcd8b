"""Records in Parquet files as parts that are read where they are, a block at a time."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import BadInput, extra

BLOCK = 1 << 16  # rows at a time
LEAST = 500_000  # rows of a part: a file of more is divided between its row groups


@dataclass(frozen=True)
class FileRows:
    """Rows of one Parquet file, by its row groups. What travels is the name of the file; it is opened at its home."""

    path: str
    groups: tuple[int, ...] | None = None
    columns: tuple[str, ...] | None = None

    def read_blocks(self) -> Iterator[Any]:
        """Pandas frames of at most BLOCK rows."""
        parquet = extra("pyarrow.parquet", "parquet", "reading Parquet")
        with parquet.ParquetFile(self.path) as file:
            chosen = None if self.columns is None else list(self.columns)
            groups = None if self.groups is None else list(self.groups)
            for batch in file.iter_batches(BLOCK, row_groups=groups, columns=chosen, use_threads=False):
                yield frame_of(batch)


def frame_of(batch: Any) -> Any:
    """A pandas frame in which cells that pandas cannot hold are missing, such as a date in the year 10000.

    Whether a cell can be converted is a matter of that cell: no other is read otherwise because of it.
    """
    arrow = extra("pyarrow", "parquet", "reading Parquet")
    columns = {}
    for place, column in enumerate(batch.columns):
        odd = _find_odd(column, 0)
        if odd:
            mask = arrow.array([i in odd for i in range(len(column))])
            column = arrow.compute.if_else(mask, arrow.scalar(None, column.type), column)
        columns[str(place)] = column
    frame = arrow.table(columns).to_pandas()
    frame.columns = batch.schema.names
    return frame


def _find_odd(column: Any, start: int) -> set[int]:
    """Rows whose cells cannot be converted: by halves, until they are alone."""
    arrow = extra("pyarrow", "parquet", "reading Parquet")
    try:
        if arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type):
            column.cast(arrow.large_binary()).cast(arrow.large_string())  # which looks whether it is UTF-8
        elif arrow.types.is_temporal(column.type):
            column.to_pylist()
        else:
            column.to_pandas()
    except Exception:  # Arrow quotes cells
        if len(column) == 1:
            return {start}
        half = len(column) // 2
        return _find_odd(column[:half], start) | _find_odd(column[half:], start + half)
    return set()


def find_files(where: str | Path | Sequence[str | Path]) -> list[Path]:
    """The Parquet files of a folder, a pattern or a list, in the order of their names; a file that is named twice is
    refused, by whatever name."""
    if isinstance(where, (str, Path)):
        given = Path(where)
        if given.is_dir():
            paths = sorted(p for p in given.rglob("*.parquet") if p.is_file())
        else:
            paths = [given] if given.is_file() else sorted(Path(p) for p in glob.glob(str(where), recursive=True))
        if not paths:
            raise BadInput(f"no Parquet file is found at {where}. Nothing was spent")
    else:
        paths = [Path(p) for p in where]
    try:
        marks = [(p.stat().st_dev, p.stat().st_ino) for p in paths]
    except OSError as error:
        raise BadInput(f"records cannot be read: {error.strerror}. Nothing was spent") from None
    if len(set(marks)) < len(marks):
        raise BadInput("a file stands twice among the records: each record may be in one part only. Nothing was spent")
    return paths


def divide_files(files: Sequence[Path], columns: Sequence[str] | None = None) -> tuple[list[FileRows], list[int]]:
    """Parts of these files and their public numbers of rows, by the files' own tables of contents."""
    parquet = extra("pyarrow.parquet", "parquet", "reading Parquet")
    parts, counts, wanted = list[FileRows](), list[int](), None if columns is None else tuple(columns)
    for path in [file.absolute() for file in files]:  # workers have folders of their own
        try:
            about = parquet.read_metadata(path)
        except Exception as error:
            raise BadInput(f"{path.name} is no Parquet file that can be read ({type(error).__name__})") from None
        sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
        if sum(sizes) <= LEAST:
            parts.append(FileRows(str(path), None, wanted))
            counts.append(sum(sizes))
            continue
        start = rows = 0
        for i, size in enumerate(sizes):
            rows += size
            if rows >= LEAST or i == len(sizes) - 1:
                parts.append(FileRows(str(path), tuple(range(start, i + 1)), wanted))
                counts.append(rows)
                start, rows = i + 1, 0
    filled = [i for i, n in enumerate(counts) if n]
    if not filled:
        raise BadInput("the Parquet files hold no rows. Nothing was spent")
    return [parts[i] for i in filled], [counts[i] for i in filled]
