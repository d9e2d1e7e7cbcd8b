"""The two transformations: what they promise, what they draw, and what an attacker gets back."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tacit.errors import BadInput
from tacit.outsource.curator.transform import (
    ATTACK,
    NoisyProjection,
    PublishedProjection,
    distance_unit,
    threshold,
    usable,
)
from tacit.privacy.conversions import gdp_delta
from tacit.privacy.guarantee import UNTIMED
from tacit.privacy.noise import Exact, Simulation


def table_of(transform: NoisyProjection | PublishedProjection, rows: np.ndarray) -> np.ndarray:
    return np.concatenate(list(transform.blocks(rows)))


def attacked(Z: np.ndarray, rows: np.ndarray, known: int) -> np.ndarray:
    """Rows as an attacker reads them who knows the first ``known``: solve for the affine map, then invert it."""
    lifted = np.column_stack([Z, np.ones(len(Z))])
    map_back = np.linalg.lstsq(lifted[:known], rows[:known], rcond=1e-10)[0]
    return lifted @ map_back


def some_rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-17, 17, (n, d))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (math.exp(1.1), 1e-5), (20.0, 1e-9)])
def test_noise_is_calibrated_by_the_analytic_gaussian_mechanism(epsilon: float, delta: float) -> None:
    made = NoisyProjection(3, epsilon=epsilon, delta=delta)
    mu = made.sensitivity / made.scale_of_noise
    assert gdp_delta(mu, epsilon) <= delta
    assert gdp_delta(mu * 1.0001, epsilon) > delta  # and not more noise than that
    assert made.guarantee.unconditional
    assert made.guarantee.unit == distance_unit(1.0)
    assert made.guarantee.epsilon(delta) == pytest.approx(epsilon, rel=1e-6)
    assert "public inputs" in made.guarantee.source


def test_noise_has_the_stated_law() -> None:
    # Kolmogorov-Smirnov at 1e-6: one false alarm in a million runs; exact noise cannot be seeded.
    made = NoisyProjection(4, epsilon=1.0, delta=1e-5)
    rows = some_rows(2000, 4)
    noise = (table_of(made, rows) - rows) / made.scale_of_noise
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-6
    assert abs(np.corrcoef(noise.T) - np.eye(4)).max() < 6 / math.sqrt(len(noise))


def test_every_block_has_fresh_noise_and_every_row_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.outsource.curator.transform.BLOCK", 16)
    made = NoisyProjection(3, epsilon=1.0, delta=1e-5)
    rows = np.zeros((23, 3))
    blocks = list(made.blocks(rows))
    assert [len(b) for b in blocks] == [5, 5, 5, 5, 3]
    assert len(np.unique(np.concatenate(blocks))) == 69


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(0.01, 1e5))
def test_computed_images_of_neighbours_stay_within_the_stated_sensitivity(d: int, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    divisor = rng.uniform(0.1, 10, d)
    r = int(rng.integers(1, d + 1))
    made = NoisyProjection(d, epsilon=1.0, delta=1e-5, dimensions=r, scale=divisor, noise=Simulation(0))
    made.scale_of_noise = 0.0
    x = rng.normal(0, size, (1, d))
    step = rng.normal(size=d)
    step *= rng.uniform(0, 1) / np.linalg.norm(step)
    y = x + step * divisor
    moved_by = np.linalg.norm((y - x) / divisor)
    apart = np.linalg.norm(table_of(made, x) - table_of(made, y))
    assert apart <= moved_by + made.rounding
    assert made.rounding < 1e-6
    assert made.sensitivity <= 1 + made.rounding + 1e-11


class Watched(Exact):
    """Exact noise that remembers, without keeping it, what it was given."""

    def __init__(self) -> None:
        self.given: list[weakref.ref[np.ndarray]] = []

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.given.append(weakref.ref(values))
        return super().gaussian(values, scale)


def test_a_block_of_rows_is_let_go_once_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    # or a table of a million rows is all in memory by its end
    monkeypatch.setattr("tacit.outsource.curator.transform.BLOCK", 100)
    noise = Watched()
    made = NoisyProjection(2, epsilon=1.0, delta=1e-5, noise=noise)
    gc.collect()
    gc.disable()  # as it is in effect between few and large allocations
    try:
        alive = [sum(one() is not None for one in noise.given) for _ in made.blocks(some_rows(1000, 2))]
    finally:
        gc.enable()
    assert len(alive) == 20
    assert max(alive) <= 2  # the block in hand and no other


def test_coordinates_beyond_the_public_radius_are_cut() -> None:
    made = NoisyProjection(2, epsilon=1.0, delta=1e-5, radius=10.0)
    assert abs(table_of(made, np.array([[1e300, -1e300]]))).max() < 10 + 10 * made.scale_of_noise


def test_fewer_dimensions_are_a_public_orthonormal_projection() -> None:
    made = NoisyProjection(20, epsilon=1.0, delta=1e-5, dimensions=5)
    assert made.matrix is not None
    np.testing.assert_allclose(made.matrix.T @ made.matrix, np.eye(5), atol=1e-12)
    assert table_of(made, some_rows(7, 20)).shape == (7, 5)
    assert np.allclose(made.about()["matrix"], made.matrix)


def test_a_matrix_of_ones_own_is_charged_for_what_it_stretches() -> None:
    plain = NoisyProjection(2, epsilon=1.0, delta=1e-5)
    doubled = NoisyProjection(2, epsilon=1.0, delta=1e-5, matrix=1.9 * np.eye(2))
    assert doubled.scale_of_noise == pytest.approx(1.9 * plain.scale_of_noise, rel=1e-6)
    with pytest.raises(BadInput, match="stretch"):
        NoisyProjection(2, epsilon=1.0, delta=1e-5, matrix=3 * np.eye(2))


def test_a_row_that_may_move_further_gets_more_noise() -> None:
    near, far = (NoisyProjection(2, epsilon=1.0, delta=1e-5, distance=s) for s in (1.0, 50.0))
    assert far.scale_of_noise == pytest.approx(50 * near.scale_of_noise, rel=1e-6)
    assert "at most 50" in far.guarantee.unit


def test_omega_is_the_published_formula() -> None:
    # the paper's grid, 100 x 100 with largest norm 25: the largest r with sigma_min >= omega is 10, 15, 20
    axis = np.linspace(-1, 1, 100) * 25 / math.sqrt(2)
    smallest = 100 * axis.std()
    for exponent, good, bad in ((1.1, 10, 15), (1.3, 15, 20), (1.5, 20, 30)):
        assert threshold(good, math.exp(exponent), 1e-5) <= smallest < threshold(bad, math.exp(exponent), 1e-5)


def test_both_branches_are_as_published() -> None:
    rows = some_rows(500, 2)
    for epsilon, raised in ((math.exp(1.1), True), (1e4, False)):
        made = PublishedProjection(500, 2, epsilon=epsilon, delta=1e-5, dimensions=10, insist=ATTACK)
        Z = table_of(made, rows)
        assert made.raised is raised
        centred = rows - rows.mean(axis=0)
        s = np.linalg.svd(centred, compute_uv=False)
        assert made.smallest == pytest.approx(s.min())
        gram = centred @ np.linalg.pinv(centred)  # same column space, whatever the branch
        np.testing.assert_allclose(gram @ Z, Z, atol=1e-8 * np.abs(Z).max())


@pytest.mark.parametrize("epsilon", [math.exp(1.1), 1e4], ids=["raised", "plain"])
@pytest.mark.parametrize("d", [2, 3])
def test_d_plus_one_known_rows_recover_all_under_the_published_projection(epsilon: float, d: int) -> None:
    rows = some_rows(2000, d)
    made = PublishedProjection(2000, d, epsilon=epsilon, delta=1e-5, dimensions=10, insist=ATTACK)
    Z = table_of(made, rows)
    lifted = np.linalg.svd(Z - Z[0], full_matrices=False)[0][:, :d]  # Z has rank d: its coordinates there
    errors = np.linalg.norm(attacked(lifted, rows, d + 1) - rows, axis=1)
    assert errors.max() < 1e-6
    assert np.linalg.norm(attacked(lifted, rows, d) - rows, axis=1).mean() > 1  # one fewer does not
    assert made.guarantee.kind == "none"
    assert "known-row attack" in made.guarantee.source


def test_known_rows_do_not_recover_others_under_the_noisy_projection() -> None:
    rows = some_rows(2000, 2)
    made = NoisyProjection(2, epsilon=math.exp(1.1), delta=1e-5)
    Z = table_of(made, rows)
    for known in (3, 4, 1000):
        errors = np.linalg.norm(attacked(Z, rows, known) - rows, axis=1)[known:]
        assert np.median(errors) > 0.9 * made.scale_of_noise
        assert (errors < 1e-3).mean() < 0.01


def test_at_most_as_many_rows_as_columns_gives_a_conditional_guarantee() -> None:
    rows = some_rows(8, 12)
    made = PublishedProjection(8, 12, epsilon=0.5, delta=1e-3, dimensions=6)
    assert made.guarantee.kind == "conditional"
    assert "Blocki2012" in made.guarantee.assumptions[0]
    table_of(made, rows)
    assert made.raised  # centred rows sum to zero, so the branch never depends on the data
    more = PublishedProjection(8, 12, epsilon=3.0, delta=1e-3, dimensions=6).guarantee.assumptions
    assert any("epsilon = 1" in a for a in more)


def test_the_digits_of_a_published_projection_do_not_show_which_rows_were_projected() -> None:
    """Whoever has the rows and M's steps would tell them from their neighbours: only theirs lead to whole steps."""
    rows, made = some_rows(40, 40), PublishedProjection(40, 40, epsilon=0.5, delta=1e-3, dimensions=10)
    Z = table_of(made, rows)
    digits = np.ldexp(np.frexp(Z)[0], 24)
    assert (digits == np.rint(digits)).all()
    U, s, Vt = np.linalg.svd(rows - rows.mean(axis=0))
    M = np.linalg.solve((U * np.hypot(s, made.omega)) @ Vt, Z * math.sqrt(10))
    assert np.std(M) == pytest.approx(1, abs=0.3)
    for e in (20, 19, 18):
        steps = M * 2.0**e
        assert abs(steps - np.rint(steps)).mean() > 0.2  # a quarter, where there are no steps: 7 deviations from it


