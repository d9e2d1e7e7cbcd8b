"""Examples per second of DP-SGD: ours, Opacus by hooks and by ghost clipping, and plain loops over examples in NumPy.

Everybody clips to the same norm. Under two threads Opacus may use both; our trainers use one, always: several workers
use a machine better. Opacus draws Poisson lots and counts a record added or removed; its noise is set
so that its epsilon, by its own accountant, is the epsilon of ours. Only steps are timed: sampling, gradients, clipping,
noise, update. Our perceptrons skip the zeros of inputs that are seldom anything else (441 of MNIST's 784)
and draw noise from a table of 65,536 normal quantiles, as they do to measure a front. Opacus is absent from the results
where it is not installed.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from importlib import metadata, util
from typing import Any

import numpy as np

from benchmarks import Figure, ratio, threads, timed
from benchmarks.papers import _dpareto
from tacit.accounting import noise_for
from tacit.privacy.noise import Simulation
from tacit.training.dp_mlp import Network
from tacit.training.dp_sgd import LogisticSGD
from tacit.training.linear_losses import LOSSES
from tacit.training.lots import LotSettings, distinct_lots
from tacit.training.perceptron import PerceptronSettings, first_weights, put_out, whole_inputs, whole_sums

TITLE = "DP-SGD: examples per second"
LONG = False
THREADS = (1, 2)
DELTA, CLIP, OUR_EPOCHS = 1e-5, 1.0, 4
Times = tuple[float, float, float]


@dataclass(frozen=True)
class Case:
    """A model, its data, and how many steps to time for each contender: the slow ones fewer."""

    name: str
    algorithm: Any
    lot: int
    steps: dict[str, int]
    goals: dict[str, float]

    @property
    def params(self) -> dict[str, Any]:
        return {"epochs": 1, "lot": self.lot, "rate": 0.01, "variance": 1.0, "clip": CLIP}


def cases() -> list[Case]:
    adult = _dpareto.adult() if _dpareto.there("adult_libsvm.npz") else _made(30_956, 123, 2)
    X, y, X_test, y_test = _dpareto.mnist(12_000) if _dpareto.there("mnist.npz") else _made(12_000, 784, 10)
    small, large = (Network(X, y, X_test, y_test, hidden=hidden) for hidden in ((128, 64), (1000,)))
    goals = {"ghost": 2.5, "hooks": 60}
    return [
        Case("logistic regression", LogisticSGD(*adult), 128, {"loop": 5, "hooks": 40, "ghost": 40}, {"hooks": 40}),
        Case("784-1000-10", large, 500, {"loop": 1, "hooks": 2, "ghost": 12}, goals),
        Case("784-128-64-10", small, 500, {"loop": 1, "hooks": 4, "ghost": 24}, goals),
    ]


def _made(n: int, d: int, classes: int) -> _dpareto.Split:
    rng = np.random.default_rng(0)
    X, y = rng.random((n, d)).astype(np.float32), rng.integers(0, classes, n)
    return X, y, X[:100], y[:100]


def each(times: Times, examples: int) -> Times:
    """Seconds per example."""
    return times[0] / examples, times[1] / examples, times[2] / examples


def ours(case: Case, repeats: int, seeds: int = 1) -> Times:
    params = {**case.params, "epochs": OUR_EPOCHS}  # the start of a training is spread over its steps
    trained = LotSettings.of(params, case.algorithm.examples.records)
    work = timed(lambda: case.algorithm.train(params, list(range(seeds))), repeats)
    return each(work, trained.steps * case.lot * seeds)


def loop(case: Case, repeats: int) -> Times:
    """One example at a time: its gradient is formed, measured and cut."""
    data, steps = case.algorithm.examples, case.steps["loop"]
    network, rng = case.algorithm if isinstance(case.algorithm, Network) else None, np.random.default_rng(0)
    sizes = network.sizes if network else (data.X.shape[1], 1)
    settings = PerceptronSettings(len(data.X), steps, case.lot, sizes[1:-1], 0.01, 1e4, 1.0)
    x, single = whole_inputs(data.X, np.dtype(np.float32)), np.dtype(np.float32)
    theta, layers = first_weights(sizes, Simulation(0), single, top=True)

    def gradient(i: int) -> np.ndarray:
        outputs = put_out(x[[i]], layers)
        residual = LOSSES["logistic"](outputs[-1] @ layers[-1] / 256, data.y[[i]].astype(float)).astype(single)
        return whole_sums(outputs, layers, residual, settings) * np.float32(settings.unit)

    def work() -> None:
        for lot in distinct_lots(rng, len(x), case.lot, steps):
            total = np.zeros_like(theta)
            for i in lot:
                g = gradient(int(i))
                total += g * min(1.0, CLIP / float(np.sqrt(g @ g)))
            noise = rng.standard_normal(len(total), dtype=np.float32)
            theta[:] -= 0.01 / case.lot * (total + 2 * CLIP * noise)

    return each(timed(work, repeats), steps * case.lot)


def opacus(case: Case, mode: str, repeats: int) -> tuple[Times, float]:
    """Seconds per example, and the relative difference of epsilons by Opacus's accountant and by ours."""
    import torch
    from opacus import PrivacyEngine
    from opacus.accountants import PRVAccountant

    torch.set_num_threads(threads())
    data, steps = case.algorithm.examples, case.steps[mode]
    n, sizes = data.records, getattr(case.algorithm, "sizes", (data.X.shape[1], 2))
    lots, epsilon = -(-n // case.lot), float(case.algorithm.epsilons([case.params], DELTA)[0])
    asked: dict[str, Any] = {"records": n, "lot": n / lots, "steps": lots, "delta": DELTA}
    noise = float(noise_for(epsilon=epsilon, **asked, sampling="poisson", adjacency="add_remove"))
    layers = [m for i, o in itertools.pairwise(sizes) for m in (torch.nn.Linear(i, o), torch.nn.ReLU())]
    module, criterion = torch.nn.Sequential(*layers[:-1]), torch.nn.CrossEntropyLoss()
    rows = torch.utils.data.TensorDataset(torch.as_tensor(data.X, dtype=torch.float32), torch.as_tensor(data.y))
    private = PrivacyEngine().make_private(
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=0.01),
        data_loader=torch.utils.data.DataLoader(rows, batch_size=case.lot),
        noise_multiplier=noise,
        max_grad_norm=CLIP,
        grad_sample_mode=mode,
        **({"criterion": criterion} if mode == "ghost" else {}),
    )
    wrapped, optimiser, loader = private[0], private[1], private[-1]
    criterion = private[2] if mode == "ghost" else criterion

    def work() -> None:
        for done, (x, y) in enumerate(loader, start=1):
            optimiser.zero_grad()
            criterion(wrapped(x), y).backward()
            optimiser.step()
            if done == steps:
                return

    accountant = PRVAccountant()
    accountant.history = [(noise, 1 / lots, lots)]
    return each(timed(work, repeats), steps * case.lot), abs(accountant.get_epsilon(DELTA) / epsilon - 1)


