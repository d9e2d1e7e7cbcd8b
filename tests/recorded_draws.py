"""What a run really spends, from the draws that a recorder wrote down: composition in formulas of its own.

    loss of a draw      |a - b|_2 / scale for Gaussian noise, |a - b|_1 / scale for Laplace noise, the range of a - b
                        over the scale for a choice by Gumbel noise; a and b are what entered it on two neighbours
    together            squares of Gaussian losses add up to mu^2 (Dong, Roth and Su 2022); pure losses add up; a pure
                        loss e in a Gaussian sum counts with the mu of randomised response, a range with half of it
    lots                a step that a record meets by chance: its loss distribution, rounded down, composed by FFT

Nothing here calls an accountant of tacit.
"""

from __future__ import annotations

import contextlib
import math
import random
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from unittest import mock

import mpmath
import numpy as np
from numpy.typing import NDArray

from tacit.audit.recorder import Entered, Recorder, Tape
from tacit.privacy.guarantee import Budget
from tacit.privacy.worst_pair import WorstPair
from tacit.training import secret_lots

DELTA = 1e-5  # where epsilons are compared if the claim names no delta
ROUNDING = 1e-8  # of a claim: what the rooms for lattices and sums may leave, relative


@dataclass(frozen=True)
class Losses:
    """The losses of all draws of one run on two neighbours."""

    gaussian: tuple[float, ...] = ()
    pure: tuple[float, ...] = ()  # of Laplace noise
    ranges: tuple[float, ...] = ()  # of choices
    lots: tuple[tuple[str, float], ...] = ()  # how each lot was drawn, and with which rate

    @property
    def mu(self) -> float:
        """Of everything together."""
        squares = [loss**2 for loss in self.gaussian]
        squares += [response_mu(loss) ** 2 for loss in self.pure] + [response_mu(loss / 2) ** 2 for loss in self.ranges]
        return math.sqrt(math.fsum(squares))

    @property
    def epsilon(self) -> float:
        """Of pure draws alone; infinite if some are Gaussian."""
        return math.inf if any(self.gaussian) else math.fsum((*self.pure, *self.ranges))

    def spent(self, claim: Budget) -> tuple[float, float]:
        """What was spent and what was claimed, in the unit of the claim."""
        if self.lots:
            at = claim.delta or DELTA
            return lots_epsilon(self, at), claimed_epsilon(claim, at)
        if claim.notion == "gdp":
            return self.mu, claim.amount
        if claim.notion == "pure":
            return self.epsilon, claim.amount
        if claim.notion == "zcdp":
            squares = [loss**2 / 2 for loss in (*self.gaussian, *self.pure)] + [loss**2 / 8 for loss in self.ranges]
            return math.fsum(squares), claim.amount
        least = min(self.epsilon, gaussian_epsilon(self.mu, claim.delta)) if claim.delta else self.epsilon
        return least, claim.amount


@cache
def response_mu(epsilon: float) -> float:
    """mu of randomised response that tells the truth with odds e^epsilon: the least that every pure draw is below."""
    if epsilon == 0:
        return 0.0
    return float(2 * math.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(epsilon) / 2)))


