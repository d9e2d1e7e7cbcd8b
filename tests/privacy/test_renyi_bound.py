"""The subsampled Gaussian: against dp-accounting, high precision, the privacy loss distribution, and its own laws."""

from __future__ import annotations

import math
import warnings
from functools import cache

import dp_accounting as da
import mpmath as mp
import numpy as np
import pytest
from absl import logging
from benchmarks.papers import _renyi as sampling
from benchmarks.papers._renyi import sampled_gaussian_epsilon
from dp_accounting import pld, rdp
from hypothesis import given, settings
from hypothesis import strategies as st

logging.set_verbosity(logging.ERROR)  # dp-accounting warns of each order it gives up

REPLACE = {"scheme": "without_replacement", "relation": "replace_one"}
POISSON = {"scheme": "poisson", "relation": "add_remove"}
PAPER = {"clip": 1.0, "records": 40_000, "lot": 128, "steps": 6_250, "delta": 1e-6}  # adult, 20 epochs


def peer(sigma: float, records: int, lot: int, steps: int, delta: float) -> float:
    """dp-accounting, lots without replacement, and plain composition if that is less."""
    sampled = da.SampledWithoutReplacementDpEvent(records, lot, da.GaussianDpEvent(sigma))
    found = []
    for event in (sampled, da.GaussianDpEvent(sigma)):
        accountant = rdp.RdpAccountant(neighboring_relation=da.NeighboringRelation.REPLACE_ONE)
        found.append(accountant.compose(event, steps).get_epsilon(delta))
    return min(found)


