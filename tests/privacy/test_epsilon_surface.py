"""Estimates of epsilon for choosing: close where they are learnt, exact where they cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.accounting import epsilon
from tacit.privacy import epsilon_surface
from tacit.privacy.epsilon_surface import EpsilonSurface


def settings(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        10 ** rng.uniform(-0.2, 0.6, count),
        10 ** rng.uniform(-2.5, -1.5, count),
        np.rint(10 ** rng.uniform(1.5, 2.5, count)),
    )


@pytest.mark.parametrize("choice", [("without_replacement", "replace_one"), ("poisson", "replace_one")])
def test_a_learnt_surface_is_close(choice: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epsilon_surface, "ANCHORS", 80)
    surface = EpsilonSurface(1e-5, sampling=choice[0], adjacency=choice[1])
    surface(*settings(400, 0))
    noise, rate, steps = settings(12, 1)
    asked = {"records": 10**9, "lot": np.rint(rate * 10**9), "steps": steps, "delta": 1e-5}
    exact = epsilon(noise=noise, **asked, sampling=choice[0], adjacency=choice[1])
    assert np.median(np.abs(np.log(surface(noise, rate, steps) / exact))) < 0.03


def test_what_is_not_smooth_is_computed() -> None:
    surface = EpsilonSurface(1e-5)
    found = surface(np.array([1.0, 5.0, 0.01]), np.array([0.01, 1.0, 0.5]), np.array([0.0, 20.0, 1.0]))
    full = epsilon(noise=5.0, records=1000, lot=1000, steps=20, delta=1e-5)
    assert found.tolist() == [0.0, full, epsilon(noise=0.01, records=1000, lot=500, steps=1, delta=1e-5)]


def test_beyond_what_was_learnt_the_nearest_edge_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epsilon_surface, "ANCHORS", 40)
    surface = EpsilonSurface(1e-5)
    surface(*settings(200, 0))
    far, edge = (surface(np.array([s]), np.array([0.01]), np.array([100.0])) for s in (100.0, 10**0.6))
    assert far == pytest.approx(edge, rel=0.05)
