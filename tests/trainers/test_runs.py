"""How settings are drawn, and how many models are trained if nobody says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from train_parts import BUDGET, quick, table

from tacit.errors import BadInput
from tacit.privacy.noise import Simulation
from tacit.space import Float, Int, Space
from tacit.trainers.descent import DescentTrainer
from tacit.trainers.runs import draw_params
from tacit.trainers.train import train


def test_settings_are_drawn_oftener_near_the_middle_of_a_trainers_own_space_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shares are 0.75 and 0.5; 4,000 draws stay within 0.05 of them but once in 10^10."""
    space = Space({"x": Float(0.0, 1.0)})
    for centred, share in ((True, 0.75), (False, 0.5)):
        drawn = [draw_params(space, centred=centred)["x"] for _ in range(4000)]
        assert abs(np.mean([abs(x - 0.5) < 0.25 for x in drawn]) - share) < 0.05
    asked: list[bool] = []

    def watched(space: Space, *, centred: bool) -> Any:
        asked.append(centred)
        return draw_params(space, centred=centred)

    monkeypatch.setattr("tacit.trainers.runs.draw_params", watched)
    quick(table())
    own = len(asked)
    quick(table(), space={"steps": Int(20, 30), "rate": Float(0.5, 1.0), "clip": Float(1.0, 2.0)})
    assert asked[:own] == [True] * own
    assert asked[own:] == [False] * (len(asked) - own)
    assert 0 < own < len(asked)


def test_a_trainer_may_name_how_many_runs_suit_it() -> None:
    for name, most in (("ebm", 10), ("logistic", 40)):
        release = train(name, table(), target="ill", budget=BUDGET, progress=False, noise=Simulation(0))
        assert 0.8 * most < release.value.details["expected_runs"] <= most


class Narrow(DescentTrainer):
    """Takes seven features and no other number of them."""

    def train(self, rows: Any, settings: Any, facts: Any, noise: Any) -> Any:
        raise ValueError(f"7 features wanted, not {facts.features}")


def test_a_trainer_that_raises_says_so_before_anything_is_spent_and_in_its_own_words() -> None:
    """The rows were made up, so the words tell of nobody."""
    told = r"failed on made-up rows \(200, 5\): ValueError: 7 features wanted, not 5. Nothing was spent"
    with pytest.raises(BadInput, match=told):
        train(Narrow(), table(), target="ill", budget=BUDGET, progress=False)
