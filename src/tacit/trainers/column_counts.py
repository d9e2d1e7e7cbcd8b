"""What the columns of a private table hold, learnt with noise: ranges and bins of numbers, words that occur often.

    n       rows                          mu      of all columns together
    d       columns                       sigma   noise on every count, sqrt(2 d) / mu
    tau     least noisy count of a word that is released

Every cell counts once: as a number, in one of many public bins on a signed log scale, or as a word. One row replaced
moves at most two counts of each column by one: in all columns together by sqrt(2 d) in the L2 norm. Numbers are counted
in bins that are fixed in advance. Words are not known in advance: one that no other row holds is released only if its
noise reaches tau, and that probability is added to delta. Kinds, ranges and cuts are post-processing.

Follows. Korolova, Kenthapadi, Mishra and Ntoulas (2009) for words above a threshold; docs/proofs/private-training.md.
"""

from __future__ import annotations

import math
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
SURE = 5.0  # standard deviations above which a count of numbers is believed
SHARE = 0.15  # of the rows, about, between two cuts
MOST_WORDS = 100  # of one column


def make_edges() -> Floats:
    """Ends of the bins: bin j is [edges[j-1], edges[j]); the middle one holds 0, the outer ones what lies beyond."""
    ends = 10.0 ** (np.arange(SMALLEST * PER_DECADE, LARGEST * PER_DECADE + 1) / PER_DECADE)
    return np.concatenate([-ends[::-1], ends])


EDGES = make_edges()


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
        bins = np.bincount(np.searchsorted(EDGES, numbers[known], side="right"), minlength=len(EDGES) + 1)
        sure = believe(self.add_noise(bins, noise).astype(float), self.scale)
        common, rows = self.common_words(words[~known & (words != "")], noise)
        if common and rows >= sure.sum():
            return Column(name, "category", common), ()
        return _number_column(name, sure)

    def common_words(self, words: NDArray[Any], noise: Source = EXACT) -> tuple[tuple[str, ...], float]:
        """The words whose noisy count reaches the threshold, commonest first, and the sum of those counts."""
        found, counts = np.unique(words.astype(str), return_counts=True)
        noisy = self.add_noise(counts, noise)
        order = [int(i) for i in np.argsort(-noisy, kind="stable") if noisy[i] >= self.threshold][:MOST_WORDS]
        return tuple(str(found[i]) for i in order), float(noisy[order].sum())

    def add_noise(self, counts: NDArray[Any], noise: Source) -> NDArray[np.int64]:
        if noise is EXACT:
            return np.asarray(counts, np.int64) + gaussian_integers(self.scale, len(counts))
        return np.array([noise.gaussian_whole(int(c), self.scale) for c in counts], np.int64)


def read_column(cells: Any) -> tuple[Floats, NDArray[Any]]:
    """Each cell as a number, nan where it is none, and as a word, "" where it is none; cell by cell."""
    array = read_cells(cells)
    numbers, strange = read_numbers(array)
    words = np.full(len(array), "", object)
    if strange.any():
        spelled, odd = read_words(array[strange])
        words[strange] = np.where(odd | (spelled != spelled), "", spelled)
    return numbers, words


def believe(noisy: Floats, sigma: float) -> Floats:
    """Counts that stand out of their noise, alone or with up to seven neighbours; 0 elsewhere. Post-processing."""
    sure = np.zeros_like(noisy)
    for width in (1, 2, 4, 8):  # narrow groups first: what they show is sharper
        for start in range(0, len(noisy) - width + 1):
            group = slice(start, start + width)
            if noisy[group].sum() > SURE * sigma * math.sqrt(width) and not sure[group].any():
                sure[group] = np.maximum(noisy[group], 0.0)
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
