"""How long a search takes: 40 trainings of logistic regression on 40,000 rows, exact noise included, by two processes.

Rows are made up: 100 features of 0 and 1, as one-hot columns give. Settings are drawn from the trainer's own space, as
tacit.train draws them, and every training is calibrated to the base of a total of (1, 1e-5). What the processors did is
the figure: half of it is the time on two cores with nothing beside. The time by the clock is told with the load.
"""

from __future__ import annotations

import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks import Figure
from tacit.data.schema import Schema
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import EXACT
from tacit.run.private_state import PrivateState
from tacit.space import Space
from tacit.training.preparation import Preparation
from tacit.training.registry import load_trainer
from tacit.training.runs import Search, run_all
from tacit.training.scoring import Scoring, load_metric
from tacit.training.search_cost import SearchCost, make_law
from tacit.training.trainer import CLASSES, EncodedRows, Facts

TITLE = "A search: 40 private trainings of logistic regression on 40,000 rows"
LONG = False
REPEATS = 1

RUNS, ROWS, VALIDATION, FEATURES, GOAL = 40, 40_000, 8_000, 100, 60.0
TRAINERS = {"DP-SGD, lots without replacement": "logistic-lots", "all rows in every step": "logistic"}


def make_search(trainer: str) -> Search:
    rng = np.random.default_rng(0)
    X = (rng.random((ROWS + VALIDATION, FEATURES)) < 0.15).astype(float)
    target = (X @ rng.normal(size=FEATURES) > 0).astype(float)
    labels = Schema.declare({str(j): (0, 1) for j in range(FEATURES)}, target="y", labels=["no", "yes"])
    facts, chosen = Facts(ROWS, FEATURES, CLASSES, 2), load_trainer(trainer)
    base = SearchCost(Budget.approximate(1.0, 1e-5), make_law(RUNS), 0.0).base
    scoring = Scoring.of(load_metric(None, CLASSES), Preparation(labels, {}))
    parts = EncodedRows(X[:ROWS], target[:ROWS]), EncodedRows(X[ROWS:], target[ROWS:])
    return Search(chosen, Space(chosen.space(facts)), facts, base, scoring, *parts, EXACT, centred=True)


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(trainer: str) -> tuple[float, float]:
    """Seconds by the clock and of the processors; starting the processes and sending them the rows included."""
    search, state = make_search(trainer), PrivateState(None)
    start, before = time.perf_counter(), children()
    with ProcessPoolExecutor(2) as pool:
        run_all(search, [search.draw_params() for _ in range(RUNS)], state, pool)
    took = time.perf_counter() - start
    if any(state.load(f"run-{i}")["failed"] for i in range(RUNS)):
        raise RuntimeError("a run failed, so nothing was measured")
    return took, children() - before


def run(repeats: int) -> list[Figure]:
    figures = []
    for name, trainer in TRAINERS.items():
        clock, processors = (sorted(v) for v in zip(*(measure(trainer) for _ in range(max(1, repeats))), strict=True))
        note, middle = f"{RUNS} runs, {ROWS:,} rows, {FEATURES} features", len(clock) // 2
        halves = [p / 2 for p in processors]
        beside = f"two processes; load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"
        figures += [
            Figure(f"{name}: processor time over two cores", halves[middle], "s", halves[0], halves[-1],
                   f"goal {GOAL:g} s", note, goal=GOAL, better="less"),
            Figure(f"{name}: by the clock", clock[middle], "s", clock[0], clock[-1], note=beside),
        ]  # fmt: skip
    return figures