@pytest.mark.parametrize("words", [None, "yes", "I insist"])
def test_the_published_projection_is_refused_unless_the_attack_is_named(words: str | None) -> None:
    with pytest.raises(BadInput, match=r"d \+ 1 rows recovers every row .*Nothing was published"):
        PublishedProjection(100, 2, epsilon=1.0, delta=1e-5, insist=words)


def test_simulated_noise_has_no_guarantee() -> None:
    assert NoisyProjection(2, epsilon=1.0, delta=1e-5, noise=Simulation(0)).guarantee.kind == "none"
    assert PublishedProjection(2, 2, epsilon=1.0, delta=0.1, dimensions=2, noise=Simulation(0)).guarantee.kind == "none"


def test_bad_input_is_refused_with_its_remedy() -> None:
    with pytest.raises(BadInput, match="at least 1, got dimensions=0"):
        NoisyProjection(3, epsilon=1.0, delta=1e-5, dimensions=0)
    with pytest.raises(BadInput, match="at most the 3 columns"):
        NoisyProjection(3, epsilon=1.0, delta=1e-5, dimensions=4)
    with pytest.raises(BadInput, match="at most the number of rows"):
        PublishedProjection(5, 2, epsilon=1.0, delta=1e-5, dimensions=6, insist=ATTACK)
    with pytest.raises(BadInput, match="at least 1"):
        PublishedProjection(5, 2, epsilon=1.0, delta=1e-5, dimensions=0, insist=ATTACK)
    with pytest.raises(BadInput, match="scale must be"):
        NoisyProjection(3, epsilon=1.0, delta=1e-5, scale=[1.0, 0.0, 1.0])
    with pytest.raises(BadInput, match=r"shape \(3, r\)"):
        NoisyProjection(3, epsilon=1.0, delta=1e-5, matrix=np.eye(2))
    with pytest.raises(BadInput, match="does not fit"):
        NoisyProjection(3, epsilon=1.0, delta=1e-5, matrix=np.eye(3), dimensions=2)


