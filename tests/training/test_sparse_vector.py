"""The sparse vector technique: the formula, the simulation against the exact mean, and the algorithm word by word."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.pareto.algorithms import IN_PYTHON, OTHERS, algorithm_names, load_algorithm
from tacit.training.sparse_vector import SparseVector


def one_run(b: float, C: int, rng: np.random.Generator) -> float:
    """Avent et al. (2020), Algorithm 1, and F1 by its definition."""
    truth = rng.permutation(np.arange(100) < 10).astype(int)
    b1 = b / (1 + (2 * C) ** (1 / 3))
    b2 = b - b1
    rho, c, w = rng.laplace(0, b1), 0, np.zeros(100, int)
    for i in range(100):
        if truth[i] + rng.laplace(0, b2) >= 0.5 + rho:
            w[i], c = 1, c + 1
            if c >= C:
                break
    tp, fp, fn = (w & truth).sum(), (w & ~truth & 1).sum(), ((1 - w) & truth).sum()
    return float(2 * tp / (2 * tp + fp + fn))


def test_epsilon_is_the_sum_of_its_two_parts() -> None:
    for b, C in ((0.5, 1), (3.0, 7), (40.0, 30)):
        b1 = b / (1 + (2 * C) ** (1 / 3))
        parts = 1 / b1 + 2 * C / (b - b1)  # Appendix B: epsilon_1 = 1/b1, epsilon_2 = 2C/b2
        assert SparseVector().epsilons([{"b": b, "C": C}], 0.0)[0] == pytest.approx(parts, rel=1e-12)


@pytest.mark.parametrize(("b", "C"), [(0.05, 3), (0.3, 5), (0.3, 20), (2.0, 10), (30.0, 30)])
def test_expected_utility_simulation_and_the_algorithm_agree(b: float, C: int) -> None:
    exact = SparseVector().expected_utility({"b": b, "C": C})
    simulated = SparseVector(orders=20_000).utility({"b": b, "C": C}, seed=3)
    rng = np.random.default_rng(4)
    plain = [one_run(b, C, rng) for _ in range(1500)]
    # F1 has a standard deviation of at most 0.3: five standard errors
    assert simulated == pytest.approx(exact, abs=5 * 0.3 / np.sqrt(20_000))
    assert np.mean(plain) == pytest.approx(exact, abs=5 * np.std(plain) / np.sqrt(1500) + 1e-4)


def test_the_limits_are_right() -> None:
    svt = SparseVector()
    assert svt.expected_utility({"b": 0.01, "C": 10}) == pytest.approx(1.0, abs=1e-9)  # no noise: all ten, no other
    assert svt.expected_utility({"b": 0.01, "C": 4}) == pytest.approx(2 * 4 / 14, abs=1e-9)
    assert svt.utility({"b": 1.0, "C": 3}, seed=5) == svt.utility({"b": 1.0, "C": 3}, seed=5)


def test_a_question_with_more_yes_than_queries_is_refused() -> None:
    with pytest.raises(BadInput):
        SparseVector(queries=5, yes=6)


def test_every_shipped_name_points_at_a_class() -> None:
    """None of them needs an extra to be found; those that need one say so when they are used."""
    assert all(isinstance(load_algorithm(name), type) for name in (*OTHERS, *IN_PYTHON))
    assert all(hasattr(load_algorithm(name), "from_table") for name in {*algorithm_names()} - {"sparse_vector"})
    with pytest.raises(BadInput, match="one of"):
        load_algorithm("nothing")
    with pytest.raises(BadInput, match="predicts numbers"):
        load_algorithm("ridge")
