"""The text of a CSV file in which every row stays one row, whatever its cells are.

A parser refuses a file, or reads other rows otherwise, for what one private row holds: a quote that nobody closes, an
empty line, a carriage return, a byte that is no text. Here

    a line ends a row, unless a quoted cell goes on: its quote closes before a separator or the end of a line
    a quote that does not close so is a letter like others, and its row ends with its line
    an empty line among others is a row whose cells are missing; empty lines before and after are none
    bytes that the encoding does not have, and zero bytes, become the sign of a letter that cannot be read

What is left to CSV itself: rows whose stray quotes happen to fit those of a later row are read as one.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tacit.errors import extra

CHUNK, LONGEST = 1 << 20, 1 << 20  # letters read at once; letters of the longest cell over several lines
UNREAD = "\ufffd"


class CsvText(io.TextIOBase):
    """A text file for pandas; ``width`` is the number of cells in its first row."""

    def __init__(self, path: Path, separator: str, encoding: str = "utf-8") -> None:
        self._source, ends = _open(path, encoding)
        self._rows = CsvRows(self._source, separator, ends)
        self._chunks, self._left = iter(self._rows), ""

    @property
    def width(self) -> int:
        return self._rows.width

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        wanted = CHUNK * 2**20 if size is None or size < 0 else size
        while len(self._left) < wanted and (more := next(self._chunks, "")):
            self._left += more
        told, self._left = self._left[:wanted], self._left[wanted:]
        return told

    def close(self) -> None:
        self._source.close()
        super().close()


def _open(path: Path, encoding: str) -> tuple[IO[str], str]:
    """Decompressed, as text, without the mark of UTF-8.

    Lines end with a newline, or with a carriage return where there is no newline at all.
    """
    common = extra("pandas.io.common", "sklearn", "reading a table")
    ends = "\n"
    with common.get_handle(path, "rb", compression="infer", is_text=False) as opened:
        start: bytes = opened.handle.read(CHUNK)
        if b"\n" not in start and b"\r" in start:
            ends = "\r"
    binary: Any = common.get_handle(path, "rb", compression="infer", is_text=False).handle
    if start.startswith(codecs.BOM_UTF8):
        binary.read(len(codecs.BOM_UTF8))
    return io.TextIOWrapper(binary, encoding, errors="replace", newline=ends), ends


class CsvRows:
    """Chunks of whole rows, of lines that any parser divides in the same way."""

    def __init__(self, source: IO[str], separator: str, ends: str = "\n") -> None:
        self.source, self.separator, self.ends, self.width = source, separator, ends, 0
        self._odd = ("\r", "\n\n", "\n ", "\n\t")  # none of them in a chunk: no empty lines
        cell = rf'(?>"[^"\n]*(?:""[^"\n]*)*"|[^"{separator}\n]*)'
        self._quoted = re.compile(rf"(?>{cell}[{separator}\n])*+")  # every quote closes on its line
        self._blank = re.compile(r"[ \r]*" if separator == "\t" else r"[ \r\t]*")
        self._waiting, self._empty = deque[str](), 0

    def __iter__(self) -> Iterator[str]:
        while self._waiting or (chunk := self._read_chunk()):
            if not self._waiting and self.width and not self._empty and self._is_plain(chunk):
                yield chunk
                continue
            if not self._waiting:
                self._waiting.extend(chunk[:-1].split("\n"))
            while self._waiting:
                line = self._waiting.popleft()
                if self._blank.fullmatch(line):
                    self._empty += bool(self.width)  # known to be among others when another follows
                    continue
                row = self._row(line)
                if not self.width:
                    self.width = len(next(csv.reader([row], delimiter=self.separator)))
                missing = self.separator * (self.width - 1) or '""'
                yield (missing + "\n") * self._empty + row + "\n"
                self._empty = 0

    def _is_plain(self, chunk: str) -> bool:
        if chunk[0] in "\n \t" or any(sign in chunk for sign in self._odd):
            return False
        return '"' not in chunk or self._quoted.fullmatch(chunk) is not None

    def _read_chunk(self) -> str:
        """Whole lines, each with a newline, without carriage returns before it; "" at the end."""
        text = self.source.read(CHUNK)
        text += self.source.readline() if text else ""
        text = text.replace("\0", UNREAD).replace("\r\n" if self.ends == "\n" else "\r", "\n")
        return text if not text or text.endswith("\n") else text + "\n"

    def _row(self, line: str) -> str:
        """The row that begins with a line, with the lines over which its quoted cells go on."""
        if '"' not in line:
            return line.replace("\r", " ")
        taken: list[str] = []
        row = self._close_quotes(line, taken)
        if row is None:  # a stray quote: as letters, and the lines after it are rows of their own
            self._waiting.extendleft(reversed(taken))
            cells = (f'"{c.replace(chr(34), chr(34) * 2)}"' if '"' in c else c for c in line.split(self.separator))
            row = self.separator.join(cells)
        return row.replace("\r", " ")

    def _close_quotes(self, text: str, taken: list[str]) -> str | None:
        """The text up to the end of the line on which its last quoted cell closes; None where one does not."""
        place = 0
        while place < len(text):
            if text[place] != '"':
                found = text.find(self.separator, place)
                place = len(text) if found < 0 else found + 1
                continue
            look = place + 1
            while True:
                quote = text.find('"', look)
                if quote < 0:
                    more = self._next_line()
                    if more is not None:
                        taken.append(more)
                    if more is None or len(text) - place > LONGEST:
                        return None
                    look, text = len(text), f"{text}\n{more}"
                elif text.startswith('""', quote):
                    look = quote + 2
                else:
                    break
            place = quote + 1
            if place < len(text) and text[place] != self.separator:
                return None
            place += 1
        return text

    def _next_line(self) -> str | None:
        if not self._waiting and (chunk := self._read_chunk()):
            self._waiting.extend(chunk[:-1].split("\n"))
        return self._waiting.popleft() if self._waiting else None
