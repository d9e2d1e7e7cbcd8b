"""The acquisitions against hypervolumes computed one by one and averaged over draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.pareto.acquisition import Staircase, exact_privacy, exact_privacy_and_cost, hvpoi
from tacit.pareto.dominance import hypervolume
from tacit.pareto.surrogate import Scale

REFERENCE = (10.0, 1.0)
FRONT = np.array([[0.3, 0.8], [1.0, 0.5], [4.0, 0.2], [2.0, 0.6], [30.0, 0.01], [5.0, 1.0]])
LOGIT, LINEAR, LOG = Scale("logit"), Scale("linear"), Scale("log")


def gain_by_definition(points: np.ndarray, e: float, f: float) -> float:
    return hypervolume([*points.tolist(), [e, f]], REFERENCE) - hypervolume(points, REFERENCE)


value = st.floats(0.0, 1.2)
cloud = st.lists(st.tuples(st.floats(0.0, 12.0), value), max_size=8)


@settings(max_examples=200, deadline=None)
@given(cloud, st.floats(0.0, 12.0), value)
def test_the_gain_is_the_difference_of_two_hypervolumes(points: list[tuple[float, float]], e: float, f: float) -> None:
    array = np.array(points).reshape(-1, 2)
    stairs = Staircase.of(array, REFERENCE)
    assert stairs.gain(np.array([e]), np.array([f]))[0] == pytest.approx(gain_by_definition(array, e, f), abs=1e-9)


@pytest.mark.parametrize("scale", [LOGIT, LINEAR])
def test_exact_privacy_is_the_mean_gain_over_draws(scale: Scale) -> None:
    rng = np.random.default_rng(0)
    stairs = Staircase.of(FRONT, REFERENCE)
    e = np.r_[rng.uniform(0, 10, 40), 10.0, 11.0, np.inf, 0.0]
    mean, sd = scale.forward(rng.uniform(0.05, 0.9, 44)), rng.uniform(0.05, 1.0, 44)
    worth = exact_privacy(stairs, e, mean, sd, scale)
    draws = scale.inverse(mean[:, None] + sd[:, None] * rng.normal(size=(44, 40_000)))
    finite = np.where(np.isfinite(e), e, 1e9)
    gains = stairs.gain(finite[:, None], draws)
    # five standard errors and the quadrature's own error, at most 3%
    assert (np.abs(worth - gains.mean(axis=1)) <= 5 * gains.std(axis=1) / 200 + 3e-2 * worth + 1e-4).all()
    assert (worth[40:43] == 0.0).all()


def test_exact_privacy_keeps_the_order_of_tiny_gains() -> None:
    """Twenty standard deviations from any gain, a point nearer to the front is still worth more."""
    stairs = Staircase.of(FRONT, REFERENCE)
    mean = LOGIT.forward(np.array([0.60, 0.65, 0.70, 0.75]))
    worth = exact_privacy(stairs, np.full(4, 1.5), mean, np.full(4, 0.05), LOGIT)
    assert (worth > 0).all()
    assert (np.diff(worth) < 0).all()


def test_exact_privacy_without_uncertainty_is_the_gain() -> None:
    stairs = Staircase.of(FRONT, REFERENCE)
    worth = exact_privacy(stairs, np.array([2.0, 2.0]), LOGIT.forward(np.array([0.3, 0.55])), np.zeros(2), LOGIT)
    assert worth == pytest.approx([gain_by_definition(FRONT, 2.0, 0.3), 0.0], abs=1e-6)


def test_hvpoi_is_gain_at_the_means_times_probability_of_improvement() -> None:
    rng = np.random.default_rng(1)
    stairs = Staircase.of(FRONT, REFERENCE)
    n = 20
    first = (np.log(rng.uniform(0.2, 12, n)), rng.uniform(0.1, 1.0, n))
    second = (LOGIT.forward(rng.uniform(0.05, 0.9, n)), rng.uniform(0.1, 1.0, n))
    found = hvpoi(stairs, first, second, (LOG, LOGIT))
    endless = hvpoi(stairs, first, second, (LOG, LOGIT), region=Staircase.of(FRONT, (np.inf, np.inf)))
    assert (endless > 1.1 * found).any()
    inside = FRONT[(FRONT < REFERENCE).all(axis=1)]
    for i in range(n):
        e = np.exp(first[0][i] + first[1][i] * rng.normal(size=20_000))
        f = LOGIT.inverse(second[0][i] + second[1][i] * rng.normal(size=20_000))
        improves = (e < 10) & ~((inside[:, :1] <= e) & (inside[:, 1:] <= f)).any(axis=0)
        at_means = gain_by_definition(FRONT, float(np.exp(first[0][i])), float(LOGIT.inverse(second[0][i : i + 1])[0]))
        assert found[i] == pytest.approx(at_means * improves.mean(), abs=5 * at_means * 0.5 / np.sqrt(20_000) + 1e-12)
        anywhere = ~((FRONT[:, :1] <= e) & (FRONT[:, 1:] <= f)).any(axis=0)  # equation 1 has no end
        assert endless[i] == pytest.approx(at_means * anywhere.mean(), abs=5 * at_means * 0.5 / np.sqrt(20_000) + 1e-12)


@pytest.mark.parametrize("scale", [LOGIT, LINEAR, LOG])
def test_a_scale_and_its_inverse_agree(scale: Scale) -> None:
    v = np.linspace(0.01, 0.99, 50)
    assert scale.inverse(scale.forward(v)) == pytest.approx(v)
    assert scale.forward_exact(v) == pytest.approx(scale.forward(v))


def test_ends_have_a_finite_logit_and_zero_a_finite_log() -> None:
    assert np.isfinite(LOGIT.forward(np.array([0.0, 1.0]))).all()
    assert np.isfinite(LOG.forward(np.array([0.0, np.inf]))).all()


def test_an_empty_front_is_the_reference() -> None:
    stairs = Staircase.of(np.empty((0, 2)), REFERENCE)
    assert stairs.gain(np.array([2.0]), np.array([0.25]))[0] == pytest.approx(8 * 0.75)


@pytest.mark.parametrize("many", [0, 12])
def test_a_known_cost_makes_it_the_mean_volume_gained_over_draws(many: int) -> None:
    """Against three-dimensional hypervolumes, one for each draw: five standard errors and 3% of quadrature."""
    rng = np.random.default_rng(4)
    points, corner = rng.random((many, 3)) * [12.0, 1.1, 6.0], (10.0, 1.0, 5.0)
    e, c = np.r_[rng.uniform(0, 10, 8), 11.0, 1.0], np.r_[rng.uniform(0, 5, 8), 1.0, 5.5]
    mean, sd = LOGIT.forward(rng.uniform(0.05, 0.9, 10)), rng.uniform(0.05, 1.0, 10)
    worth = exact_privacy_and_cost(points, corner, (e, c), (mean, sd), LOGIT)
    base = hypervolume(points, corner) if many else 0.0
    for i in range(10):
        f = LOGIT.inverse(mean[i] + sd[i] * rng.normal(size=400))
        gains = np.array([hypervolume([*points.tolist(), [e[i], v, c[i]]], corner) - base for v in f])
        assert abs(worth[i] - gains.mean()) <= 5 * gains.std() / 20 + 3e-2 * worth[i] + 1e-6
    assert (worth[8:] == 0.0).all()
