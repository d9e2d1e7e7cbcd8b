"""What the columns of a private table hold, learnt with noise: kinds, ranges of numbers, words that occur often.

    n       rows                          mu      of all columns together
    d       columns                       m       of one column, mu / sqrt(d)
    tau     least noisy count of a word that is released

Of each column it is counted how many cells are numbers, times and words, with a tenth of m^2. What most of them are
says what is counted next. Words: each one that occurs, with noise sqrt(2) / m. Numbers and times: k times the rows
below some t, each with noise sqrt(k / 0.9) / m, where every t may depend on the counts before (quantiles.py).

One row replaced, its cell of another kind: two kinds move by one, which costs 0.1 m^2, and one word, m^2 / 2, or every
count of rows by at most one, 0.9 m^2. Of the same kind: two words move by one, m^2, or every count of rows, 0.9 m^2.
Together at most m^2, whichever way is gone; so all columns are mu-GDP. What a cell counts as depends on that cell
alone. Words are not known in advance: one that no other row holds is released only if its noise reaches tau, and that
probability is added to delta. All else is post-processing.

Follows. Korolova, Kenthapadi, Mishra and Ntoulas (2009) for words above a threshold; docs/proofs/private-training.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.data.cells import NUMBER, TIME, WORD, spell
from tacit.data.columns import CellColumn
from tacit.data.containers import read_column
from tacit.data.schema import DAY, Column
from tacit.privacy.mechanisms import ABOVE
from tacit.privacy.noise import EXACT, Source
from tacit.training.quantiles import FEW, FINE_ENOUGH, MANY, STRETCH, QuantileSearch

Floats = NDArray[np.float64]
KIND = 0.1  # share of a column's squared mu that tells numbers, times and words apart
KINDS = {"number": NUMBER, "time": TIME, "category": WORD}
MOST_WORDS = 100  # of one column
FINE = 1 << 20  # noise is drawn in parts of a row, on a lattice far finer than itself


@dataclass(frozen=True)
class ColumnCounts:
    """How columns are counted: how many, mu of all together, and the chance that a lone word comes out of any."""

    columns: int
    mu: float
    missed: float

    @property
    def each(self) -> float:
        """m, mu of one column, a little below it for the lattice of the noise."""
        return self.mu / math.sqrt(self.columns) / ABOVE

    @property
    def scale(self) -> float:
        """Of the noise on the count of a word."""
        return math.sqrt(2) / self.each

    @property
    def kind_scale(self) -> float:
        return math.sqrt(2 / KIND) / self.each

    def row_scale(self, counts: int) -> float:
        """Of the noise on each of so many counts of rows below some t."""
        return math.sqrt(counts / (1 - KIND)) / self.each

    @property
    def threshold(self) -> int:
        """tau: noise on a count of 0 reaches it with probability at most ``missed`` / d.

        Rounding moves a draw by less than 1.
        """
        return math.ceil(-float(ndtri(self.missed / self.columns / 1.001)) * self.scale) + 1

    def describe(
        self,
        name: str,
        cells: Any,
        noise: Source = EXACT,
        *,
        kind: str | None = None,
        stretch: float = STRETCH,
        seen: Mapping[str, float] | None = None,
    ) -> tuple[Column, tuple[float, ...]]:
        """The column's kind, with its range or its words, and the cuts between bins of a column of numbers.

        ``kind`` is the column's where that is public. ``stretch`` is how far, in deviations, the range reaches.
        ``seen`` are noisy counts of its kinds, where they were drawn before.
        Guarantee. All columns together ``mu``-GDP for one row replaced, but for (1 + e^epsilon) 2 ``missed`` in delta.
        """
        held = read_column(cells)
        seen = self.count_kinds(held, noise) if seen is None else seen
        kind = kind or max(seen, key=seen.__getitem__)
        if kind == "category":
            values, which = held.distinct()
            words = self.count_values([v if isinstance(v, str) else None for v in values], which, noise)
            return (Column(name, "category", tuple(words)) if words else Column(name, range=(-1.0, 1.0))), ()
        counts = MANY if self.row_scale(MANY) <= FINE_ENOUGH * len(held) else FEW
        scale, rows = self.row_scale(counts), min(max(seen[kind], 0.05 * len(held), 1.0), len(held))
        numbers = np.sort(_numbers(held, kind))

        def count(t: float) -> float:
            below = np.array([np.searchsorted(numbers, t)])
            return float(self.add_noise(below, noise, scale)[0] / rows)

        found = QuantileSearch(count, scale / rows, times=kind == "time").find(counts, stretch)
        return Column(name, kind, range=found.range), found.cuts

    def count_kinds(self, held: CellColumn, noise: Source = EXACT) -> dict[str, float]:
        """Noisy counts of the numbers, times and words of a column, with a tenth of its squared mu."""
        exact = np.array([np.count_nonzero(held.kinds == code) for code in KINDS.values()])
        return dict(zip(KINDS, self.add_noise(exact, noise, self.kind_scale).tolist(), strict=True))

    def count_values(self, values: list[Any], which: NDArray[np.intp], noise: Source = EXACT) -> dict[Any, float]:
        """Noisy counts of the values that reach the threshold, commonest first; ``which`` is each row's, -1 for none.

        A value that is None is not counted.
        """
        many = np.bincount(which[which >= 0], minlength=len(values)).tolist()
        each = [(spell(v), i) for i, v in enumerate(values) if v is not None and many[i]]
        each.sort()  # by spelling, which tells nothing of the order of the rows
        found, counts = [values[i] for _, i in each], np.array([many[i] for _, i in each], np.int64)
        noisy = self.add_noise(counts, noise, self.scale)
        order = [int(i) for i in np.argsort(-noisy, kind="stable") if noisy[i] >= self.threshold][:MOST_WORDS]
        return {found[i]: float(noisy[i]) for i in order}

    def add_noise(self, counts: NDArray[Any], noise: Source, scale: float) -> Floats:
        """Noisy counts, in parts of a row: on whole counts small noise would be coarse."""
        return np.asarray(noise.gaussian_whole_array(np.asarray(counts, np.int64) * FINE, scale * FINE) / FINE, float)


def _numbers(held: CellColumn, kind: str) -> Floats:
    """The numbers of a column, or its times in days."""
    chosen = held.kinds == KINDS[kind]
    if kind == "number":
        return np.asarray(held.numbers[chosen])
    return np.asarray((held.read_times()[chosen] - np.datetime64(0, "us")) / DAY, float)
