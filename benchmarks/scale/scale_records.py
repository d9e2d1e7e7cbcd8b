"""What records cost: from a thousand to ten million, one thread.

Losses are made up in shards of at most 100,000 by an objective that costs next to nothing, so that what is timed is
ours: clipping, summing in whole numbers, the design, exact noise. Publishing a table draws an exact number for every
number of the table, so it is measured to 100,000 rows; a million takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tacit
from benchmarks import Figure
from benchmarks.scale._sizes import grown
from tacit.objective import Objective
from tacit.outsource.curator.transform import NoisyProjection
from tacit.privacy.mean import BoundedMean
from tacit.run.shards import Shards, loss_total

TITLE = "Scale: seconds against the number of records"
LONG = False
REPEATS = 3

SIZES, SHARD, D = (1000, 10_000, 100_000, 1_000_000, 10_000_000), 100_000, 2
BUDGET = tacit.Budget.gdp(1.0)


def shards(n: int) -> Shards:
    """Losses of n records that depend on the parameters, in groups."""

    def part(records: int) -> Callable[[dict[str, Any]], np.ndarray]:
        base = np.linspace(0.0, 0.5, records)
        return lambda params: base + 0.5 * (params["x0"] - 0.3) ** 2

    return Shards([part(min(SHARD, n - start)) for start in range(0, n, SHARD)])


def summing(n: int) -> Callable[[], Any]:
    mean, asked = BoundedMean(n, (0.0, 1.0), budget=BUDGET), Objective(shards(n), n, (0.0, 1.0))
    return lambda: loss_total(asked, mean, {"x0": 0.5})


def drawing(n: int) -> Callable[[], Any]:
    mean = BoundedMean(n, (0.0, 1.0), budget=BUDGET)
    return lambda: [mean.draw(n << 31) for _ in range(20)]


def searching(method: str) -> Callable[[int], Callable[[], Any]]:
    """Ten trials of a search, everything in it; for "gibo" one step."""

    def prepared(n: int) -> Callable[[], Any]:
        trials = 1 if method == "gibo" else 10
        space = {f"x{j}": tacit.Float(0.0, 1.0) for j in range(D)}
        settings: dict[str, Any] = {"records": n, "bounds": (0.0, 1.0), "budget": tacit.Budget.gdp(50.0)}
        return lambda: tacit.tune(shards(n), space, trials=trials, method=method, progress=False, **settings)

    return prepared


def publishing(n: int) -> Callable[[], Any]:
    rows = np.random.default_rng(0).uniform(-10, 10, (n, D))
    return lambda: sum(len(block) for block in NoisyProjection(D, epsilon=1.0, delta=1e-6).blocks(rows))


def run(repeats: int) -> list[Figure]:
    linear, flat = "1 is linear", "0 is flat"
    searching("observed")(1000)()  # loads Optuna
    return [
        *grown("sum of clipped losses, exact", "records", SIZES, summing, repeats=repeats, expected=linear),
        *grown("20 exact draws", "records", SIZES, drawing, repeats=repeats, expected=flat),
        *grown("private observations, 10 trials", "records", SIZES, searching("observed"), repeats=repeats,
               expected=linear),
        *grown("private random search, 10 trials", "records", SIZES, searching("random"), repeats=repeats,
               expected=linear),
        *grown("DP-GIBO, one step in 2-D", "records", SIZES, searching("gibo"), repeats=repeats, expected=linear,
               note="4 evaluations of all records"),
        *grown("noisy projection of 2 columns", "rows", SIZES[:3], publishing, repeats=repeats, expected=linear,
               note="one exact draw for every number"),
    ]  # fmt: skip
