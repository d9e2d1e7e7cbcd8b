"""AUC as a mean over pairs, whose sensitivity is that of a mean over half as many records.

    n    records, or persons          h    n // 2 pairs of one matching
    l    loss of a pair: 1 if the labels differ and the positive one has the lower score, 1/2 for equal scores, else 0

One matching: the records are paired at random, by a public seed and without their labels. A record is in one pair, so
the mean over h pairs moves by at most 1/h. All matchings: each pair of records is in equally many, so the mean over all
of them is the mean of l over all n (n - 1) / 2 pairs. A record is in n - 1 of these: that mean moves by at most 2/n,
which is at most 1/h. The mean is (1 - AUC) times the share of pairs whose labels differ, which no parameter changes.
Proof: docs/proofs/pairs-and-persons.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.units import Rows

Floats = NDArray[np.float64]
FINE = 1 << 32  # steps of a loss; the sum of a bounded mean is counted in as many
ROUNDS = 16  # rows of a person that stand for them, in turn


def one_matching(ranking: Floats, answers: Floats, seed: int) -> Floats:
    """The losses of the pairs of one matching, shape (n // 2,).

    >>> one_matching(np.array([0.9, 0.2]), np.array([1, 0]), 0).tolist()
    [0.0]
    """
    n = len(ranking)
    order = np.random.default_rng(seed).permutation(n)
    a, b = order[: n // 2], order[n // 2 : 2 * (n // 2)]
    a, b = np.where(answers[a] == 1, a, b), np.where(answers[a] == 1, b, a)  # the positive one first, if there is one
    low, high = _comparable(ranking, answers)[[a, b]]
    mixed = (answers[a] == 1) & (answers[b] == 0)
    unknown = (answers[a] < 0) | (answers[b] < 0)
    return np.where(unknown, 1.0, np.where(mixed, (low < high) + 0.5 * (low == high), 0.0))


def all_matchings(ranking: Floats, answers: Floats) -> Floats:
    """A loss for each of n // 2 pairs whose mean is that over all matchings; one record moves their sum by at most 1.

    The losses have no pair of their own: the sum is written as that many ones, one fraction and zeros. It is counted in
    whole numbers, so rounding moves it no further.

    >>> float(all_matchings(np.array([0.1, 0.9, 0.4, 0.6]), np.array([1, 1, 0, 0])).mean().round(6))  # 2 of 6 pairs
    0.333333
    """
    return _write_sum(_twice_lost(ranking, answers), len(ranking), 1)


def persons_in_all_matchings(ranking: Floats, answers: Floats, owners: Rows, persons: int, seed: int) -> Floats:
    """The same for persons, shape (persons // 2,): in each of some rounds one row, drawn by the seed, stands for each.

    Which row depends on the seed and on how many the person has; whoever is replaced changes no other's.
    """
    rows = np.argsort(owners, kind="stable")
    counts = np.bincount(owners, minlength=persons)
    first, at = np.cumsum(counts) - counts, np.random.default_rng(seed).random(persons)
    twice = 0
    for turn in range(ROUNDS):
        chosen = rows[first + np.minimum(((at + turn / ROUNDS) % 1.0 * counts).astype(np.intp), counts - 1)]
        twice += _twice_lost(ranking[chosen], answers[chosen])
    return _write_sum(twice, persons, ROUNDS)


def one_row_each(owners: Rows, persons: int, seed: int) -> Rows:
    """One row of each person, drawn by the seed."""
    rows = np.argsort(owners, kind="stable")
    counts = np.bincount(owners, minlength=persons)
    at = np.random.default_rng(seed).random(persons)
    drawn: Rows = rows[np.cumsum(counts) - counts + np.minimum((at * counts).astype(np.intp), counts - 1)]
    return drawn


def _comparable(ranking: Floats, answers: Floats) -> Floats:
    """Scores, a missing one as bad as can be for its own label."""
    return np.where(np.isnan(ranking), np.where(answers == 1, -np.inf, np.inf), ranking)


def _twice_lost(ranking: Floats, answers: Floats) -> int:
    """Twice the sum of the losses of all pairs: a whole number. A record of no known label loses each of its pairs."""
    n, scores = len(ranking), _comparable(ranking, answers)
    positive, negative = scores[answers == 1], np.sort(scores[answers == 0])
    below, upto = np.searchsorted(negative, positive), np.searchsorted(negative, positive, "right")
    lost = int(np.sum(2 * (len(negative) - upto) + (upto - below), dtype=np.int64))
    strange = n - len(positive) - len(negative)
    return lost + 2 * strange * (n - strange) + strange * (strange - 1)


def _write_sum(twice: int, n: int, rounds: int) -> Floats:
    """h numbers in [0, 1] that add up to h times the mean loss, in whole steps rounded down.

    One record moves ``twice`` by at most 2 (n - 1) in each round, and so h twice / (rounds n (n - 1)) by at most
    2 h / n <= 1: in whole steps by at most as many as 1 has.
    """
    h = n // 2
    steps = h * twice * FINE // (rounds * n * (n - 1))
    losses: Any = np.zeros(h)
    whole, rest = divmod(steps, FINE)
    losses[:whole] = 1.0
    if rest:
        losses[whole] = rest / FINE
    return np.asarray(losses, float)
