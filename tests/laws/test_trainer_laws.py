"""What every trainer for release must obey: calibrated below the base for every setting, and fit for selection."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from registered import marks

from tacit.privacy.noise import EXACT
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.space import Space
from tacit.training.descent import DescentTrainer
from tacit.training.registry import TRAINERS, load_trainer
from tacit.training.trainer import CLASSES, Base, EncodedRows, Facts, Trainer

SENTINEL = 0.12345678901
EPSILONS = np.linspace(0.0, 3.0, 31)


def made_up(facts: Facts, seed: int = 0) -> EncodedRows:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (facts.records, facts.features))
    score = X[:, 0] - 0.5 * X[:, 1]
    if facts.task == CLASSES:
        return EncodedRows(X, np.clip(np.floor((score + 1.5) / 3 * facts.outputs), 0, facts.outputs - 1))
    return EncodedRows(X, np.clip(score, -1, 1))


def shapes(trainer: Trainer) -> list[Facts]:
    outputs = (2, 3) if trainer.task == CLASSES else (1,)
    return [Facts(400, 4, trainer.task, k) for k in outputs]


@pytest.fixture(params=[pytest.param(name, marks=marks(name)) for name in sorted(TRAINERS)])
def trainer(request: pytest.FixtureRequest) -> Trainer:
    found: Trainer = load_trainer(request.param)
    return found


def base(mu: float = 0.5) -> Base:
    return Base(mu, tabulate(GaussianProfile(mu), floor=1e-9))


def test_every_setting_of_the_space_is_calibrated_below_the_base(trainer: Trainer) -> None:
    facts = shapes(trainer)[0]
    space = Space(trainer.space(facts))
    for params in [*space.sobol(16, seed=3), *space.params([[0.0] * space.dimensions, [1.0] * space.dimensions])]:
        profile = trainer.profile(trainer.calibrate(params, facts, base()))
        assert (profile.delta(EPSILONS) <= base().table.delta(EPSILONS) * (1 + 1e-9)).all(), params
        assert (profile.reversed.delta(EPSILONS) <= base().table.delta(EPSILONS) * (1 + 1e-9)).all(), params


def test_a_smaller_base_means_more_noise(trainer: Trainer) -> None:
    facts = shapes(trainer)[0]
    params = Space(trainer.space(facts)).params([[0.5] * len(trainer.space(facts))])[0]
    small, large = (trainer.profile(trainer.calibrate(params, facts, base(mu))) for mu in (0.2, 1.0))
    assert small.delta(np.array([0.5]))[0] < large.delta(np.array([0.5]))[0]


def test_a_model_scores_every_row_and_learns_with_little_noise(trainer: Trainer) -> None:
    for facts in shapes(trainer):
        rows, space = made_up(facts), Space(trainer.space(facts))
        settings = trainer.calibrate(space.params([[0.6] * space.dimensions])[0], facts, base(20.0))
        scores = trainer.train(rows, settings, facts, EXACT).scores(rows.X)
        assert scores.shape == (400, facts.outputs)
        assert np.isfinite(scores).all()
        if facts.task == CLASSES:
            assert np.allclose(scores.sum(axis=1), 1.0)
            assert (np.argmax(scores, axis=1) == rows.target).mean() > 1.15 / facts.outputs
        else:
            assert np.abs(scores[:, 0] - rows.target).mean() < np.abs(rows.target - rows.target.mean()).mean()


def test_rows_without_a_target_and_odd_features_train_nothing_and_raise_nothing(trainer: Trainer) -> None:
    facts = shapes(trainer)[0]
    rows, space = made_up(facts), Space(trainer.space(facts))
    rows.target[:5] = -1.0 if facts.task == CLASSES else np.nan
    rows.X[5:9] = [[np.nan] * 4, [np.inf] * 4, [1e300] * 4, [-1e300] * 4]
    settings = trainer.calibrate(space.params([[0.5] * space.dimensions])[0], facts, base())
    assert np.isfinite(trainer.train(rows, settings, facts, EXACT).scores(made_up(facts).X)).all()


def test_a_model_holds_no_row(trainer: Trainer) -> None:
    facts = shapes(trainer)[0]
    rows, space = made_up(facts), Space(trainer.space(facts))
    rows.X[7, 2] = SENTINEL
    settings = trainer.calibrate(space.params([[0.5] * space.dimensions])[0], facts, base())
    kept = pickle.dumps(trainer.train(rows, settings, facts, EXACT))
    assert np.float64(SENTINEL).tobytes() not in kept
    assert str(SENTINEL).encode() not in kept


class Bold(DescentTrainer):
    """Calibrated to twice the base."""

    def calibrate(self, params: Any, facts: Facts, base: Base) -> Any:
        return super().calibrate(params, facts, Base(2 * base.mu, base.table))


def test_a_trainer_that_is_calibrated_above_the_base_is_caught() -> None:
    facts, bold = Facts(400, 4, CLASSES, 2), Bold("logistic")
    profile = bold.profile(bold.calibrate({"steps": 50, "rate": 1.0, "clip": 1.0}, facts, base()))
    assert (profile.delta(EPSILONS) > base().table.delta(EPSILONS)).any()
