"""Private training under DP-GIBO: every evaluation that trains is counted, and all together are within the budget."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.methods.gibo.private_training import noise_for_training
from tacit.privacy.noise import Simulation
from tacit.privacy.profiles import GaussianProfile
from tacit.space import Float

BOX = {"a": Float(0.0, 1.0), "b": Float(0.0, 1.0)}
RUN: dict[str, Any] = {"records": 20_000, "trials": 3, "budget": tacit.Budget.gdp(2.0)}
TRAINING = {"training_records": 40_000, "lot": 200, "steps": 1000}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"design": "simplex", "scan": 0},
        {"design": "optimised", "batch": 2, "centring": "theta", "score_budget": 0.0},
        {"design": "adaptive", "tolerance": 1e-9, "starts": 2},
    ],
    ids=["default", "simplex", "optimised", "adaptive"],
)
def test_no_run_trains_more_often_than_is_counted(options: dict[str, Any]) -> None:
    calls = []

    def losses(params: dict[str, float]) -> np.ndarray:
        calls.append(params)
        return np.full(RUN["records"], params["a"])

    made = tacit.tune(
        losses, BOX, bounds=(0.0, 1.0), method="gibo", noise=Simulation(0), progress=False, **RUN, **options
    )
    each = noise_for_training(BOX, **RUN, **TRAINING, **options)
    assert len(calls) <= each.evaluations
    assert each.evaluations - made.value.details["evaluations"] in range(4)  # adaptive designs may need fewer places
    assert each.budget.mu() * math.sqrt(each.evaluations) == pytest.approx(2.0)


def test_the_noise_keeps_one_training_below_its_share() -> None:
    each = noise_for_training(BOX, **RUN, **TRAINING)
    training = {"records": 40_000, "lot": 200, "steps": 1000}
    share = GaussianProfile(each.budget.mu())

    def excess(noise: float) -> float:
        """By how much the delta of one training is above that of its share, relative, at the worst epsilon."""
        deltas = np.array([1e-8, 1e-6, 1e-4, 1e-2])
        spent = np.array([tacit.accounting.epsilon(noise=noise, delta=float(d), **training) for d in deltas])
        return float((deltas / (share.delta(spent) + 1e-10)).max() - 1)

    assert excess(each.noise) <= 1e-3
    assert excess(0.9 * each.noise) > 0.1
    more = noise_for_training(BOX, **{**RUN, "trials": 12}, **TRAINING)
    assert more.noise > each.noise
    assert each.to_json()["evaluations"] == 64 + 3 * 4 + 1
