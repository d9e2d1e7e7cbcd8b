"""Regularised classifiers: the facts that Algorithm 3's sensitivity rests on, each checked against the models."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import tacit
from tacit.errors import BadInput, ObjectiveError
from tacit.methods.kusner import search_strengths
from tacit.methods.kusner.constants import LipschitzTerms
from tacit.methods.kusner.problem import FiniteSearch, FunctionPrior, Scores
from tacit.methods.kusner.regularised import LARGEST, LIPSCHITZ, LOSSES, RegularisedClassifier, hinge, logistic, scores
from tacit.methods.task import Task
from tacit.objective import Objective
from tacit.space import Float, Space

pytestmark = pytest.mark.filterwarnings("ignore::tacit.errors.PrivacyWarning")  # large budgets, for little noise

PURE = tacit.Budget.pure(20.0)
STRENGTHS = (0.01, 0.1, 1.0, 10.0)


def data(n: int, d: int = 3, seed: int = 0, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = spread * rng.normal(size=(n, d))
    return X, np.where(X @ np.arange(1, d + 1) + rng.normal(size=n) > 0, 1, -1)


def signed(n: int, d: int = 3, seed: int = 0) -> np.ndarray:
    X, y = data(n, d, seed)
    return X / np.maximum(np.linalg.norm(X, axis=1), 1)[:, None] * y[:, None]


@pytest.mark.parametrize("score", LIPSCHITZ)
def test_the_lipschitz_constants_and_largest_values_are_true_and_tight(score: str) -> None:
    u = np.linspace(-8, 8, 20_001)
    g = scores(score, u)
    slopes = np.abs(np.diff(g) / np.diff(u))
    assert 0.999 * LIPSCHITZ[score] < slopes.max() <= LIPSCHITZ[score] * (1 + 1e-9)
    assert g.min() >= 0
    assert 0.999 * LARGEST[score] < g.max() <= LARGEST[score]
    assert scores(score, np.zeros(3)).tolist() == [1.0] * 3


def test_the_ramp_is_largest_at_the_zero_model_and_the_sigmoid_is_not() -> None:
    assert scores("ramp", np.array([-0.1])) == scores("ramp", np.array([0.0]))
    assert scores("sigmoid", np.array([-0.1])) > scores("sigmoid", np.array([0.0]))


@pytest.mark.parametrize("strength", STRENGTHS)
def test_logistic_models_are_within_tolerance_of_an_independent_minimiser(strength: float) -> None:
    Z = signed(80)

    def value(w: np.ndarray) -> float:
        return float(strength / 2 * w @ w + np.logaddexp(0, -Z @ w).mean())

    peer = minimize(value, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15, "maxiter": 9000})
    assert np.linalg.norm(logistic(Z, strength, 1e-6) - peer.x) < 1e-5
    rough, fine = logistic(Z, strength, 1e-3), logistic(Z, strength, 1e-10)
    assert np.linalg.norm(rough - fine) <= 1e-3 + 1e-10


@pytest.mark.parametrize("strength", STRENGTHS[1:])
def test_hinge_models_are_within_tolerance_of_liblinear(strength: float) -> None:
    from sklearn.svm import LinearSVC

    Z = signed(80)
    y = np.where(np.arange(80) % 2, 1, -1)  # any signs: liblinear sees rows y z and labels y
    peer = LinearSVC(loss="hinge", C=1 / (80 * strength), fit_intercept=False, tol=1e-8, max_iter=1_000_000)
    w = peer.fit(Z * y[:, None], y).coef_[0]
    assert np.linalg.norm(hinge(Z, strength, 1e-5) - w) < 1e-4


@pytest.mark.parametrize("loss", LOSSES)
def test_models_stay_in_the_ball_and_move_as_theorem_7_says(loss: str) -> None:
    X, y = data(60, spread=5.0)
    model = RegularisedClassifier(X, y, X, y, loss=loss)
    slack = 2 * model.tolerance
    for s in STRENGTHS:
        assert np.linalg.norm(model.weights(s)) <= 1 / s + slack
    for s, t in itertools.combinations((0.5, 0.55, 0.7, 1.0, 2.0, 10.0), 2):
        assert np.linalg.norm(model.weights(s) - model.weights(t)) <= (t - s) / (s * t) + slack


@pytest.mark.parametrize(("loss", "score"), list(itertools.product(LOSSES, LIPSCHITZ)))
def test_no_neighbour_moves_the_best_score_by_more_than_the_stated_sensitivity(loss: str, score: str) -> None:
    """Every record of a small validation set replaced by each of a pool that includes the extremes along the model."""
    X, y = data(30)
    V, u = data(6, seed=1, spread=0.7)
    space, listed = Space({"s": Float(0.8, 1.2)}), [{"s": float(s)} for s in np.linspace(0.8, 1.2, 9)]
    axis = RegularisedClassifier(X, y, V, u, loss=loss).weights(1.0)
    axis = axis / np.linalg.norm(axis)
    pool = [(row, label) for row in (axis, -axis, *data(4, seed=2)[0]) for label in (-1, 1)]

    def best(rows: np.ndarray, labels: np.ndarray) -> float:
        model = RegularisedClassifier(X, y, rows, labels, loss=loss, score=score)
        model._models = trained
        task = Task(Objective(model, 6, model.bounds), space, tacit.Budget.pure(1.0), 4)
        p = FiniteSearch("kusner3", task, listed)
        prior = FunctionPrior.of(p, "rbf", 0.5, 1.0, 1.0)
        seen = Scores(p, prior)
        return max(map(seen, search_strengths(seen, prior.process(p), 4, "ei")))

    trained: dict[float, np.ndarray] = {}
    whole, worst = best(V, u), 0.0
    for i, (row, label) in itertools.product(range(6), pool):
        rows, labels = V.copy(), u.copy()
        rows[i], labels[i] = row, label
        worst = max(worst, abs(best(rows, labels) - whole))
    model = RegularisedClassifier(X, y, V, u, loss=loss, score=score)
    terms = LipschitzTerms("safe", 6, 1.0, LARGEST[score], 0.8, 1.2, model.tolerance, model.sides)
    assert 0 < worst <= terms.total


def test_the_published_record_term_is_exceeded_by_the_normalised_sigmoid_and_ours_is_not() -> None:
    """All training rows alike, strength 10: the model has norm 1/10, and flipping one label moves the mean by 2L/10."""
    e = np.array([[1.0, 0.0]])
    moved = {}
    for score in LIPSCHITZ:
        one, other = (
            RegularisedClassifier(e, [1], e, [label], loss="hinge", score=score)({"s": 10.0}) for label in (1, -1)
        )
        moved[score] = float(abs(one - other)[0])
    published = LipschitzTerms("icml", 1, 1.0, 2.0, 10.0, 10.0)
    assert published.record == pytest.approx(0.1)
    assert moved["sigmoid"] > 1.9 * published.record
    assert not published.proven
    assert moved["sigmoid"] <= LipschitzTerms("safe", 1, 1.0, 2.0, 10.0, 10.0, sides=2).record
    ramp = LipschitzTerms("icml", 1, 1.0, 1.0, 10.0, 10.0, sides=1)
    assert moved["ramp"] == pytest.approx(ramp.record, abs=1e-3)
    assert ramp.proven


def test_a_model_that_cannot_be_solved_is_refused_in_words() -> None:
    X, y = data(40)
    for loss in LOSSES:  # rounding counts: no float arithmetic proves this distance
        with pytest.raises(ObjectiveError, match="was not solved to within 1e-300"):
            RegularisedClassifier(X, y, X, y, loss=loss, tolerance=1e-300).weights(0.5)


def test_rows_are_scaled_down_to_norm_one_and_never_up() -> None:
    X = np.array([[3.0, 4.0], [0.3, 0.4]])
    model = RegularisedClassifier(X, [0, 1], X, [1, 0])
    assert np.linalg.norm(model._train, axis=1).round(9).tolist() == [1.0, 0.5]
    assert model._train[0, 0] < 0 < model._train[1, 0]


@pytest.mark.parametrize(
    ("rows", "labels", "says"),
    [
        ([[1.0], [2.0]], [1, 2], "labels must be"),
        ([[1.0], [2.0]], [1], "labels must be"),
        ([1.0, 2.0], [1, 1], "rows must be numbers"),
        ([[1.0], [np.nan]], [1, -1], "rows must be finite"),
        ([["a"], ["b"]], [1, -1], "rows must be numbers"),
    ],
)
def test_bad_rows_and_labels_are_refused(rows: object, labels: object, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        RegularisedClassifier(rows, labels, [[1.0]], [1])  # type: ignore[arg-type]


def test_bad_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="as many columns"):
        RegularisedClassifier([[1.0]], [1], [[1.0, 2.0]], [1])
    with pytest.raises(BadInput, match="loss must be one of"):
        RegularisedClassifier([[1.0]], [1], [[1.0]], [1], loss="square")
    model = RegularisedClassifier([[1.0]], [1], [[1.0]], [1])
    with pytest.raises(BadInput, match="one parameter"):
        model({"s": 1.0, "t": 1.0})
    with pytest.raises(BadInput, match="strength must be positive"):
        model({"s": 0.0})


# Tuned by Algorithm 3.


def classifier(score: str = "ramp") -> RegularisedClassifier:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, 1, -1)
    return RegularisedClassifier(X[:60], y[:60], X[60:], y[60:], score=score)


def trained(model: RegularisedClassifier, **more: Any) -> Any:
    given = {"records": 60, "bounds": model.bounds, "budget": PURE, "trials": 3, "candidates": 9, **more}
    return tacit.tune(model, {"s": tacit.Float(1.0, 1.1)}, method="kusner3", **given)


def test_algorithm_3_has_the_published_noise_and_utility() -> None:
    value = trained(classifier(), trials=2, candidates=[{"s": 1.0}, {"s": 1.1}], constants="icml").value
    scale = (1 / 60 + 0.1 / 1.1) / 20
    assert value.deviation == pytest.approx(math.sqrt(2) * scale, rel=1e-4)
    assert value.details["utility"][0]["bound"] == pytest.approx(math.log(20) * scale, rel=1e-4)
    assert value.details["outlook"]["score_noise"] == pytest.approx(math.sqrt(2) * scale, rel=1e-4)
    assert value.params == {}


def test_algorithm_3_is_unconditional_when_the_library_knows_its_constants() -> None:
    for score, constants in itertools.product(("ramp", "sigmoid"), ("safe", "icml")):
        made = trained(classifier(score), constants=constants, parameters=True)
        doubtful = (score, constants) == ("sigmoid", "icml")
        assert made.guarantee.kind == ("conditional" if doubtful else "unconditional")
        assert made.guarantee.budget == PURE
        assert 1.0 <= made.value.params["s"] <= 1.1


def test_a_classifier_is_held_to_its_own_facts() -> None:
    for more, says in (({"records": 59}, "tuned with records=60"), ({"lipschitz": 0.1}, "knows its own")):
        with pytest.raises(BadInput, match=says):
            trained(classifier(), **more)
    for space, says in (({"s": (1, 2), "t": (1, 2)}, "one number"), ({"s": (-1, 1)}, "must be positive")):
        with pytest.raises(BadInput, match=says):
            tacit.tune(classifier(), {n: tacit.Float(*ends) for n, ends in space.items()}, records=60,
                       bounds=(0.0, 1.0), budget=PURE, trials=2, method="kusner3")  # fmt: skip
