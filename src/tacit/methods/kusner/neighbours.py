"""The data sets on which Kusner et al.'s algorithms are audited."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.methods.kusner.regularised import RegularisedClassifier
from tacit.methods.neighbours import ENDS, Neighbours, opposite_ends, unit_space
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget
from tacit.space import Float, Space

AVERAGE = (
    "the claim is about functions drawn from a Gaussian process, not about the worst data. These two data sets were "
    "chosen by us: a measured value above the claim would not contradict it, one below says nothing for other data"
)


def algorithm_1(*, records: int = 4, trials: int = 3, number: int = 1, **options: Any) -> Neighbours:
    """Parameters and score of Algorithm 1 or 2."""

    def outputs(value: Tuned) -> list[float]:
        return [value.params["x"], float(value.loss or 0.0)]

    return Neighbours(
        f"Algorithm {number} over {records} records, parameters and score; {ENDS}",
        Budget.approximate(4.0, 1e-2),
        opposite_ends(records),
        unit_space(),
        records,
        trials,
        outputs,
        {"candidates": [{"x": x} for x in np.linspace(0, 1, 8)], **options},
        exact=False,
        share=0.04 if number == 1 else 0.124,
        inside=("gaussian",) if number == 1 else (),
        conditional=AVERAGE,
    )


def algorithm_2() -> Neighbours:
    return algorithm_1(number=2, A=1.0, tau=1.0)


def algorithm_3() -> Neighbours:
    """One validation record, whose label is turned, on a model that is as long as its strength allows."""
    row = np.array([[1.0, 0.0]])
    right, wrong = (RegularisedClassifier(row, [1], row, [label], loss="hinge") for label in (1, -1))
    return Neighbours(
        "the best score of a hinge model over strengths 10 to 10.01; the label of the one validation record is turned",
        Budget.pure(1.0),
        (right, wrong),
        Space({"s": Float(10.0, 10.01)}),
        records=1,
        trials=2,
        outputs=lambda value: [float(value.loss or 0.0)],
        arguments={"candidates": [{"s": s} for s in (10.0, 10.005, 10.01)]},
        runs=2000,
        share=0.997,
    )
