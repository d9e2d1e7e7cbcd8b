"""Tables of noise against mpmath and against their own cells."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from bulk_parts import shares

from tacit.privacy import noise_tables
from tacit.privacy.bulk_noise import BASE, base_table
from tacit.privacy.noise_tables import NoiseTable, gaussian_table, geometric_digit

SQUARES = [Fraction(1, 100), Fraction(1, 4), Fraction(3), Fraction(1234567, 1000), Fraction(700**2)]


def compare(table: NoiseTable, exact: dict[int, mpmath.mpf]) -> None:
    """No outcome but 0 is too likely, 0 by no more than the distance, and all of them make one."""
    drawn = {table.first + i: share for i, share in enumerate(shares(table))}
    assert sum(drawn.values()) == 2**128
    assert all(exact.get(x, 0) * 2**128 >= share for x, share in drawn.items() if x)
    added = mpmath.mpf(drawn[0]) / 2**128 - exact[0]
    stated = mpmath.mpf(table.distance.numerator) / table.distance.denominator
    assert 0 <= added <= stated < 2.0**-90
    missing = mpmath.fsum(exact.get(x, 0) - mpmath.mpf(drawn[x]) / 2**128 for x in drawn if x)
    assert missing <= added + mpmath.mpf(2) ** -200  # the rest lies beyond the table; 70 digits round


@pytest.mark.parametrize("square", SQUARES, ids=str)
def test_a_gaussian_table_is_the_law_but_for_its_distance(square: Fraction) -> None:
    check_gaussian(gaussian_table(square), square)


def test_the_table_of_the_lower_parts_is_the_law_but_for_its_distance() -> None:
    check_gaussian(base_table(), Fraction(BASE**2))


def check_gaussian(table: NoiseTable, square: Fraction) -> None:
    with mpmath.workdps(70):
        inverse = mpmath.mpf(square.denominator) / (2 * square.numerator)
        # the sum over all integers, by Poisson's formula where the scale is large and term by term where it is small
        if square > 1:
            s = mpmath.sqrt(1 / (2 * inverse))
            waves = mpmath.fsum(mpmath.exp(-2 * (mpmath.pi * s * m) ** 2) for m in range(1, 9))
            total = s * mpmath.sqrt(2 * mpmath.pi) * (1 + 2 * waves)
        else:
            total = 1 + 2 * mpmath.fsum(mpmath.exp(-x * x * inverse) for x in range(1, 40))
        last = -table.first - 1
        half = [mpmath.exp(-x * x * inverse) / total for x in range(last + 1)]
        compare(table, {x: half[abs(x)] for x in range(-last, last + 1)})


@pytest.mark.parametrize("rate", [Fraction(5), Fraction(1, 3), Fraction(1, 1000), Fraction(1, 2**40)], ids=str)
def test_a_digit_is_geometric_but_for_its_distance(rate: Fraction) -> None:
    table = geometric_digit(rate, 9)
    with mpmath.workdps(70):
        weights = [mpmath.exp(-d * mpmath.mpf(rate.numerator) / rate.denominator) for d in range(512)]
        total = mpmath.fsum(weights)
        compare(table, {d: w / total for d, w in enumerate(weights)})


@pytest.mark.parametrize("power", [-1000, -500, -133, -132, -1, -Fraction(1, 3), -Fraction(1, 2**80)], ids=str)
def test_a_power_is_never_too_large_and_too_small_by_less_than_three_ulp(power: Fraction) -> None:
    with mpmath.workdps(200):
        exact = mpmath.exp(mpmath.mpf(power.numerator) / power.denominator) * noise_tables.UNIT
        assert 0 <= exact - noise_tables._exp(Fraction(power)) < 3


@pytest.mark.parametrize("kind", ["gaussian", "digit"])
@pytest.mark.parametrize("size", [Fraction(1, 7), Fraction(3), Fraction(900)], ids=str)
def test_weights_are_not_too_large_and_their_total_is_not_too_small(
    kind: str, size: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[list[int], int]] = []
    monkeypatch.setattr(noise_tables, "_table", lambda bits, first, weights, total: made.append((weights, total)))
    with mpmath.workdps(100):
        if kind == "gaussian":
            gaussian_table(size)
            powers = {x: -Fraction(x * x) / (2 * size) for x in range(-600, 601)}
        else:
            geometric_digit(1 / size, 9)
            powers = {d: -d / size for d in range(512)}
        exact = {x: mpmath.exp(mpmath.mpf(p.numerator) / p.denominator) * noise_tables.UNIT for x, p in powers.items()}
        [(weights, total)] = made
        first = -len(weights) // 2 if kind == "gaussian" else 0
        assert all(weight <= exact[first + i] for i, weight in enumerate(weights))
        law = mpmath.fsum(exact.values())
        assert law <= total < law * (1 + mpmath.mpf(2) ** -85)


def test_outcomes_that_fill_their_cells_exactly_have_them() -> None:
    assert shares(noise_tables._table(2, 0, [1, 1, 1, 1], 4)) == [2**126] * 4


def test_a_draw_takes_the_outcome_of_its_cell_below_the_threshold_and_the_other_above() -> None:
    table = gaussian_table(Fraction(30))
    cells = 1 << table.bits
    for cell, (high, low) in enumerate(zip(table.high.tolist(), table.low.tolist(), strict=True)):
        threshold, other = (high >> table.bits) << 64 | low, high % cells
        tries = {
            t: cell if t < threshold else other for t in (0, threshold - 1, threshold, threshold + 1, (1 << 121) - 1)
        }
        tries = {t: outcome for t, outcome in tries.items() if 0 <= t < 1 << (128 - table.bits)}
        upper = [(t >> 64) << table.bits | cell for t in tries]
        lower = [t & (2**64 - 1) for t in tries]
        assert table.draw(np.array([upper, lower], np.uint64)).tolist() == list(tries.values())


def test_tables_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        base_table().high[0] = 0
