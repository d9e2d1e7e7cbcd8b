"""Epsilons of training by lots: Renyi, ours from above and below, dp-accounting's for Poisson lots, and speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks import Figure, timed
from benchmarks.papers._renyi import sampled_gaussian_epsilon
from tacit.accounting import epsilon, noise_below, sampled_profile
from tacit.privacy.dominating_pairs import POISSON, WITHOUT
from tacit.privacy.epsilon_surface import EpsilonSurface
from tacit.privacy.loss_distribution import compose
from tacit.privacy.lot_accounting import setting_epsilon
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.privacy.step_losses import loss_scale, step_losses

TITLE = "Tight epsilons of training by lots, 50 settings"
LONG = False
COUNT = 50


class Setting(NamedTuple):
    records: int
    lot: int
    variance: float
    steps: int
    delta: float

    @property
    def noise(self) -> float:
        return float(self.variance**0.5)

    @property
    def asked(self) -> dict[str, float]:
        return {"records": self.records, "lot": self.lot, "steps": self.steps, "delta": self.delta}

    def __str__(self) -> str:
        return f"{self.records:,}, {self.lot:,}, {self.variance:.4g}, {self.steps:,}, {self.delta:g}"


KNOWN = [
    Setting(57_214, 37, 0.8831084, 1_546, 1e-5),
    Setting(57_214, 13, 8.46854, 57_213, 1e-5),
    Setting(57_214, 9, 14.731835, 6_357, 1e-5),
    Setting(40_000, 128, 1.0, 6_250, 1e-6),
    Setting(40_000, 128, 0.25, 6_250, 1e-6),
    Setting(40_000, 512, 4.0, 780, 1e-5),
    Setting(60_000, 600, 1.21, 10_000, 1e-5),
    Setting(1_000, 100, 4.0, 200, 1e-5),
    Setting(1_000, 1_000, 25.0, 20, 1e-5),
]


def settings(seed: int = 0) -> list[Setting]:
    """Those known, then random: 1,000 to 200,000 records, 1 to 64 epochs, variance 0.16 to 16, delta 1e-8 to 1e-4."""
    rng, made = np.random.default_rng(seed), list(KNOWN)
    while len(made) < COUNT:
        records, variance = round(10 ** rng.uniform(3, 5.3)), float(10 ** rng.uniform(-0.8, 1.2))
        lot = min(records // 2, round(2 ** rng.uniform(3, 10)))
        steps = round(2 ** rng.uniform(0, 6)) * (records // lot)
        found = Setting(records, lot, variance, steps, float(10.0 ** rng.integers(-8, -3)))
        if 1e-3 < epsilon(noise=found.noise, **found.asked) < 50:
            made.append(found)
    return made


def from_below(pair: str, s: Setting) -> float:
    law = step_losses(pair, np.array([s.noise]), np.array([s.lot / s.records]), lower=True, fineness=16.0)
    return compose(law, [s.steps], (s.delta,), longest=2**20)[0].epsilon(s.delta)


def peer(s: Setting) -> float:
    """dp-accounting's privacy loss distribution, on a grid as fine as ours is by default."""
    import dp_accounting as da
    from dp_accounting import pld

    rate = s.lot / s.records
    fine = float(loss_scale(POISSON, np.array([s.noise]), np.array([rate]))[0]) / 8
    accountant = pld.PLDAccountant(value_discretization_interval=min(1e-4, max(fine, 2e-6)))
    gaussian = da.GaussianDpEvent(s.noise)
    accountant.compose(gaussian if rate == 1 else da.PoissonSampledDpEvent(rate, gaussian), s.steps)
    return float(accountant.get_epsilon(s.delta))


