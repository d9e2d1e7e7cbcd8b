"""Torch networks for release: what is said without torch; with it sums, noise, layers that mix records, a release."""

from __future__ import annotations

import importlib.util
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import BadInput, MissingExtra
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import EXACT
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.training.dense import DenseScores
from tacit.training.model_files import read_model
from tacit.training.torch_descent import FLOATS, OWN_NETWORK, STEP, TORCH, TorchTrainer, exact_optimiser
from tacit.training.train import UNTOUCHED, train
from tacit.training.trainer import CLASSES, Base, EncodedRows, Facts

THERE = all(importlib.util.find_spec(name) for name in ("torch", "opacus"))
MISSING = pytest.mark.skipif(not THERE, reason="needs torch and Opacus: pip install 'tacit[torch]'")


def needs_opacus(test: Any) -> Any:
    """Slow as well: loading both takes ten seconds, which the default run is to be spared."""
    return pytest.mark.slow(MISSING(test))


BASE = Base(0.5, tabulate(GaussianProfile(0.5), floor=1e-9))
FACTS = Facts(400, 4, CLASSES, 2)
PARAMS = {"epochs": 2, "lot": 100, "rate": 0.5, "clip": 1.0, "hidden": 8}


class Quiet:
    """Adds nothing and keeps what it was given."""

    simulated = True

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def gaussian_whole_array(self, values: Any, scale: float) -> Any:
        self.seen.append((np.array(values), scale))
        return values


@pytest.mark.skipif(THERE, reason="torch and Opacus are installed")
def test_without_torch_it_says_what_to_install() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'tacit\[torch\]'"):
        TORCH.calibrate(PARAMS, FACTS, BASE)


def sums(X: Any, target: Any, sampling: str = "without_replacement") -> tuple[Any, float]:
    """What enters the first noisy sum, whole numbers of STEP clips, over all parameters, and the scale of the noise."""
    import torch

    noise, facts = Quiet(), Facts(len(X), X.shape[1], CLASSES, 2)
    trainer = TorchTrainer(lots=sampling)
    settings = trainer.calibrate({**PARAMS, "epochs": 1, "lot": len(X)}, facts, BASE)
    torch.manual_seed(0)
    module = torch.nn.Linear(X.shape[1], 1)
    known = torch.as_tensor((target >= 0).astype(np.float32))
    asked = (torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(np.maximum(target, 0.0)), known)
    trainer._descend(module, *asked, settings, noise)  # type: ignore[arg-type]
    return np.concatenate([seen[0].ravel() for seen in noise.seen[:2]]), noise.seen[0][1]


@needs_opacus
def test_one_record_moves_a_sum_by_two_clips_at_most_and_the_noise_is_for_that() -> None:
    rng = np.random.default_rng(0)
    X, target = rng.normal(size=(20, 3)), rng.integers(0, 2, 20).astype(float)
    other, turned = X.copy(), target.copy()
    other[0], turned[0] = -30 * X[0], 1 - target[0]
    before, scale = sums(X, target)
    after, _ = sums(other, turned)
    assert np.linalg.norm(after - before) <= 2 / STEP * (1 + 1e-6)
    assert np.linalg.norm(after - before) > 0.5 / STEP
    settings = TORCH.calibrate({**PARAMS, "epochs": 1, "lot": 20}, Facts(20, 3, CLASSES, 2), BASE)
    assert scale >= 2 * settings.multiplier / STEP


@needs_opacus
def test_a_row_without_a_target_and_one_that_is_no_number_add_nothing() -> None:
    X, target = np.ones((20, 3)), np.zeros(20)
    full, _ = sums(X, target)
    target[:5] = -1
    fewer, _ = sums(X, target)
    assert np.allclose(fewer, full * 15 / 20, rtol=1e-5)
    X[5] = np.inf  # past what train() cuts: the gradient is no number
    assert np.allclose(sums(X, target)[0], full * 14 / 20, rtol=1e-5)


