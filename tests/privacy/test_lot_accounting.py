"""What tacit.accounting states: against its parts, the Renyi bound, exact cases, and its own laws."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from benchmarks.papers._renyi import sampled_gaussian_epsilon
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.accounting import epsilon, noise_below, noise_for, sampled_profile
from tacit.errors import BadInput, GuaranteeError
from tacit.privacy.conversions import gdp_epsilon
from tacit.privacy.profiles import GaussianProfile, TableProfile, epsilon_at, tabulate

PAPER = {"records": 40_000, "lot": 128, "steps": 6_250, "delta": 1e-6}
REPLACE = {"sampling": "without_replacement", "adjacency": "replace_one"}
POISSON = {"sampling": "poisson", "adjacency": "add_remove"}
POISSON_REPLACE = {"sampling": "poisson", "adjacency": "replace_one"}
CHOICES = (REPLACE, POISSON, POISSON_REPLACE)


def test_the_module_is_public() -> None:
    assert tacit.accounting.epsilon is epsilon


def test_it_is_tighter_than_the_renyi_bound_of_the_same_steps() -> None:
    sigma = np.array([0.5, 1.0, 2.0, 8.0])
    renyi = sampled_gaussian_epsilon(noise=2 * sigma, clip=1.0, **PAPER)
    ours = epsilon(noise=sigma, **PAPER)
    assert np.all(ours < 0.8 * renyi)
    assert np.all(ours > 0.1 * renyi)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(("noise", "steps"), [(5.0, 20), (0.4, 3), (60.0, 5_000)])
def test_every_record_in_every_lot_is_the_exact_gaussian(choice: dict[str, str], noise: float, steps: int) -> None:
    found = epsilon(noise=noise, records=1_000, lot=1_000, steps=steps, delta=1e-5, **choice)
    assert found == gdp_epsilon(math.sqrt(steps) / noise, 1e-5)


@pytest.mark.parametrize("choice", CHOICES)
def test_nearly_every_record_in_every_lot_is_nearly_that(choice: dict[str, str]) -> None:
    nearly, full = (epsilon(noise=5.0, records=10**6, lot=m, steps=20, delta=1e-5, **choice) for m in (999_990, 10**6))
    assert nearly == pytest.approx(full, rel=2e-3)


def test_adding_and_replacing_measure_noise_by_their_own_sensitivity() -> None:
    """Twice the noise on the same sum: a replaced record moves it twice as far."""
    replace, add = (
        epsilon(noise=noise, **PAPER, **choice) for noise, choice in ((1.0, POISSON_REPLACE), (2.0, POISSON))
    )
    assert add < replace < 2.2 * add


@pytest.mark.parametrize("choice", CHOICES)
def test_arrays_are_many_numbers(choice: dict[str, str]) -> None:
    noise, steps = np.array([[0.8], [3.0]]), np.array([0, 10, 1_000])
    found = epsilon(noise=noise, **{**PAPER, "steps": steps}, **choice)
    assert found.shape == (2, 3)
    assert np.all(found[:, 0] == 0)
    assert found[1, 2] == epsilon(noise=3.0, **{**PAPER, "steps": 1_000}, **choice)
    assert isinstance(epsilon(noise=3.0, **PAPER, **choice), float)


@pytest.mark.parametrize("choice", CHOICES)
def test_edges_are_quiet_and_monotone(choice: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noise = np.array([0.0, 1e-12, 0.01, 0.019, 0.021, 0.05, 0.1, 0.3, 1.0, 30.0, 1e3, 1e6])
        found = epsilon(noise=noise, **PAPER, **choice)
        assert np.all(found[1:] <= found[:-1])
        assert found[0] == np.inf
        assert found[-1] == pytest.approx(0.0, abs=1e-6)
        assert epsilon(noise=1.0, **{**PAPER, "steps": 0}, **choice) == 0
        assert epsilon(noise=1.0, **{**PAPER, "delta": 0.5}, **choice) == 0
        assert 2 < epsilon(noise=1.0, **{**PAPER, "delta": 1e-30}, **choice) < 60
        assert epsilon(noise=10.0, **{**PAPER, "steps": 10**7}, **choice) > 1


settings_asked = st.tuples(
    st.floats(0.3, 30.0), st.integers(1, 4_000), st.integers(1, 2_000), st.sampled_from([1e-3, 1e-6, 1e-9])
)


@settings(max_examples=15, deadline=None)
@given(settings_asked, st.floats(1.0, 2.0), st.sampled_from(CHOICES))
def test_epsilon_is_monotone_in_every_argument(
    asked: tuple[float, int, int, float], more: float, choice: dict[str, str]
) -> None:
    noise, lot, steps, delta = asked
    base = {"noise": noise, "records": 8_000, "lot": lot, "steps": steps, "delta": delta}
    changes = (
        {"noise": noise / more},
        {"lot": math.ceil(lot * more)},
        {"steps": math.ceil(steps * more)},
        {"delta": delta / more},
        {"records": max(lot, math.floor(8_000 / more))},
    )
    found = epsilon(**base, **choice)
    for change in changes:
        assert epsilon(**{**base, **change}, **choice) >= found * (1 - 2e-5), change


@pytest.mark.parametrize("choice", CHOICES)
def test_calibrated_noise_holds_and_is_least(choice: dict[str, str]) -> None:
    target = np.array([[0.1], [2.0]])
    asked = {**PAPER, "lot": np.array([8, 512, 40_000])}
    noise = noise_for(epsilon=target, **asked, **choice)
    assert noise.shape == (2, 3)
    assert np.all(epsilon(noise=noise, **asked, **choice) <= target)
    assert np.all(epsilon(noise=noise * (1 - 5e-4), **asked, **choice) > target)
    assert noise_for(epsilon=1.0, **{**PAPER, "steps": 0}, **choice) == 0


@pytest.mark.parametrize("choice", CHOICES)
def test_a_profile_says_what_epsilon_says(choice: dict[str, str]) -> None:
    rest = {key: value for key, value in PAPER.items() if key != "delta"}
    profile = sampled_profile(noise=1.2, **rest, **choice)
    for delta in (1e-3, 1e-6, 1e-10):
        assert epsilon_at(profile, delta) == pytest.approx(epsilon(noise=1.2, **rest, delta=delta, **choice), rel=2e-3)
    assert isinstance(sampled_profile(noise=3.0, records=50, lot=50, steps=4), GaussianProfile)


@pytest.mark.parametrize("choice", CHOICES)
def test_noise_below_a_profile_holds_at_every_epsilon_and_is_nearly_least(choice: dict[str, str]) -> None:
    base = tabulate(GaussianProfile(0.3), floor=1e-9)
    lot, steps = np.array([16, 300, 24_000]), np.array([1_500, 240, 12])
    noise = noise_below(base, records=24_000, lot=lot, steps=steps, **choice)
    for s, m, T in zip(noise.tolist(), lot.tolist(), steps.tolist(), strict=True):
        asked = {"records": 24_000, "lot": m, "steps": T, **choice}
        assert base.covers(sampled_profile(noise=s, **asked))
        assert not base.covers(sampled_profile(noise=0.97 * s, **asked))
    assert noise_below(base, records=24_000, lot=16, steps=0, **choice) == 0
    alone = noise_below(GaussianProfile(0.3), records=24_000, lot=300, steps=240, floor=1e-9, **choice)
    assert alone == pytest.approx(noise[1], rel=1e-6)


def test_many_settings_are_calibrated_like_one() -> None:
    base = tabulate(GaussianProfile(0.5), floor=1e-6)
    rng = np.random.default_rng(0)
    lot, epochs = rng.integers(50, 500, 160), rng.integers(1, 6, 160)
    steps = epochs * (4_000 // lot)
    noise = noise_below(base, records=4_000, lot=lot, steps=steps)
    for i in range(0, 160, 32):
        one = noise_below(base, records=4_000, lot=int(lot[i]), steps=int(steps[i]))
        assert one * (1 - 3e-3) <= noise[i] <= one * 1.03
        assert base.covers(sampled_profile(noise=noise[i], records=4_000, lot=int(lot[i]), steps=int(steps[i])))


def test_a_profile_without_a_floor_is_refused() -> None:
    with pytest.raises(BadInput, match="floor"):
        noise_below(TableProfile((0.0, 1.0), (0.1, 0.0)), records=100, lot=10, steps=5)


def test_fixed_lots_under_add_or_remove_are_refused() -> None:
    with pytest.raises(GuaranteeError, match="No epsilon was computed"):
        epsilon(noise=1.0, **PAPER, adjacency="add_remove")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise": -1.0}, "noise must be at least 0, got noise=-1"),
        ({"lot": 40_001}, "lot must be at most records"),
        ({"lot": 1.5}, "lot must be whole"),
        ({"delta": 0.0}, "delta must be"),
        ({"steps": [1, 2], "lot": [1, 2, 3]}, "must broadcast"),
        ({"sampling": "shuffled"}, "sampling must be"),
    ],
)
def test_bad_arguments_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        epsilon(**{"noise": 1.0, **PAPER, **change})
