"""The default trainer: its noise against what one record moves, its settings, its updates, its refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.privacy.noise import Simulation
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.training.descent import (
    LOGISTIC,
    LOGISTIC_LOTS,
    LOGISTIC_POISSON,
    RIDGE,
    Descent,
    DescentTrainer,
    shrinkage,
)
from tacit.training.linear import Update
from tacit.training.starts import FEATURES, TARGETS
from tacit.training.trainer import CLASSES, NUMBERS, Base, EncodedRows, Facts
from tacit.training.whole_gradients import WholeRows

FACTS = Facts(500, 3, CLASSES, 2)
BASE = Base(0.5, tabulate(GaussianProfile(0.5), floor=1e-9))


@pytest.mark.parametrize(("steps", "clip"), [(1, 1.0), (30, 0.3), (100, 2.0)])
def test_all_steps_together_spend_the_mu_of_the_base(steps: int, clip: float) -> None:
    """One record's clipped gradient turns round: the sum moves by 2 L, in every step; squares of mu add."""
    s = LOGISTIC.calibrate({"steps": steps, "rate": 1.0, "clip": clip}, FACTS, BASE)
    rows = WholeRows.of(np.array([[64.0, 64.0, 64.0]]))
    here, there = (s.counted.total(rows, np.array([[r]])) for r in (1e6, -1e6))
    moved = float(np.linalg.norm(here - there))
    rest = 1 - FEATURES - TARGETS  # where the model begins costs the others
    assert steps * (moved / s.scale) ** 2 == pytest.approx(rest * BASE.mu**2, rel=1e-4)
    assert steps * (moved / s.scale) ** 2 <= rest * BASE.mu**2
    assert LOGISTIC.profile(s).delta(0.3) == pytest.approx(GaussianProfile(0.5).delta(0.3))


@pytest.mark.parametrize(("trainer", "largest"), [(LOGISTIC_LOTS, 100), (LOGISTIC_POISSON, 500)])
def test_lots_have_the_steps_of_their_epochs_and_room_for_their_sums(trainer: DescentTrainer, largest: int) -> None:
    """A Poisson lot may hold all records; a lot without replacement holds as many as it says."""
    s = trainer.calibrate({"epochs": 3, "lot": 100, "rate": 0.1, "clip": 1.0}, FACTS, BASE)
    assert (s.records, s.lot, s.steps, s.sampling) == (500, 100, 15, trainer.lots)
    assert s.counted.lot == largest
    epsilons = np.linspace(0.05, 3.0, 20)
    assert (trainer.profile(s).delta(epsilons) <= BASE.table.delta(epsilons) * (1 + 1e-9)).all()
    assert (trainer.profile(s).delta(epsilons) >= 0.2 * GaussianProfile(0.5).delta(epsilons)).any()


def test_a_lot_larger_than_all_records_is_all_of_them_and_there_is_always_a_step() -> None:
    s = LOGISTIC_LOTS.calibrate({"epochs": 1, "lot": 900, "rate": 0.1, "clip": 1.0}, FACTS, BASE)
    assert (s.lot, s.steps) == (500, 1)


def test_noise_out_of_range_is_refused() -> None:
    quiet, loud = (Base(mu, tabulate(GaussianProfile(0.5), floor=1e-9)) for mu in (1e10, 1e-8))
    for base in (quiet, loud):
        with pytest.raises(BadInput, match="out of range"):
            LOGISTIC.calibrate({"steps": 1, "rate": 1.0, "clip": 1.0}, FACTS, base)


def test_momentum_adds_nine_tenths_of_the_last_step() -> None:
    update = Update("momentum", 0.5, np.zeros((1, 1)))
    steps = [float(update(np.array([[g]]))[0, 0]) for g in (1.0, 2.0, 0.0)]
    assert steps == pytest.approx([0.5, 0.5 * 2.9, 0.5 * 2.61])


