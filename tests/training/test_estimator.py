"""Estimators with an epsilon: how they are made, seeded, measured and believed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tacit.errors import BadInput, GuaranteeError
from tacit.pareto.algorithm import Algorithm
from tacit.space import Choice, Float
from tacit.training.estimator import PrivateEstimator

SPACE = {"epsilon": Float(0.01, 10.0, log=True), "depth": Choice(["one", "two"])}


class Noisy:
    """Nearest class mean with Laplace noise of scale 1 / epsilon: in the manner of scikit-learn."""

    def __init__(self, epsilon: float = 1.0, depth: str = "one", flavour: str = "", random_state: int | None = None):
        self.epsilon, self.depth, self.flavour, self.random_state = epsilon, depth, flavour, random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("epsilon", "depth", "flavour", "random_state")}

    def fit(self, X: np.ndarray, y: np.ndarray) -> Noisy:
        rng = np.random.default_rng(self.random_state)
        self.classes_ = np.unique(y)
        means = np.array([X[y == c].mean(axis=0) for c in self.classes_])
        self.means_ = means + rng.laplace(0, 1 / self.epsilon, means.shape)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        assert self.flavour in ("", "salt")
        return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]


def examples(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], n)
    return rng.normal(size=(n, 3)) + 2.0 * (y == "yes")[:, None], y


def made(make: Any = Noisy, **asked: Any) -> PrivateEstimator:
    return PrivateEstimator(make, SPACE, *examples(), *examples(100, 1), **asked)


def test_more_epsilon_gives_more_accuracy() -> None:
    algorithm = made()
    means = [np.mean([algorithm.utility({"epsilon": e, "depth": "one"}, s) for s in range(30)]) for e in (0.05, 10.0)]
    assert means[0] < 0.8 < 0.95 < means[1]
    assert isinstance(algorithm, Algorithm)


def test_a_class_a_function_and_an_instance_make_the_same_estimator() -> None:
    asked = {"epsilon": 0.5, "depth": "two"}
    by_class, by_instance = made(), made(Noisy(flavour="salt"))
    by_function = made(lambda epsilon, depth, random_state: Noisy(epsilon, depth, "", random_state))
    found = {a.utility(asked, 3) for a in (by_class, by_function, by_instance)}
    assert len(found) == 1
    assert made().utility(asked, 3) != made().utility(asked, 4)


def test_scikit_learns_own_estimators_are_taken_as_they_are() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")

    def logistic(epsilon: float, depth: str, random_state: int) -> Any:
        return linear_model.LogisticRegression(C=epsilon, random_state=random_state)

    assert made(logistic).utility({"epsilon": 1.0, "depth": "one"}, 0) > 0.9


def test_epsilon_is_the_argument_and_delta_is_what_was_stated() -> None:
    algorithm = made(delta=1e-6)
    points = [{"epsilon": e, "depth": "one"} for e in (0.1, 2.0)]
    assert algorithm.epsilons(points, 1e-5).tolist() == [0.1, 2.0]
    with pytest.raises(GuaranteeError, match="stated at delta = 1e-06"):
        algorithm.epsilons(points, 1e-7)
    assert "unchecked" in algorithm.label
    assert made(label="Poisson, one record added").label == "Poisson, one record added"


def test_each_test_record_has_its_utility() -> None:
    algorithm, asked = made(), {"epsilon": 1.0, "depth": "one"}
    each = algorithm.each_utility(asked, 0)
    assert each.shape == (algorithm.records,) == (100,)
    assert each.mean() == algorithm.utility(asked, 0)


def test_it_travels_to_a_worker() -> None:
    asked = {"epsilon": 1.0, "depth": "one"}
    for make in (Noisy, Noisy(flavour="salt")):
        algorithm = made(make)
        assert pickle.loads(pickle.dumps(algorithm)).utility(asked, 1) == algorithm.utility(asked, 1)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("inf"), "much"])
def test_a_bad_epsilon_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput, match="epsilon must be"):
        made().epsilons([{"epsilon": bad, "depth": "one"}], 1e-5)


def test_bad_estimators_are_refused() -> None:
    with pytest.raises(BadInput, match="must contain the estimator's 'eps'"):
        made(epsilon="eps")
    with pytest.raises(BadInput, match="make must be a class"):
        made(3)

    class Short(Noisy):
        def predict(self, X: np.ndarray) -> np.ndarray:
            return super().predict(X)[:5]

    with pytest.raises(BadInput, match="predict must answer with"):
        made(Short).utility({"epsilon": 1.0, "depth": "one"}, 0)
