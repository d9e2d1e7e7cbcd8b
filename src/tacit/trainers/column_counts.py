"""What the columns of a private table hold, learnt with noise: ranges and bins of numbers, words that occur often.

    n       rows                          mu      of all columns together
    d       columns                       sigma   noise on the count of a word, sqrt(2 d) / mu
    tau     least noisy count of a word that is released

Every cell counts as a word, or as a number: in a fine bin and in a coarse one, on a signed log scale, both fixed in
advance. The coarse counts find what is thinly spread, such as the few large values of a skewed column. One row replaced
moves two counts of words by one, or four of numbers, whose noise is sqrt(2) sigma: together mu-GDP. Words are not known
in advance: one that no other row holds is released only if its noise reaches tau, and that probability is added to
delta. Kinds, ranges and cuts are post-processing.

Follows. Korolova, Kenthapadi, Mishra and Ntoulas (2009) for words above a threshold; docs/proofs/private-training.md.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.privacy.bulk_noise import gaussian_integers
from tacit.privacy.mechanisms import LATTICE
from tacit.privacy.noise import EXACT, Source
from tacit.schema import Column
from tacit.schema.cells import read_cells, read_numbers, read_words

Floats = NDArray[np.float64]
PER_DECADE, SMALLEST, LARGEST = 8, -6, 12  # magnitudes from 1e-6 to 1e12, eight bins for every factor of ten
SURE, CLEAR = 4.0, 3.0  # standard deviations above which a coarse count is believed, and a fine one within it
SHARE = 0.15  # of the rows, about, between two cuts
MOST_WORDS = 100  # of one column
FINE = 1 << 20  # noise is drawn in parts of a row, on a lattice far finer than itself


def make_edges() -> Floats:
    """Ends of the bins: bin j is [edges[j-1], edges[j]); the middle one holds 0, the outer ones what lies beyond."""
    ends = 10.0 ** (np.arange(SMALLEST * PER_DECADE, LARGEST * PER_DECADE + 1) / PER_DECADE)
    return np.concatenate([-ends[::-1], ends])


def make_groups() -> NDArray[np.intp]:
    """The coarse bin of every fine one: a factor of ten each; 0, and what lies beyond on either side, by itself."""
    decades = np.repeat(np.arange(LARGEST - SMALLEST), PER_DECADE)
    many = LARGEST - SMALLEST
    return np.concatenate([[0], 1 + decades, [1 + many], 2 + many + decades, [2 + 2 * many]]).astype(np.intp)


EDGES, GROUPS = make_edges(), make_groups()


@dataclass(frozen=True)
class ColumnCounts:
    """How columns are counted: how many, mu of all together, and the chance that a lone word comes out of any."""

    columns: int
    mu: float
    missed: float

    @property
    def scale(self) -> float:
        """sigma."""
        return math.sqrt(2 * self.columns) / self.mu * (1 + 4 * LATTICE)

    @property
    def number_scale(self) -> float:
        """Of the noise on a bin: each number counts in two."""
        return math.sqrt(2) * self.scale

    @property
    def threshold(self) -> int:
        """tau: noise on a count of 0 reaches it with probability at most ``missed`` / d.

        A discrete Gaussian's tail beyond t is at most the continuous one's beyond t - 1, but for a part in 1e9.
        """
        return math.ceil(-float(ndtri(self.missed / self.columns / 1.001)) * self.scale) + 1

    def describe(self, name: str, cells: Any, noise: Source = EXACT) -> tuple[Column, tuple[float, ...]]:
        """The column's kind, with its range or its words, and the cuts between bins of a column of numbers.

        Guarantee. All columns together ``mu``-GDP for one row replaced, but for (1 + e^epsilon) 2 ``missed`` in delta.
        """
        numbers, words = read_column(cells)
        known = np.isfinite(numbers)
        fine = np.bincount(np.searchsorted(EDGES, numbers[known], side="right"), minlength=len(GROUPS))
        coarse = np.bincount(GROUPS, fine).astype(np.int64)
        scale = self.number_scale
        sure = believe(self.add_noise(fine, noise, scale), self.add_noise(coarse, noise, scale), scale)
        common, rows = self.common_words(words[~known & (words != "")], noise)
        if common and rows >= sure.sum():
            return Column(name, "category", common), ()
        return _number_column(name, sure)

    def common_words(self, words: NDArray[Any], noise: Source = EXACT) -> tuple[tuple[str, ...], float]:
        """The words whose noisy count reaches the threshold, commonest first, and the sum of those counts."""
        found = self.count_words(words, noise)
        return tuple(found), sum(found.values())

    def count_words(self, words: NDArray[Any], noise: Source = EXACT) -> dict[str, float]:
        """Noisy counts of the words that reach the threshold, commonest first."""
        each = sorted(Counter(words.tolist()).items())  # by spelling, which tells nothing of the order of the rows
        found, counts = [word for word, _ in each], np.array([many for _, many in each], np.int64)
        noisy = self.add_noise(counts, noise, self.scale)
        order = [int(i) for i in np.argsort(-noisy, kind="stable") if noisy[i] >= self.threshold][:MOST_WORDS]
        return {found[i]: float(noisy[i]) for i in order}

    def add_noise(self, counts: NDArray[Any], noise: Source, scale: float) -> Floats:
        """Noisy counts. On whole counts the noise would be coarse: a discrete Gaussian of scale s costs 1 + 1/(24 s^2)
        times as much mu as a continuous one."""
        whole = np.asarray(counts, np.int64) * FINE
        if noise is EXACT:
            drawn = whole + gaussian_integers(scale * FINE, len(whole))
        else:
            drawn = np.array([noise.gaussian_whole(int(c), scale * FINE) for c in whole], np.int64)
        return np.asarray(drawn / FINE, float)


def read_column(cells: Any) -> tuple[Floats, NDArray[Any]]:
    """Each cell as a number, nan where it is none, and as a word, "" where it is none; cell by cell."""
    array = read_cells(cells)
    numbers, strange = read_numbers(array)
    words = np.full(len(array), "", object)
    if strange.any():
        spelled, odd = read_words(array[strange])
        words[strange] = np.where(odd | (spelled != spelled), "", spelled)
    return numbers, words


def believe(fine: NDArray[Any], coarse: NDArray[Any], sigma: float) -> Floats:
    """Fine counts that stand out of their noise, in the coarse bins that do; 0 elsewhere. Post-processing.

    What the clear ones do not explain of a coarse bin is spread over the whole of it.
    """
    sure = np.zeros(len(fine))
    for group in np.flatnonzero(coarse > SURE * sigma):
        inside = group == GROUPS
        clear = np.where(fine[inside] > CLEAR * sigma, fine[inside], 0.0)
        rest = coarse[group] - clear.sum()
        if rest > SURE * sigma * math.sqrt(1 + np.count_nonzero(clear)) or not clear.any():
            clear = clear + max(rest, 0.0) / len(clear)
        sure[inside] = clear
    return sure


def _number_column(name: str, sure: Floats) -> tuple[Column, tuple[float, ...]]:
    held = np.flatnonzero(sure)
    if not held.size:
        return Column(name, range=(-1.0, 1.0)), ()
    ends = np.concatenate([EDGES[:1], EDGES, EDGES[-1:]])  # bin j is [ends[j], ends[j + 1])
    low, high = float(ends[held[0]]), float(ends[held[-1] + 1])
    if not low < high:
        low, high = min(low, -1.0), max(high, 1.0)
    return Column(name, range=(low, high)), place_cuts(sure / sure.sum(), ends)


def place_cuts(shares: Floats, ends: Floats) -> tuple[float, ...]:
    """Cuts that leave about SHARE of the rows between two of them; the bin of 0 stands by itself if it is large."""
    cuts, gathered, middle = [], 0.0, len(shares) // 2
    for j in np.flatnonzero(shares):
        a, b, share = float(ends[j]), float(ends[j + 1]), float(shares[j])
        if j == middle and share > SHARE:
            cuts += [a, b]
            gathered = 0.0
            continue
        while gathered + share >= SHARE:  # cut within the bin, as if its rows lay evenly in it
            part = (SHARE - gathered) / share
            a += (b - a) * part
            share *= 1 - part
            gathered = 0.0
            cuts.append(a)
        gathered += share
    least, most = np.flatnonzero(shares)[[0, -1]]
    return tuple(sorted({c for c in cuts if ends[least] < c < ends[most + 1]}))
