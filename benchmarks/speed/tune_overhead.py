"""What a search adds to each trial: `tacit.tune` against Optuna's own samplers, on an objective that costs nothing.

A bowl in four dimensions, method "observed"; once in ten, where 100 trials may take 25 ms each. tacit sees 1,000
losses per trial, sums them exactly, draws exact noise, claims the draw in the study, and answers from its model, which
is worth more time than TPE takes; Optuna's samplers see the bowl with noise of the same size. In memory and in SQLite,
in turns, in processor time, which says nearly the same on a busy machine; the disk's own time is left out, and so is
what a process loads once, for both. The ratio is the median of those of the turns. GPSampler needs torch and is absent
without it; greenlet is a faster way for it and is used if there.
"""

from __future__ import annotations

import importlib.util
import logging
import sqlite3
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from benchmarks import Figure, in_turns, median_interval, ratio_in_turns, threads
from tacit.methods.observed import ObservationTerms

TITLE = "Overhead per trial of tacit.tune against Optuna's samplers, 4 dimensions, processor time"
LONG = True  # minutes with torch

LENGTHS, MANY, LONGEST = (20, 100, 300), 1000, 10_000
NAMES = ("a", "b", "c", "d")
WIDE = tuple("abcdefghij")
RECORDS, BOUNDS, BUDGET = 1000, (0.0, 1.0), tacit.Budget.gdp(1.0)
Search = Callable[..., None]  # of trials, a turn and a storage
TURNS = {20: 7, 100: 3}  # for each repeat; one of others
STORED, FEWEST = 3, 3  # turns in memory for each in SQLite, where a trial takes longer; and at least so many


def bowl(params: dict[str, float]) -> float:
    return 2 * sum((value - 0.3) ** 2 for value in params.values()) / len(params)


def losses_of(params: dict[str, float]) -> Any:
    return np.full(RECORDS, bowl(params))


def ours(
    trials: int,
    turn: int,
    storage: str | None = None,
    losses: Callable[..., Any] = losses_of,
    names: Sequence[str] = NAMES,
) -> None:
    space = {name: tacit.Float(0.0, 1.0) for name in names}
    settings: dict[str, Any] = {"records": RECORDS, "bounds": BOUNDS, "budget": BUDGET, "seed": turn, "progress": False}
    settings |= {"storage": storage, "accept_noise": True, "method": "observed"}
    tacit.tune(losses, space, trials=trials, **settings)


def by_optuna(sampler: str) -> Search:
    import optuna

    def search(trials: int, turn: int, storage: str | None = None) -> None:
        rng, noise = np.random.default_rng(turn), ObservationTerms(RECORDS, BOUNDS, BUDGET, trials).mechanism().scale

        def objective(trial: optuna.Trial) -> float:
            return bowl({name: trial.suggest_float(name, 0.0, 1.0) for name in NAMES}) + rng.normal(0.0, noise)

        study = optuna.create_study(storage=storage, sampler=getattr(optuna.samplers, sampler)(seed=turn))
        study.optimize(objective, n_trials=trials)

    return search


def with_random(private: bool) -> Search:
    """Random search, plain or through ``tacit.private``: the difference is what that adds."""
    import optuna

    def search(trials: int, turn: int, storage: str | None = None) -> None:
        def losses(trial: optuna.Trial) -> Any:
            value = bowl({name: trial.suggest_float(name, 0.0, 1.0) for name in NAMES})
            return np.full(RECORDS, value) if private else value

        objective: Any = losses
        if private:
            objective = tacit.private(losses, records=RECORDS, bounds=BOUNDS, budget=BUDGET, trials=trials)
        study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=turn))
        study.optimize(objective, n_trials=trials)

    return search


