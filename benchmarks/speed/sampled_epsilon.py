"""How fast epsilon of a subsampled Gaussian can be had for many configurations at once."""

from __future__ import annotations

import numpy as np

from benchmarks import Figure, ratio, timed
from benchmarks.papers._renyi import sampled_gaussian_epsilon

TITLE = "Epsilon of DP-SGD for many configurations"
LONG = False
COUNT, SHARED = 10_000, 8
GOAL = 50_000


def configurations(seed: int = 0) -> dict[str, np.ndarray]:
    """Log-uniform: multiplier 0.3 to 30, rate 1e-5 to 0.5, 1 to 1e6 steps, delta 1e-9 to 1e-2, 100 to 1e7 records."""
    rng = np.random.default_rng(seed)
    records = np.rint(10 ** rng.uniform(2, 7, COUNT))
    lot = np.clip(np.rint(records * 10 ** rng.uniform(-5, np.log10(0.5), COUNT)), 1, records // 2)
    return {
        "sigma": 10 ** rng.uniform(np.log10(0.3), np.log10(30), COUNT),
        "records": records,
        "lot": lot,
        "steps": np.rint(10 ** rng.uniform(0, 6, COUNT)),
        "delta": 10 ** rng.uniform(-9, -2, COUNT),
    }


def ours(asked: dict[str, np.ndarray], scheme: str, relation: str, sensitivity: int) -> np.ndarray:
    rest = {key: value for key, value in asked.items() if key != "sigma"}
    noise = sensitivity * asked["sigma"]
    return np.asarray(sampled_gaussian_epsilon(noise=noise, clip=1.0, **rest, scheme=scheme, relation=relation))


def peer(asked: dict[str, np.ndarray], which: list[int]) -> list[float]:
    import dp_accounting as da
    from dp_accounting import rdp

    found = []
    for i in which:
        accountant = rdp.RdpAccountant(neighboring_relation=da.NeighboringRelation.REPLACE_ONE)
        gaussian = da.GaussianDpEvent(float(asked["sigma"][i]))
        event = da.SampledWithoutReplacementDpEvent(int(asked["records"][i]), int(asked["lot"][i]), gaussian)
        found.append(accountant.compose(event, int(asked["steps"][i])).get_epsilon(float(asked["delta"][i])))
    return found


def run(repeats: int) -> list[Figure]:
    asked = configurations()
    fixed = ("without_replacement", "replace_one", 2)
    # Where dp-accounting has digits left: see the docstring of sampled_gaussian_epsilon.
    sound = (asked["sigma"] * asked["lot"] / asked["records"] < 0.5) & (asked["sigma"] > 0.5)
    which = np.flatnonzero(sound)[:SHARED].tolist()
    mine, poisson = (
        timed(lambda choice=choice: ours(asked, *choice), repeats) for choice in (fixed, ("poisson", "add_remove", 1))
    )
    theirs = timed(lambda: peer(asked, which), repeats)
    each, other = (tuple(t / COUNT for t in mine), tuple(t / SHARED for t in theirs))
    apart = np.max(np.abs(ours(asked, *fixed)[which] / peer(asked, which) - 1))
    return [
        Figure(
            "without replacement, one record replaced",
            COUNT / mine[0],
            "configurations/s",
            COUNT / mine[2],
            COUNT / mine[1],
            f"goal {GOAL:,}",
            f"{COUNT:,} random configurations in one call",
        ),
        ratio("the same against dp-accounting", each, other, f"dp-accounting's RDP, {SHARED} of the same one by one"),
        Figure("largest relative difference on those", float(apart), "", against="goal 1e-6"),
        Figure(
            "Poisson, one record added or removed",
            COUNT / poisson[0],
            "configurations/s",
            COUNT / poisson[2],
            COUNT / poisson[1],
            note="exact at fractional orders",
        ),
    ]
