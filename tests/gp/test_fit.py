"""The fit against finite differences, scikit-learn, known truths, and the cases with too little to go on."""

from __future__ import annotations

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as peer

from tacit.errors import BadInput
from tacit.gp import fit as module
from tacit.gp.exact import GaussianProcess
from tacit.gp.fit import FittedModel, fit
from tacit.gp.kernels import RBF, Kernel, Matern32, Matern52, Polynomial

KERNELS = [RBF((0.5, 0.5)), Matern32((0.5, 0.5)), Matern52((0.5, 0.5)), Polynomial((0.5, 0.5), offset=0.4)]
every = each("kernel", KERNELS, ids=lambda k: type(k).__name__)


def draw(kernel: Kernel, n: int, noise: float, seed: int = 0):
    """Values of a function drawn from the prior, at random points of the unit cube."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, kernel.dimensions))
    root = np.linalg.cholesky(kernel(X, X) + (noise + 1e-10) * np.eye(n))
    return X, root @ rng.normal(size=n)


def evidence(kernel: Kernel, X, z, known, fit_noise: bool) -> module._Evidence:
    prior = module._HyperPrior.of(kernel.dimensions, fit_noise, module.HyperPrior())
    return module._Evidence(kernel, X, z, np.broadcast_to(known, len(z)), prior)


@every
@each("fit_noise", [True, False])
def test_the_gradient_of_the_evidence_equals_a_finite_difference(kernel: Kernel, fit_noise: bool) -> None:
    X, z = draw(kernel, 14, 0.05)
    loss = evidence(kernel, X, z, np.linspace(0.01, 0.1, 14), fit_noise)
    for theta in (np.array([-0.7, 0.2, 0.3, -3.0]), np.array([0.5, -1.5, -0.8, -1.0])):
        at = theta if fit_noise else theta[:-1]
        numeric = approx_fprime(at, lambda t: loss(t)[0], 1e-6)
        np.testing.assert_allclose(loss(at)[1], numeric, rtol=1e-4, atol=1e-4)


@every
def test_the_loss_is_the_evidence_of_the_posterior_plus_the_prior(kernel: Kernel) -> None:
    X, z = draw(kernel, 10, 0.05)
    loss = evidence(kernel, X, z, 0.02, True)
    theta = np.array([-0.7, 0.2, 0.3, -3.0])
    gp = GaussianProcess(kernel.with_log_parameters(theta[:3]), noise=0.02 + np.exp(-3.0))
    gp.extend(X, z)
    penalty = 0.5 * np.sum(((theta - loss.prior.centre) / loss.prior.deviation) ** 2)
    assert loss(theta)[0] == pytest.approx(penalty - gp.log_evidence(), rel=1e-5)
    assert loss(theta)[0] == loss(theta)[0]


def test_the_evidence_equals_scikit_learn() -> None:
    X, z = draw(KERNELS[2], 20, 0.05)
    theta = np.log([0.3, 0.8, 1.4, 0.03])
    loss = evidence(KERNELS[2], X, z, 0.0, True)
    penalty = 0.5 * np.sum(((theta - loss.prior.centre) / loss.prior.deviation) ** 2)
    kernel = peer.ConstantKernel(1.4) * peer.Matern((0.3, 0.8), nu=2.5)
    sklearn = GaussianProcessRegressor(kernel, alpha=0.03, optimizer=None).fit(X, z)
    assert penalty - loss(theta)[0] == pytest.approx(sklearn.log_marginal_likelihood(), rel=1e-6)


@each("kind", [RBF, Matern32, Matern52])
def test_length_scales_of_a_drawn_function_are_recovered(kind: type[Kernel]) -> None:
    X, y = draw(kind((0.2, 0.7), 2.0), 250, 0.01)
    fitted = fit(kind((1.0, 1.0)), X, y, mean=0.0, scale=1.0)
    np.testing.assert_allclose(np.log(fitted.kernel.lengthscales), np.log([0.2, 0.7]), atol=0.35)
    assert fitted.noise == pytest.approx(0.01, rel=0.5)


def test_an_irrelevant_coordinate_gets_the_longest_length_scale() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((80, 3))
    fitted = fit(Matern52((0.5,) * 3), X, np.sin(8 * X[:, 0]) + X[:, 1])
    assert np.argmax(fitted.kernel.lengthscales) == 2
    assert fitted.kernel.lengthscales[2] > 4 * fitted.kernel.lengthscales[0]


@every
def test_the_answer_is_a_stationary_point_or_on_the_box(kernel: Kernel) -> None:
    X, y = draw(kernel, 40, 0.05, seed=5)
    fitted = fit(kernel, X, y, mean=0.0, scale=1.0)
    loss = evidence(kernel, X, y, 0.0, True)
    theta = np.append(fitted.kernel.log_parameters, np.log(fitted.noise))
    value, slope = loss(theta)
    assert value == pytest.approx(-fitted.objective, rel=1e-9)
    inside = (theta > loss.prior.low + 1e-9) & (theta < loss.prior.high - 1e-9)
    assert np.abs(slope[inside]).max() < 0.1
    for start in (loss.prior.centre, loss.prior.centre + 1.0, loss.prior.centre - 1.0):
        assert loss(start)[0] >= value


@each("seed", [2, 6, 10, 35])
def test_restarts_find_the_better_of_two_explanations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.random((9, 1))
    y = np.sin(25 * x[:, 0]) + 0.3 * rng.normal(size=9)
    wave, noise = (fit(RBF((start,)), x, y, restarts=0) for start in (0.03, 5.0))
    assert wave.objective > noise.objective + 2
    assert fit(RBF((5.0,)), x, y, restarts=2).objective == pytest.approx(wave.objective, abs=1e-3)


def test_a_warm_start_is_the_same_prior_in_other_units() -> None:
    warm = FittedModel(KERNELS[0], noise=0.3, mean=1.0, scale=2.0, objective=0.0, evaluations=0)
    theta = module._start(warm.kernel, warm, 8.0, module._HyperPrior.of(2, True, module.HyperPrior()))
    np.testing.assert_allclose(np.exp(theta), [0.5, 0.5, 1.0 * (2 / 8) ** 2, 0.3 / 8**2], rtol=1e-12)


def test_a_warm_start_gives_the_same_answer_for_less_work() -> None:
    X, y = draw(Matern52((0.3, 0.5)), 120, 0.02, seed=7)
    cold = fit(KERNELS[2], X, y)
    warm = fit(KERNELS[2], X, y, warm=fit(KERNELS[2], X[:-1], y[:-1]), restarts=0)
    assert warm.objective == pytest.approx(cold.objective, abs=1e-2)
    assert warm.evaluations < cold.evaluations / 3


def test_restarts_look_at_few_points_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    call = module._Evidence.__call__

    def counted(self, theta):
        sizes.append(len(self.z))
        return call(self, theta)

    monkeypatch.setattr(module._Evidence, "__call__", counted)
    X, y = draw(Matern52((0.3, 0.5)), 200, 0.02, seed=8)
    fitted = fit(KERNELS[2], X, y, restarts=4)
    assert set(sizes) == {module.SCOUTS, 200}
    assert sizes.count(200) < len(sizes) / 2
    assert len(sizes) == fitted.evaluations


def test_equal_inputs_give_equal_answers() -> None:
    X, y = draw(KERNELS[0], 30, 0.05, seed=9)
    assert fit(KERNELS[0], X, y) == fit(KERNELS[0], X.copy(), y.copy())


def test_known_noise_is_a_floor_under_the_fitted_noise() -> None:
    X, y = draw(RBF((0.3, 0.3)), 150, 0.2, seed=10)
    free = fit(KERNELS[0], X, y, mean=0.0, scale=1.0)
    floor = fit(KERNELS[0], X, y, mean=0.0, scale=1.0, noise=0.15)
    assert floor.noise < free.noise
    assert 0.15 + floor.noise == pytest.approx(free.noise, rel=0.2)
    assert fit(KERNELS[0], X, y, noise=0.2, fit_noise=False).noise == 0.0


def test_noise_known_point_by_point_keeps_a_wild_value_from_bending_the_fit() -> None:
    x = np.linspace(0, 1, 20)[:, None]
    y = np.sin(4 * x[:, 0])
    wild = y.copy()
    wild[10] += 5.0
    s2 = np.full(20, 1e-4)
    s2[10] = 25.0
    told = fit(RBF((0.5,)), x, wild, noise=s2, fit_noise=False, mean=0.0, scale=1.0)
    clean = fit(RBF((0.5,)), x, y, noise=1e-4, fit_noise=False, mean=0.0, scale=1.0)
    assert told.kernel.lengthscales[0] == pytest.approx(clean.kernel.lengthscales[0], rel=0.2)


@given(st.integers(0, 2**32 - 1), st.floats(-100, 100), st.floats(-4, 4))
@settings(max_examples=15, deadline=None)
def test_the_units_of_the_values_do_not_matter(seed: int, shift: float, power: float) -> None:
    X, y = draw(KERNELS[2], 12, 0.1, seed=seed % 1000)
    size = 10.0**power
    plain, moved = fit(KERNELS[2], X, y), fit(KERNELS[2], X, shift * size + size * y)
    np.testing.assert_allclose(moved.kernel.log_parameters, plain.kernel.log_parameters, atol=0.02)
    assert moved.scale == pytest.approx(size * plain.scale, rel=1e-6)
    assert np.log(moved.noise / size**2) == pytest.approx(np.log(plain.noise), abs=0.05)


@every
@each("n", [1, 2, 3, 4, 5])
@each("constant", [True, False])
@each("fit_noise", [True, False])
def test_few_points_give_a_moderate_prior(kernel: Kernel, n: int, constant: bool, fit_noise: bool) -> None:
    X, y = draw(KERNELS[2], n, 0.1, seed=11)
    values = np.full(n, 3.25) if constant else y
    fitted = fit(kernel, X, values, fit_noise=fit_noise)
    scales = np.array(fitted.kernel.lengthscales)
    assert ((scales > 0.05) & (scales < 40)).all()
    assert 0.03 < fitted.kernel.variance < 30
    assert 0 <= fitted.noise <= 10 * fitted.scale**2
    mean, variance = fitted.condition(X, values).posterior(np.full((1, 2), 0.5))
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()
    if constant:
        assert fitted.scale == 1.0
        assert mean[0] == pytest.approx(3.25)


def test_no_points_give_the_centre_of_the_prior() -> None:
    fitted = fit(RBF((3.0, 0.1), 7.0), np.empty((0, 2)), [])
    np.testing.assert_allclose(fitted.kernel.lengthscales, [np.sqrt(0.5)] * 2, rtol=1e-3)
    assert fitted.kernel.variance == pytest.approx(1.0, rel=1e-2)
    assert (fitted.mean, fitted.scale) == (0.0, 1.0)
    assert len(fitted.condition(np.empty((0, 2)), [])) == 0


@every
@each("apart", [0.0, 1e-12])
def test_contradicting_duplicates_without_noise_still_have_a_fit(kernel: Kernel, apart: float) -> None:
    X = np.array([[0.2, 0.3], [0.2, 0.3 + apart], [0.8, 0.1], [0.8, 0.1 + apart]])
    fitted = fit(kernel, X, [1.0, -1.0, 0.5, 0.0], fit_noise=False)
    assert fitted.objective > -1e8  # far above the loss that stands for a failed factor
    assert np.isfinite(fitted.condition(X, [1.0, -1.0, 0.5, 0.0]).posterior(X)[0]).all()


def test_given_mean_and_scale_are_kept() -> None:
    X, y = draw(KERNELS[0], 10, 0.1, seed=12)
    fitted = fit(KERNELS[0], X, y, mean=0.7, scale=3.0)
    assert (fitted.mean, fitted.scale) == (0.7, 3.0)


def test_conditioning_adds_known_and_fitted_noise() -> None:
    fitted = FittedModel(KERNELS[0], noise=0.3, mean=1.0, scale=2.0, objective=0.0, evaluations=0)
    X, y = draw(KERNELS[0], 6, 0.1, seed=13)
    by_hand = GaussianProcess(KERNELS[0], noise=0.5, mean=1.0, scale=2.0, candidates=X)
    by_hand.extend(X, y)
    gp = fitted.condition(X, y, noise=0.2, candidates=X)
    np.testing.assert_allclose(gp.mean, by_hand.mean, atol=1e-12)
    for process in (gp, by_hand):
        process.append_candidate(0, 1.5)
    np.testing.assert_allclose(gp.mean, by_hand.mean, atol=1e-12)


def test_the_offset_of_a_polynomial_is_kept() -> None:
    X, y = draw(KERNELS[3], 8, 0.1, seed=14)
    kept = fit(KERNELS[3], X, y).kernel
    assert isinstance(kept, Polynomial)
    assert kept.offset == 0.4


@each(
    "wrong",
    [
        {"values": [1.0]},
        {"values": [1.0, np.nan]},
        {"X": [[0.0, np.inf], [0.0, 1.0]]},
        {"X": [[0.0], [1.0]]},
        {"noise": -1.0},
        {"noise": [0.1, 0.1, 0.1]},
        {"scale": 0.0},
        {"mean": np.nan},
        {"restarts": -1},
    ],
)
def test_impossible_input_is_refused(wrong) -> None:
    with pytest.raises(BadInput):
        fit(KERNELS[0], **({"X": [[0.0, 0.0], [1.0, 1.0]], "values": [0.0, 1.0]} | wrong))
