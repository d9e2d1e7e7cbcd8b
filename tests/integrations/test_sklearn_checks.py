"""scikit-learn's own checks of PrivateSearchCV, with a reason for each that cannot apply."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit

PRIVATE = "the bad value lies in a private row: raising an error about it would reveal it; it counts as the worse bound"
UNSEEDED = "compares two fits, whose noise differs: noise of a release is never seeded"
ALWAYS = {"check_estimators_nan_inf": PRIVATE}
EXACT = {
    "check_fit_idempotent": UNSEEDED,
    "check_regressor_data_not_an_array": UNSEEDED,
    "check_regressors_int": UNSEEDED,
    "check_supervised_y_2d": UNSEEDED,
}


def search(estimator: Any, parameter: str, **options: Any) -> tacit.PrivateSearchCV:
    space = {parameter: tacit.Float(0.1, 10.0, log=True)}
    return tacit.PrivateSearchCV(estimator, space, trials=3, accept_noise=True, random_state=0, **options)


def expected(estimator: tacit.PrivateSearchCV) -> dict[str, str]:
    return ALWAYS | ({} if estimator.noise else EXACT)


@parametrize_with_checks(
    [
        search(LogisticRegression(), "C", noise=tacit.Simulation(0)),
        search(Ridge(), "alpha", bounds=(0.0, 100.0), noise=tacit.Simulation(0)),
    ],
    expected_failed_checks=expected,
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([search(Ridge(), "alpha", bounds=(0.0, 100.0))], expected_failed_checks=expected)
def test_scikit_learn_accepts_it_with_exact_noise(estimator: Any, check: Any) -> None:
    check(estimator)