def run(repeats: int) -> list[Figure]:
    searches = {"tacit": ours, "TPESampler": by_optuna("TPESampler")}
    searches |= {"private": with_random(True), "plain": with_random(False)}
    slow = dict[str, Search]()
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(threads())
        slow["GPSampler"] = by_optuna("GPSampler")
    logging.getLogger("optuna").setLevel(logging.WARNING)  # after its import, which sets it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for search in (searches | slow).values():
            in_folder(search, 12, stored=True)(0)  # warm up: what a process loads once is left out for all
        figures = []
        for trials in LENGTHS:
            figures += compared(searches, trials, TURNS.get(trials, 1) * repeats, "")
            figures += compared_slowly(slow, trials)
        for trials in LENGTHS:
            figures += compared(searches, trials, max(FEWEST, TURNS.get(trials, 1) * repeats // STORED), "SQLite, ")
        figures.append(in_many_dimensions(max(FEWEST, repeats)))
        start = time.process_time()
        ours(MANY, 0)
        spent = time.process_time() - start
    goal: dict[str, Any] = {"against": "goal 10", "goal": 10.0, "better": "less"}
    figures.append(Figure(f"{MANY} trials, all in all", spent, "s of processor time", **goal))
    return [*figures, resumed(LONGEST, 3 * repeats)]


def in_many_dimensions(turns: int) -> Figure:
    """Milliseconds of a trial in ten dimensions."""
    taken = []
    for turn in range(turns):
        start = time.process_time()
        ours(100, turn, names=WIDE)
        taken.append(10 * (time.process_time() - start))
    middle, low, high = median_interval(taken)
    goal: dict[str, Any] = {"against": "goal 25", "goal": 25.0, "better": "less"}
    return Figure("100 trials in 10 dimensions: tacit.tune", middle, "ms per trial", low, high, **goal)


def resumed(trials: int, turns: int) -> Figure:
    """The last trial of a study whose others are there, and its answer."""
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "study.db")
        fill_study(file, trials)
        kept = file.read_bytes()
        for _ in range(turns):
            file.write_bytes(kept)  # in its own place: a copy elsewhere is refused
            start = time.process_time()
            ours(trials, 0, f"sqlite:///{file}")
            taken.append(time.process_time() - start)
    middle, low, high = median_interval(taken)
    goal: dict[str, Any] = {"against": "goal 2", "goal": 2.0, "better": "less"}
    note = "SQLite: all trials are read, the last one is observed, and the model answers"
    name = f"resume of a study with {trials:,} trials"
    return Figure(name, middle, "s of processor time", low, high, note=note, **goal)


def fill_study(file: Path, trials: int) -> None:
    """A study that lacks its last trial: tacit makes the first, SQL the others, which would take minutes."""
    seen: list[Any] = []

    def lose_second(params: dict[str, float]) -> Any:
        seen.append(params)
        if len(seen) > 1:
            raise KeyboardInterrupt
        return losses_of(params)

    with suppress(KeyboardInterrupt):
        ours(trials, 0, f"sqlite:///{file}", lose_second)
    points = enumerate(np.random.default_rng(0).random((trials - 2, len(NAMES))).tolist(), start=2)
    others = {number: dict(zip(NAMES, point, strict=True)) for number, point in points}
    params = [(i, value, name) for i, point in others.items() for name, value in point.items()]
    rows: dict[str, tuple[str, Sequence[Any]]] = {
        "trials": ("?, ?, study_id, state, datetime_start, datetime_complete", [(i, i - 1) for i in others]),
        "trial_params": ("NULL, ?, param_name, ?, distribution_json", params),
        "trial_values": ("NULL, ?, objective, ?, value_type", [(i, bowl(point)) for i, point in others.items()]),
        "trial_user_attributes": ("NULL, ?, key, value_json", [(i,) for i in others]),
    }
    with closing(sqlite3.connect(file)) as database, database:
        for table, (columns, values) in rows.items():
            database.execute(f"DELETE FROM {table} WHERE trial_id > 1")
            which = "trial_id = 1" + " AND param_name = ?" * (table == "trial_params")
            database.executemany(f"INSERT INTO {table} SELECT {columns} FROM {table} WHERE {which}", values)


def in_folder(search: Search, trials: int, *, stored: bool) -> Callable[[int], None]:
    """A search of a turn, in a folder of its own."""

    def work(turn: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            search(trials, turn, f"sqlite:///{folder}/study.db" if stored else None)

    return work


def compared(searches: dict[str, Search], trials: int, turns: int, where: str) -> list[Figure]:
    """Milliseconds per trial of each, and ours against TPE's, for searches of one length, in turns."""
    works = {name: in_folder(search, trials, stored=bool(where)) for name, search in searches.items()}
    taken = in_turns(works, turns, time.process_time)
    each = {name: [1e3 * s / trials for s in seconds] for name, seconds in taken.items()}
    middle, low, high = median_interval(each["tacit"])
    noted = "proposal, exact sum of 1,000 losses, exact noise, claim and answer"
    figures = [Figure(f"{where}{trials} trials: tacit.tune", middle, "ms per trial", low, high, note=noted)]
    above: dict[str, Any] = {"against": "above 1: tacit is faster"}
    goal = {"against": "above 1: tacit is faster; goal 1", "goal": 1.0, "better": "more"}
    note = f"TPESampler: {statistics.median(each['TPESampler']):.3g} ms per trial, medians of {turns} turns"
    name = f"{where}{trials} trials: tacit.tune against TPESampler"
    figures.append(replace(ratio_in_turns(name, taken["tacit"], taken["TPESampler"], ""), note=note, **above))
    added = [p - q for p, q in zip(taken["private"], taken["plain"], strict=True)]
    name = f"{where}{trials} trials: what tacit.private adds to a trial, against TPESampler"
    note = f"adds {1e3 * statistics.median(added) / trials:.3g} ms to a trial of random search; {note}"
    if median_interval(added)[1] > 0:  # else the machine was too noisy to tell
        figures.append(replace(ratio_in_turns(name, added, taken["TPESampler"], ""), note=note, **goal))
    return figures


def compared_slowly(slow: dict[str, Search], trials: int) -> list[Figure]:
    """Against GPSampler, which takes a minute for 300 trials: one turn."""
    figures = []
    for name, search in slow.items():
        works = {"tacit": lambda turn: ours(trials, turn), name: lambda turn, search=search: search(trials, turn)}
        taken = in_turns(works, 1, time.process_time)
        what = f"{trials} trials: tacit.tune against {name}"
        note = f"{name}: {1e3 * taken[name][0] / trials:.3g} ms per trial, one turn"
        figures.append(
            replace(ratio_in_turns(what, taken["tacit"], taken[name], "above 1: tacit is faster"), note=note)
        )
    return figures
