"""What was tried to better DP-GIBO's defaults, at the same total guarantee and with the same 25 steps.

Each variant runs on the seeds of the default: the figure is the mean of paired differences of the answer's loss, over
all problems and seeds, as a share of the gap between the default and a random point (below 0: the variant is better),
with its 95% interval. All are tried on seven small problems; the likely ones once more, on other seeds, and on the five
held-out ones, on seeds that `gibo_rivals` does not use. Notes give the difference by problem. Noise is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

import tacit
from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from benchmarks.papers._gibo_choosing import CHOOSING, choosing
from benchmarks.papers._gibo_held_out import HELD_OUT, held_out
from benchmarks.papers._gibo_problems import Problem, descent
from benchmarks.papers._gibo_tries import Attempt, Trial
from tacit.methods.gibo.preview import gibo_defaults
from tacit.privacy.noise import Simulation

TITLE = "DP-GIBO's defaults against what else was tried, at equal guarantee"
LONG = True

STEPS = 25
Run = Callable[[Problem, float, int], float]


def observations_first(p: Problem, mu: float, seed: int) -> float:
    """Private observations, 13 of them, for a third of the squared budget; then 17 steps from what they found."""
    first = tacit.tune(
        p.function,
        p.space,
        records=p.records,
        bounds=(0.0, 1.0),
        budget=tacit.Budget.gdp(mu * math.sqrt(1 / 3)),
        trials=13,
        noise=Simulation(seed),
        seed=seed,
        progress=False,
        accept_noise=True,
    )
    made = descent(p, mu * math.sqrt(2 / 3), 17, seed, {"start": first.value.params})
    return float(p.function(made.params).mean())


def two_starts(p: Problem, mu: float, seed: int) -> float:
    return float(p.function(descent(p, mu, STEPS, seed, {"starts": 2}).params).mean())


TRIES: dict[str, Attempt | Run] = {
    "nothing changed, by the loop of the attempts": Attempt(),  # its difference must be 0
    # point by point of what was asked for
    "line search: one draw among four lengths a step, 0.2 of the squared budget": Attempt(search="draw", share=0.2),
    "line search: noisy means of four lengths a step, 0.2": Attempt(search="means", share=0.2),
    "line search: one draw among five lengths every fifth step, 0.2": Attempt(search="stride", share=0.2),
    "line search: one draw at the end among 28 means and lengths, 0.1": Attempt(last="draw", share=0.1),
    "trust region: by noisy scores, 0.2": Attempt(search="trust", share=0.2),
    "trust region: a public radius that shrinks": Attempt(move="radius"),
    "private observations first, 1/3": observations_first,
    "momentum": Attempt(move="momentum"),
    "running mean of gradients, 0.5": Attempt(move="averaged"),
    "running mean of gradients, 0.8": Attempt(move="averaged more"),
    "gradients smoothed along the path, noise known, 0.15": Attempt(move="smoothed"),
    "gradients smoothed along the path, noise known, 0.4": Attempt(move="smoothed more"),
    "two descents, the better by noisy scores": two_starts,
    "two short descents, one drawn to go on, 0.1": Attempt(rounds=2, share=0.1),
    "four short descents, one drawn to go on, 0.1": Attempt(rounds=4, share=0.1),
    "walls that reflect": Attempt(walls="reflect"),
    "logit coordinates": Attempt(walls="logit"),
    "half of the coordinates a step": Attempt(subset=0.5),
    "half of the coordinates a step, twice the steps": Attempt(subset=0.5, longer=2),
    # the start, the step, the budget by step, the answer
    "no drawn start": Attempt(options={"scan": 0}),
    "256 places": Attempt(options={"scan": 256}),
    "half as much for the start": Attempt(options={"scan_budget": 0.1}),
    "Adam": Attempt(move="adam"),
    "plain steps": Attempt(move="plain"),
    "AdaGrad by the norm": Attempt(move="norm"),
    "AdaGrad, noise in the denominator": Attempt(move="floored"),
    "AdaGrad, four times the noise in the denominator": Attempt(move="floored more"),
    "AdaGrad, noise taken out of the denominator": Attempt(move="corrected"),
    "AdaGrad, shrunk by the share of noise": Attempt(move="shrunk"),
    "rate that falls": Attempt(decay=True),
    "rate 0.1": Attempt(options={"rate": 0.1}),
    "rate 0.2": Attempt(options={"rate": 0.2}),
    "rate 0.3": Attempt(options={"rate": 0.3}),
    "rate 0.3 that falls": Attempt(options={"rate": 0.3}, decay=True),
    "more budget early, 4 to 1": Attempt(early=4.0),
    "more budget late, 1 to 4": Attempt(early=0.25),
    "the last point": Attempt(options={"average": 0.0}),
    "the last point, 256 places": Attempt(options={"average": 0.0, "scan": 256}),
    "mean of the last third": Attempt(options={"average": 1 / 3}),
    "mean of the last half, late points more": Attempt(weights="linear"),
    "clipping norm 0.5 of the width": Attempt(options={"clip": 0.5}),
    "clipping norm 1 of the width": Attempt(options={"clip": 1.0}),
    "clipping norm 0.1 of the width": Attempt(options={"clip": 0.1}),
    "clipping norm 0.03 of the width": Attempt(options={"clip": 0.03}),
    "simplices": Attempt(options={"design": "simplex"}),
    "simplices, twice the steps": Attempt(options={"design": "simplex"}, longer=2),
}
LIKELY = ["the last point", "256 places", "the last point, 256 places"]
FIRST = 400  # of the seeds
CONFIRM = 10  # seeds on which the likely ones are tried once more


def once(sort: str, name: str, seed: int, how: Attempt | Run | None) -> float:
    p, mu = (choosing if sort == "choosing" else held_out)(name, seed)
    if how is None:
        return float(p.function(descent(p, mu, STEPS, seed, {}).params).mean())
    return Trial(p, mu, STEPS, seed, how).run() if isinstance(how, Attempt) else how(p, mu, seed)


def losses(sort: str, name: str, seeds: range, label: str) -> np.ndarray:
    """Of the answers of one variant on one problem, by seed; the default's if it has no label."""
    how = TRIES[label] if label else None
    told = repr(how) if isinstance(how, Attempt) else label

    def one(seed: int) -> float:
        key = {"sort": sort, "problem": name, "seed": seed, "how": told, "defaults": gibo_defaults()}
        return float(keep_piece("gibo_variants", key, lambda: once(sort, name, seed, how)))

    return np.array([one(seed) for seed in seeds])


