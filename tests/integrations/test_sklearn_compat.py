"""What scikit-learn users expect of a search, and what they are told where a habit would break the promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import tacit
from tacit.errors import BadInput, PrivacyWarning
from tacit.integrations.sklearn import PrivateSearchCV

X, Y = load_breast_cancer(return_X_y=True)


def search(estimator: Any = None, **options: Any) -> PrivateSearchCV:
    given = {"trials": 5, "epsilon": 3.0, "random_state": 0, "method": "observed", **options}
    given = {"noise": tacit.Simulation(1), **given}
    space = given.pop("space", {"alpha": tacit.Float(1e-3, 1e3, log=True)})
    return PrivateSearchCV(estimator or RidgeClassifier(), space, **given)


def test_results_hold_what_was_released_and_nothing_else() -> None:
    fitted = search().fit(X, Y)
    frame, value = pd.DataFrame(fitted.cv_results_), fitted.release_.value
    assert frame["mean_test_score"].tolist() == [1 - t["value"] for t in value.trials]
    assert frame["params"].tolist() == [t["params"] for t in value.trials]
    assert frame["std_test_score"].tolist() == pytest.approx([value.noise] * len(frame))
    assert frame["param_alpha"].tolist() == [t["params"]["alpha"] for t in value.trials]
    assert frame["mean_test_score"][frame["rank_test_score"].idxmin()] == frame["mean_test_score"].max()
    assert fitted.cv_results_["params"][fitted.best_index_] == fitted.best_params_


def test_a_method_that_releases_one_setting_has_a_table_of_one_row() -> None:
    fitted = search(method="pool", noise=None, trials=20).fit(X, Y)
    assert fitted.cv_results_["params"] == [fitted.best_params_]
    assert fitted.cv_results_["mean_test_score"].tolist() == [fitted.best_score_]
    assert fitted.best_index_ == 0


def test_lists_and_distributions_are_spaces_and_scorers_have_their_names() -> None:
    rows, amounts = load_diabetes(return_X_y=True)
    space = {"alpha": stats.loguniform(1e-3, 1e3), "fit_intercept": [True, False]}
    fitted = search(Ridge(), space=space, scoring="neg_mean_squared_error", bounds=(0, 5e4), accept_noise=True).fit(
        rows, amounts
    )
    assert fitted.best_score_ < 0
    assert set(fitted.best_params_) == {"alpha", "fit_intercept"}


class Recorder(RidgeClassifier):
    seen: tuple[Any, Any] = (None, None)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, extra: Any = None) -> Any:
        Recorder.seen = sample_weight, extra
        return super().fit(X, y, sample_weight=sample_weight)


def test_arguments_of_fit_are_those_of_the_training_rows() -> None:
    """So a weight of a validation row can be anything."""
    weights = np.arange(len(Y), dtype=float) + 1
    fitted = search(Recorder()).fit(X, Y, sample_weight=weights, extra="word")
    held, extra = Recorder.seen
    assert len(held) == 285
    assert extra == "word"
    others = np.where(np.isin(weights, held), weights, np.nan)
    again = search(Recorder()).fit(X, Y, sample_weight=others, extra="word")
    assert again.cv_results_["mean_test_score"].tolist() == fitted.cv_results_["mean_test_score"].tolist()
    with pytest.raises(TypeError, match="unexpected keyword"):
        search().fit(X, Y, nonsense=1)


def test_set_output_goes_to_the_estimator_inside() -> None:
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    inside = make_pipeline(StandardScaler(), RidgeClassifier())
    made = search(inside, space={"ridgeclassifier__alpha": [0.1, 1.0]}).set_output(transform="pandas").fit(frame, Y)
    assert isinstance(made.best_estimator_[0].transform(frame), pd.DataFrame)
    assert not hasattr(search(), "set_output")


def test_cross_validation_around_a_search_is_told_that_every_fold_spends() -> None:
    with pytest.warns(PrivacyWarning, match=r"every fold spends epsilon = 3, delta = 1e-06 anew") as said:
        cross_val_score(search(), X, Y, cv=3)
    assert sum(issubclass(w.category, PrivacyWarning) for w in said) == 3


def test_a_scaler_that_saw_the_validation_rows_is_refused() -> None:
    with pytest.raises(BadInput, match="'standardscaler' comes before PrivateSearchCV: it was fitted"):
        make_pipeline(StandardScaler(), search()).fit(X, Y)
    made = make_pipeline(Normalizer(), FunctionTransformer(), search()).fit(X, Y)
    assert made[-1].best_score_ > 0.5
