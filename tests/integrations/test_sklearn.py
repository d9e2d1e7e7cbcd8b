"""PrivateSearchCV: what it learns, what it protects, and what it refuses before spending."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

import tacit
from tacit.data.split import hold_out
from tacit.errors import BadInput, BudgetRefused, ObjectiveError, PrivacyWarning
from tacit.integrations.sklearn import PrivateSearchCV

X, Y = load_breast_cancer(return_X_y=True)
ROWS = len(Y)
SEEN, HIDDEN = (np.sort(part.rows) for part in hold_out(ROWS, 0.5, check_random_state(0)))
ALPHA = {"alpha": tacit.Float(1e-3, 1e3, log=True)}


def search(estimator: Any = None, space: Any = None, **options: Any) -> PrivateSearchCV:
    given = {"trials": 6, "epsilon": 3.0, "random_state": 0, "method": "observed", **options}
    given = {"noise": tacit.Simulation(1), **given}
    return PrivateSearchCV(estimator or RidgeClassifier(), ALPHA if space is None else space, **given)


def observed(fitted: PrivateSearchCV) -> np.ndarray:
    return np.array([t["value"] for t in fitted.release_.value.trials])


def test_the_score_is_the_accuracy_on_the_validation_rows_up_to_noise() -> None:
    """Exact noise; noise of one observation 0.011, and 6 of its deviations: false alarm below 1e-8."""
    fitted = search(noise=None).fit(X, Y)
    exact = fitted.best_estimator_.score(X[HIDDEN], Y[HIDDEN])
    assert abs(fitted.best_score_ - exact) < 6 * fitted.release_.value.noise
    assert 0 < fitted.best_score_std_ < 2 * fitted.release_.value.noise
    assert exact > 0.9
    assert fitted.guarantee_.unconditional
    assert fitted.guarantee_.epsilon(1e-6) == pytest.approx(3.0)
    assert "NOT PROTECTED: the 285 training rows" in fitted.protects_
    assert "the 284 validation rows" in fitted.protects_
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == 30
    assert not hasattr(fitted, "feature_names_in_")


def test_the_model_is_trained_on_training_rows_alone() -> None:
    space, changed = {"alpha": tacit.Choice([1.0])}, X.copy()
    changed[HIDDEN] += 100.0
    same = [search(space=space, trials=2).fit(data, Y).best_estimator_.coef_ for data in (X, changed)]
    assert (same[0] == same[1]).all()
    assert (same[0] == RidgeClassifier(alpha=1.0).fit(X[SEEN], Y[SEEN]).coef_).all()
    changed = X.copy()
    changed[SEEN[0]] += 100.0
    other = search(space=space, trials=2).fit(changed, Y).best_estimator_.coef_
    assert (same[0] != other).any()


@pytest.mark.parametrize("estimator", [RidgeClassifier(), KNeighborsClassifier(3)], ids=["linear", "neighbours"])
def test_a_replaced_validation_row_moves_no_observation_by_more_than_its_share(estimator: Any) -> None:
    """Random neighbours, with the same simulated noise at points that do not depend on values: exact but for rounding.
    Replacements include missing and infinite features, on which prediction raises, and a class never seen.
    """
    name = "alpha" if isinstance(estimator, RidgeClassifier) else "n_neighbors"
    space = ALPHA if name == "alpha" else {name: tacit.Int(1, 40)}
    here = observed(search(estimator, space, method="random", trials=3).fit(X, Y))
    generator, moves = np.random.default_rng(0), []
    for strange in (0.0, 1e6, np.nan, np.inf, None):
        data, labels, row = X.copy(), Y.copy(), generator.choice(HIDDEN)
        if strange is None:
            labels[row] = 7
        else:
            data[row], labels[row] = generator.normal(size=30) + strange, 1 - labels[row]
        there = observed(search(estimator, space, method="random", trials=3).fit(data, labels))
        moves.append(np.abs(there - here).max())
    assert max(moves) == pytest.approx(1 / len(HIDDEN), rel=1e-6)  # reached, and not exceeded


def test_a_row_that_cannot_be_predicted_counts_as_wrong_and_the_others_as_they_are() -> None:
    broken, wrong = X.copy(), Y.copy()
    broken[HIDDEN[[3, 100]]] = np.nan
    wrong[HIDDEN[[3, 100]]] = 7
    seen = [observed(search().fit(*data)) for data in ((broken, Y), (X, wrong))]
    assert seen[0].tolist() == seen[1].tolist()


def test_a_class_missing_from_the_training_rows_is_never_predicted_and_always_wrong() -> None:
    labels = np.zeros(ROWS, int)
    labels[SEEN[::2]] = 1
    labels[HIDDEN] = 2
    fitted = search(trials=2).fit(X, labels)
    assert fitted.classes_.tolist() == [0, 1]
    assert np.abs(observed(fitted) - 1).max() < 8 * fitted.release_.value.noise  # simulated, so always the same
    proba = search(LogisticRegression(max_iter=5000), {"C": tacit.Float(0.1, 1)}, scoring="log_loss", bounds=(0, 2))
    fitted = proba.set_params(trials=2).fit(StandardScaler().fit_transform(X), labels)
    assert np.abs(observed(fitted) - 2).max() < 8 * fitted.release_.value.noise


def test_other_losses_are_means_of_their_rows() -> None:
    data, target = load_diabetes(return_X_y=True)
    seen, hidden = (np.sort(part.rows) for part in hold_out(len(target), 0.5, check_random_state(0)))
    errors = Ridge(alpha=1.0).fit(data[seen], target[seen]).predict(data[hidden]) - target[hidden]
    space = {"alpha": tacit.Choice([1.0])}
    for scoring, losses in (
        (None, errors**2),
        ("absolute_error", np.abs(errors)),
        (lambda fitted, X, y: (fitted.predict(X) - y) ** 4, errors**4),
    ):
        high = float(losses.max()) * 0.7  # some rows are clipped
        fitted = search(Ridge(), space, trials=1, scoring=scoring, bounds=(0, high), noise=None, epsilon=500.0)
        fitted.fit(data, target)
        exact = np.clip(losses, 0, high).mean()
        # false alarm 2e-9: six deviations of exact noise
        assert abs(observed(fitted)[0] - exact) < 6 * fitted.release_.value.noise < 0.1 * exact
        assert fitted.best_score_ < 0
        assert is_regressor(fitted)


def test_pipelines_data_frames_and_threads_work() -> None:
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(30)]).assign(ward=np.where(X[:, 0] > 15, "a", "b"))
    columns = make_column_transformer((OneHotEncoder(), ["ward"]), remainder=StandardScaler())
    space = {"logisticregression__C": tacit.Float(1e-3, 10.0, log=True)}
    fitted = search(make_pipeline(columns, LogisticRegression()), space, n_jobs=2, noise=None)
    fitted.fit(frame, pd.Series(np.where(Y, "well", "ill")))
    assert fitted.classes_.tolist() == ["ill", "well"]
    assert fitted.feature_names_in_.tolist() == list(frame.columns)
    assert fitted.predict_proba(frame).shape == (ROWS, 2)
    assert fitted.score(frame, np.where(Y, "well", "ill")) > 0.9
    assert len(observed(fitted)) == 6
    fitted.set_params(estimator=RidgeClassifier(), space=ALPHA).fit(X, Y)
    assert not hasattr(fitted, "feature_names_in_")


def test_parameters_are_read_set_and_cloned(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "rows", tacit.Budget.approximate(9.0, 1e-5))
    first = search(ledger=ledger, trials=9, estimator=RidgeClassifier(alpha=3.0))
    second = clone(first)
    assert second.get_params()["estimator__alpha"] == 3.0
    assert second.set_params(estimator__alpha=4.0, epsilon=2.0).estimator.alpha == 4.0
    assert (first.estimator.alpha, first.epsilon, second.trials) == (3.0, 3.0, 9)
    assert second.ledger.id == ledger.id
    assert is_classifier(first)


def test_scikit_learn_can_score_the_whole_search() -> None:
    with pytest.warns(PrivacyWarning, match="one fold of a cross-validation"):
        assert cross_val_score(search(trials=3), X, Y, cv=2).min() > 0.85


def test_methods_are_those_of_the_estimator_inside() -> None:
    ridge, lda = search(), search(LinearDiscriminantAnalysis(), {"tol": tacit.Float(1e-6, 1e-2, log=True)}, trials=2)
    assert not hasattr(ridge, "predict_proba")
    assert not hasattr(ridge, "transform")
    with pytest.raises(NotFittedError):
        ridge.predict(X)
    lda.fit(X, Y)
    assert lda.transform(X).shape == (ROWS, 1)
    assert lda.predict_log_proba(X).shape == (ROWS, 2)
    assert ridge.fit(X, Y).decision_function(X).shape == (ROWS,)


def test_a_ledger_pays_once_per_fit_and_then_refuses(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "rows", tacit.Budget.approximate(3.2, 1e-6))
    fitted = search(ledger=ledger, noise=None, trials=3).fit(X, Y)
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"]
    assert ledger.verify_certificate(fitted.release_.certificate()).paid
    with pytest.raises(BudgetRefused):
        search(ledger=ledger, noise=None, trials=3).fit(X, Y)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"delta": 2.0}, "delta must be in"),
        ({"trials": 0}, "trials must be at least 1"),
        ({"validation": 1.0}, "validation must be in"),
        ({"scoring": "f1"}, "no mean over records"),
        ({"scoring": "fame"}, "metric must be one of error, accuracy"),
        ({"scoring": "log_loss"}, "has none"),
        ({"scoring": lambda fitted, X, y: y}, "a scoring function needs bounds"),
        ({"bounds": (0.0, 2.0)}, "accuracy has the bounds"),
        ({"method": "kusner1"}, "method must be one of auto, observed, random, grid"),
        ({"space": {"beta": tacit.Float(0, 1)}}, "RidgeClassifier has no parameter beta"),
        ({"space": {}}, "at least one parameter"),
        ({"estimator": Ridge()}, "squared needs bounds"),
        ({"estimator": KMeans(), "space": {"n_clusters": tacit.Int(1, 3)}}, "is no classifier or regressor"),
        ({"epsilon": 0.01}, "accept_noise=True"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
    ids=lambda case: ",".join(case) if isinstance(case, dict) else "",
)
def test_bad_arguments_are_refused_at_fit_and_nothing_is_spent(bad: Any, says: str, tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "rows", tacit.Budget.approximate(4.0, 1e-5))
    made = search(**{"ledger": ledger, "noise": None, **bad})
    with pytest.raises(ValueError, match=says):
        made.fit(X, Y)
    assert ledger.entries() == []


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_options_that_a_certificate_cannot_hold_are_refused() -> None:
    with pytest.raises(BadInput, match="JSON"):
        search(space={"solver": tacit.Choice(["auto", len])}).fit(X, Y)


def test_what_goes_wrong_on_training_rows_is_told_before_anything_is_spent(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "rows", tacit.Budget.approximate(4.0, 1e-5))
    broken = X.copy()
    broken[SEEN[0], 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        search(ledger=ledger, noise=None).fit(broken, Y)
    for bad in (lambda fitted, X, y: 0.5, lambda fitted, X, y: np.zeros((len(y), 2))):
        with pytest.raises(ObjectiveError, match="one loss per row"):
            search(ledger=ledger, noise=None, scoring=bad, bounds=(0, 1)).fit(X, Y)
    with pytest.raises(BadInput, match="n_samples=1"):
        search(ledger=ledger, noise=None).fit(X[:1], Y[:1])
    assert ledger.entries() == []


class Picky(ClassifierMixin, BaseEstimator):
    """Naive Bayes that refuses to be fitted with some settings."""

    def __init__(self, mood: str = "fine") -> None:
        self.mood = mood

    def fit(self, X: Any, y: Any) -> Picky:
        if self.mood == "bad":
            raise RuntimeError("not today")
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.inner_.predict(X)


def test_settings_that_cannot_be_fitted_count_as_the_worst_and_are_told() -> None:
    with pytest.warns(FitFailedWarning, match="'mood': 'bad'.*RuntimeError: not today"):
        fitted = search(Picky(), {"mood": tacit.Choice(["fine", "bad"])}, method="grid").fit(X, Y)
    assert fitted.best_params_ == {"mood": "fine"}
    assert observed(fitted).max() > 0.9
    with pytest.warns(FitFailedWarning), pytest.raises(RuntimeError, match="not today"):
        search(Picky(), {"mood": tacit.Choice(["bad"])}, trials=1).fit(X, Y)


def test_no_warning_tells_of_a_validation_row() -> None:
    words = pd.DataFrame({"word": np.where(np.arange(ROWS) % 2, "even", "odd")})
    words.iloc[HIDDEN[0], 0] = "seen nowhere else"
    model = make_pipeline(OneHotEncoder(handle_unknown="warn"), RidgeClassifier())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        search(model, {"ridgeclassifier__alpha": tacit.Float(0.1, 1.0)}, trials=2).fit(words, Y)
    assert [str(w.message) for w in told] == []


def test_simulated_noise_says_that_it_promises_nothing() -> None:
    fitted = search(DecisionTreeClassifier(random_state=0), {"max_depth": tacit.Int(1, 5)}, trials=2).fit(X, Y)
    assert fitted.guarantee_.kind == "none"


def test_without_scikit_learn_the_line_that_installs_it_is_told() -> None:
    for name in ("PrivateSearchCV", "PrivateClassifier"):
        code = f"import sys; sys.modules['sklearn'] = None\nimport tacit\ntacit.{name}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        *_, told = done.stderr.splitlines()
        assert name in told
        assert told.endswith("needs sklearn: pip install 'tacit[sklearn]'")


def test_labels_that_are_booleans_come_back_as_booleans() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    search = tacit.PrivateSearchCV(LogisticRegression(), {"C": tacit.Float(0.1, 10, log=True)}, trials=4).fit(
        X, X[:, 0] > 0
    )
    assert search.classes_.dtype == search.predict(X[:3]).dtype == bool
    assert search.score(X, X[:, 0] > 0) > 0.9
    same = search.fit(X, (X[:, 0] > 0).astype(int))
    assert same.predict(X[:3]).dtype.kind == "i"


def test_groups_and_weights_can_be_requested_by_metadata_routing() -> None:
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        search = tacit.PrivateSearchCV(LogisticRegression(), {}).set_fit_request(groups=True, sample_weight=True)
        assert search.get_metadata_routing().fit.requests == {"groups": True, "sample_weight": True}


def test_no_search_claims_to_take_several_labels_a_row() -> None:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.utils import get_tags

    assert get_tags(KNeighborsClassifier()).classifier_tags.multi_label
    assert not get_tags(tacit.PrivateSearchCV(KNeighborsClassifier(), {})).classifier_tags.multi_label
