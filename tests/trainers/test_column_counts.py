"""Columns learnt with noise: what one row moves, words that a single row holds, and what is read off the counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from tacit.privacy.mechanisms import LATTICE
from tacit.privacy.noise import EXACT, Simulation
from tacit.privacy.profiles import GaussianProfile
from tacit.trainers.column_counts import EDGES, FINE, GROUPS, ColumnCounts, believe, place_cuts, read_column


class Spy:
    """Records what is counted, and adds nothing."""

    simulated = True

    def __init__(self) -> None:
        self.seen: list[float] = []
        self.scales: list[float] = []

    def gaussian_whole(self, value: int, scale: float) -> int:
        self.seen.append(value / FINE)
        self.scales.append(scale)
        return value


def counted(cells: list[object]) -> np.ndarray:
    spy = Spy()
    ColumnCounts(1, 1.0, 1e-9).describe("c", cells, spy)  # type: ignore[arg-type]
    return np.array(spy.seen)


@pytest.mark.parametrize("other", [7, "north", None, "n/a", float("nan"), 1e300, -5.0, [1], b"x", 10**400, "7.0", ""])
def test_one_cell_replaced_moves_the_counts_by_less_than_their_noise_allows(other: object) -> None:
    """Two counts of words by one, or four of bins with twice the variance, or one of words and two of bins."""
    cells: list[object] = ["north"] * 50 + ["west"] * 40 + list(range(30))
    before = counted(cells)
    bins = len(GROUPS) + GROUPS.max() + 1
    for place in (0, 60, 100):
        after = counted([*cells[:place], other, *cells[place + 1 :]])
        moved = np.abs(after[:bins] - before[:bins])
        words = sum(after[bins:]) - sum(before[bins:])
        assert moved.max(initial=0) <= 1
        assert abs(words) <= 1
        assert (moved**2).sum() / 2 + words**2 <= 2


def needed_mu(scale: float) -> float:
    """The least mu, as a multiple of 1 / scale, that covers a discrete Gaussian of this scale moved by one."""
    x = np.arange(-40 * int(scale), 40 * int(scale) + 1)
    weights = np.exp(-(x**2) / (2 * scale**2))
    here, there = (np.pad(weights / weights.sum(), pad) for pad in ((0, 1), (1, 0)))
    epsilons = np.linspace(0.0, 3 / scale, 300)
    exact = np.array([np.maximum(here - np.exp(e) * there, 0.0).sum() for e in epsilons])
    low, high = 0.5, 2.0
    for _ in range(40):
        middle = (low + high) / 2
        fits = (exact <= GaussianProfile(middle / scale).delta(epsilons)).all()
        low, high = (low, middle) if fits else (middle, high)
    return high


def test_the_noise_is_fine_enough_to_cost_what_a_continuous_one_does() -> None:
    """A discrete Gaussian of scale s costs 1 + 1/(24 s^2) times the mu; the scale leaves a margin of 4 LATTICE."""
    for scale in (3.0, 6.0):
        assert needed_mu(scale) - 1 == pytest.approx(1 / (24 * scale**2), rel=0.05)
    spy = Spy()
    ColumnCounts(1, 5.0, 1e-9).describe("c", ["north"] * 50 + list(range(30)), spy)  # type: ignore[arg-type]
    assert 1 / (24 * min(spy.scales) ** 2) < 4 * LATTICE


def test_a_coarse_bin_is_a_factor_of_ten() -> None:
    assert len(GROUPS) == len(EDGES) + 1
    ends = np.concatenate([[-np.inf], EDGES, [np.inf]])
    for group in range(GROUPS.max() + 1):
        low, high = ends[:-1][group == GROUPS].min(), ends[1:][group == GROUPS].max()
        assert (
            np.isinf(low)
            or np.isinf(high)
            or abs(high / low) == pytest.approx(10)
            or low == -high
            or (abs(low / high) == pytest.approx(10))
        )


def test_the_few_large_values_of_a_skewed_column_are_in_its_range() -> None:
    """Nine rows in ten are 0, the others spread over two factors of ten: no fine bin stands out of the noise."""
    rng = np.random.default_rng(0)
    cells = np.where(rng.random(24_000) < 0.9, 0.0, 10 ** rng.uniform(3, 5, 24_000))
    column, cuts = ColumnCounts(15, 0.0536, 1e-9).describe("gain", cells, Simulation(0))  # six seeds in seven agree
    assert column.range is not None
    assert column.range[0] <= 0
    assert column.range[1] == pytest.approx(1e5)
    assert cuts


def test_a_lone_word_comes_out_as_rarely_as_stated() -> None:
    """With a chance of 1% in each of 3 columns if its count were 0, at most 2% with its count of 1: 60 of 3,000.

    Fails by chance once in 10,000, by four standard deviations.
    """
    counts, noise = ColumnCounts(3, 0.5, 0.03), Simulation(4)
    seen = sum(bool(counts.common_words(np.array(["lone"]), noise)[0]) for _ in range(3000))
    assert 0 < seen <= 60 + 4 * np.sqrt(60)


def test_one_very_long_word_does_not_make_all_others_as_long() -> None:
    """20,000 words as long as the longest would take 80 GB: one record could end the training."""
    words = np.array(["north"] * 20_000 + ["x" * 2**20], object)
    assert list(ColumnCounts(1, 1.0, 1e-9).count_words(words)) == ["north"]


def test_the_threshold_holds_against_the_exact_tail() -> None:
    for columns, mu, missed in ((1, 0.1, 1e-8), (20, 0.05, 1e-12), (100, 1.0, 1e-6)):
        counts = ColumnCounts(columns, mu, missed)
        assert columns * ndtr(-(counts.threshold - 1) / counts.scale) <= missed


def test_numbers_get_a_range_and_cuts_and_words_a_list() -> None:
    rng = np.random.default_rng(0)
    counts = ColumnCounts(2, 0.5, 1e-8)
    column, cuts = counts.describe("age", rng.normal(50, 12, 5000), EXACT)
    assert column.kind == "number"
    assert column.range is not None
    assert 0 < column.range[0] < 35 < 70 < column.range[1] < 200
    assert 3 <= len(cuts) <= 8
    column, _ = counts.describe("ward", np.where(rng.random(5000) < 0.3, "north", "west"), EXACT)
    assert column.categories == ("west", "north")


def test_empty_columns_are_numbers_in_a_range() -> None:
    column, cuts = ColumnCounts(1, 1.0, 1e-9).describe("nothing", [None] * 500, EXACT)
    assert (column.kind, column.range, cuts) == ("number", (-1.0, 1.0), ())


def test_noise_alone_is_not_believed() -> None:
    """At four standard deviations, 20 columns of noise show nothing in 49 tables of 50; the seed is fixed."""
    rng = np.random.default_rng(2)
    noisy = [(rng.normal(0, 100, len(GROUPS)), rng.normal(0, 100, GROUPS.max() + 1)) for _ in range(20)]
    assert not any(believe(*both, 100.0).any() for both in noisy)


def test_cuts_leave_about_equal_shares_and_set_zero_apart() -> None:
    shares = np.zeros(len(EDGES) + 1)
    middle = len(shares) // 2
    shares[middle], shares[middle + 60 : middle + 70] = 0.8, 0.02
    ends = np.concatenate([EDGES[:1], EDGES, EDGES[-1:]])
    cuts = place_cuts(shares, ends)
    assert cuts[0] == ends[middle + 1]
    assert len(cuts) <= 3


def test_cells_are_read_one_by_one() -> None:
    numbers, words = read_column(["3", "x", None, 4.5, "n/a"])
    assert np.array_equal(numbers, [3.0, np.nan, np.nan, 4.5, np.nan], equal_nan=True)
    assert words.tolist() == ["", "x", "", "", ""]
