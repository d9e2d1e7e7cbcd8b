"""Every public entry point under the strongest attack that we can write: what was promised, and what was got.

Four ways. *Recorded*: the noise writes down what enters it on two neighbours at the clipping corner; the move over the
noise is exact for that pair, not a sample, and equals the claim where the claim is tight. *Draws*: a run is stopped,
resumed and copied, and the values that came out are counted; more than were paid for would cost more than was
promised. *Times*: nothing but the clock is looked at. *Outputs*: a bound at 99% from many runs, at the delta that the
row names; it is low where runs are dear, and `audit_table` has more of these. A measured epsilon above the claim would
be a fault. Epsilons of the other three are at delta = 1e-5 where the claim has one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tacit
from benchmarks import Figure
from benchmarks.papers import _attacks as a
from benchmarks.papers import _attacks_outputs as o
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean

TITLE = "Attacks: what every entry point promises, and what an attacker got"
LONG = False
REPEATS = 1
RUNS = 2000  # of a timed release, on each side


def attacks(repeats: int) -> Iterator[a.Attack]:
    one = Budget.gdp(1.0)
    yield from a.corners()
    yield a.recorded("tacit.private", "neighbours at the clipping corner", a.study, a.ENDS, one)
    for cell in ("n/a", "words among numbers", 1e300):
        yield a.scikit(cell)
    yield a.recorded("tacit.pareto, private", "neighbours at the clipping corner", a.front, a.ENDS, one)
    claim = Budget.approximate(1.0, a.DELTA)
    yield a.recorded("tacit.Curator, noisy", "a row moved by norm 1", a.table, a.moved_rows(), claim)
    for name in ("logistic", "svm", "ridge", "output-perturbation"):  # those that use every record in each step
        yield a.training(name)
    yield from o.trainings(repeats)
    for name in o.GAMES:
        yield o.game(name, repeats)
    yield a.resumes()
    for ledger in (True, False):
        yield a.copies(ledger)
    mean = BoundedMean(a.N, (0.0, 1.0), budget=one)
    yield a.clocks("BoundedMean", mean.release, a.ENDS, one, RUNS * repeats)
    gaussian = tacit.mechanisms.Gaussian(1.0, budget=one)
    yield a.clocks("mechanisms.Gaussian", gaussian.release, (0.0, 1.0), one, RUNS * repeats)
    laplace = tacit.mechanisms.Laplace(1.0, budget=Budget.pure(1.0))
    yield a.clocks("mechanisms.Laplace", laplace.release, (0.0, 1.0), Budget.pure(1.0), RUNS * repeats)
    for mechanism, claim in ((gaussian, one), (laplace, Budget.pure(1.0))):
        entry = f"mechanisms.{type(mechanism).__name__}"
        yield a.values_and_clocks(entry, mechanism, claim, 20 * RUNS * repeats)
    picking = tacit.mechanisms.Exponential(1.0, budget=Budget.pure(1.0))
    scores = np.zeros(50), np.r_[1.0, np.full(49, -1.0)]
    yield a.clocks("mechanisms.Exponential", picking.release, scores, Budget.pure(1.0), 4 * RUNS * repeats)
    yield o.chosen_winner(1500 * repeats)


def run(repeats: int) -> list[Figure]:
    figures = []
    for found in attacks(repeats):
        within, excepted = found.measured <= found.claimed * (1 + 1e-6), "a premise of the claim" in found.note
        held = "within the claim" if within else "outside the claim" if excepted else "ABOVE THE CLAIM"
        claimed = np.isfinite(found.claimed)
        claim = f"claim {found.claimed:.4g}" if claimed else "no claim"
        note = f"{held}; {found.note}" if claimed else found.note
        name, goal = f"{found.entry}: {found.tried}", found.claimed if claimed else None
        figures.append(Figure(name, found.measured, "epsilon", None, None, claim, note, goal=goal, better="less"))
    return figures
