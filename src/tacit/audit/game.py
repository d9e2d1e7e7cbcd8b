"""Games: two neighbouring data sets, a way to run a mechanism on either, and what was claimed of it.

A new game is one function that returns a ``Game``: name it in ``tacit.audit.games.GAMES`` (or leave it in your own
module, as ``tacit audit my_module:game``). Its ``draw(side, runs, noise)`` gives the outputs of ``runs`` independent
runs on the data set (side 0) or its neighbour (side 1). ``tacit.audit.run_game`` runs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.bounds import counted
from tacit.errors import BadInput, type_and_shape
from tacit.files import Json
from tacit.privacy.conversions import gdp_epsilon
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import EXACT, Simulation, Source

Outputs = NDArray[Any]
DELTA = 1e-5  # where epsilon is compared if the claim leaves it open
SIMULATED, EXACTLY = "simulated noise, same code", "exact draws"
WIDE = 40  # letters of the longest bar


@dataclass(frozen=True)
class Game:
    """A claim put to the test: how to draw outputs on the data set and on its neighbour.

    ``claim`` None means that nothing is claimed: the game then shows how much is lost. ``exact`` says whether runs
    take exact noise unless asked otherwise; a simulated run passes through the same code with seeded NumPy noise.
    ``conditional`` says why a measured value above the claim would not contradict it. ``share`` is the share of the
    claim that the draws of one run spend, to three digits; ``apart`` says why draws one by one do not tell it.
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
    share: float = 1.0
    apart: str = ""

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
    event: Json = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        if math.isinf(self.claimed):
            return "unbounded" if self.separated else "nothing claimed"
        if self.measured <= self.claimed:
            return "within the claim"
        return "above a conditional claim" if self.conditional else "BROKEN"

    def to_json(self) -> Json:
        claimed = None if math.isinf(self.claimed) else self.claimed
        return {**self.__dict__, "claimed": claimed, "verdict": self.verdict, "tightness": self.tightness}

    @classmethod
    def from_json(cls, document: Json) -> Audit:
        """An audit read back; KeyError or TypeError if it is none."""
        given = {f.name: document[f.name] for f in fields(cls)}
        return cls(**{**given, "claimed": math.inf if given["claimed"] is None else float(given["claimed"])})

    @property
    def tightness(self) -> float | None:
        """Measured over claimed."""
        return self.measured / self.claimed if 0 < self.claimed < math.inf else None

    def sentences(self) -> list[str]:
        """What the numbers mean."""
        times = f"{self.runs} runs on each data set" if self.runs > 1 else f"one run, {self.event['canaries']} canaries"
        at = f" at delta = {self.delta:g}" if self.delta else ""
        lines = [
            f"Epsilon{at} is at least {self.measured:.4g}, with {self.confidence:.0%} confidence ({times}, "
            f"{self.noise}, {self.seconds:.1f} s)."
        ]
        if self.verdict == "BROKEN":
            lines.append("That is more than was claimed: the mechanism, or its claim, is wrong.")
        if self.separated:
            lines.append(
                "Every output distinguished the two data sets: the bound is all that so many runs can show, and grows "
                "with their number."
            )
        return lines + [f"Conditional: {self.conditional}."] * bool(self.conditional)

    def __str__(self) -> str:
        finite = math.isfinite(self.claimed)
        most = max(self.measured, self.claimed if finite else 0.0, 1e-9)
        bar = f"  claimed   {self.claimed:8.4g}  {_bar(self.claimed / most)}  {self.claim}" if finite else ""
        lines = [f"{self.name}: {self.verdict}", f"  {self.about}", "", bar or "  claimed   nothing"]
        lines += [f"  measured  {self.measured:8.4g}  {_bar(self.measured / most)}  at least", ""]
        return "\n".join([*lines, *(f"  {sentence}" for sentence in self.sentences())])


def _bar(share: float) -> str:
    return "█" * max(0, round(WIDE * share)) or "▏"


def score_outputs(
    game: Game, here: Outputs, there: Outputs, *, confidence: float = 0.99, seconds: float = 0.0, noise: str = SIMULATED
) -> Audit:
    """The audit of outputs that were drawn."""
    counts = counted(here, there, delta=game.at, confidence=confidence, family=game.family)
    measured = counts.epsilon
    if game.family == "gdp":
        measured = gdp_epsilon(counts.mu, game.at) if counts.mu > 0 else 0.0
    event = {
        "score": counts.score,
        "seen": [counts.seen, counts.of, counts.seen_of_neighbour, counts.of_neighbour],
    }
    claim = str(game.claim) if game.claim is not None else "none"
    head = (game.name, game.about, game.claimed, measured, game.at, confidence, min(len(here), len(there)))
    return Audit(*head, seconds, noise, claim, game.conditional, counts.separated, event)


def part_sizes(game: Game, runs: int) -> list[int]:
    """The sizes of the parts in which runs are made: they can be made elsewhere, and kept."""
    size = game.chunk or max(20, -(-game.runs // 10))
    return [min(size, runs - i) for i in range(0, runs, size)]


def draw_part(game: Game, side: int, number: int, runs: int, *, exact: bool, seed: int = 0) -> Outputs:
    """The outputs of one part, shape (runs,) or (runs, size)."""
    noise: Source = EXACT if exact else Simulation(np.random.default_rng((seed, side, number)))
    outputs = np.asarray(game.draw(side, runs, noise))
    if outputs.ndim not in (1, 2) or len(outputs) != runs:
        raise BadInput(f"game {game.name!r} must give {runs} outputs for {runs} runs, got {type_and_shape(outputs)}")
    return outputs


def repeat(one: Callable[[Source], Any]) -> Callable[[int, Source], Outputs]:
    """Outputs of many runs from a function that makes one."""
    return lambda runs, noise: np.array([one(noise) for _ in range(runs)])
