"""Rounding real draws by their first bits: against mpmath, and with bits that leave them open."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from noise_words import pair_of_sizes, place

from tacit.privacy.real_draws import GAUSSIAN, LAPLACE, round_draws

LAWS = {"gaussian": GAUSSIAN, "laplace": LAPLACE}
BITS = st.integers(1 << 60, (1 << 127) - (1 << 60))
every_law = pytest.mark.parametrize("law", LAWS)


def never() -> int:
    raise AssertionError("no further bits are needed")


@every_law
@given(
    bits=st.tuples(BITS, BITS), low=st.lists(st.fractions(-1, 1), min_size=2, max_size=2), scale=st.floats(-3e7, 3e7)
)
def test_draws_are_rounded_as_another_library_rounds_them(
    law: str, bits: tuple[int, int], low: list[Fraction], scale: float
) -> None:
    sizes = pair_of_sizes(law, *(Fraction(2 * b + 1, 1 << 128) for b in bits))
    drawn = round_draws(
        LAWS[law], bits=list(bits), known=127, add=low, scales=[scale, -scale], more=iter([1 << 63] * 99).__next__
    )
    for k, x, s, z in zip(drawn, low, (scale, -scale), sizes, strict=True):
        assert abs(x + Fraction(s) * z - k) <= Fraction(1, 2) + Fraction(1, 1 << 20)


@every_law
@pytest.mark.parametrize("border", [Fraction(5, 2), Fraction(20_000_001, 2), Fraction((9 << 20) + 1) / 2])
def test_bits_that_leave_a_draw_open_are_followed_by_others_until_it_is_decided(law: str, border: Fraction) -> None:
    low, scale, v = Fraction(1, 3), 1.25 * 2.0**20, Fraction(1, 4)
    u = place(law, (border - low) / Fraction(scale), v) * (1 << 127)
    bits, rest = int(u), (u - int(u)) * (1 << 64)
    at_border, further = int(rest), int((rest - int(rest)) * (1 << 64))

    def finish(*words: int) -> tuple[int, int]:
        """With words of U alone: V is a quarter, exactly."""
        left = iter([x for word in words for x in (word, 0)])
        both = [bits, int(v * (1 << 127))]
        (drawn,) = round_draws(LAWS[law], bits=both, known=127, add=[low], scales=[scale, 1.0], more=lambda: next(left))
        return drawn, len(list(left)) // 2

    below, above = int(border - Fraction(1, 2)), int(border + Fraction(1, 2))
    assert finish(max(at_border - (1 << 40), 0), 7)[0] == above  # a larger U is a smaller size
    assert finish(at_border + (1 << 40), 7)[0] == below
    assert finish(at_border, max(further - (1 << 50), 0), 7, 7)[0] == above
    assert finish(at_border, further + (1 << 50), 7, 7)[0] == below
    assert finish(at_border, further, 1, 1)[1] < 2


@every_law
def test_a_tail_of_nothing_but_zeros_goes_on_for_as_long_as_it_must(law: str) -> None:
    words = iter([0, 0, 0, 0, 0, 0, 1 << 63, 0])  # the first bit of U that is set is the 320th
    (drawn,) = round_draws(
        LAWS[law], bits=[0, 1 << 126], known=127, add=[Fraction(0)], scales=[1.0, 1.0], more=lambda: next(words)
    )
    assert drawn == round(pair_of_sizes(law, Fraction(1, 1 << 320), Fraction(1, 2))[0])
    assert list(words) == []


@every_law
def test_precision_is_given_back_to_whoever_uses_the_library_too(law: str) -> None:
    from flint import ctx

    before = ctx.prec
    round_draws(LAWS[law], bits=[3 << 125, 1 << 100], known=127, add=[Fraction(0)], scales=[3.0, 3.0], more=never)
    assert ctx.prec == before


def test_a_negative_scale_turns_the_sign() -> None:
    for bits in (1 << 100, 1 << 126, (1 << 127) - (1 << 90)):
        one, other = (
            round_draws(GAUSSIAN, bits=[bits, 1 << 125], known=127, add=[Fraction(0)], scales=[s, s], more=never)
            for s in (1e6, -1e6)
        )
        assert one[0] == -other[0] >= 0
