"""Explainable boosting, for release: an additive model whose tables grow by noisy means over random leaves.

    n      records                     c       clip of a record's residuals (k,), in the L2 norm
    d      columns                     sigma   noise multiplier: the noise on a sum of residuals has deviation 2 c sigma
    T      steps, rounds x d + 1       s       deviation of the noise on the counts of all bins

A step takes one column, divides its bins at random into leaves, adds up the residuals of the records of each leaf, adds
noise, and moves the table of that column against the mean. The random division does not look at the data beyond counts
that were drawn with noise. A record is in one leaf of a step, so replacing it moves the sums by at most 2 c. The first
rounds take every column once; after them a column is taken the more often, the more its noisy sums rose above noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput, choice
from tacit.gp.threads import one_thread
from tacit.privacy.mechanisms import ABOVE
from tacit.privacy.noise import Source
from tacit.privacy.profiles import GaussianProfile, Profile
from tacit.privacy.worst_pair import WorstPair
from tacit.space import Float, Int, Params
from tacit.training.additive import AdditiveScores, Bins, Floats, bin_count, place_in_bins
from tacit.training.descent import LOUDEST, add_noise
from tacit.training.linear_losses import LOSSES, link, score_count
from tacit.training.secret_lots import public_generator
from tacit.training.trainer import CLASSES, NUMBERS, Base, EncodedRows, Facts
from tacit.training.worst_pairs import replace_row

COUNTS = 0.05  # share of the squared mu that goes to the counts of the bins
CELLS, MORE_CELLS = 24, 365  # of a number, besides its cuts: with few and with many rows for each column
LEAVES, MORE_LEAVES, MANY = 8, 32, 3000.0  # of a step, and the rows per column (see Facts) from which there are more
SHORTEST, LONGEST = 3.0, 50.0  # rounds x rate: noise on a score grows with it
CLIPS = {CLASSES: 0.5, NUMBERS: 0.2}  # of residuals: those of numbers are short beside the range that is predicted
STEEPER = 5.0  # times the curvature of the log-loss has that of the squared error: its steps are shorter by as much
COUNT_BITS, SUM_BITS = 20, 52
LOUDEST_SUM = 2.0**47  # of noise on a sum: floats hold both together to the last bit, since no draw passes 20 scales
EVEN, SELDOM = 2, 0.05  # rounds that take every column once; weight of a column that shows nothing, after them
RAREST = 0.005  # rate of a class that is begun with, at least
LEAST = 0.02  # share of the records that a leaf counts for at least: small leaves move slowly


@dataclass(frozen=True)
class Boosting:
    """The settings of one training: what ``BoostingTrainer.calibrate`` gives."""

    records: int
    columns: int
    rounds: int
    leaves: int
    rate: float
    clip: float
    multiplier: float  # sigma
    count_scale: float  # s
    cells: int = CELLS

    @property
    def steps(self) -> int:
        return self.rounds * self.columns + 1

    @property
    def mu(self) -> float:
        """Of the sums and the counts together: replacing one record moves two bins of each column by one."""
        return math.hypot(math.sqrt(self.steps) / self.multiplier, math.sqrt(2 * self.columns) / self.count_scale)

    @property
    def bits(self) -> int:
        """Residuals are whole multiples of 2^-bits, so that sums over all records stay below 2^52."""
        return min(30, SUM_BITS - math.ceil(math.log2(self.records)) - math.ceil(math.log2(self.clip)))

    @property
    def scale(self) -> float:
        """Standard deviation of the noise on a sum, in whole numbers."""
        return 2 * self.clip * self.multiplier * 2.0**self.bits * ABOVE


@dataclass(frozen=True)
class BoostingTrainer:
    """An additive model of the columns, boosted with noise; ``task`` is classes or numbers.

    Guarantee. Each training costs at most the base profile that it was calibrated for, one training record replaced.
    Residuals are clipped, summed in whole numbers, exactly, and the noise is exact: nothing is assumed of
    floating point.
    Follows. Nori, Caruana, Bu, Shen and Kulkarni (2021), DP-EBM; docs/proofs/private-training.md for the rest.
    Differs. Residuals are clipped, so that the sums of a regression are bounded as well; the sensitivity is that of one
    record replaced, not added; leaves are divided by noisy counts, categories too; columns are not taken in turn after
    the first rounds; the released tables are the mean over the later rounds. Three classes or more have one score each.
    Edges. A row without a target adds nothing to a sum of residuals. Of a person with several rows the mean counts.
    """

    assumptions: ClassVar[tuple[str, ...]] = ()
    premises: ClassVar[tuple[str, ...]] = ()
    persons: ClassVar[bool] = True  # takes all rows of a person
    task: str = CLASSES

    def __post_init__(self) -> None:
        choice("task", self.task, (CLASSES, NUMBERS))

    @property
    def name(self) -> str:
        return "explainable boosting" if self.task == CLASSES else "explainable boosting, numbers"

    def space(self, facts: Facts) -> Mapping[str, Any]:
        """Rounds over all columns, rate, leaves of a step, and the clip of residuals."""
        return {
            "rounds": Int(6, 40, log=True),
            "rate": Float(0.7, 4.0, log=True),
            "leaves": Int(3, 10, log=True),
            "clip": Float(0.7 * CLIPS[self.task], 1.6 * CLIPS[self.task], log=True),
        }

    def defaults(self, facts: Facts, base: Base) -> Params:
        """The more rows there are for a column, the longer the way and, from many on, the finer the leaves."""
        x = facts.rows_per_column(base.mu)
        way = min(max(x / 8, SHORTEST), LONGEST)
        rounds = min(max(round(way / 2.5), 4), 20)
        rate = way / rounds / (1.0 if self.task == CLASSES else STEEPER)
        return {"rounds": rounds, "rate": rate, "leaves": MORE_LEAVES if x > MANY else LEAVES, "clip": CLIPS[self.task]}

    def calibrate(self, params: Params, facts: Facts, base: Base) -> Boosting:
        """The least noise with which a training stays below ``base``."""
        d, rounds = len(facts.spans), int(params["rounds"])
        sums, counts = base.mu * math.sqrt(1 - COUNTS), base.mu * math.sqrt(COUNTS)
        scale = math.sqrt(2 * d) / counts * (1 + 1e-12)
        clip, rate = float(params["clip"]), float(params["rate"])
        multiplier = math.sqrt(rounds * d + 1) / sums * (1 + 1e-12)
        cells = MORE_CELLS if facts.rows_per_column(base.mu) > MANY else CELLS
        s = Boosting(facts.records, d, rounds, int(params["leaves"]), rate, clip, multiplier, scale, cells)
        if s.bits < 8 or s.scale > LOUDEST_SUM or s.count_scale * 2.0**COUNT_BITS > LOUDEST:
            raise BadInput(
                f"noise of {multiplier:.3g} times the clip on {facts.records} records is out of range; give a larger "
                "budget or fewer rounds"
            )
        return s

    def profile(self, settings: Boosting) -> Profile:
        return GaussianProfile(settings.mu)

    def train(self, rows: EncodedRows, settings: Boosting, facts: Facts, noise: Source) -> AdditiveScores:
        s, spans, k = settings, facts.spans, score_count(facts.outputs)
        known = rows.target >= 0 if self.task == CLASSES else np.isfinite(rows.target)
        target = np.where(known, rows.target, 0.0)
        residual_of, public = LOSSES["logistic" if self.task == CLASSES else "squared"], public_generator(noise)
        sizes = [bin_count(span, s.cells) for span in spans]
        bins = [place_in_bins(rows.X, span, s.cells) for span in spans]
        weights = rows.weights
        counts = draw_counts(bins, sizes, weights, s, noise)
        tables, means = [np.zeros((b, k)) for b in sizes], [np.zeros((b, k)) for b in sizes]
        scores, unit = np.zeros((len(rows.X), k)), 2.0**-s.bits

        def whole_residuals() -> Floats:
            residual = residual_of(scores, target)
            residual[~known] = 0.0
            return clip_to_whole(residual, weights, s)

        with one_thread(), np.errstate(over="ignore"):
            total = add_noise(whole_residuals().sum(axis=0), s.scale, noise)
            constant = first_scores(total * (unit / s.records), self.task, s.clip)
            scores += constant
            signal, rate = Signal(s.columns), s.rate * (evenness(constant) if self.task == CLASSES else 1.0)
            for step in range(1, s.steps):
                done, turn = divmod(step - 1, s.columns)
                j = turn if done < EVEN else signal.choose(public)
                leaf = divide_bins(counts[j], s.leaves, ordered=spans[j].number, public=public)
                exact = np.zeros((s.leaves, k))
                np.add.at(exact, leaf, add_by_bin(whole_residuals(), bins[j], sizes[j]))
                sums = add_noise(exact, s.scale, noise)
                signal.note(j, sums / s.scale)
                weight = np.maximum(np.bincount(leaf, counts[j], s.leaves), LEAST * s.records)
                move = -rate * unit * sums / weight[:, None]
                tables[j] += move[leaf]
                scores += move[leaf][bins[j]]
                if turn == s.columns - 1 and done >= s.rounds // 2:
                    for mean, table in zip(means, tables, strict=True):
                        mean += table
        later = s.rounds - s.rounds // 2
        return AdditiveScores(spans, s.cells, constant, tuple(m / later for m in means), self.task)

    def worst_pairs(self, base: Base) -> tuple[WorstPair, ...]:
        """A row whose residual turns round in its leaf; and one without a target, which moves the counts alone."""
        params = {"rounds": 6, "rate": 0.7, "leaves": 3, "clip": 0.35}
        sums, counts = math.sqrt(1 - COUNTS), math.sqrt(COUNTS)
        near, far = (-1.0, -1.0), (1.0, 1.0)
        other, nothing = (0.0, -1.0) if self.task == CLASSES else (-1.0, math.nan)
        turned = "the target of a row with a clipped residual is turned"
        moved = "a row without a target moves to another bin of every column"
        first, *more = ((2, 1.0), (3, 0.857)) if self.task == CLASSES else ((1, 1.0),)
        pairs = [
            replace_row(
                self, base, params, ((near, 1.0), (near, other)), about=turned, outputs=outputs, share=sums * share
            )
            for outputs, share in (first, *more)
        ]
        alone = ((near, nothing), (far, nothing))
        return (*pairs, replace_row(self, base, params, alone, about=moved, outputs=first[0], share=counts))


class Signal:
    """How far the noisy sums of each column rise above their noise. Post-processing of what was drawn."""

    def __init__(self, columns: int) -> None:
        self.power, self.seen = np.zeros(columns), np.zeros(columns, int)

    def note(self, column: int, sums: Floats) -> None:
        """Sums in deviations of their noise: their mean square is about 1 where there is nothing but noise."""
        self.seen[column] += 1
        self.power[column] += max(1 / self.seen[column], 0.3) * (float((sums**2).mean()) - self.power[column])

    def choose(self, public: np.random.Generator) -> int:
        weight = np.maximum(self.power - 1, 0.0) + SELDOM
        return int(public.choice(len(weight), p=weight / weight.sum()))


def draw_counts(bins: list[Bins], sizes: list[int], weights: Floats, s: Boosting, noise: Source) -> list[Floats]:
    """Noisy counts of the bins of every column, at least 0; sqrt(2 d) / s-GDP for one record, or person, replaced.

    The rows of a person count together as one: two such vectors, of no negative numbers, are sqrt(2) apart at most.
    """
    fine = 2.0**COUNT_BITS  # a lattice far finer than the noise
    each = np.trunc(weights * fine)
    exact = np.concatenate([np.bincount(b, each, minlength=size) for b, size in zip(bins, sizes, strict=True)])
    noisy = add_noise(exact[None, :], s.count_scale * fine * ABOVE, noise)[0] / fine
    return [np.maximum(part, 0.0) for part in np.split(noisy, np.cumsum(sizes)[:-1])]


def clip_to_whole(residual: Floats, weights: Floats, s: Boosting) -> Floats:
    """Residuals shortened to the clip in the L2 norm, then cut towards 0 to whole numbers of 2^-bits; overwritten.

    ``weights`` is what each row counts for; those of one person's rows add up to 1.

    The factor 1 - (k + 16) 2^-52 covers the roundings of a norm of k numbers and of the quotient.
    """
    np.nan_to_num(residual, copy=False, nan=0.0, posinf=1e100, neginf=-1e100)
    size = np.sqrt(np.einsum("ij,ij->i", residual, residual))
    shy = (1 - (residual.shape[1] + 16) * 2.0**-52) * s.clip
    residual *= (np.minimum(1.0, shy / np.maximum(size, 1e-300)) * weights)[:, None]
    residual *= 2.0**s.bits
    return np.trunc(residual, out=residual)


def add_by_bin(whole: Floats, bins: Bins, size: int) -> Floats:
    """Sums of whole numbers by bin, (bins, k): below 2^52, so exact in any order."""
    return np.stack([np.bincount(bins, column, size) for column in whole.T], axis=1)


def divide_bins(counts: Floats, leaves: int, *, ordered: bool, public: np.random.Generator) -> NDArray[np.intp]:
    """The leaf of every bin: cut at random, oftener where many rows lie; words are shuffled first.

    By roots of counts: a cut falls among the few rows of a skewed column's tail as well.
    """
    order = np.arange(len(counts)) if ordered else public.permutation(len(counts))
    weight = np.sqrt(counts[order]) + 1e-9
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    leaf = np.empty(len(counts), np.intp)
    leaf[order] = np.searchsorted(np.sort(public.random(leaves - 1)), middle)
    return leaf


def evenness(constant: Floats) -> float:
    """How evenly rows fall in the classes, 1 for all alike: where one is rare, sums tell less beside the same noise."""
    likely = link(constant[None, :], CLASSES)[0]
    return float((1 - (likely**2).sum()) / (1 - 1 / len(likely)))


def first_scores(mean: Floats, task: str, clip: float) -> Floats:
    """The constant from the noisy mean residual at scores of 0, (k,): the log odds, or the mean of the targets.

    All residuals of classes have the same norm there, so what the clip took off is put back.
    """
    if task == NUMBERS:
        return np.clip(-mean, -1.0, 1.0)
    if len(mean) == 1:
        share = np.clip(0.5 - mean * max(1.0, 0.5 / clip), RAREST, 1 - RAREST)
        return np.asarray(np.log(share / (1 - share)))
    even = 1 / len(mean)
    return np.asarray(np.log(np.clip(even - mean * max(1.0, math.sqrt(1 - even) / clip), RAREST, 1.0)))


EBM, EBM_NUMBERS = BoostingTrainer(CLASSES), BoostingTrainer(NUMBERS)