def speed(name: str, seconds: Times, note: str = "") -> Figure:
    return Figure(name, 1 / seconds[0], "examples/s", 1 / seconds[2], 1 / seconds[1], note=note)


def run(repeats: int) -> list[Figure]:
    warnings.filterwarnings("ignore", message=".*")
    figures, apart = [], []
    there = all(util.find_spec(name) for name in ("torch", "opacus"))
    for case in cases():
        mine, plain = ours(case, repeats), loop(case, 1)
        note = f"lot {case.lot}, {case.algorithm.examples.records:,} examples"
        figures += [
            speed(case.name, mine, note),
            ratio(f"{case.name} against a loop", mine, plain, "NumPy, one example at a time"),
        ]
        for mode in ("hooks", "ghost") if there else ():
            peer, difference = opacus(case, mode, min(repeats, 3))
            apart.append(difference)
            goal = f", goal {case.goals[mode]:g}" if mode in case.goals else ""
            against = f"Opacus {metadata.version('opacus')}, {mode}{goal}"
            figures.append(ratio(f"{case.name} against Opacus", mine, peer, against))
        if isinstance(case.algorithm, LogisticSGD):
            figures += repeated(case, mine, repeats)
    if apart:
        figures.append(Figure("largest relative difference of epsilons", max(apart), "", against="Opacus's accountant"))
    return figures


def repeated(case: Case, single: Times, repeats: int) -> list[Figure]:
    """Ten models in one pass, counted apart: what repeats gain over ten passes."""
    figures = []
    for what, shared in (("lots of their own", False), ("shared lots", True)):
        case.algorithm.shared_lots = shared
        together = ours(case, repeats, 10)
        case.algorithm.shared_lots = False
        figures.append(ratio(f"ten repeats at once, {what}", together, single, "one after the other"))
    return figures