def test_rows_that_cannot_be_used_are_refused_and_odd_ones_reported() -> None:
    with pytest.raises(BadInput, match=r"columns \[1\] have missing"):
        usable([[1.0, math.nan], [2.0, 3.0]], 1e-5)
    with pytest.raises(BadInput, match="numbers"):
        usable([["a", "b"]], 1e-5)
    with pytest.raises(BadInput, match="shape"):
        usable(np.zeros((0, 2)), 1e-5)
    with pytest.warns(UserWarning, match=r"columns \[0\] are constant"):
        usable([[1.0, 2.0], [1.0, 3.0]], 1e-5)
    with pytest.warns(UserWarning, match="not below 1/n"):
        usable([[1.0, 2.0], [2.0, 3.0]], 0.5)


def test_a_table_states_what_was_asked_and_has_the_noise_that_it_tells() -> None:
    made = NoisyProjection(3, epsilon=2.0, delta=1e-6)
    assert made.guarantee.quoted() == (pytest.approx(2.0, rel=1e-9), 1e-6)
    assert made.guarantee.unconditional
    rows = np.random.default_rng(0).uniform(-5, 5, (30_000, 3))
    noise = np.concatenate(list(made.blocks(rows))) - rows
    assert stats.kstest(noise.ravel() / made.scale_of_noise, stats.norm.cdf).pvalue > 1e-10  # false alarms: 1e-10


def test_a_noisy_projection_states_that_its_timings_are_not_published() -> None:
    assert NoisyProjection(3, epsilon=1.0, delta=1e-5).guarantee.premises == (UNTIMED,)
