"""One subsampled Gaussian step: the closed forms against 30 digits, and the discrete pairs around them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from step_delta import step_delta

from tacit.privacy.dominating_pairs import POISSON, POISSON_REPLACE, WITHOUT
from tacit.privacy.step_losses import StepLosses, make_knots, step_losses

PAIRS = (WITHOUT, POISSON, POISSON_REPLACE)
SETTINGS = [(1.0, 0.01), (0.5, 1e-3), (4.0, 0.1), (30.0, 0.5), (0.2, 1e-4), (0.94, 37 / 57_214), (2.0, 1.0)]


def mixture(x: mp.mpf, s: mp.mpf, q: mp.mpf, mean: int) -> mp.mpf:
    return (1 - q) * mp.npdf(x, 0, s) + q * mp.npdf(x, mean, s)


def integral(P: object, Q: object, s: float, epsilon: float, crossing: mp.mpf) -> mp.mpf:
    """Integral of P - e^epsilon Q from where they cross, in 30 digits."""
    factor = mp.e ** mp.mpf(epsilon)
    ends = [crossing, *(crossing + mp.mpf(s) * k for k in (1, 3, 8)), crossing + 20 * mp.mpf(s) + 2]
    return mp.quad(lambda x: P(x) - factor * Q(x), ends)


def exact(pair: str, sigma: float, rate: float, epsilon: float) -> float:
    """The hockey stick by quadrature over outcomes, for epsilon >= 0 (or any, for the one-sided pair)."""
    with mp.workdps(30):
        s, q = mp.mpf(sigma), mp.mpf(rate)
        if pair == POISSON_REPLACE:
            P, Q = (lambda x: mixture(x, s, q, 1)), (lambda x: mixture(x, s, q, -1))
        else:
            P, Q = (lambda x: mixture(x, s, q, 1)), (lambda x: mp.npdf(x, 0, s))
        # the loss grows with x: where it equals epsilon, by bisection
        low, high = -200 * (s + 1), 200 * (s + 1)
        for _ in range(110):
            middle = (low + high) / 2
            low, high = (low, middle) if mp.log(P(middle)) - mp.log(Q(middle)) > epsilon else (middle, high)
        return float(integral(P, Q, sigma, epsilon, low))


@each("pair", PAIRS)
@each(("s", "q"), [(0.5, 1e-3), (4.0, 0.1)])
def test_the_closed_form_equals_quadrature_in_thirty_digits(pair: str, s: float, q: float) -> None:
    for epsilon in (0.3 * q, 0.05):
        assert step_delta(pair, s, q, epsilon) == pytest.approx(exact(pair, s, q, epsilon), rel=1e-9, abs=1e-17)


@each(("s", "q"), [(1.0, 0.01), (4.0, 0.1)])
def test_the_one_sided_pair_equals_quadrature_at_negative_epsilons(s: float, q: float) -> None:
    for epsilon in (-0.4 * q, -0.9 * q):
        assert step_delta(POISSON, s, q, epsilon) == pytest.approx(exact(POISSON, s, q, epsilon), rel=1e-10)
    assert step_delta(POISSON, s, q, -1.0) == pytest.approx(1 - np.exp(-1.0), rel=1e-15)


def test_half_the_noise_replaced_is_no_better_than_both_mixtures_of_poisson_lots() -> None:
    """With every record in every lot, replacing one moves the mean from -1 to 1 in both schemes."""
    epsilon = np.linspace(0, 5, 40)
    np.testing.assert_allclose(
        step_delta(POISSON_REPLACE, 3.0, 1.0, epsilon), step_delta(WITHOUT, 1.5, 1.0, epsilon), rtol=1e-12
    )


def hockey_stick(law: StepLosses, epsilon: np.ndarray) -> np.ndarray:
    """Of the discrete pair, from its masses."""
    p = np.exp(law.log_p[0])
    shares = -np.expm1(np.minimum(np.subtract.outer(epsilon, law.losses[0]), 0))
    return shares @ p + law.endless[0]


@each("pair", PAIRS)
@each(("s", "q"), SETTINGS)
def test_the_discrete_pairs_lie_on_either_side_of_the_closed_form(pair: str, s: float, q: float) -> None:
    above, below = (step_losses(pair, np.array([s]), np.array([q]), lower=lower) for lower in (False, True))
    for upper, lower in ((above, below), (above.reversed, below.reversed)):
        losses = upper.losses[0]
        epsilon = np.sort(np.concatenate([losses, (losses[1:] + losses[:-1]) / 2, [-3.0, 3.0]]))
        truth = step_delta(pair, s, q, epsilon)
        if upper is not above and pair == POISSON:
            epsilon = epsilon[epsilon < 5]
            truth = np.maximum(0, -np.expm1(epsilon) + np.exp(epsilon) * step_delta(pair, s, q, -epsilon))
        digits = 1e-15 * np.exp(np.clip(epsilon, 0, 5))  # that the closed form itself has lost
        assert np.all(hockey_stick(upper, epsilon) >= truth - digits)
        assert np.all(hockey_stick(lower, epsilon) <= truth + digits)


@each("pair", PAIRS)
@each(("s", "q"), SETTINGS)
def test_knots_of_the_upper_pair_touch_the_closed_form(pair: str, s: float, q: float) -> None:
    law = step_losses(pair, np.array([s]), np.array([q]))
    losses = law.losses[0][np.abs(law.losses[0]) < 3]
    np.testing.assert_allclose(hockey_stick(law, losses), step_delta(pair, s, q, losses), rtol=1e-9, atol=1e-11)


@each("pair", PAIRS)
def test_both_sides_keep_their_mass(pair: str) -> None:
    s, q = (np.array(x) for x in zip(*SETTINGS, strict=True))
    law = step_losses(pair, s, q)
    for side, ends in ((law, law.endless), (law.reversed, law.endless_back)):
        total = np.exp(side.log_p).sum(axis=1) + ends
        assert np.all(total >= 1 - 1e-15)
        assert np.all(total <= 1 + 1e-9)


def test_the_errors_carried_along_cover_those_of_the_normal_distribution_function() -> None:
    """Cells of a fine grid, where differences cancel most, against 30 digits: from above, from below, and near."""
    s, q, h = 30.0, 0.5, 2.0**-12
    above, below = (
        step_losses(WITHOUT, np.array([s]), np.array([q]), lower=lower, spacing=np.array([h]))
        for lower in (False, True)
    )
    with mp.workdps(30):
        for k in (1, 7, 40, 127):
            x = [mp.e ** (h * j) for j in (k - 1, k, k + 1)]
            H = [
                mp.mpf(q) * (mp.ncdf((1 - o) / s) - r * mp.ncdf(-o / s))
                for r in ((v - 1 + mp.mpf(q)) / q for v in x)
                for o in [mp.mpf("0.5") + mp.mpf(s) ** 2 * mp.log(r)]
            ]
            truth = float((H[2] - H[1]) / (x[2] - x[1]) - (H[1] - H[0]) / (x[1] - x[0]))
            at = int(np.flatnonzero(above.knots == k)[0])
            found = np.exp(above.log_p[0, at] - h * k)
            assert truth <= found <= truth * (1 + 1e-8)
            assert np.exp(below.log_p[0, at] - h * k) <= truth * (1 + 0.1)


def test_knots_are_whole_symmetric_and_never_further_apart_than_a_share_of_the_loss() -> None:
    knots = make_knots(100_000.0)
    assert np.array_equal(knots, -knots[::-1])
    positive = knots[knots > 0]
    assert positive[-1] >= 100_000
    assert np.all(np.diff(positive) <= np.maximum(1, positive[:-1] / 64))


@pytest.mark.parametrize("pair", PAIRS)
@settings(max_examples=40, deadline=None)
@given(st.floats(0.08, 60.0), st.floats(1e-6, 1.0))
def test_any_setting_gives_a_law(pair: str, s: float, q: float) -> None:
    for lower in (False, True):
        law = step_losses(pair, np.array([s]), np.array([q]), lower=lower)
        total = float(np.exp(law.log_p).sum() + law.endless[0])
        assert np.isfinite(total)
        assert total <= 1 + 1e-8
        assert total >= 0 if lower and s < 0.4 else total >= 1 - (1e-8 if lower else 1e-15)
