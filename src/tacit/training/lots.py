"""What the DP-SGD family shares: lots without replacement, the paper's domains, and the privacy oracle.

epochs    T, passes; T floor(n / m) steps        variance  sigma^2: noise on the sum of a lot is 2 L sigma
lot       m, examples drawn for each step        clip      L, norm to which each example's gradient is cut
rate      learning rate
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import epsilon
from tacit.errors import BadInput, count, positive
from tacit.privacy.epsilon_surface import EpsilonSurface
from tacit.space import Array, Float, Int, Params, Space

ACCOUNTING = "dominating pair of one step (Balle2018, Zhu2022), composed as a privacy loss distribution"
LARGEST = 1e9  # of a hyperparameter: within it, no number below overflows
BLOCK = 65_536  # indices or normals drawn together, per model


@dataclass(frozen=True)
class LotSettings:
    """One configuration of DP-SGD, checked against the number of examples."""

    epochs: int
    lot: int
    rate: float
    variance: float
    clip: float
    records: int

    @classmethod
    def of(cls, params: Mapping[str, Any], records: int) -> LotSettings:
        try:
            epochs, lot = count("epochs", params["epochs"]), count("lot", params["lot"])
            rate, variance, clip = (positive(name, params[name]) for name in ("rate", "variance", "clip"))
        except KeyError as missing:
            raise BadInput(f"DP-SGD needs epochs, lot, rate, variance and clip; {missing} is missing") from None
        largest = max(epochs, rate, variance, clip)
        if largest > LARGEST:
            raise BadInput(f"epochs, rate, variance and clip must be at most 1e9, got {largest:g}")
        if lot > records:
            raise BadInput(f"lot must be at most the number of examples, got lot={lot} with {records} examples")
        return cls(epochs, lot, rate, variance, clip, records)

    @property
    def steps(self) -> int:
        return self.epochs * (self.records // self.lot)

    @property
    def multiplier(self) -> float:
        """sigma: the noise in units of the sensitivity of a sum."""
        return float(self.variance**0.5)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise on the sum of a lot's clipped gradients."""
        return 2 * self.clip * self.multiplier

    def block(self, width: int) -> int:
        """Steps whose coins are drawn together: fixed by the configuration, so that repeats do not change them."""
        return max(1, min(self.steps, BLOCK // max(self.lot, width)))


class Steps(NamedTuple):
    """What an accountant asks of some configurations: noise in units of the sensitivity, lot, steps, each (n,)."""

    noise: Array
    lot: Array
    steps: Array
    records: int

    @classmethod
    def of(cls, params: Sequence[Params], records: int) -> Steps:
        s = [LotSettings.of(p, records) for p in params]
        noise, lot, steps = (np.array([getattr(x, name) for x in s], float) for name in ("multiplier", "lot", "steps"))
        return cls(noise, lot, steps, records)


def epsilons(asked: Steps, delta: float, *, sampling: str, adjacency: str) -> Array:
    """Epsilon of DP-SGD and DP-Adam for some configurations, (n,): milliseconds each.

    Follows. ``tacit.accounting``. Adam only post-processes the noisy gradients, so it costs the same.
    """
    rest: dict[str, Any] = {"records": asked.records, "lot": asked.lot, "steps": asked.steps, "delta": delta}
    return np.asarray(epsilon(noise=asked.noise, **rest, sampling=sampling, adjacency=adjacency), float)


@lru_cache(maxsize=16)
def epsilon_surface(delta: float, about: str, sampling: str, adjacency: str) -> EpsilonSurface:
    """What is learnt of epsilon over a space, shared by all that ask ``about`` it in this process."""
    return EpsilonSurface(delta, sampling=sampling, adjacency=adjacency)


def distinct_lots(rng: np.random.Generator, records: int, lot: int, many: int) -> NDArray[np.int32]:
    """``many`` lots of distinct examples, each uniform among all lots, shape (many, lot), each in rising order.

    Values that repeat are drawn again until all are distinct. Nothing here favours one example over another, so all
    lots are equally likely. Large lots are the head of a random order instead.
    """
    if 4 * lot > records:
        orders = rng.permuted(np.broadcast_to(np.arange(records, dtype=np.int32), (many, records)), axis=1)
        return np.sort(orders[:, :lot], axis=1)
    lots = np.sort(rng.integers(records, size=(many, lot), dtype=np.int32), axis=1)
    todo = np.arange(many)
    while True:
        part = lots[todo]
        again = part[:, 1:] == part[:, :-1]
        clashing = again.any(axis=1)
        if not clashing.any():
            return lots
        todo, part, again = todo[clashing], part[clashing], again[clashing]
        part[:, 1:][again] = rng.integers(records, size=int(again.sum()), dtype=np.int32)
        lots[todo] = np.sort(part, axis=1)


def domain(kind: str, records: int) -> Space:
    """The paper's optimisation domain (Avent2020 Table 1), its lots cut to the number of examples.

    Differs. Every axis is on a log scale; the paper does not say.
    """
    epochs, lot, rate, clip = {
        "adult": (64, (8, 512), (5e-4, 5e-2), 4.0),
        "mnist": (400, (16, 4000), (1e-3, 5e-1), 12.0),
    }[kind]
    return Space(
        {
            "epochs": Int(1, epochs, log=True),
            "lot": Int(min(lot[0], records), min(lot[1], records), log=True),
            "rate": Float(*rate, log=True),
            "variance": Float(0.1, 16.0, log=True),
            "clip": Float(0.1, clip, log=True),
        }
    )
