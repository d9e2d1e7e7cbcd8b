"""The Opacus adapter: what it says without torch, and with torch its epsilon, its seeds and its two modes."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from tacit.errors import BadInput, MissingExtra
from tacit.pareto import discover
from tacit.space import Choice, Float, Int
from tacit.training.opacus import OpacusModel

THERE = all(importlib.util.find_spec(name) for name in ("torch", "opacus"))
PARAMS: dict[str, Any] = {"epochs": 1, "lot": 40, "rate": 0.5, "variance": 1.0, "clip": 1.0}
MISSING = pytest.mark.skipif(not THERE, reason="needs torch and Opacus: pip install 'tacit[torch]'")


def needs_opacus(test: Any) -> Any:
    """Slow as well: loading both takes ten seconds, which the default run is to be spared."""
    return pytest.mark.slow(MISSING(test))


def examples(n: int = 210) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    return np.eye(3)[y] + 0.3 * rng.normal(size=(n, 3)), y


def network() -> Any:
    import torch

    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


@pytest.fixture
def algorithm() -> OpacusModel:
    return OpacusModel(network, *examples(), *examples())


@pytest.mark.skipif(THERE, reason="torch and Opacus are installed")
def test_without_torch_it_says_what_to_install() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'tacit\[torch\]'"):
        OpacusModel(network, *examples())


def test_a_table_is_refused() -> None:
    with pytest.raises(BadInput, match="needs a torch model"):
        OpacusModel.from_table(None, "y")


@needs_opacus
def test_epsilon_equals_opacus_own_accountant_and_names_its_scheme(algorithm: OpacusModel) -> None:
    from opacus.accountants import PRVAccountant, RDPAccountant

    points = [PARAMS, {**PARAMS, "lot": 30, "epochs": 7, "variance": 4.0}]
    for point, found in zip(points, algorithm.epsilons(points, 1e-5), strict=True):
        lots = -(-210 // point["lot"])
        history = [(point["variance"] ** 0.5, 1 / lots, point["epochs"] * lots)]
        tight, renyi = PRVAccountant(), RDPAccountant()
        tight.history = renyi.history = history
        assert found == pytest.approx(tight.get_epsilon(1e-5), rel=0.02, abs=0.02)  # it errs by 0.01 by default
        assert found < renyi.get_epsilon(1e-5)
    assert algorithm.label == "Poisson-sampled lots, one record added or removed"


@needs_opacus
def test_opacus_takes_the_steps_and_the_rate_that_epsilon_counts(
    algorithm: OpacusModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opacus import PrivacyEngine

    engines: list[Any] = []
    plain = PrivacyEngine.make_private

    def watched(self: Any, **asked: Any) -> Any:
        engines.append(self)
        return plain(self, **asked)

    monkeypatch.setattr(PrivacyEngine, "make_private", watched)
    algorithm.train(PARAMS, [0])
    ((noise, rate, steps),) = engines[0].accountant.history
    assert (noise, rate, steps) == (1.0, pytest.approx(1 / 6), 6)


@needs_opacus
@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_it_learns_and_repeats_by_seed(mode: str) -> None:
    algorithm = OpacusModel(network, *examples(), *examples(), mode=mode)
    asked = {**PARAMS, "epochs": 4, "variance": 0.1}
    found = algorithm.utilities(asked, [1, 1])
    assert found[0] == found[1] > 0.6
    assert algorithm.each_utility(asked, 1).mean() == found[0]


@needs_opacus
def test_the_module_and_the_optimiser_are_made_from_the_parameters() -> None:
    import torch

    made: list[tuple[int, type]] = []

    def make(params: dict[str, Any]) -> Any:
        width = params["width"]
        return torch.nn.Sequential(torch.nn.Linear(3, width), torch.nn.ReLU(), torch.nn.Linear(width, 3))

    def optimiser(parameters: Any, params: dict[str, Any]) -> Any:
        found = (torch.optim.Adam if params["adam"] else torch.optim.SGD)(parameters, lr=params["rate"])
        made.append((params["width"], type(found)))
        return found

    space = {
        "epochs": Int(1, 2), "lot": Int(30, 60), "rate": Float(0.01, 0.5), "variance": Float(1.0, 4.0),
        "clip": Float(0.5, 2.0), "width": Int(2, 16), "adam": Choice([False, True]),
    }  # fmt: skip
    algorithm = OpacusModel(make, *examples(), *examples(), space=space, optimiser=optimiser)
    wide, narrow = ({**PARAMS, "width": 16, "adam": True}, {**PARAMS, "width": 2, "adam": False})
    modules = [algorithm.train(p, [0]).reveal()[0] for p in (wide, narrow)]
    assert [m[0].out_features for m in modules] == [16, 2]
    assert made == [(16, torch.optim.Adam), (2, torch.optim.SGD)]
    assert len(set(algorithm.epsilons([wide, narrow], 1e-5))) == 1  # neither costs privacy
    front = discover(algorithm, delta=1e-5, trials=3, startup=2).value
    assert all({"width", "adam"} <= p.params.keys() for p in front.tested)
