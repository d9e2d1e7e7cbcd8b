"""Columns learnt with noise: what one row moves, words that a single row holds, and what is read off the counts."""

from __future__ import annotations

import numpy as np
import pytest
from counts_parts import Spy
from scipy.special import ndtr

from tacit.privacy.noise import EXACT, Simulation
from tacit.training.column_counts import ColumnCounts

NUMBERS = [float(v) for v in range(40)] * 3
WORDS = ["north"] * 70 + ["west"] * 50
DATES = [np.datetime64("2021-01-01") + i for i in range(120)]
CELLS = [-1e300, 1e300, 7.0, "lone", None, [1], 10**400, np.datetime64("1800-01-01")]
WITHOUT_LONE_WORDS = [-1e300, 7.0, "north", "west", None, np.datetime64("2021-03-01")]


@pytest.mark.parametrize(
    ("cells", "tried"),
    [(NUMBERS, CELLS), (DATES, CELLS), (WORDS, WITHOUT_LONE_WORDS)],
    ids=["numbers", "times", "words"],
)
@pytest.mark.parametrize("columns", [1, 7])
def test_no_two_cells_of_a_row_cost_more_than_a_column_may_and_some_cost_all(
    cells: list[object], tried: list[object], columns: int
) -> None:
    """Squares of what moves, in deviations of its noise, given the same answers: at most mu^2 / d, and up to it."""
    kinds, worst = ColumnCounts(columns, 0.8, 1e-9), 0.0
    for number, here in enumerate(tried):
        first = Spy()
        kinds.describe("c", [here, *cells], first)  # type: ignore[arg-type]
        for there in tried[number + 1 :]:
            second = Spy(first.seen)
            kinds.describe("c", [there, *cells], second)  # type: ignore[arg-type]
            assert first.scales == second.scales
            pairs = zip(first.seen, second.seen, first.scales, strict=True)
            worst = max(worst, sum((np.linalg.norm(a - b) / scale) ** 2 for a, b, scale in pairs))
    assert worst <= 0.8**2 / columns
    assert worst == pytest.approx(0.8**2 / columns, rel=1e-7)


def test_a_lone_word_comes_out_as_rarely_as_stated() -> None:
    """With a chance of 1% in each of 3 columns if its count were 0, at most 2% with its count of 1: 60 of 3,000.

    Fails by chance once in 10,000, by four standard deviations.
    """
    counts, noise = ColumnCounts(3, 0.5, 0.03), Simulation(4)
    seen = sum(bool(counts.count_values(["lone"], np.zeros(1, int), noise)) for _ in range(3000))
    assert 0 < seen <= 60 + 4 * np.sqrt(60)


def test_one_very_long_word_does_not_make_all_others_as_long() -> None:
    """20,000 words as long as the longest would take 80 GB: one record could end the training."""
    words = np.array(["north"] * 20_000 + ["x" * 2**20], object)
    assert ColumnCounts(1, 1.0, 1e-9).describe("w", words)[0].categories == ("north",)


def test_the_threshold_holds_against_the_exact_tail() -> None:
    for columns, mu, missed in ((1, 0.1, 1e-8), (20, 0.05, 1e-12), (100, 1.0, 1e-6)):
        counts = ColumnCounts(columns, mu, missed)
        assert columns * ndtr(-(counts.threshold - 1) / counts.scale) <= missed


@pytest.mark.parametrize(("mu", "many"), [(0.5, True), (0.02, False)])
def test_numbers_get_a_range_of_two_deviations_and_where_noise_allows_cuts(mu: float, many: bool) -> None:
    cells = np.random.default_rng(0).normal(50, 12, 5000)
    column, cuts = ColumnCounts(2, mu, 1e-8).describe("age", cells, Simulation(1))
    assert column.kind == "number"
    assert column.range is not None
    assert column.range == pytest.approx((50 - 2.2 * 12, 50 + 2.2 * 12), abs=2 if many else 12)
    assert (4 <= len(cuts) <= 6) == many


def test_words_get_a_list() -> None:
    cells = np.where(np.random.default_rng(0).random(5000) < 0.3, "north", "west")
    assert ColumnCounts(2, 0.5, 1e-8).describe("ward", cells, EXACT)[0].categories == ("west", "north")


def test_a_kind_that_is_declared_is_kept_whatever_the_cells_are() -> None:
    column, _ = ColumnCounts(1, 1.0, 1e-9).describe("age", WORDS, EXACT, kind="number")
    assert column.kind == "number"
    column, _ = ColumnCounts(1, 1.0, 1e-9).describe("ward", WORDS, EXACT, kind="category")
    assert column.categories == ("north", "west")


def test_empty_columns_raise_nothing() -> None:
    for seed in range(5):
        column, _ = ColumnCounts(1, 1.0, 1e-9).describe("nothing", [None] * 500, Simulation(seed))
        assert column.is_settled


def test_dates_get_a_range_and_cuts() -> None:
    rng = np.random.default_rng(0)
    days = np.datetime64("2021-01-01") + rng.integers(0, 3 * 365, 5000)
    column, cuts = ColumnCounts(2, 0.5, 1e-8).describe("seen", days.astype(str).tolist(), Simulation(0))
    assert column.kind == "time"
    assert column.range is not None
    low, high = (np.datetime64(round(end), "D") for end in column.range)
    assert np.datetime64("2020-01-01") < low < np.datetime64("2021-02-01")
    assert np.datetime64("2023-12-01") < high < np.datetime64("2025-01-01")
    assert 4 <= len(cuts) <= 6


def test_values_that_occur_equally_often_come_in_the_order_of_their_spelling() -> None:
    """Not in that of their rows, which is private."""
    rows = np.repeat([0, 1, 2], 100)
    for values in (["west", "east", "north"], ["north", "west", "east"]):
        counts = ColumnCounts(1, 1.0, 1e-9).count_values(values, rows, Spy())  # type: ignore[arg-type]
        assert list(counts) == ["east", "north", "west"]
