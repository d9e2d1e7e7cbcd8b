"""The known-row attack takes back every row of a published projection, and nothing from a noisy one."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.audit.attacks import known_rows
from tacit.errors import BadInput
from tacit.outsource.curator.transform import ATTACK, NoisyProjection, PublishedProjection
from tacit.privacy.noise import Simulation


def table(n: int, d: int, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X * 25 / np.linalg.norm(X, axis=1).max()


def published(X: np.ndarray, epsilon: float, dimensions: int) -> tuple[np.ndarray, bool]:
    made = PublishedProjection(
        *X.shape, epsilon=epsilon, delta=1e-5, dimensions=dimensions, insist=ATTACK, noise=Simulation(1)
    )
    (Z,) = made.blocks(X)
    assert made.raised is not None
    return Z, made.raised


@pytest.mark.parametrize(("epsilon", "raised"), [(0.5, True), (3000.0, False)])
@pytest.mark.parametrize(("n", "d", "r"), [(2000, 2, 10), (300, 5, 5), (300, 5, 20)])
def test_d_plus_one_known_rows_give_back_all_rows_in_both_branches(
    n: int, d: int, r: int, epsilon: float, raised: bool
) -> None:
    X = table(n, d)
    Z, took = published(X, epsilon, r)
    assert took is raised
    found = known_rows(Z, X, d + 1)
    assert found.share == 1.0
    assert found.error < 1e-9
    assert f"{d + 1} known rows give back 100%" in str(found)


def test_any_known_rows_will_do() -> None:
    X = table(500, 3)
    Z, _ = published(X, 1.0, 4)
    assert known_rows(Z, X, [400, 17, 99, 3]).share == 1.0


def test_fewer_rows_than_that_give_back_none() -> None:
    X = table(500, 5)
    Z, _ = published(X, 1.0, 8)
    assert known_rows(Z, X, 5).share < 0.01


@pytest.mark.parametrize("known", [3, 20, 200])
def test_a_noisy_projection_gives_back_none(known: int) -> None:
    X = table(400, 2)
    Z = np.concatenate(list(NoisyProjection(2, epsilon=3.0, delta=1e-5, noise=Simulation(2)).blocks(X)))
    found = known_rows(Z, X, known)
    assert found.share == 0.0
    assert found.median_error > 0.03


def test_fewer_rows_than_columns_stay_hidden() -> None:
    X = table(10, 40)
    Z, _ = published(X, 1.0, 10)
    assert known_rows(Z, X, 8).share == 0.0


def test_tables_that_do_not_match_are_refused() -> None:
    X = table(10, 2)
    with pytest.raises(BadInput, match="a published table"):
        known_rows(X[:9], X, 3)
    for known in (0, 10):
        with pytest.raises(BadInput, match="fewer than all"):
            tacit.audit.known_rows(X, X, known)
