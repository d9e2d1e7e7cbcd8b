"""What a search adds to each trial: `tacit.tune` against Optuna's own samplers, on an objective that costs nothing.

A bowl in four dimensions. tacit sees 1,000 losses per trial, sums them exactly, draws exact noise, claims the draw in
the study, and answers from its model; Optuna's samplers see the bowl with noise of the same size. In memory and in
SQLite, in turns, in processor time, which says the same on a busy machine; the disk's own time is left out. GPSampler
needs torch and is absent without it; greenlet is a faster way for it and is used if there.
"""

from __future__ import annotations

import importlib.util
import logging
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import tacit
from benchmarks import Figure, ratio, threads
from tacit.methods.observed import ObservationTerms

TITLE = "Overhead per trial of tacit.tune against Optuna's samplers, 4 dimensions, processor time"
LONG = True  # minutes with torch
THREADS = (1, 2)

LENGTHS, MANY = (20, 100, 300), 1000
NAMES = ("a", "b", "c", "d")
RECORDS, BOUNDS, BUDGET = 1000, (0.0, 1.0), tacit.Budget.gdp(1.0)
Search = Callable[..., None]  # of trials, a turn and a storage
SLOW_TURNS = 2  # GPSampler takes minutes for 300 trials


def bowl(params: dict[str, float]) -> float:
    return sum((params[name] - 0.3) ** 2 for name in NAMES) / 2


def ours(trials: int, turn: int, storage: str | None = None) -> None:
    space = {name: tacit.Float(0.0, 1.0) for name in NAMES}
    settings: dict[str, Any] = {"records": RECORDS, "bounds": BOUNDS, "budget": BUDGET, "seed": turn, "progress": False}
    settings["storage"] = storage
    tacit.tune(lambda params: np.full(RECORDS, bowl(params)), space, trials=trials, **settings)


def by_optuna(sampler: str) -> Search:
    import optuna

    def search(trials: int, turn: int, storage: str | None = None) -> None:
        rng, noise = np.random.default_rng(turn), ObservationTerms(RECORDS, BOUNDS, BUDGET, trials).mechanism().scale

        def objective(trial: optuna.Trial) -> float:
            return bowl({name: trial.suggest_float(name, 0.0, 1.0) for name in NAMES}) + rng.normal(0.0, noise)

        study = optuna.create_study(storage=storage, sampler=getattr(optuna.samplers, sampler)(seed=turn))
        study.optimize(objective, n_trials=trials)

    return search


def run(repeats: int) -> list[Figure]:
    searches = {"tacit": ours, "TPESampler": by_optuna("TPESampler")}
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(threads())
        searches["GPSampler"] = by_optuna("GPSampler")
    logging.getLogger("optuna").setLevel(logging.WARNING)  # after its import, which sets it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for search in searches.values():
            search(12, 0)  # warm up
        figures = [figure for trials in LENGTHS for figure in compared(searches, trials, repeats, "")]
        few = {name: searches[name] for name in ("tacit", "TPESampler")}
        figures += [figure for trials in LENGTHS for figure in compared(few, trials, repeats, "SQLite, ")]
        start = time.process_time()
        ours(MANY, 0)
        return [*figures, Figure(f"{MANY} trials, all in all", time.process_time() - start, "s of processor time")]


def compared(searches: dict[str, Search], trials: int, repeats: int, where: str) -> list[Figure]:
    """Milliseconds per trial of each, and ours against the others, for searches of one length."""
    taken: dict[str, list[float]] = {name: [] for name in searches}
    for turn in range(max(1, repeats)):
        for name, search in searches.items():
            if name == "GPSampler" and trials > 100 and turn >= SLOW_TURNS:
                continue
            with tempfile.TemporaryDirectory() as folder:
                storage = f"sqlite:///{folder}/study.db" if where else None
                start = time.process_time()
                search(trials, turn, storage)
                taken[name].append((time.process_time() - start) / trials)
    spread = {name: (statistics.median(s), min(s), max(s)) for name, s in taken.items()}
    middle, least, most = (1e3 * s for s in spread["tacit"])
    noted = "proposal, exact sum of 1,000 losses, exact noise, claim and answer"
    figures = [Figure(f"{where}{trials} trials: tacit.tune", middle, "ms per trial", least, most, note=noted)]
    for name in list(searches)[1:]:
        figure = ratio(
            f"{where}{trials} trials: tacit.tune against {name}",
            spread["tacit"],
            spread[name],
            "above 1: tacit is faster",
        )
        note = f"{name}: {1e3 * spread[name][0]:.3g} ms per trial, median of {len(taken[name])}"
        if figure.value < 1:
            note += "; tacit is slower here: it fits a Gaussian process and draws exact noise"
        figures.append(replace(figure, note=note))
    return figures
