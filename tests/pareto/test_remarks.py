"""Words for what was asked wrongly, and for what a front shows."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pareto_toys import Toy

from tacit import Budget, Float, Ledger
from tacit.errors import BadInput, BudgetRefused
from tacit.pareto import DParetoSampler, Front, Point, PrivateTest, discover
from tacit.pareto.remarks import edge_remarks, usual_model
from tacit.run.folder import lock_folder
from tacit.space import Space

LABEL = "no sampling, one record replaced"


class Infinite(Toy):
    def epsilons(self, params: Any, delta: float) -> np.ndarray:
        return np.full(len(params), np.inf)


class Lost(Toy):
    def utility(self, params: dict[str, Any], seed: int) -> float:
        return float("nan") if params["noise"] > 1 else super().utility(params, seed)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_search_without_a_finite_epsilon_is_refused_before_a_run(delta: float) -> None:
    with pytest.raises(BadInput, match=r"none of 64 settings .* finite epsilon"):
        discover(Infinite(), delta=delta, trials=3)


def test_a_reference_that_was_turned_round_is_refused() -> None:
    with pytest.raises(BadInput, match=r"did you mean \(10, 1\)"):
        discover(Toy(), delta=1e-6, trials=3, reference=(1.0, 10.0))


def test_runs_without_a_number_are_told() -> None:
    front = discover(Lost(), delta=1e-6, trials=8, startup=8).value
    assert front.failed
    assert front.reasons == ("the utility oracle answered NaN",)
    assert "the utility oracle answered NaN" in str(front)
    assert Front.from_json(front.to_json()).reasons == front.reasons


def test_a_front_on_an_edge_of_the_space_is_remarked_on() -> None:
    points = [Point.of({"clip": c, "rate": r}, e, [e / 10]) for c, r, e in ((4, 0.5, 1), (4, 0.1, 2), (2, 0.9, 3))]
    space = Space({"clip": Float(0.1, 4.0), "rate": Float(0.0, 1.0)})
    said = edge_remarks(Front(tuple(points), LABEL, 1e-6), space)
    assert len(said) == 1
    assert said[0].startswith("2 of 3 points of the front have clip at its largest value 4")
    assert edge_remarks(Front(tuple(points[:1]), LABEL, 1e-6), space) == []


def test_a_parameter_called_epsilon_has_a_column_of_its_own(tmp_path: Path) -> None:
    front = Front((Point.of({"epsilon": 0.5, "depth": 3}, 0.7, [0.8]),), LABEL, 1e-6)
    heads = next(csv.reader(front.to_csv(tmp_path / "front.csv").open()))
    assert len(heads) == len(set(heads))
    assert "params.epsilon" in heads


def test_a_sampler_takes_a_dictionary_and_says_that_it_needs_epsilons() -> None:
    made = DParetoSampler({"noise": Float(0.1, 1.0)}, lambda params: np.ones(len(params)))
    assert made.space.names == ["noise"]
    with pytest.raises(BadInput, match="needs epsilons"):
        DParetoSampler({"noise": Float(0.1, 1.0)})


def test_a_refused_run_leaves_nothing_that_looks_under_way(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db", "test", Budget.gdp(0.1))
    with pytest.raises(BudgetRefused), lock_folder(tmp_path / "out") as folder:
        discover(Toy(), delta=1e-6, trials=3, storage=folder.storage, private=PrivateTest(Budget.gdp(1.0), ledger))
    assert not (tmp_path / "out" / "study.db").exists()


@pytest.mark.parametrize(
    ("parameters", "objectives", "noisy", "model"),
    [
        (2, 2, False, "exact"),
        (4, 2, False, "gp"),
        (5, 2, True, "exact"),
        (5, 3, False, "exact"),
    ],
)
def test_the_model_of_privacy_goes_by_the_parameters_or_by_the_study(
    parameters: int, objectives: int, noisy: bool, model: str
) -> None:
    space = Space({f"x{j}": Float(0.0, 1.0) for j in range(parameters)})
    assert usual_model(space, objectives, noisy=noisy) == model
    assert usual_model(space, objectives, noisy=noisy, begun='{"search": "dpareto, exact privacy"}') == "exact"
    assert usual_model(space, objectives, noisy=noisy, begun='{"search": "dpareto, gp privacy"}') == "gp"
