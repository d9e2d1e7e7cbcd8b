"""PrivateClassifier and PrivateRegressor: scikit-learn's own checks, and what a private estimator must add to them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit
from tacit.errors import BadInput

TIMES = 50  # scikit-learn's checks fit 20 rows, a private training takes some hundreds: every row stands 50 times
NOISE = "compares two fits, whose noise differs"
PRIVATE = "the value lies in a private row: raising an error about it would reveal it"
EXPECTED = {
    "check_fit_idempotent": NOISE,
    "check_supervised_y_2d": NOISE,
    "check_regressors_int": NOISE,
    "check_regressor_data_not_an_array": NOISE,
    "check_classifier_data_not_an_array": "fits 12 rows: too few for three parts",
    "check_supervised_y_no_nan": PRIVATE,
    "check_classifiers_one_label": "that there is but one label would be told of private rows",
    "check_classifiers_regression_target": "whether labels are numbers that never repeat is private",
}


class Repeat:
    """Fit each row many times over."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> Any:
        if isinstance(X, np.ndarray) and X.ndim == 2 and 1 < len(X) == np.size(y):
            X, y = np.repeat(X, TIMES, axis=0), np.repeat(y, TIMES, axis=0)
        elif isinstance(X, list) and isinstance(y, list) and 1 < len(X) == len(y):
            X, y = X * TIMES, y * TIMES
        return super().fit(X, y, groups)  # type: ignore[misc]


class RepeatClassifier(Repeat, tacit.PrivateClassifier): ...


class RepeatRegressor(Repeat, tacit.PrivateRegressor): ...


OPTIONS: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-3}


@parametrize_with_checks(
    [
        RepeatClassifier(**OPTIONS, noise=tacit.Simulation(0)),
        RepeatRegressor(**OPTIONS, noise=tacit.Simulation(0)),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def table(n: int = 1500) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"age": rng.integers(18, 95, n).astype(str), "ward": rng.choice(["n", "w"], n)})
    return data, np.where(data["age"].astype(int) > 60, "ill", "well")


def quick(**options: Any) -> tacit.PrivateClassifier:
    return tacit.PrivateClassifier(**{"trainer": "logistic", "epsilon": 3.0, "delta": 1e-5, "runs": 3, **options})


HOLDERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "Polars": pl.from_pandas,
    "Arrow": pa.Table.from_pandas,
    "DuckDB": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame)),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_frames_of_other_libraries_are_fitted_and_predicted(holder: str) -> None:
    data, y = table()
    held, labels = HOLDERS[holder](data), pl.Series("y", y)
    model = quick(runs=1).fit(held, labels)
    assert model.classes_.tolist() == ["ill", "well"]
    assert (model.predict(held) == model.predict(data)).all()
    ages = data[["age"]].astype(int)
    space = {"alpha": tacit.Float(1e-3, 1e3, log=True)}
    best = [
        tacit.PrivateSearchCV(
            RidgeClassifier(), space, trials=3, epsilon=3.0, noise=tacit.Simulation(1), random_state=0
        )
        .fit(*given)
        .best_score_
        for given in ((ages, y), (HOLDERS[holder](ages), labels))
    ]
    assert best[0] == best[1]


def test_a_table_is_fitted_with_one_guarantee_and_predicts_its_labels() -> None:
    X, y = table()
    model = quick().fit(X, y)
    assert model.classes_.tolist() == ["ill", "well"]
    assert model.score(X, y) > 0.7
    assert model.predict_proba(X).shape == (1500, 2)
    assert model.guarantee_.epsilon(1e-5) == 3.0
    assert model.feature_names_in_.tolist() == ["age", "ward"]
    assert model.release_.value.params.keys() == {"steps", "rate", "clip"}


def test_a_copy_has_the_same_parameters_and_nothing_fitted() -> None:
    X, y = table()
    again = clone(quick(epsilon=2.5).fit(X, y))
    assert again.get_params()["epsilon"] == 2.5
    assert not hasattr(again, "release_")
    assert again.set_params(runs=7).runs == 7


def test_persons_are_the_unit_where_groups_are_given() -> None:
    X, y = table(3000)
    model = quick().fit(X, y, groups=np.repeat(np.arange(1500), 2))
    assert "person" in model.guarantee_.unit


@pytest.mark.parametrize(
    ("around", "where"),
    [
        (lambda model, X, y: cross_val_score(model, X, y, cv=3, error_score="raise"), "model_selection"),
        (lambda model, X, y: GridSearchCV(model, {"runs": [2, 3]}, error_score="raise").fit(X, y), "model_selection"),
        (lambda model, X, y: BaggingClassifier(model, n_estimators=2).fit(X, y), "ensemble"),
        (lambda model, X, y: StackingClassifier([("a", model)]).fit(X, y), "ensemble"),
        (lambda model, X, y: CalibratedClassifierCV(model).fit(X, y), "calibration"),
        (lambda model, X, y: make_pipeline(StandardScaler(), model).fit(X, y), "'standardscaler' comes before"),
        (lambda model, X, y: make_pipeline(StandardScaler(), make_pipeline(model)).fit(X, y), "comes before Private"),
    ],
)
def test_what_would_fit_it_many_times_or_behind_a_scaler_is_refused(around: Any, where: str, tmp_path: Path) -> None:
    """One record moved the published scale of a scaler from 1 to 22,355, while the guarantee said epsilon 1."""
    ledger = tacit.Ledger.open(
        f"sqlite:///{tmp_path}/l.db", "set", tacit.Budget.approximate(10.0, 1e-3), composition="basic"
    )
    X, y = table(900)
    with pytest.raises(BadInput, match=where):
        around(quick(ledger=ledger), X[["age"]].astype(float), y)
    assert not [e for e in ledger.entries() if e.kind == "charge"]


@pytest.mark.parametrize("model", [tacit.PrivateRegressor(), tacit.PrivateSearchCV(Ridge(), {"alpha": [0.1, 1.0]})])
def test_a_scaler_of_the_target_that_saw_private_rows_is_refused(model: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 2)), rng.normal(size=900)
    with pytest.raises(BadInput, match="'transformer' comes before Private"):
        TransformedTargetRegressor(model, transformer=StandardScaler()).fit(X, y)


def test_no_row_is_kept_in_the_fitted_estimator() -> None:
    X, y = table()
    X.loc[17, "ward"] = "sentinel-4711"
    kept = pickle.dumps(quick().fit(X, y))
    assert b"sentinel-4711" not in kept


def test_a_trainer_of_another_kind_is_refused() -> None:
    X, y = table()
    with pytest.raises(BadInput, match="predicts numbers"):
        quick(trainer="ridge").fit(X, y)
    with pytest.raises(BadInput, match="predicts classes"):
        tacit.PrivateRegressor("logistic").fit(X, y)