def rows() -> tuple[list[Figure], dict[str, list[float]]]:
    figures, apart = [], {"lower": [], "renyi": [], "peer": [], "attained": []}
    for s in settings():
        ours = float(epsilon(noise=s.noise, **s.asked))
        renyi = float(sampled_gaussian_epsilon(noise=2 * s.noise, clip=1.0, **s.asked))
        lower = from_below(WITHOUT, s) if s.lot < s.records else ours
        attained = from_below(POISSON, s) if s.lot < s.records else ours
        poisson = float(epsilon(noise=s.noise, **s.asked, sampling="poisson", adjacency="add_remove"))
        theirs = peer(s)
        for name, value in (("lower", ours / lower), ("renyi", renyi / ours), ("peer", poisson / theirs)):
            apart[name].append(value)
        apart["attained"].append(attained / ours)
        note = (
            f"from below {lower:.4g}; attained by one data set {attained:.4g}; Poisson lots, one record added or "
            f"removed: {poisson:.4g}, dp-accounting {theirs:.4g}"
        )
        figures.append(Figure(str(s), ours, "", against=f"Renyi {renyi:.4g}", note=note, peer=renyi))
    return figures, apart


def calibration(seed: int = 0) -> dict[str, np.ndarray]:
    """Lots of 16 to 2,048 of 24,000 records, 1 to 40 epochs."""
    rng = np.random.default_rng(seed)
    lot = np.rint(2 ** rng.uniform(4, 11, 1_000))
    return {"lot": lot, "steps": np.rint(24_000 / lot * rng.uniform(1, 40, 1_000))}


def processor(work: Callable[[], object]) -> str:
    """Seconds of the processor, which other work on the machine stretches less than those of the clock."""
    start = time.process_time()
    work()
    return f"{time.process_time() - start:.3g} s of the processor"


def speed(repeats: int) -> list[Figure]:
    asked = {"noise": 1.1, "records": 60_000, "lot": 600, "steps": 10_000}
    profile = timed(lambda: sampled_profile(**asked), repeats)
    profile_cpu = processor(lambda: sampled_profile(**asked))

    def alone() -> float:
        setting_epsilon.cache_clear()
        return float(epsilon(**asked, delta=1e-5))

    one = timed(alone, repeats)
    base, many = tabulate(GaussianProfile(0.15), floor=1e-9), calibration()
    calibrated = timed(lambda: noise_below(base, records=24_000, **many), max(1, repeats // 2))
    calibrated_cpu = processor(lambda: noise_below(base, records=24_000, **many))
    rng = np.random.default_rng(0)
    noise, rate = 10 ** rng.uniform(-0.5, 0.6, 2_048), 10 ** rng.uniform(-3.6, -1.8, 2_048)
    steps = np.rint(10 ** rng.uniform(1.8, 5, 2_048))
    learnt = timed(lambda: EpsilonSurface(1e-6)(noise, rate, steps), max(1, repeats // 2))
    return [
        Figure("a profile of 10,000 steps", 1e3 * profile[0], "ms", 1e3 * profile[1], 1e3 * profile[2], "goal 20 ms",
               f"three tilts, delta from 1 to 1e-14; {profile_cpu}", goal=20.0, better="less"),
        Figure("epsilon of 10,000 steps", 1e3 * one[0], "ms", 1e3 * one[1], 1e3 * one[2]),
        Figure("noise of 1,000 settings below one profile", calibrated[0], "s", calibrated[1], calibrated[2],
               "goal 2 s", calibrated_cpu, goal=2.0, better="less"),
        Figure("estimates for 2,048 candidates, from nothing", learnt[0], "s", learnt[1], learnt[2],
               note="256 of them computed, the rest interpolated"),
    ]  # fmt: skip


def run(repeats: int) -> list[Figure]:
    figures, apart = rows()
    many = f"{COUNT} settings"
    return [
        *figures,
        Figure("upper over lower, largest", max(apart["lower"]), "", against="goal 1.01", note=many, goal=1.01,
               better="less"),
        Figure("Renyi over ours, median", float(np.median(apart["renyi"])), "", min(apart["renyi"]),
               max(apart["renyi"]), note=many),
        Figure("Poisson lots: ours over dp-accounting, median", float(np.median(apart["peer"])), "", min(apart["peer"]),
               max(apart["peer"]), "1 to a hundredth", many),
        Figure("attained by one data set over ours, median", float(np.median(apart["attained"])), "",
               min(apart["attained"]), max(apart["attained"]), note="what one data set really loses"),
        *speed(repeats),
    ]  # fmt: skip