@cache
def grid(count: int, seed: int) -> list[tuple[float, int, int, int, float]]:
    """Log-uniform (sigma, records, lot, steps, delta): rate 1e-5 ... 0.5, sigma 0.3 ... 30."""
    rng = np.random.default_rng(seed)
    made = []
    while len(made) < count:
        records, rate = round(10 ** rng.uniform(2, 7)), 10 ** rng.uniform(-5, math.log10(0.5))
        lot = max(1, min(records // 2, round(rate * records)))
        sigma = 10 ** rng.uniform(math.log10(0.3), math.log10(30))
        made.append((sigma, records, lot, round(10 ** rng.uniform(0, 6)), 10 ** rng.uniform(-9, -2)))
    return made


def digits_left(sigma: float, rate: float) -> bool:
    """Whether dp-accounting's differences still have the digits for 1e-6: chosen by sight of where they fail."""
    return sigma * rate < 0.5


def ours(points: list[tuple[float, int, int, int, float]]) -> np.ndarray:
    sigma, records, lot, steps, delta = (np.array(x) for x in zip(*points, strict=True))
    return np.asarray(
        sampled_gaussian_epsilon(noise=2 * sigma, clip=1.0, records=records, lot=lot, steps=steps, delta=delta)
    )


def compare(points: list[tuple[float, int, int, int, float]]) -> None:
    points = [p for p in points if digits_left(p[0], p[2] / p[1])]
    expected = [peer(*p) for p in points]
    np.testing.assert_allclose(ours(points), expected, rtol=1e-6)


def test_without_replacement_equals_dp_accounting_on_a_wide_grid() -> None:
    compare(grid(10, 0))


@pytest.mark.slow
def test_without_replacement_equals_dp_accounting_on_a_wider_grid() -> None:
    compare(grid(300, 1))


MORE_EXACT = [(8.35, 1000, 285, 3, 5.5e-7), (30.0, 1000, 240, 20, 1e-9), (1.5, 1000, 100, 3, 1e-5)]


@cache
def exact_without_replacement(sigma: float, rate: float, steps: int, delta: float) -> float:
    """Theorem 27 and the conversion with 400 digits, differences taken as differences."""
    with mp.workdps(400):
        a, q = 1 / mp.mpf(sigma) ** 2, mp.mpf(rate)
        power = [mp.e ** (a * k * (k - 1) / 2) for k in range(257)]
        D = {k: mp.fsum((-1) ** (k - j) * mp.binomial(k, j) * power[j] for j in range(k + 1)) for k in range(0, 257, 2)}
        B = [min(4 * mp.sqrt(D[i // 2 * 2] * D[(i + 1) // 2 * 2]), 2 * power[i]) for i in range(257)]
        log_moment = {
            n: mp.log(1 + mp.fsum(mp.binomial(n, i) * q**i * B[i] for i in range(2, n + 1)))
            for n in (*range(1, 64), 128, 256)
        }
        orders = [mp.mpf(10 + x) / 10 for x in range(1, 100)] + [mp.mpf(x) for x in (*range(11, 64), 128, 256)]
        found = []
        for alpha in orders:
            low, t = int(alpha), alpha - int(alpha)
            moment = (1 - t) * log_moment[low] + (t * log_moment[low + 1] if t else 0)
            found.append((steps * moment - mp.log(delta * alpha)) / (alpha - 1) + mp.log(1 - 1 / alpha))
        return float(min(found))


@pytest.mark.parametrize(
    ("sigma", "records", "lot", "steps", "delta"),
    [
        (25.0, 1000, 400, 3, 1e-9),
        (0.4, 1000, 10, 40, 1e-6),
        *(pytest.param(*point, marks=pytest.mark.slow) for point in MORE_EXACT),
    ],
)
def test_without_replacement_equals_high_precision_where_differences_lose_their_digits(
    sigma: float, records: int, lot: int, steps: int, delta: float
) -> None:
    exact = exact_without_replacement(sigma, lot / records, steps, delta)
    assert ours([(sigma, records, lot, steps, delta)])[0] == pytest.approx(exact, rel=1e-10)


def test_dp_accounting_errs_where_its_differences_lose_their_digits() -> None:
    """When this fails the peer has been mended, and ``digits_left`` can go."""
    assert peer(25.0, 1000, 400, 3, 1e-9) > 1.5 * exact_without_replacement(25.0, 0.4, 3, 1e-9)


def test_the_graph_recurrence_equals_forward_differences() -> None:
    with mp.workdps(400):
        for sigma in (0.3, 1.0, 4.0, 30.0):
            R = sampling._no_vertex_isolated(np.array([sigma**-2]), 257)[:, 0]
            a = mp.mpf(sigma**-2)
            for k in (2, 3, 4, 17, 64, 256):
                D = mp.fsum((-1) ** (k - j) * mp.binomial(k, j) * mp.e ** (a * j * (j - 1) / 2) for j in range(k + 1))
                assert R[k] == pytest.approx(float(D / mp.e ** (a * k * (k - 1) / 2)), rel=1e-11)


def exact_poisson(sigma: float, rate: float, steps: int, delta: float) -> float:
    """The Renyi divergence on a very fine grid of outcomes, at every order in tenths up to 8.9, then the conversion."""
    found = []
    for alpha in np.arange(11, 90) / 10:
        z = np.linspace(-12 * sigma, alpha + 12 * sigma, 20_001)
        ratio = np.logaddexp(math.log1p(-rate), math.log(rate) + (2 * z - 1) / (2 * sigma**2))
        density = np.exp(alpha * ratio - z**2 / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
        moment = math.log(math.fsum(density) * (z[1] - z[0]))
        found.append((steps * moment - math.log(delta * alpha)) / (alpha - 1) + math.log1p(-1 / alpha))
    return min(found)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "delta"),
    [(0.35, 0.076, 50, 1e-9), (0.9, 0.01, 9_333, 5.7e-5), (1.42, 0.144, 6, 4.8e-6), (5.6, 0.3, 1747, 2.4e-9)],
)
def test_poisson_equals_quadrature_between_integer_orders(sigma: float, rate: float, steps: int, delta: float) -> None:
    lot = 10_000 * rate
    found = sampled_gaussian_epsilon(
        noise=3 * sigma, clip=3.0, records=10_000, lot=lot, steps=steps, delta=delta, **POISSON
    )
    assert found == pytest.approx(exact_poisson(sigma, rate, steps, delta), rel=1e-8)


def poisson_peer(sigma: float, rate: float, steps: int, delta: float, orders: list[float] | None) -> float:
    accountant = rdp.RdpAccountant(orders)
    return float(
        accountant.compose(da.PoissonSampledDpEvent(rate, da.GaussianDpEvent(sigma)), steps).get_epsilon(delta)
    )


def test_poisson_equals_dp_accounting_where_an_integer_order_is_best_and_is_never_above() -> None:
    integers = [*range(2, 64), 128, 256, 512, 1024]
    equal = 0
    for sigma, records, lot, steps, delta in grid(24, 2):
        found = sampled_gaussian_epsilon(
            noise=sigma, clip=1.0, records=records, lot=lot, steps=steps, delta=delta, **POISSON
        )
        at_integers = poisson_peer(sigma, lot / records, steps, delta, integers)
        assert found <= min(at_integers, poisson_peer(sigma, lot / records, steps, delta, None)) * (1 + 1e-9)
        equal += found == pytest.approx(at_integers, rel=1e-6)
    assert equal >= 6


def test_dp_accounting_over_reports_poisson_between_integer_orders() -> None:
    """When this fails the peer has been mended: compare Poisson on the whole grid."""
    assert poisson_peer(0.3, 0.03, 2000, 3e-4, None) > 2 * exact_poisson(0.3, 0.03, 2000, 3e-4)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "delta"),
    [(0.6, 0.01, 100, 1e-5), (1.0, 0.0032, 6250, 1e-6), (2.0, 0.05, 500, 1e-6), (0.8, 0.2, 30, 1e-3)],
)
def test_poisson_is_above_the_privacy_loss_distribution_and_close(
    sigma: float, rate: float, steps: int, delta: float
) -> None:
    truth = pld.PLDAccountant(value_discretization_interval=1e-3)
    truth.compose(da.PoissonSampledDpEvent(rate, da.GaussianDpEvent(sigma)), steps)
    found = sampled_gaussian_epsilon(
        noise=sigma, clip=1.0, records=100_000, lot=rate * 100_000, steps=steps, delta=delta, **POISSON
    )
    assert truth.get_epsilon(delta) < found < 1.35 * truth.get_epsilon(delta)


def test_noise_of_one_clip_is_half_a_multiplier_when_a_record_is_replaced() -> None:
    assert sampled_gaussian_epsilon(noise=1.0, **PAPER) == pytest.approx(19.4, abs=0.05)
    assert sampled_gaussian_epsilon(noise=2.0, **PAPER) == pytest.approx(3.0, abs=0.05)


def test_dpareto_noise_has_its_sigma_as_multiplier() -> None:
    clip, sigma = 0.7, 1.3
    assert sampled_gaussian_epsilon(noise=2 * clip * sigma, **{**PAPER, "clip": clip}) == pytest.approx(
        peer(sigma, 40_000, 128, 6_250, 1e-6), rel=1e-9
    )


def test_every_record_in_every_lot_is_plain_composition_in_both_schemes() -> None:
    full = {**PAPER, "lot": 40_000, "steps": 30}
    for sensitivity, choice in ((2, REPLACE), (1, POISSON)):
        accountant = rdp.RdpAccountant().compose(da.GaussianDpEvent(1.7), 30)
        assert sampled_gaussian_epsilon(noise=1.7 * sensitivity, **full, **choice) == pytest.approx(
            accountant.get_epsilon(1e-6), rel=1e-12
        )


configurations = st.tuples(
    st.floats(0.05, 50),  # multiplier
    st.integers(50, 1_000_000),  # records
    st.floats(0, 1),  # lot, as a share of records
    st.integers(1, 1_000_000),  # steps
    st.floats(1e-10, 0.1),  # delta
)


@pytest.mark.parametrize(("sensitivity", "choice"), [(2, REPLACE), (1, POISSON)])
@settings(max_examples=60, deadline=None)
@given(configurations, st.floats(1.0, 3.0))
def test_epsilon_grows_with_steps_and_lot_and_shrinks_with_noise_and_delta(
    sensitivity: int, choice: dict[str, str], asked: tuple[float, int, float, int, float], more: float
) -> None:
    sigma, records, share, steps, delta = asked
    lot = max(1, math.floor(share * records))
    base = {"noise": sensitivity * sigma, "clip": 1.0, "records": records, "lot": lot, "steps": steps, "delta": delta}
    changes = (
        {"steps": math.ceil(steps * more)},
        {"noise": base["noise"] / more},
        {"lot": min(records, math.ceil(lot * more))},
        {"delta": delta / more},
        {"clip": more},
    )
    epsilon = sampled_gaussian_epsilon(**base, **choice)
    for change in changes:
        assert sampled_gaussian_epsilon(**{**base, **change}, **choice) >= epsilon * (1 - 1e-9), change


@pytest.mark.parametrize(("sensitivity", "choice"), [(2, REPLACE), (1, POISSON)])
def test_one_call_with_arrays_equals_many_calls_with_numbers(sensitivity: int, choice: dict[str, str]) -> None:
    points = grid(40, 3)
    sigma, records, lot, steps, delta = (np.array(x) for x in zip(*points, strict=True))
    fixed = {"clip": 0.5, "records": records, "lot": lot, "steps": steps, "delta": delta}
    together = sampled_gaussian_epsilon(noise=0.5 * sensitivity * sigma, **fixed, **choice)
    for i, (s, n, m, k, d) in enumerate(points):
        alone = sampled_gaussian_epsilon(
            noise=0.5 * sensitivity * s, clip=0.5, records=n, lot=m, steps=k, delta=d, **choice
        )
        assert isinstance(alone, float)
        assert together[i] == pytest.approx(alone, rel=1e-12)


def test_arguments_broadcast() -> None:
    found = sampled_gaussian_epsilon(noise=np.array([[1.0], [2.0]]), **{**PAPER, "steps": np.array([0, 10, 100])})
    assert found.shape == (2, 3)
    assert found[1, 2] == sampled_gaussian_epsilon(noise=2.0, **{**PAPER, "steps": 100})


@pytest.mark.parametrize("choice", [REPLACE, POISSON])
def test_edges_are_quiet(choice: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noise = [0.0, 1e-200, 1e-60, 1e-8, 1e-3, 0.01, 0.1, 0.3, 1.0, 1e3, 1e9, 1e200]
        epsilon = sampled_gaussian_epsilon(noise=noise, **PAPER, **choice)
        assert np.all(np.diff(epsilon[2:]) <= 0)
        assert epsilon[:2].tolist() == [np.inf, np.inf]
        assert np.isfinite(epsilon[2:]).all()
        assert epsilon[-1] == 0
        assert sampled_gaussian_epsilon(noise=0.0, **{**PAPER, "steps": 0}, **choice) == 0
        assert sampled_gaussian_epsilon(noise=1.0, **{**PAPER, "delta": 1e-300}, **choice) > 60


def test_orders_that_overflow_are_computed_in_logarithms() -> None:
    point = (0.05, 10_000, 1, 1, 1e-9)  # the moment at order 3 is already e^1200 x 1e-12
    assert ours([point])[0] == pytest.approx(peer(*point), rel=1e-9)
