"""What a modeler could find in a published table, before it is published: searches over made-up answers.

    X   rows (n, d) after the public scaling         Z   the table a modeler would see, with simulated noise
    f   a made-up answer for each row: a draw of a Gaussian process over k of the d columns, from 0 to 1
    l   its length-scale, as a share of the spread of a column: of sqrt(12) standard deviations, at most the width

How fast real answers change is not known, and it decides what is found: two lengths are tried, and what is said holds
for both. The spread, not the width: one far row would make all answers smooth where the other rows are.

No answer of the private rows is looked at, nothing is drawn for release, nothing is charged. ``made_up_rows`` takes
public numbers alone. With the rows themselves the figures depend on them: they are for people who may see the rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.errors import BadInput, count, positive, type_and_shape
from tacit.files import Json
from tacit.outsource.curator.projection_bounds import largest_rank, smallest_singular_value
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.outsource.curator.transform import NoisyProjection
from tacit.outsource.modeler import Modeler
from tacit.outsource.protocol.terms import Answer, Published, Table
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import Simulation

Array = npt.NDArray[np.float64]
MOST_ROWS = 5000  # simulated; a larger table is tried on a part of it
INFORMATIVE = (1, 2, 3, 5)  # columns that carry the answer, and all of them
SMOOTH = (0.3, 0.1)
BATCH = 5
FEATURES = 256
ENOUGH = 0.95  # gain of random rows that leaves nothing to search for
PICKS = 200  # searches at random


@dataclass(frozen=True)
class RowScore:
    """How good the rows found are: ``gain`` is 0 at an average row and 1 at the best one; means over surfaces."""

    gain: float
    rank: float  # the median; 1 is the best row
    best: float  # how often it was the best row of all


@dataclass(frozen=True)
class Outcome:
    """Answers that depend on so many columns: what is found in the noisy table, without noise, and at random."""

    informative: int
    smooth: float
    found: RowScore
    without_noise: RowScore
    random: RowScore
    better: float  # mean gain over random rows
    error: float  # its standard error
    low: float = 0.0  # the worst and the best gain of a surface: real answers are one surface
    high: float = 1.0

    @property
    def verdict(self) -> str:
        """Whether the search beats random rows, by how much of what a search without noise would gain."""
        most = self.without_noise.gain - self.random.gain
        if self.random.gain >= ENOUGH:
            return "random rows do"
        if self.better > max(2 * self.error, 0.02):
            return "helps" if self.better >= 0.5 * most else "helps a little"
        return "no better than random rows" if self.better + 2 * self.error < 0.1 else "unclear: try more surfaces"


@dataclass(frozen=True)
class TableTrial:
    """What ``try_out`` found, with all that decides it."""

    rows: int
    columns: int
    queries: int
    noise: float  # standard deviation on each number of the table, in scaled units
    shares: tuple[float, ...]  # the same as a share of each column's width
    answer_noise: float  # as a share of the width of the answers' bounds
    surfaces: int
    batch: int
    rank: int  # the largest that leaves the singular values of these rows as they are, for the published projection
    outcomes: tuple[Outcome, ...]

    def __getitem__(self, informative: int) -> Outcome:
        """Of the lengths over which answers may change, the one at which the table helps least."""
        return min((o for o in self.outcomes if o.informative == informative), key=lambda o: o.better)

    def __str__(self) -> str:
        lines = [
            f"{'columns that':15}{'over a share':>14}{'with this table':>36}{'without noise':>20}{'random rows':>20}",
            f"{'carry the answer':15}{'of the spread':>14}{'gain (of surfaces)   rank  best':>35}"
            + f"{'gain  rank  best':>20}" * 2,
        ]
        for o in self.outcomes:
            spread = f"{o.found.gain:.2f} ({o.low:.2f} to {o.high:.2f})"
            cells = f"{spread:>24}{o.found.rank:6.0f}{o.found.best:6.0%}"
            cells += "".join(f"{s.gain:8.2f}{s.rank:6.0f}{s.best:6.0%}" for s in (o.without_noise, o.random))
            lines.append(f"{o.informative:<15}{o.smooth:14g}{cells}   {o.verdict}")
        return "\n".join(lines)

    @property
    def advice(self) -> str:
        """When outsourcing helps at this noise, in a sentence."""
        verdicts = {
            k: [o.verdict for o in self.outcomes if o.informative == k] for k in {o.informative for o in self.outcomes}
        }
        always = [k for k, row in sorted(verdicts.items()) if all(v.startswith("helps") for v in row)]
        sometimes = [k for k, row in sorted(verdicts.items()) if any(v.startswith("helps") for v in row)]
        if listed := ", ".join(map(str, always or sometimes)):
            unless = "" if always else ", and only if answers change over the lengths for which the table says so"
            columns = f"where {listed} of the {self.columns} columns carry the answer"
            return f"At this noise outsourcing helps {columns}{unless}."
        if all(o.random.gain >= ENOUGH for o in self.outcomes):
            return f"Random rows do: the best of {self.queries} is about as good as the best of all. Publish no table."
        return (
            "At this noise outsourcing was not seen to beat random rows. Take smaller scales (they hide less), a "
            "larger epsilon, more queries, or leave out columns that say nothing of the answer."
        )

    def to_json(self) -> Json:
        outcomes = [{**asdict(o), "verdict": o.verdict} for o in self.outcomes]
        return {**asdict(self), "shares": list(self.shares), "outcomes": outcomes}


def made_up_rows(rows: int, widths: Sequence[float], seed: int = 0) -> Array:
    """Rows spread evenly over columns of these widths: a stand-in where only public numbers may be used.

    >>> made_up_rows(1000, (35.0, 0.2)).shape
    (1000, 2)
    """
    sizes = np.array([positive("width", w) for w in widths])
    return np.random.default_rng(seed).uniform(0.0, sizes, (min(count("rows", rows), MOST_ROWS), len(sizes)))


def try_out(
    rows: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float,
    scale: npt.ArrayLike | None = None,
    distance: float = 1.0,
    dimensions: int | None = None,
    answers: PrivateAnswers | None = None,
    queries: int = 50,
    informative: Sequence[int] | None = None,
    surfaces: int = 8,
    smooth: float | Sequence[float] = SMOOTH,
    batch: int = BATCH,
    seed: int = 0,
    progress: Callable[[], None] | None = None,
) -> TableTrial:
    """Search made-up answers over these rows as a modeler would, with the noise of this epsilon.

    Guarantee. None is needed for made-up rows; with private rows the result is private, like the rows.
    ``smooth`` is the length over which answers change, as a share of each column's spread, or several such.

    Edges. Of more than 5,000 rows a random part is searched. The modeler learns the
    length-scales as `tacit modeler run` does, but asks for ``batch`` rows at a time, which is quicker to try: one at a
    time finds as much or more. Made-up answers span their bounds.

    >>> trial = try_out(made_up_rows(300, (40.0, 40.0)), epsilon=3.0, delta=1e-4, queries=20, surfaces=2)
    >>> [o.informative for o in trial.outcomes], trial[1].found.gain > 0.5
    ([1, 1, 2, 2], True)
    """
    X = np.asarray(rows, dtype=np.float64)
    if X.ndim != 2 or len(X) < 2 or not np.isfinite(X).all():
        raise BadInput(f"rows must be two or more rows of finite numbers, got {type_and_shape(X)}")
    generator = np.random.default_rng(count("seed", seed, least=0))
    if len(X) > MOST_ROWS:
        X = X[np.sort(generator.choice(len(X), MOST_ROWS, replace=False))]
    n, d = X.shape
    projection = NoisyProjection(
        d,
        epsilon=epsilon,
        delta=delta,
        scale=scale,
        distance=distance,
        dimensions=dimensions,
        noise=Simulation(generator),
    )
    ks = count_informative(X, informative)
    scaled = X / projection.divisor
    widths = np.ptp(scaled, axis=0)
    spreads = np.minimum(widths, math.sqrt(12) * scaled.std(axis=0))  # of evenly spread rows, the width
    usable = np.flatnonzero(widths > 0)
    lengths = [positive("smooth", s) for s in (smooth if isinstance(smooth, Sequence) else [smooth])]
    asked = min(count("queries", queries), n)
    answer_noise = 0.0 if answers is None else 1.0 / answers.budget.mu()
    outcomes = []
    for k, length in itertools.product(ks, lengths):
        cells = np.empty((3, count("surfaces", surfaces), 3))  # how, surface, what of it
        for at in range(surfaces):
            chosen = generator.choice(usable, k, replace=False)
            f = _surface(scaled[:, chosen] / (length * spreads[chosen]), generator)
            Z = np.concatenate(list(projection.blocks(X)))
            for how, (table, noise) in enumerate(((Z, projection.scale_of_noise), (scaled, 0.0))):
                source = _MadeUp(table, f, noise, projection, answer_noise if how == 0 else 0.0, generator)
                row = _find(source, asked, batch, int(generator.integers(2**31)))
                cells[how, at] = _score(f, np.array([row]))
            cells[2, at] = _score(f, _random_rows(f, asked, answer_noise, generator))
            if progress:
                progress()
        over = cells[0, :, 0] - cells[2, :, 0]
        error = float(over.std(ddof=1) / math.sqrt(surfaces)) if surfaces > 1 else math.inf
        scores = [RowScore(float(c[:, 0].mean()), float(np.median(c[:, 1])), float(c[:, 2].mean())) for c in cells]
        ends = float(cells[0, :, 0].min()), float(cells[0, :, 0].max())
        outcomes.append(Outcome(k, length, scores[0], scores[1], scores[2], float(over.mean()), error, *ends))
    rank = largest_rank(smallest_singular_value(scaled), epsilon=epsilon, delta=delta)
    shares = tuple(float(projection.scale_of_noise / w) if w > 0 else math.inf for w in widths)
    return TableTrial(
        n, d, asked, projection.scale_of_noise, shares, answer_noise, surfaces, batch, rank, tuple(outcomes)
    )


def _find(source: _MadeUp, queries: int, batch: int, seed: int) -> int:
    return Modeler(source, batch=batch, seed=seed).run(queries).row


def count_informative(rows: Array, wanted: Sequence[int] | None = None) -> list[int]:
    """How many columns carry the answer in turn: those wanted, or 1, 2, 3, 5 and all that are not constant."""
    usable = int((np.ptp(rows, axis=0) > 0).sum())
    if not usable:
        raise BadInput("every column is constant: no answer depends on any of them")
    if wanted is None:
        return sorted({k for k in (*INFORMATIVE, usable) if k <= usable})
    if not wanted or any(not 1 <= k <= usable for k in wanted):
        raise BadInput(f"informative columns are 1 to {usable}, got {', '.join(map(str, wanted)) or 'none'}")
    return sorted(set(wanted))


class _MadeUp:
    """A source for a modeler: a table, and answers that nobody has to protect."""

    def __init__(
        self, table: Table, values: Array, noise: float, made: NoisyProjection, answer_noise: float, generator: Any
    ) -> None:
        self._table, self._values, self._answer_noise, self._generator = table, values, answer_noise, generator
        none = Guarantee.none("made-up answers, for planning", "a row that was made up")
        n, r = table.shape
        about = made.about() if r == made.dimensions else {}
        self._terms = Published("made-up", n, r, "noisy", noise, answer_noise, n, none, none, "", about=about)

    def published(self) -> Published:
        return self._terms

    def table(self) -> Table:
        return self._table

    def answers(self) -> list[Answer]:
        return []

    def ask(self, rows: Sequence[int], *, request: str) -> list[Answer]:
        noise = (
            self._generator.normal(0.0, self._answer_noise, len(rows)) if self._answer_noise else np.zeros(len(rows))
        )
        return [Answer(row, float(self._values[row] + e)) for row, e in zip(rows, noise, strict=True)]


def _surface(points: Array, generator: np.random.Generator) -> Array:
    """A draw of a Gaussian process of length-scale 1 at these points (n, k), by random features; from 0 to 1."""
    frequencies = generator.normal(size=(points.shape[1], FEATURES))
    phases, weights = generator.uniform(0, 2 * math.pi, FEATURES), generator.normal(size=FEATURES)
    f = np.cos(points @ frequencies + phases) @ weights
    low, high = float(f.min()), float(f.max())
    return np.asarray((f - low) / (high - low) if high > low else f * 0.0)


def _score(f: Array, rows: npt.NDArray[np.int64]) -> tuple[float, float, float]:
    """Gain, rank and whether it is the best row, on average over these rows."""
    mean, best = float(f.mean()), float(f.max())
    gain = (f[rows] - mean) / (best - mean) if best > mean else np.ones(len(rows))
    ordered = np.sort(f)
    ranks = len(f) - np.searchsorted(ordered, f[rows], side="right") + 1
    return float(gain.mean()), float(np.median(ranks)), float((ranks == 1).mean())


def _random_rows(f: Array, queries: int, answer_noise: float, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """The row with the best answer of as many random rows, several times over."""
    best_rows = []
    for _ in range(PICKS):
        rows = generator.choice(len(f), queries, replace=False)
        best_rows.append(
            rows[np.argmax(f[rows] + (generator.normal(0.0, answer_noise, queries) if answer_noise else 0.0))]
        )
    return np.array(best_rows)
