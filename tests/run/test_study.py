"""Processes that start on one fresh storage at the same moment: both work, and what they find is one study."""

from __future__ import annotations

import multiprocessing
import os
import traceback
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pareto_toys import Toy
from postgres_server import Server

import tacit
from tacit.run.study import open_study

BUDGET = tacit.Budget.approximate(5.0, 1e-6)


def losses(params: dict[str, Any]) -> Any:
    return np.full(3000, (params["x"] - 0.3) ** 2)


def tune_there(storage: str) -> str:
    space = {"x": tacit.Float(0.0, 1.0)}
    about: dict[str, Any] = {"records": 3000, "bounds": (0.0, 1.0), "trials": 4, "progress": False}
    return str(tacit.tune(losses, space, budget=BUDGET, storage=storage, data="ward 3", **about).value.to_json())


def discover_there(storage: str) -> str:
    tacit.pareto.discover(Toy(), delta=1e-6, trials=4, startup=4, storage=storage, data="ward 3")
    return "a front of the points there are"


WORK = {"tune": tune_there, "pareto": discover_there}


def _start(work: Callable[[str], str], storage: str, both: Any, said: Any) -> None:
    both.wait()
    try:
        said.put((work(storage), ""))
    except BaseException:
        said.put(("", traceback.format_exc()))
    os._exit(0)


def start_two(work: Callable[[str], str], storage: str) -> list[str]:
    """What each process died of; nothing if both worked and have one answer.

    Forked, since two interpreters never start in one moment.
    """
    context = multiprocessing.get_context("fork")
    both, said = context.Barrier(2), context.SimpleQueue()
    processes = [context.Process(target=_start, args=(work, storage, both, said)) for _ in range(2)]
    for process in processes:
        process.start()
    found = [said.get() for _ in processes]
    for process in processes:
        process.join()
    answers, errors = zip(*found, strict=True)
    assert any(errors) or len(set(answers)) == 1, answers
    return list(errors)


@pytest.mark.parametrize("verb", WORK)
@pytest.mark.parametrize("tries", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_two_processes_start_together_on_sqlite(verb: str, tries: int, tmp_path: Path) -> None:
    for k in range(tries):
        assert start_two(WORK[verb], f"sqlite:///{tmp_path}/{k}.db") == ["", ""]
        name = "pareto" if verb == "pareto" else "tacit"
        study = open_study(f"sqlite:///{tmp_path}/{k}.db", name, ["minimize"] * (1 + (verb == "pareto")))
        assert sum(t.state.name == "COMPLETE" for t in study.trials) == 4


@pytest.mark.postgres
@pytest.mark.parametrize("verb", WORK)
@pytest.mark.parametrize("tries", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_two_processes_start_together_on_postgresql(verb: str, tries: int, postgres: Server) -> None:
    for _ in range(tries):
        name = f"t{uuid.uuid4().hex}"
        assert start_two(WORK[verb], postgres.database(name)) == ["", ""]
        postgres.drop(name)
