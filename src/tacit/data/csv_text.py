"""The text of a CSV file in which every row stays one row, whatever its cells are.

A parser refuses a file, or reads other rows otherwise, for what one private row holds: a quote that nobody closes, an
empty line, a carriage return, a byte that is no text. Here

    a line ends a row, unless a quoted cell goes on: its quote closes before a separator or the end of a line
    a quote that does not close so is a letter like others, and its row ends with its line
    an empty line below the names is a row whose cells are missing, wherever it stands
    bytes that the encoding does not have, and zero bytes, become the sign of a letter that cannot be read

What is left to CSV itself: rows whose stray quotes happen to fit those of a later row are read as one.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterator
from typing import IO

csv.field_size_limit(2**31 - 1)  # a long cell is a cell
CHUNK, LONGEST = 1 << 20, 1 << 20  # letters read at once; letters of the longest cell over several lines
FIRST_LINE = 1 << 20  # bytes of the names
UNREAD = "\ufffd"


class CsvRows:
    """Rows of text, each a list of texts, in blocks; ``width`` is the number of cells in the first row, the names."""

    def __init__(self, source: IO[str], separator: str, ends: str = "\n") -> None:
        self.source, self.separator, self.ends, self.width = source, separator, ends, 0
        self._odd = ("\r", "\n\n", "\n ", "\n\t")  # none of them in a chunk: no empty lines
        cell = rf'(?>"[^"\n]*(?:""[^"\n]*)*"|[^"{separator}\n]*)'
        self._quoted = re.compile(rf"(?>{cell}[{separator}\n])*+")  # every quote closes on its line
        self._blank = re.compile(r"[ \r]*" if separator == "\t" else r"[ \r\t]*")
        self._waiting = deque[str]()

    def __iter__(self) -> Iterator[str | list[list[str]]]:
        """The names, in a block of their own; then blocks of rows, each as its columns.

        Rows that any parser divides in the same way come as they are, one to a line.
        """
        while self._waiting or (chunk := self._read_chunk()):
            if not self._waiting and self.width and self._is_plain(chunk):
                yield chunk
                continue
            if not self._waiting:
                self._waiting.extend(chunk[:-1].split("\n"))
            rows = list[str]()
            while self._waiting:
                line = self._waiting.popleft()
                blank = self._blank.fullmatch(line) is not None
                if self.width:
                    rows.append("" if blank else self._row(line))
                elif not blank:
                    names = next(csv.reader([self._row(line)], delimiter=self.separator))
                    self.width = len(names)
                    yield [[name] for name in names]
            if rows:
                yield self.divide(rows)

    def divide(self, lines: list[str]) -> list[list[str]]:
        """The columns of rows, one to a line: cells that a row has too many are left out, those it lacks are empty."""
        width = self.width
        rows = [
            r if len(r) == width else (r + [""] * width)[:width] for r in csv.reader(lines, delimiter=self.separator)
        ]
        return [list(column) for column in zip(*rows, strict=True)]

    def _is_plain(self, chunk: str) -> bool:
        if chunk[0] in "\n \t" or any(sign in chunk for sign in self._odd):
            return False
        return '"' not in chunk or self._quoted.fullmatch(chunk) is not None

    def _read_chunk(self) -> str:
        """Whole lines, each with a newline, without carriage returns before it; "" at the end."""
        text = self.source.read(CHUNK)
        text += self.source.readline() if text else ""
        text = text.replace("\0", UNREAD)
        text = text.replace("\r\n", "\n") if self.ends == "\n" else text.replace("\n", " ").replace("\r", "\n")
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


def choose_separator(line: str) -> str:
    """Comma, semicolon or tab: whichever the line of names has most of, outside quotes.

    >>> choose_separator('id;"name, first";age'), choose_separator("a"), choose_separator("a\\tb")
    (';', ',', '\\t')
    """
    bare = re.sub(r'"[^"]*"', "", line)
    return max(",;\t", key=bare.count)


def end_of_line(text: str) -> tuple[str, str]:
    """The first line of a text, and how lines end: with a newline, or with a carriage return that none follows.

    >>> end_of_line("a,b\\r1,2\\n"), end_of_line("a\\r\\n1"), end_of_line('"a\\nb",c\\n')
    (('a,b', '\\r'), ('a', '\\n'), ('"a\\nb",c', '\\n'))
    """
    found = re.match(r'(?:"[^"]*"|[^"\r\n])*+', text)
    line = found.group() if found else ""
    rest = text[len(line) : len(line) + 2]
    if rest.startswith('"'):  # one that nobody closes: the line ends as if there were none
        line = re.split(r"[\r\n]", text, maxsplit=1)[0]
        rest = text[len(line) : len(line) + 2]
    return line, "\r" if rest.startswith("\r") and rest != "\r\n" else "\n"


def name_columns(names: list[str]) -> list[str]:
    """Names that differ: a second "age" is "age.1", and a column without a name is called by its place.

    >>> name_columns(["age", "", "age", "age.1"])
    ['age', 'Unnamed: 1', 'age.2', 'age.1']
    """
    given = [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(names)]
    known, made, counts = set(given), list[str](), Counter[str]()
    for name in given:
        unique = name
        while unique in made or (counts[name] and unique in known):
            unique = f"{name}.{counts[name]}"
            counts[name] += 1
        counts[name] += not counts[name]
        made.append(unique)
    return made