def compare(title: str, label: str, seeds: range) -> Figure:
    """The paired differences of one variant from the default."""
    sort = title.partition(",")[0]
    parts, by_name = list[np.ndarray](), list[str]()
    for name in CHOOSING if sort == "choosing" else HELD_OUT:
        usual, other = losses(sort, name, seeds, ""), losses(sort, name, seeds, label)
        maker = choosing if sort == "choosing" else held_out
        gap = keep_piece(
            "gibo_variants",
            {"sort": sort, "problem": name, "seeds": repr(seeds), "typical": True},
            lambda: float(np.mean([maker(name, seed)[0].typical for seed in seeds])),  # noqa: B023
        ) - float(usual.mean())
        parts.append((other - usual) / gap)
        error = parts[-1].std(ddof=1) / math.sqrt(len(seeds)) if len(seeds) > 1 else 0.0
        by_name.append(f"{name} {100 * parts[-1].mean():+.1f} +- {100 * error:.1f}")
    every = 100 * np.array(parts)  # (problems, seeds)
    # seeds within a problem are alike in what the variant does to it: the error is that of a mean of problems' means
    error = math.sqrt(float((every.var(axis=1, ddof=1) / every.shape[1]).sum())) / len(every) if len(seeds) > 1 else 0.0
    reach = float(student.ppf(0.975, every.size - len(every))) * error if len(seeds) > 1 else 0.0
    mean, won = float(every.mean()), int((every.mean(axis=1) < 0).sum())
    note = f"{every.size} pairs; better on {won} of {len(every)}: " + ", ".join(by_name)
    print(f"  {title}, {label}: {mean:+.2f} ({mean - reach:+.2f} to {mean + reach:+.2f}) {note}", flush=True)
    return Figure(f"{title}: {label}", mean, "% of the gap", mean - reach, mean + reach, "", note)


def run(repeats: int) -> list[Figure]:
    with threadpool_limits(1):
        figures = [compare("choosing", label, range(FIRST, FIRST + repeats)) for label in TRIES]
        figures += [
            compare("choosing, other seeds", label, range(FIRST + 100, FIRST + 100 + CONFIRM)) for label in LIKELY
        ]
        return figures + [compare("held out", label, range(FIRST + 200, FIRST + 200 + CONFIRM)) for label in LIKELY]
