"""How much noise each training needs where training records are private as well as validation records.

    E  evaluations of a whole run, each of which trains a model      mu  of the whole, for one training record

E trainings of mu / sqrt(E) each are together mu-GDP (plain composition; Sopa et al. 2025, section 3.4, counts the
steps' evaluations alone).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.files import Json
from tacit.methods.gibo import GradientSearch
from tacit.methods.gibo.design import DescentSettings
from tacit.methods.task import Task
from tacit.objective import Objective
from tacit.privacy.guarantee import Budget
from tacit.privacy.lot_calibration import noise_below
from tacit.privacy.profiles import GaussianProfile
from tacit.space import Space


@dataclass(frozen=True)
class TrainingNoise:
    """What each training of a run of DP-GIBO may cost, and its noise multiplier."""

    evaluations: int
    budget: Budget
    noise: float

    def to_json(self) -> Json:
        return {"evaluations": self.evaluations, "budget": self.budget.to_json(), "noise": self.noise}


def noise_for_training(
    space: Mapping[str, Any] | Space,
    *,
    budget: Budget,
    trials: int,
    records: int,
    training_records: int,
    lot: int,
    steps: int,
    bounds: tuple[float, float] = (0.0, 1.0),
    **options: Any,
) -> TrainingNoise:
    """The least noise multiplier of DP-SGD at which all trainings of a run are together within ``budget``.

    Args:
        space: What is tuned.
        budget: Of the run, and of all its trainings: the validation records' and the training records' mu.
        trials: Steps of DP-GIBO.
        records: Validation records.
        training_records: Records that a model is trained on.
        lot: Of these in a batch, drawn without replacement.
        steps: Of one training.
        bounds: Of a loss.
        **options: Those of ``tacit.tune(..., method="gibo")``.

    Returns:
        The evaluations that are counted, the budget of one training, and its noise: in units of the sensitivity of a
        batch's sum of clipped gradients, 2 x clip, as in `tacit.accounting`.

    Guarantee. The released path is mu-GDP for one training record replaced, but for E x 1e-10 in delta, which is where
    the profile of one training is cut; unconditional. Training and validation records must be disjoint.
    Follows. Dong, Roth and Su (2022), Corollary 3.3.
    Differs. Sopa et al. (2025), section 3.4, count b T evaluations; the start's places and the score's train, too.

    >>> from tacit.space import Float
    >>> each = noise_for_training({"x": Float(0.0, 1.0)}, budget=Budget.gdp(1.0), trials=10, records=20_000,
    ...                           training_records=40_000, lot=200, steps=1_000)
    >>> each.evaluations, round(each.budget.mu(), 3), round(each.noise, 2)
    (85, 0.108, 1.89)
    """
    space = Space(space)
    objective = Objective(lambda params: np.zeros(records), records, bounds)
    search = GradientSearch(
        Task(objective, space, budget, trials, accept_noise=True), DescentSettings.of(options, bounds, space)
    )
    each = budget.mu() / math.sqrt(search.most_evaluations)
    noise = noise_below(GaussianProfile(each), records=training_records, lot=lot, steps=steps)
    return TrainingNoise(search.most_evaluations, Budget.gdp(each), float(noise))
