"""The searches DPareto is held against run in the same loop and stay within their rules."""

from __future__ import annotations

import importlib.util

import numpy as np
import optuna
import pytest
from pareto_toys import Toy

from tacit.errors import BadInput, MissingExtra
from tacit.pareto import discover
from tacit.pareto.baselines import SEARCHES, DrawnSampler, FixedEpsilonSampler, grid, nsga2, search, tpe
from tacit.space import Float, Int, Space
from tacit.training.random_search import RANDOM

SPACE = Space(Toy().space)


def known(params: list[dict[str, float]]) -> np.ndarray:
    return Toy().epsilons(params, 0.0)


def test_a_grid_tests_each_of_its_points_once() -> None:
    front = discover(Toy(), delta=0.0, trials=27, sampler=grid(SPACE, 3)).value
    assert [p.params for p in front.tested] == SPACE.grid(3)


def test_random_search_draws_from_its_table_and_stays_in_the_space() -> None:
    table = RANDOM["adult"]
    space = Space(
        {
            "epochs": Int(1, 64),
            "lot": Int(8, 512),
            "rate": Float(5e-4, 5e-2, log=True),
            "variance": Float(0.1, 16.0),
            "clip": Float(0.1, 4.0),
        }
    )
    sampler = DrawnSampler(space, table, seed=1)
    drawn = [sampler.point(None, type("T", (), {"number": i})()) for i in range(200)]  # type: ignore[arg-type]
    assert all(8 <= p["lot"] <= 512 and p["rate"] <= 5e-2 and isinstance(p["epochs"], int) for p in drawn)
    assert 100 < np.mean([p["lot"] for p in drawn]) < 170  # a normal about 128, cut at 8
    assert len({p["rate"] for p in drawn}) > 50
    with pytest.raises(BadInput, match="table must name"):
        DrawnSampler(SPACE, table)


def test_the_sweep_works_on_its_targets() -> None:
    targets = [0.3, 1.0, 3.0]
    front = discover(
        Toy(), delta=0.0, trials=30, sampler=FixedEpsilonSampler(SPACE, known, targets, startup=9, seed=2)
    ).value
    for i, p in enumerate(front.tested[9:], start=9):
        assert targets[i % 3] / 3 <= p.epsilon <= targets[i % 3]
    assert front.at(epsilon=1.0).utility > 0.3


@pytest.mark.parametrize("sampler", [nsga2(1, population=8), tpe(1, startup=8), DrawnSampler(SPACE, seed=1)])
def test_peers_run_in_the_same_loop(sampler: object) -> None:
    front = discover(Toy(), delta=0.0, trials=20, sampler=sampler).value  # type: ignore[arg-type]
    assert len(front.tested) == 20
    assert front.hypervolume() > 0


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "botorch")) for n in SEARCHES])
def test_every_search_has_a_name(name: str) -> None:
    if name == "botorch":
        pytest.importorskip("botorch")
    asked = {"delta": 0.0, "trials": 10}
    front = discover(Toy(), **asked, startup=6, sampler=search(name, Toy(), **asked, startup=6)).value
    assert len(front.tested) == 10
    assert front.hypervolume() > 0


def test_a_search_that_nobody_knows_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match="search must be one of dpareto"):
        search("annealing", Toy(), delta=0.0, trials=10)


@pytest.mark.skipif(importlib.util.find_spec("botorch") is not None, reason="botorch is installed")
def test_botorch_is_an_extra() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'tacit\[botorch\]'"):
        search("botorch", Toy(), delta=0.0, trials=10)


@pytest.mark.slow  # loading torch takes seconds
def test_botorch_looks_away_from_pending_points_and_repeats_by_seed() -> None:
    pytest.importorskip("botorch")
    from tacit.pareto.botorch import BoTorchSampler

    def asked() -> list[dict[str, float]]:
        sampler = BoTorchSampler(SPACE, startup=8, restarts=2, raw=64, draws=32, seed=4)
        study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
        for _ in range(10):
            trial = study.ask(fixed_distributions=SPACE.distributions)
            study.tell(trial, [known([trial.params])[0], 1 - Toy().utility(trial.params, 0)])
        return [study.ask(fixed_distributions=SPACE.distributions).params for _ in range(3)]

    first = asked()
    cube = SPACE.cube(first)
    assert np.linalg.norm(cube[:, None] - cube[None], axis=2)[np.triu_indices(3, 1)].min() > 0.01
    assert asked() == first
