"""Rounding a real draw by its first bits: against mpmath, and with bits that leave it open."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from noise_words import place, quantile

from tacit.privacy.real_draws import gaussian_ball, laplace_ball, round_draw

LAWS = {"gaussian": gaussian_ball, "laplace": laplace_ball}


def never() -> int:
    raise AssertionError("no further bits are needed")


@pytest.mark.parametrize("law", LAWS)
@given(bits=st.integers(1 << 60, (1 << 127) - 1), low=st.fractions(-1, 1), scale=st.floats(-3e7, 3e7))
def test_a_draw_is_rounded_as_another_library_rounds_it(law: str, bits: int, low: Fraction, scale: float) -> None:
    y = low + Fraction(scale) * quantile(law, Fraction(2 * bits + 1, 1 << 128))
    found = round_draw(LAWS[law], bits=bits, known=127, add=low, scale=scale, more=lambda: 1 << 63)
    assert abs(y - found) <= Fraction(1, 2) + Fraction(1, 1 << 20)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("border", [Fraction(-5, 2), Fraction(-200_000_001, 2), Fraction(-(9 << 24) + 1) / 2])
def test_bits_that_leave_a_draw_open_are_followed_by_others_until_it_is_decided(law: str, border: Fraction) -> None:
    low, scale = Fraction(1, 3), 1.25 * 2.0**24
    u = place(law, (border - low) / Fraction(scale)) * (1 << 127)
    bits, rest = int(u), (u - int(u)) * (1 << 64)
    border_word, further = int(rest), int((rest - int(rest)) * (1 << 64))

    def finish(*words: int) -> tuple[int, int]:
        left = iter(words)
        drawn = round_draw(LAWS[law], bits=bits, known=127, add=low, scale=scale, more=lambda: next(left))
        return drawn, len(list(left))

    below, above = int(border - Fraction(1, 2)), int(border + Fraction(1, 2))
    assert finish(border_word - 64, 7) == (below, 1)
    assert finish(border_word + 64, 7) == (above, 1)
    assert finish(border_word, further - 64, 7) == (below, 1)
    assert finish(border_word, further + 64, 7) == (above, 1)


@pytest.mark.parametrize("law", LAWS)
def test_a_tail_of_nothing_but_zeros_goes_on_for_as_long_as_it_must(law: str) -> None:
    words = iter([0, 0, 0, 1 << 63])  # the first bit that is set is the 320th
    found = round_draw(LAWS[law], bits=0, known=127, add=Fraction(0), scale=1.0, more=lambda: next(words))
    assert found == round(quantile(law, Fraction(1, 1 << 320)))
    assert list(words) == []


@pytest.mark.parametrize("law", LAWS)
def test_precision_is_given_back_to_whoever_uses_the_library_too(law: str) -> None:
    from flint import ctx

    before = ctx.prec
    round_draw(LAWS[law], bits=3 << 125, known=127, add=Fraction(0), scale=3.0, more=never)
    assert ctx.prec == before


def test_a_negative_scale_turns_the_sign() -> None:
    for bits in (1 << 100, 1 << 126, (1 << 127) - 12345):
        one, other = (
            round_draw(gaussian_ball, bits=bits, known=127, add=Fraction(0), scale=s, more=never) for s in (1e6, -1e6)
        )
        assert one == -other <= 0
