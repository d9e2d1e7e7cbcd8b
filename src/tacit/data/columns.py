"""Columns of cells, each read alone.

A column is held by kinds, numbers, times and the distinct texts of its words, so that millions of rows take a few bytes
each and one long word takes its own length. How it is held may depend on all its cells; what a cell is does not.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.cells import (
    EXACT,
    MISSING,
    NO_TIME,
    NUMBER,
    ODD,
    TIME,
    WORD,
    CellReading,
    Mask,
    Value,
    classify,
    classify_text,
    decode,
    fill,
    read_one,
    spell,
    to_microseconds,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class CellColumn:
    """One column. Private.

    ``texts`` are distinct texts as they were spelled, and ``codes`` which of them each cell is, -1 where its number or
    time says all. ``raw`` are the cells as they were given, where somebody may want objects back.
    """

    kinds: NDArray[np.int8]
    numbers: Floats  # nan where a cell is no number
    codes: Codes | None = None
    texts: tuple[str, ...] = ()
    times: NDArray[np.datetime64] | None = None
    raw: NDArray[Any] | None = None
    categorical: bool = False  # its container declares categories

    def __len__(self) -> int:
        return len(self.kinds)

    def __repr__(self) -> str:
        return f"<{len(self)} cells, private>"

    def __getitem__(self, row: int) -> Value:
        """The value of one cell: as ``read_one`` reads it."""
        kind = self.kinds[row]
        if kind in (MISSING, ODD):
            return None
        if self.codes is not None and self.codes[row] >= 0:
            return classify_text(self.texts[self.codes[row]]).value
        if kind == TIME:
            moment: np.datetime64 = self.read_times()[row]
            return moment
        return float(self.numbers[row])

    def tolist(self) -> list[Value]:
        """All values, None for a missing one."""
        values, which = self.distinct()
        return list(fill([*values, None])[which])

    def take(self, rows: Any) -> CellColumn:
        """Some of the cells."""
        codes, times, raw = (None if held is None else held[rows] for held in (self.codes, self.times, self.raw))
        return CellColumn(self.kinds[rows], self.numbers[rows], codes, self.texts, times, raw, self.categorical)

    @property
    def absent(self) -> Mask:
        """Where a cell is missing, an odd one included."""
        return np.asarray((self.kinds == MISSING) | (self.kinds == ODD), bool)

    def read_times(self) -> NDArray[np.datetime64]:
        """Moments, NaT where a cell is none."""
        return np.full(len(self), NO_TIME) if self.times is None else self.times

    def distinct(self) -> tuple[list[Any], NDArray[np.intp]]:
        """The values that occur, each once, and which each cell has, -1 for a missing one."""
        found: dict[Any, int] = {}
        which = np.full(len(self), -1, np.intp)
        bare = ~self.absent
        if self.codes is not None:
            used = np.unique(self.codes[bare & (self.codes >= 0)])
            place = np.full(len(self.texts), -1, np.intp)
            place[used] = [found.setdefault(classify_text(self.texts[c]).value, len(found)) for c in used.tolist()]
            spelled = bare & (self.codes >= 0)
            which[spelled] = place[self.codes[spelled]]
            bare &= self.codes < 0
        for kind, held in ((NUMBER, self.numbers), (TIME, self.times)):
            rows = np.flatnonzero(bare & (self.kinds == kind))
            if rows.size and held is not None:
                values, back = np.unique(held[rows], return_inverse=True)
                each = values.tolist() if kind == NUMBER else list(values)
                which[rows] = np.array([found.setdefault(v, len(found)) for v in each], np.intp)[back]
        return list(found), which

    def spell(self) -> NDArray[Any]:
        """Each cell as text, as it was spelled where that is known; nan for a missing one."""
        if self.raw is not None:
            known = [decode(c) if isinstance(c, (str, bytes)) else spell(classify(c).value) for c in self.raw.tolist()]
            words = fill(known)
        else:
            values, which = self.distinct()
            words = fill([*(spell(v) for v in values), ""])[which]
            if self.codes is not None and self.texts:
                words = np.where(self.codes >= 0, fill(self.texts)[np.maximum(self.codes, 0)], words)
        words[self.absent] = math.nan
        return words

    def mark_missing(self, values: Iterable[Any]) -> CellColumn:
        """The same cells, with these values, read as cells are, missing."""
        unwanted = {read_one(v) for v in values} - {None}
        held, which = self.distinct()
        gone = np.array([v in unwanted for v in held] + [False], bool)[which]
        if not gone.any():
            return self
        codes = None if self.codes is None else np.where(gone, -1, self.codes).astype(np.int32)
        times = None if self.times is None else np.where(gone, NO_TIME, self.times)
        kinds = np.where(gone, MISSING, self.kinds).astype(np.int8)
        return CellColumn(kinds, np.where(gone, np.nan, self.numbers), codes, self.texts, times)

    def digest(self) -> bytes:
        """Of the values of the cells, whatever container they came in."""
        mark = hashlib.sha256(np.where(self.kinds == ODD, MISSING, self.kinds).astype(np.int8).tobytes())
        mark.update((self.numbers + 0.0).tobytes())
        mark.update(self.read_times().astype(np.int64).tobytes())
        if self.codes is not None:
            each = [_digest_text(text) for text in self.texts]
            table = np.frombuffer(b"".join([*each, bytes(16)]), "V16")
            mark.update(table[np.where(self.absent, -1, self.codes)].tobytes())
        return mark.digest()

    @classmethod
    def join(cls, parts: Sequence[CellColumn]) -> CellColumn:
        """CellColumn below each other."""
        if len(parts) == 1:
            return parts[0]
        build = Builder()
        for part in parts:
            build.add_cells(part)
        return build.finish()


def _digest_text(text: str) -> bytes:
    """Of the value of a text, where numbers alone do not say it: a word, or a whole number past all floats."""
    reading = classify_text(text)
    exact = reading.kind == NUMBER and isinstance(reading.value, int) and abs(reading.value) >= EXACT
    if reading.kind != WORD and not exact:
        return bytes(16)
    return hashlib.sha256(str(reading.value).encode("utf-8", "surrogatepass")).digest()[:16]


class Builder:
    """Makes one column of blocks of cells. With ``spelling`` every text is kept as it is spelled, numbers too."""

    def __init__(self, *, spelling: bool = False) -> None:
        self.spelling = spelling
        self._known: dict[str, int] = {}
        self._readings: list[tuple[int, float, np.datetime64]] = []
        self._parts: list[tuple[NDArray[np.int8], Floats, Codes | None, Any]] = []

    def add(self, cells: list[Any]) -> None:
        """CellColumn of any types."""
        types = set(map(type, cells))
        if types <= {str}:
            return self.add_texts(cells)
        if types <= {float}:
            return self.add_numbers(np.array(cells, float))
        readings = [CellReading(WORD, decode(c)) if isinstance(c, (str, bytes)) else classify(c) for c in cells]
        kinds = np.array([r.kind for r in readings], np.int8)
        numbers, times = np.full(len(cells), np.nan), None
        codes = np.full(len(cells), -1, np.int32)
        for i, (kind, value) in enumerate(readings):
            if kind == NUMBER:
                numbers[i] = value
                if abs(value) >= EXACT and isinstance(value, int):  # type: ignore[arg-type]
                    codes[i] = self._learn(str(value))
        if (moments := kinds == TIME).any():
            times = np.full(len(cells), NO_TIME)
            times[moments] = [r.value for r in readings if r.kind == TIME]
        if (words := np.flatnonzero(kinds == WORD)).size:
            part = self._read_texts([str(readings[i].value) for i in words])
            kinds[words], numbers[words], codes[words] = part[0], part[1], -1 if part[2] is None else part[2]
            if part[3] is not None:
                times = np.full(len(cells), NO_TIME) if times is None else times
                times[words] = part[3]
        self._parts.append((kinds, numbers, codes if (codes >= 0).any() else None, times))
        return None

    def add_numbers(self, numbers: Floats) -> None:
        """Numbers that are floats; those that are not finite are missing."""
        known = np.isfinite(numbers)
        kinds = np.where(known, NUMBER, MISSING).astype(np.int8)
        self._parts.append((kinds, np.where(known, numbers, np.nan), None, None))

    def add_whole(self, numbers: NDArray[Any], absent: Mask | None = None) -> None:
        """Whole numbers of any size, of which some are missing."""
        there = np.ones(len(numbers), bool) if absent is None else ~absent
        kinds = np.where(there, NUMBER, MISSING).astype(np.int8)
        floats, codes = np.where(there, numbers.astype(float), np.nan), None
        with np.errstate(invalid="ignore"):
            large = np.flatnonzero(abs(floats) >= EXACT)
        if large.size:
            codes = np.full(len(numbers), -1, np.int32)
            codes[large] = [self._learn(str(v)) for v in numbers[large].tolist()]
        self._parts.append((kinds, floats, codes, None))

    def add_times(self, moments: NDArray[np.datetime64]) -> None:
        times = to_microseconds(moments)
        kinds = np.where(np.isnat(times), MISSING, TIME).astype(np.int8)
        self._parts.append((kinds, np.full(len(times), np.nan), None, times))

    def add_nothing(self, kinds: NDArray[np.int8]) -> None:
        """CellColumn that are missing or odd."""
        self._parts.append((kinds, np.full(len(kinds), np.nan), None, None))

    def add_texts(self, texts: list[str]) -> None:
        self._parts.append(self._read_texts(texts))

    def add_distinct(self, texts: list[str], codes: NDArray[Any]) -> None:
        """Texts that are given once each, and which each cell has."""
        held = self._read_texts(texts)
        kinds, numbers, known, times = (None if array is None else array[codes] for array in held)
        self._parts.append((kinds, numbers, known, times))  # type: ignore[arg-type]

    @property
    def numbers_alone(self) -> bool:
        """Whether nothing but numbers has been seen, and their spelling is not kept."""
        return not self.spelling and not self._known

    def add_floats(self, numbers: Floats) -> bool:
        """Numbers that were text, if floats hold all of them exactly as they would be read; False if not."""
        exact = bool((abs(numbers) < EXACT).all())  # not so for nan
        if exact:
            self._parts.append((np.full(len(numbers), NUMBER, np.int8), numbers, None, None))
        return exact

    def add_coded(self, texts: Sequence[str], codes: NDArray[Any]) -> None:
        """Texts that are given once each, and which each cell has, -1 for none."""
        place = np.array([*(self._learn(text) for text in texts), -1], np.int32)
        self._parts.append(self._look_up(place[codes]))

    def add_cells(self, cells: CellColumn) -> None:
        codes = cells.codes
        if codes is not None:
            place = np.array([*(self._learn(text) for text in cells.texts), -1], np.int32)
            codes = place[codes]
        self._parts.append((cells.kinds, cells.numbers, codes, cells.times))

    def _read_texts(self, texts: list[str]) -> tuple[NDArray[np.int8], Floats, Codes | None, Any]:
        numbers = None if self.spelling or self._known else _as_floats(texts)
        if numbers is not None:
            return np.full(len(texts), NUMBER, np.int8), numbers, None, None
        try:
            return self._look_up(np.fromiter(map(self._known.__getitem__, texts), np.int32, len(texts)))
        except KeyError:
            get = self._known.get
        codes = np.fromiter((get(text, -1) for text in texts), np.int32, len(texts))
        rest = np.flatnonzero(codes < 0)
        if not self.spelling:
            numbers = _as_floats([texts[i] for i in rest])
        if numbers is None:
            single: dict[int, float] = {}
            for i in rest.tolist():
                text = texts[i]
                code = get(text)
                if code is None:
                    reading = classify_text(text)
                    if reading.kind == NUMBER and not self.spelling and abs(reading.value) < EXACT:  # type: ignore[arg-type]
                        single[i] = float(reading.value)  # type: ignore[arg-type]
                        continue
                    code = self._learn(text, reading)
                codes[i] = code
            rest = np.fromiter(single, np.intp, len(single))
            numbers = np.fromiter(single.values(), float, len(single))
        kinds, found, held, times = self._look_up(codes)
        kinds[rest], found[rest] = NUMBER, numbers
        return kinds, found, held, times

    def _look_up(self, codes: Codes) -> tuple[NDArray[np.int8], Floats, Codes, Any]:
        """What cells with these codes are; -1 is missing."""
        used, back = np.unique(codes, return_inverse=True)
        each = [self._readings[c] if c >= 0 else (MISSING, math.nan, NO_TIME) for c in used.tolist()]
        kinds, numbers = np.array([k for k, _, _ in each], np.int8), np.array([v for _, v, _ in each], float)
        times = None
        if (kinds == TIME).any():
            times = np.array([t for _, _, t in each], "datetime64[us]")[back]
        return kinds[back], numbers[back], codes, times

    def _learn(self, text: str, reading: CellReading | None = None) -> int:
        code = self._known.get(text)
        if code is None:
            code = self._known[text] = len(self._readings)
            kind, value = classify_text(text) if reading is None else reading
            number = float(value) if kind == NUMBER else math.nan  # type: ignore[arg-type]
            self._readings.append((kind, number, value if kind == TIME else NO_TIME))  # type: ignore[arg-type]
        return code

    def finish(self, raw: NDArray[Any] | None = None, *, categorical: bool = False) -> CellColumn:
        """The column. The builder is not used afterwards."""
        parts, self._parts = self._parts, []
        if not parts:
            parts = [(np.empty(0, np.int8), np.empty(0), None, None)]
        codes = times = None
        if any(c is not None for _, _, c, _ in parts):
            codes = np.concatenate([np.full(len(k), -1, np.int32) if c is None else c for k, _, c, _ in parts])
        if any(t is not None for _, _, _, t in parts):
            times = np.concatenate([np.full(len(k), NO_TIME) if t is None else t for k, _, _, t in parts])
        kinds, numbers = np.concatenate([k for k, _, _, _ in parts]), np.concatenate([n for _, n, _, _ in parts])
        return CellColumn(kinds, numbers, codes, tuple(self._known), times, raw, categorical)


def _as_floats(texts: list[str]) -> Floats | None:
    """Texts that are all numbers which floats hold; None where one is not."""
    try:
        numbers = np.fromiter(map(float, texts), float, len(texts))
    except ValueError:
        return None
    return numbers if (abs(numbers) < EXACT).all() else None  # not so for nan


def read_losses(losses: NDArray[Any]) -> NDArray[Any]:
    """Losses that are held as objects because of some of them, a None or a whole number past all bits, as floats.

    Others are left as they are, and so are objects of which none is a number: one record of several makes no such.

    >>> read_losses(np.array([0.5, None, 10**400], object)).tolist()
    [0.5, nan, nan]
    """
    if losses.dtype != object or losses.ndim != 1 or not len(losses):
        return losses
    build = Builder()
    build.add(losses.tolist())
    numbers = build.finish().numbers
    return losses if np.isnan(numbers).all() else numbers