@needs_opacus
def test_an_empty_lot_is_a_step_of_noise_alone() -> None:
    facts = Facts(30, 2, CLASSES, 2)
    rng = np.random.default_rng(0)
    rows = EncodedRows(rng.uniform(-1, 1, (30, 2)), rng.integers(0, 2, 30).astype(float))
    trainer = TorchTrainer(lots="poisson")
    settings = trainer.calibrate({**PARAMS, "lot": 1, "epochs": 3}, facts, BASE)
    assert np.isfinite(trainer.train(rows, settings, facts, EXACT).scores(rows.X)).all()


@needs_opacus
def test_layers_that_mix_records_are_refused() -> None:
    import torch

    def make(features: int, scores: int) -> Any:
        return torch.nn.Sequential(torch.nn.Linear(features, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, scores))

    X = np.random.default_rng(0).uniform(-1, 1, (2000, 3))
    with pytest.raises(BadInput, match="BatchNorm"):
        train(TorchTrainer(make), X, X[:, 0] > 0, budget=Budget.approximate(2.0, 1e-5), runs=2, progress=False)


@needs_opacus
def test_a_network_is_released_with_its_assumption_and_predicts_without_torch(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    release = train("torch", X, y, budget=Budget.approximate(8.0, 1e-5), runs=6, out=tmp_path, progress=False)
    assert FLOATS in release.guarantee.assumptions
    assert release.guarantee.premises == (UNTOUCHED,)
    assert json.loads((tmp_path / "model.json").read_text())["model"]["kind"] == "layers"
    assert (read_model(tmp_path).predict(X) == release.value.model.predict(X)).all()
    assert isinstance(release.value.model.model, DenseScores)


def own_network(features: int, scores: int) -> Any:
    import torch

    return torch.nn.Sequential(torch.nn.Linear(features, 8), torch.nn.GELU(), torch.nn.Linear(8, scores))


@needs_opacus
def test_a_network_of_ones_own_is_a_premise_and_pickles(tmp_path: Path) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (3000, 3))
    trainer = TorchTrainer(own_network)
    release = train(trainer, X, X[:, 0] > 0, budget=Budget.approximate(4.0, 1e-5), runs=3, out=tmp_path, progress=False)
    assert release.guarantee.premises == (OWN_NETWORK,)
    assert not (tmp_path / "model.json").exists()
    again = pickle.loads(pickle.dumps(release.value.model))
    with pytest.raises(BadInput, match="--trust"):
        read_model(tmp_path)
    assert (again.predict(X) == read_model(tmp_path, trust=True).predict(X)).all()


@needs_opacus
def test_a_released_network_keeps_nothing_of_the_records_it_was_trained_on() -> None:
    """Opacus leaves each record's gradient beside the parameters, and a layer may remember what passed through it."""
    import torch

    class Keeps(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("last", torch.zeros(1))
            self.seen = None

        def forward(self, x: Any) -> Any:
            self.last, self.seen = x.detach().clone(), x.detach().clone()
            return x

    trainer = TorchTrainer(lambda d, k: torch.nn.Sequential(Keeps(), own_network(d, k)))
    rows = EncodedRows(np.random.default_rng(0).uniform(-1, 1, (400, 4)), np.zeros(400))
    settings = trainer.calibrate({**PARAMS, "epochs": 1}, FACTS, BASE)
    model = trainer.train(rows, settings, FACTS, EXACT)
    model.scores(rows.X)
    module = model.module
    for parameter in module.parameters():
        assert not vars(parameter)
        assert parameter.grad is None
    assert module[0].seen is None
    assert module[0].last.tolist() == [0.0]
    assert not any(layer._forward_hooks or layer._backward_hooks for layer in module.modules())


@needs_opacus
def test_torchs_own_noise_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    import opacus.optimizers.optimizer as module

    def fail(*args: Any, **more: Any) -> Any:
        raise AssertionError("torch drew noise")

    monkeypatch.setattr(module, "_generate_noise", fail)
    assert exact_optimiser() is exact_optimiser()
    rows = EncodedRows(np.random.default_rng(0).uniform(-1, 1, (400, 4)), np.zeros(400))
    TORCH.train(rows, TORCH.calibrate(PARAMS, FACTS, BASE), FACTS, EXACT)
