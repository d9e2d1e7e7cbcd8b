"""Games: two neighbouring data sets, a way to run a mechanism on either, and what was claimed of it.

A new game is one function that returns a ``Game``: name it in ``tacit.audit.games.GAMES`` (or leave it in your own
module, as ``tacit audit my_module:game``). Its ``draw(side, runs, noise)`` gives the outputs of ``runs`` independent
runs on the data set (side 0) or its neighbour (side 1). The games of this file are those of the mechanisms.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.bounds import counted
from tacit.errors import BadInput, count, described
from tacit.privacy.conversions import gdp_epsilon
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.privacy.mechanisms import Exponential, Gaussian, Laplace
from tacit.privacy.noise import EXACT, Simulation, Source

Outputs = NDArray[Any]
DELTA = 1e-5  # where epsilon is compared if the claim leaves it open
SIMULATED, EXACTLY = "simulated noise, same code", "exact draws"


@dataclass(frozen=True)
class Game:
    """A claim put to the test: how to draw outputs on the data set and on its neighbour.

    ``claim`` None means that nothing is claimed: the game then shows how much is lost. ``exact`` says whether runs
    take exact noise unless asked otherwise; a simulated run passes through the same code with seeded NumPy noise.
    ``conditional`` says why a measured value above the claim would not contradict it.
    """

    name: str
    about: str
    claim: Budget | None
    draw: Callable[[int, int, Source], Outputs]
    delta: float = DELTA
    runs: int = 100_000
    exact: bool = False
    conditional: str = ""
    chunk: int = 0  # runs made at once; 0 for a tenth of the usual number

    @property
    def family(self) -> str:
        """Gaussian claims are tested as such: a smaller mu is refuted long before a smaller epsilon is."""
        return "gdp" if self.claim is not None and self.claim.notion == "gdp" else "any"

    @property
    def at(self) -> float:
        """The delta at which claimed and measured epsilon are compared."""
        if self.claim is None or self.claim.notion in ("gdp", "zcdp"):
            return self.delta
        return self.claim.delta

    @property
    def claimed(self) -> float:
        """The claimed epsilon; infinite if nothing is claimed."""
        return math.inf if self.claim is None else self.claim.epsilon(self.at)


@dataclass(frozen=True)
class Audit:
    """What was claimed, and what was measured."""

    name: str
    about: str
    claimed: float
    measured: float
    delta: float
    confidence: float
    runs: int
    seconds: float
    noise: str
    claim: str
    conditional: str = ""
    separated: bool = False
    event: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        if math.isinf(self.claimed):
            return "unbounded" if self.separated else "nothing claimed"
        if self.measured <= self.claimed:
            return "within the claim"
        return "above a conditional claim" if self.conditional else "BROKEN"

    def to_json(self) -> dict[str, Any]:
        claimed = None if math.isinf(self.claimed) else self.claimed
        return {**self.__dict__, "claimed": claimed, "verdict": self.verdict, "tightness": self.tightness}

    @property
    def tightness(self) -> float | None:
        """Measured over claimed."""
        return self.measured / self.claimed if 0 < self.claimed < math.inf else None


def scored(
    game: Game, here: Outputs, there: Outputs, *, confidence: float = 0.99, seconds: float = 0.0, noise: str = SIMULATED
) -> Audit:
    """The audit of outputs that were drawn."""
    found = counted(here, there, delta=game.at, confidence=confidence, family=game.family)
    measured = found.epsilon
    if game.family == "gdp":
        measured = gdp_epsilon(found.mu, game.at) if found.mu > 0 else 0.0
    event = {"score": found.score, "seen": [found.seen, found.of, found.seen_of_neighbour, found.of_neighbour]}
    claim = str(game.claim) if game.claim is not None else "none"
    head = (game.name, game.about, game.claimed, measured, game.at, confidence, min(len(here), len(there)))
    return Audit(*head, seconds, noise, claim, game.conditional, found.separated, event)


def played(
    game: Game,
    runs: int | None = None,
    *,
    confidence: float = 0.99,
    exact: bool | None = None,
    seed: int = 0,
    tell: Callable[[int], None] = lambda done: None,
) -> Audit:
    """Draw ``runs`` outputs on each data set and score them.

    Edges. Simulated runs are the same for the same seed; exact ones never are.

    >>> played(gaussian(), 4000).verdict
    'within the claim'
    """
    wanted = count("runs", game.runs if runs is None else runs, least=40)
    real = game.exact if exact is None else exact
    start = time.perf_counter()
    drawn: tuple[list[Outputs], list[Outputs]] = ([], [])
    for number, size in enumerate(chunks(game, wanted)):
        for side in (0, 1):
            drawn[side].append(chunk(game, side, number, size, exact=real, seed=seed))
        tell(size)
    here, there = (np.concatenate(parts) for parts in drawn)
    seconds = time.perf_counter() - start
    return scored(game, here, there, confidence=confidence, seconds=seconds, noise=EXACTLY if real else SIMULATED)


def chunks(game: Game, runs: int) -> list[int]:
    """The sizes of the parts in which runs are made: they can be made elsewhere, and kept."""
    size = game.chunk or max(20, -(-game.runs // 10))
    return [min(size, runs - i) for i in range(0, runs, size)]


def chunk(game: Game, side: int, number: int, runs: int, *, exact: bool, seed: int = 0) -> Outputs:
    """The outputs of one part, shape (runs,) or (runs, size)."""
    noise: Source = EXACT if exact else Simulation(np.random.default_rng((seed, side, number)))
    outputs = np.asarray(game.draw(side, runs, noise))
    if outputs.ndim not in (1, 2) or len(outputs) != runs:
        raise BadInput(f"game {game.name!r} must give {runs} outputs for {runs} runs, got {described(outputs)}")
    return outputs


def repeated(one: Callable[[Source], Any]) -> Callable[[int, Source], Outputs]:
    """Outputs of many runs from a function that makes one."""
    return lambda runs, noise: np.array([one(noise) for _ in range(runs)])


# Mechanisms. The values that enter are as far apart as the declared sensitivity allows.


def gaussian() -> Game:
    """Gaussian noise on a number that moves by the whole sensitivity."""
    made = Gaussian(1.0, budget=Budget.gdp(1.0))

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return noise.gaussian(np.full(runs, float(side)), made.scale)

    return Game("gaussian", "a number at 0, its neighbour at 1 = the sensitivity", made.guarantee.budget, draw)


def laplace() -> Game:
    """Laplace noise on a number that moves by the whole sensitivity."""
    made = Laplace(1.0, budget=Budget.pure(1.0))

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return noise.laplace(np.full(runs, float(side)), made.scale)

    return Game("laplace", "a number at 0, its neighbour at 1 = the sensitivity", made.guarantee.budget, draw)


def exponential() -> Game:
    """A choice among twenty: one score rises by the sensitivity where all others fall by it."""
    made = Exponential(1.0, budget=Budget.pure(1.0))
    scores = np.zeros(20), np.r_[1.0, np.full(19, -1.0)]

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        if isinstance(noise, Simulation):  # the same comparison of noisy scores, many at once
            noisy = scores[side] + noise.generator.gumbel(0.0, made.scale, (runs, 20))
            return np.asarray(np.argmax(noisy, axis=1))
        return np.array([noise.gumbel_argmax(scores[side], made.scale) for _ in range(runs)])

    about = "20 candidates; the neighbour's first score rises by the sensitivity, all others fall by it"
    return Game("exponential", about, made.guarantee.budget, draw)


def bounded_mean(records: int = 10) -> Game:
    """A mean of bounded losses: one record's loss is at the one end of the bounds, then at the other."""
    mean = BoundedMean(records, (0.0, 1.0), budget=Budget.gdp(1.0))
    totals = [mean.checked(np.r_[float(side), np.zeros(records - 1)]) for side in (0, 1)]

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return means(mean, totals[side], runs, noise)

    about = f"{records} records in [0, 1]; one record's loss goes from 0 to 1"
    return Game("mean", about, mean.guarantee.budget, draw)


def means(mean: BoundedMean, total: int, runs: int, noise: Source) -> Outputs:
    """``runs`` noisy means of one total of whole steps."""
    if isinstance(noise, Simulation):  # the same whole numbers, many at once
        noisy = total + np.rint(noise.generator.normal(0.0, mean.whole_scale, runs))
        return np.asarray(mean.bounds[0] + mean.width * (noisy / (mean.records * 2.0**32)))
    return np.array([mean.mean_of(noise.gaussian_whole(total, mean.whole_scale)) for _ in range(runs)])


MECHANISMS: Sequence[Callable[[], Game]] = (gaussian, laplace, exponential, bounded_mean)