def gaussian_delta(mu: float, epsilon: Any) -> Any:
    """Delta of mu-GDP at epsilon (Balle and Wang 2018, Theorem 8), to 40 digits."""
    with mpmath.workdps(40):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Epsilon of mu-GDP at delta, by bisection."""
    if mu == 0 or gaussian_delta(mu, 0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
    for _ in range(42):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return high


def claimed_epsilon(claim: Budget, delta: float) -> float:
    return gaussian_epsilon(claim.amount, delta) if claim.notion == "gdp" else claim.amount


# Lots


def lots_epsilon(losses: Losses, delta: float) -> float:
    """Epsilon at delta of steps over random lots, rounded down: by the worst that the other records can be.

    Without replacement the others may add what one of the two records adds, so a lot shows N(0) or, with the rate as
    probability, N(1). Poisson lots show (1-q) N(0) + q N(+-1/2).
    """
    (kind, rate), *others = set(losses.lots)
    assert not others, "every step draws its lot alike"
    steps = len(losses.lots)
    draws, rest = divmod(len(losses.gaussian), steps)  # of one step: a network's layers may be drawn one by one
    assert rest == 0 or len(losses.gaussian) == 1, "as many draws in every step"
    loss = math.sqrt(max(np.add.reduceat(np.square(losses.gaussian), range(0, len(losses.gaussian), max(draws, 1)))))
    outcome = np.linspace(-30 / loss, 30 / loss, 60_001)
    normal = lambda mean: np.exp(-((outcome - mean) ** 2) * loss**2 / 2)  # noqa: E731
    if kind == "without_replacement":
        P, Q = (1 - rate) * normal(0.0) + rate * normal(1.0), normal(0.0)
    else:
        P, Q = ((1 - rate) * normal(0.0) + rate * normal(side) for side in (0.5, -0.5))
    both = [composed_epsilon(a / a.sum(), b / b.sum(), steps, delta) for a, b in ((P, Q), (Q, P))]
    return max(both)


def composed_epsilon(P: NDArray[Any], Q: NDArray[Any], steps: int, delta: float, width: float = 1e-4) -> float:
    """Epsilon at delta of ``steps`` draws of (P, Q), each loss rounded down to a multiple of ``width``."""
    kept = (P > 1e-18) & (Q > 1e-300)
    index = np.floor(np.log(P[kept] / Q[kept]) / width).astype(int)
    size = 2**18
    low = index.min()
    masses = np.bincount(index - low, P[kept])
    assert len(masses) < size
    composed = np.maximum(np.fft.irfft(np.fft.rfft(masses, size) ** steps, size), 0.0)
    # where the sum wraps round: its mean is known, and it is far narrower than the circle
    mean = steps * float(masses @ np.arange(len(masses)))
    first = int(mean - size / 2)
    loss = (np.arange(first, first + size) + steps * low) * width
    mass = np.roll(composed, -(first % size))
    mass[mass < 1e-14] = 0.0
    loss, mass = loss[loss > 0], mass[loss > 0]
    # delta at epsilon is the mass of larger losses, less e^epsilon times what the other side gives them
    above = np.cumsum(mass[::-1])[::-1]
    other = np.cumsum((mass * np.exp(-loss))[::-1])[::-1]
    enough = np.flatnonzero(above - np.exp(loss) * other > delta)
    at = int(enough[-1]) + 1 if enough.size else 0  # delta is reached between the loss before and this one
    return max(0.0, math.log(max((above[at] - delta) / other[at], 1.0)))


def stopping_loss(tape: Tape, other: Tape) -> float:
    """Of the sparse vector technique that stops at its first yes: the largest ratio of chances to stop at one place.

    The threshold's noise comes first, then that of all queries; the chances are integrals over the threshold's noise.
    """

    def chances(entered: list[Entered]) -> NDArray[Any]:
        threshold, queries = entered
        rho = np.linspace(-60, 60, 1_200_001) * threshold.scale
        density = np.exp(-np.abs(rho) / threshold.scale)
        passed = np.ones_like(rho)
        stops = []
        for value in queries.value.ravel():
            far = (0.5 + rho - value) / queries.scale
            yes = np.where(far > 0, 0.5 * np.exp(-np.maximum(far, 0.0)), 1 - 0.5 * np.exp(np.minimum(far, 0.0)))
            stops.append(float((density * passed * yes).sum()))
            passed = passed * (1 - yes)
        return np.array([*stops, float((density * passed).sum())])

    return float(np.abs(np.log(chances(tape.entered)) - np.log(chances(other.entered))).max())


# Playing


@dataclass
class Coins:
    """Public and secret coins other than noise, the same in every play; and the lots that were drawn with them."""

    lots: list[tuple[str, float]] = field(default_factory=list)

    @contextlib.contextmanager
    def fixed(self) -> Iterator[None]:
        generator, fresh = np.random.default_rng(7), np.random.default_rng

        def words(count: int) -> Any:
            return generator.integers(2**64, size=count, dtype=np.uint64)

        def rng(seed: Any = None) -> Any:
            return fresh(generator.integers(2**62) if seed is None else seed)

        def lot(draw: Callable[..., Any], kind: str) -> Callable[..., Any]:
            def note(records: int, asked: float, *noise: Any) -> Any:
                drawn = draw(records, asked, *noise)
                self.lots.append((kind, len(drawn) / records if kind == "without_replacement" else asked))
                return drawn

            return note

        noted = {
            secret_lots.draw_lot: lot(secret_lots.draw_lot, "without_replacement"),
            secret_lots.draw_poisson_lot: lot(secret_lots.draw_poisson_lot, "poisson"),
        }
        with contextlib.ExitStack() as stack:
            for name, module in list(sys.modules.items()):
                for attribute, value in list(vars(module).items()) if name.startswith("tacit.training.") else ():
                    if callable(value) and getattr(value, "__hash__", None) and value in noted:
                        stack.enter_context(mock.patch.object(module, attribute, noted[value]))
            stack.enter_context(mock.patch.object(secret_lots, "random_words", words))
            stack.enter_context(mock.patch.object(np.random, "default_rng", rng))
            python = random.Random(7)
            for name in ("randbits", "choice", "SystemRandom"):
                fixed = {"randbits": python.getrandbits, "choice": python.choice, "SystemRandom": lambda: python}[name]
                stack.enter_context(mock.patch.object(secrets, name, fixed))
            yield


def record(pair: WorstPair, side: int, recorder: Recorder) -> tuple[Tape, list[tuple[str, float]]]:
    coins = Coins()
    with coins.fixed():
        pair.play(side, recorder)
    return recorder.tape, coins.lots


def losses_of(pair: WorstPair, seed: int = 3) -> Losses:
    """Play both sides. The second meets the answers of the first, as an observer does who compares the two; where some
    answers stay inside, its own answers with the same noise."""
    replay = "coins" if pair.inside else "answers"
    first, lots = record(pair, 0, Recorder(seed))
    second, same = record(pair, 1, Recorder(seed, tape=first, replay=replay))
    assert [e.public for e in first.entered] == [e.public for e in second.entered], "what is drawn depends on the data"
    assert first.entered, "nothing was drawn from the source: pass the noise on, and add it to the values themselves"
    assert lots == same
    found: dict[str, list[float]] = {"gaussian": [], "pure": [], "ranges": []}
    for a, b in zip(first.entered, second.entered, strict=True):
        kind, loss = loss_of(a, b)
        if a.kind not in pair.inside:
            found[kind].append(loss)
    return Losses(**{kind: tuple(values) for kind, values in found.items()}, lots=tuple(lots))


def loss_of(a: Entered, b: Entered) -> tuple[str, float]:
    gap = a.value - b.value
    if a.kind.startswith("gaussian"):
        return "gaussian", math.sqrt(math.fsum((gap.ravel() / a.scale) ** 2))
    if a.kind == "laplace":
        return "pure", math.fsum(np.abs(gap.ravel()) / a.scale)
    assert a.kind == "gumbel", f"no formula for {a.kind}"
    return "ranges", float(gap.max() - gap.min()) / a.scale
