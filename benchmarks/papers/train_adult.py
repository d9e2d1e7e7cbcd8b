"""A private model of Adult, the search included in the price, against rivals on the same rows.

Every private way has the same total (1, 1e-5), ours and its two variants for one record of the table replaced.

    ours, logistic  tacit.train: about 40 settings, chosen by validation rows, charged by tacit.privacy.selection
    defaults        the same trainer with the middle of its space, no search, the whole budget in one training
    composition     ten settings, each paid for by composition, chosen in the same way
    diffprivlib     its logistic regression at epsilon = 1 (pure), on the same features; ranges and words for nothing
    not private     scikit-learn's logistic regression, C by five-fold cross-validation, on one-hot columns

diffprivlib needs an interpreter of its own: see _peer_regression.
"""

from __future__ import annotations

from benchmarks import Figure
from benchmarks.papers._trained_adult import (
    Way,
    compare,
    composed,
    majority,
    measure,
    open_regression,
    peer_regression,
    search,
    single,
)

TITLE = "Adult: a model for release, total epsilon = 1, delta = 1e-5, its search included"
LONG = True
REPEATS = 10
OURS = "ours, logistic"

WAYS: dict[str, Way] = {
    OURS: search("logistic"),
    "defaults": single("logistic"),
    "composition": composed("logistic"),
    "diffprivlib": peer_regression,
    "not private": open_regression,
    "majority": majority,
}


def run(repeats: int) -> list[Figure]:
    return compare(OURS, measure(WAYS, repeats), {"not private": -1.0})