def test_adam_follows_its_paper() -> None:
    """Kingma and Ba (2015), Algorithm 1, written out for one number."""
    update, m, v = Update("adam", 0.1, np.zeros((1, 1))), 0.0, 0.0
    for i, g in enumerate((1.0, -2.0, 0.5), 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        expected = 0.1 * (m / (1 - 0.9**i)) / (math.sqrt(v / (1 - 0.999**i)) + 1e-8)
        assert float(update(np.array([[g]]))[0, 0]) == pytest.approx(expected, rel=1e-12)


class Silent(Simulation):
    """No noise, to see what is under it."""

    def gaussian_whole_array(self, values: np.ndarray, scale: float) -> np.ndarray:
        return values


def test_without_noise_the_mean_of_later_weights_is_plain_descent() -> None:
    """Ridge regression on one feature, written out: rows without a target count in the divisor alone."""
    X = np.array([[0.5], [-0.25], [1.0], [0.125]])
    y = np.array([0.5, -0.5, np.nan, 0.25])
    s = Descent(records=4, steps=5, lot=4, rate=0.5, clip=1000.0, multiplier=1.0, mu=1e9)
    model = RIDGE.train(EncodedRows(X, y), s, Facts(4, 1, NUMBERS, 1), Silent(0))
    centre = X.mean()
    x = np.column_stack([X - centre, np.ones(4)])
    w, velocity, seen = np.array([0.0, np.nansum(y) / 4]), np.zeros(2), []
    for _ in range(5):
        residual = np.where(np.isnan(y), 0.0, x @ w - np.nan_to_num(y))
        velocity = 0.9 * velocity + residual @ x / 4
        w = w - 0.5 * velocity
        seen.append(w)
    weight, constant = np.mean(seen[2:], axis=0)
    assert model.weights[0] == pytest.approx([weight, constant - weight * centre], abs=1e-3)


def test_rows_without_a_class_train_nothing() -> None:
    rows = EncodedRows(np.array([[0.5], [-0.25], [1.0]]), np.full(3, -1.0))
    s = Descent(3, 5, 3, 0.5, 1.0, 1.0, sampling="without_replacement")
    assert (LOGISTIC_LOTS.train(rows, s, Facts(3, 1, CLASSES, 2), Silent(0)).weights == 0.0).all()


def test_rows_of_a_person_count_together_as_one() -> None:
    """Three rows that are the same train as one does, and the sums are those of the persons."""
    X, y = np.array([[0.5], [-0.5], [1.0]]), np.array([1.0, 0.0, 1.0])
    facts, s = Facts(3, 1, CLASSES, 2), Descent(3, 5, 3, 0.5, 1.0, 1.0, mu=1e9)
    one = LOGISTIC.train(EncodedRows(X, y), s, facts, Silent(0))
    rows = EncodedRows(np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(3), 3))
    assert LOGISTIC.train(rows, s, facts, Silent(0)).weights == pytest.approx(one.weights, abs=1e-4)


def test_where_there_is_little_but_noise_weights_shrink() -> None:
    assert shrinkage(np.array([[0.1, -0.1]]), 0.2) == 0.0
    assert shrinkage(np.array([[3.0, 4.0]]), 0.5) == pytest.approx(1 - 2 * 0.25 / 25)


def test_one_run_takes_a_hundred_steps_of_all_records() -> None:
    assert LOGISTIC.defaults(FACTS, BASE) == {"steps": 100, "rate": 3.0, "clip": 1.0}
    assert LOGISTIC_LOTS.defaults(FACTS, BASE)["lot"] == pytest.approx(89, abs=1)


def test_the_space_names_steps_or_epochs_and_a_lot() -> None:
    assert set(LOGISTIC.space(FACTS)) == {"steps", "rate", "clip"}
    lot = LOGISTIC_LOTS.space(FACTS)["lot"]
    assert (lot.low, lot.high) == (64, 125)
    few = LOGISTIC_LOTS.space(Facts(40, 3, CLASSES, 2))["lot"]
    assert (few.low, few.high) == (40, 40)


@pytest.mark.parametrize("setting", ["loss", "optimiser", "lots"])
def test_a_setting_that_is_not_known_is_refused(setting: str) -> None:
    with pytest.raises(BadInput, match=setting):
        DescentTrainer(**{setting: "other"})
