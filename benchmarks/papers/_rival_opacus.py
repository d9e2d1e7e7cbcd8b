"""Opacus as a peer: a linear model and a perceptron, by DP-SGD with Poisson batches, features as diffprivlib has them.

Its noise multiplier is the one that its accountant finds for one record added or removed, times two for one replaced.
Settings are the best of a few on the choosing tables.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks import Missing
from benchmarks.papers._rival_peers import encode

RATE, STEPS, HIDDEN = 0.1, 200, 32  # share of the rows in a batch, steps, hidden units of the perceptron
LEARNING = {"Opacus linear": (1.0, 0.1), "Opacus MLP": (1.0, 0.3)}  # of classes, of numbers


def predict(
    X: Any, y: np.ndarray, new: Any, metric: str, epsilons: list[float], delta: float
) -> dict[str, tuple[np.ndarray, float]]:
    """For both models and every epsilon the scores of new rows (probabilities, or numbers), and seconds."""
    try:
        import torch
        from opacus.accountants.utils import get_noise_multiplier
    except ImportError as error:
        raise Missing("opacus is not installed") from error
    torch.set_num_threads(1)
    found, (A, B) = {}, encode(X, new)
    low, high = (float(y.min()), float(y.max())) if metric == "rmse" else (0.0, 1.0)
    place = (y - low) / (high - low) * 2 - 1 if metric == "rmse" else y
    for epsilon in epsilons:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            noise = 2 * get_noise_multiplier(
                target_epsilon=epsilon, target_delta=delta, sample_rate=RATE, steps=STEPS, accountant="prv"
            )
        for name, learning in LEARNING.items():
            start = time.perf_counter()
            rate, hidden = learning[metric == "rmse"], HIDDEN if name == "Opacus MLP" else 0
            scores = _descend(A, place, B, metric, noise, rate, hidden)
            scores = (np.clip(scores, -1, 1) + 1) / 2 * (high - low) + low if metric == "rmse" else scores
            found[f"{name} {epsilon:g}"] = scores, time.perf_counter() - start
    return found


def _descend(A: Any, y: Any, B: Any, metric: str, noise: float, learning: float, hidden: int) -> np.ndarray:
    import torch
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer
    from torch import nn

    X, target = torch.tensor(A, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    layers = [nn.Linear(X.shape[1], hidden), nn.Tanh(), nn.Linear(hidden, 1)] if hidden else [nn.Linear(X.shape[1], 1)]
    model, loss_of = nn.Sequential(*layers), nn.MSELoss() if metric == "rmse" else nn.BCEWithLogitsLoss()
    if not hidden:
        nn.init.zeros_(model[0].weight)
        nn.init.zeros_(model[0].bias)
    wrapped = GradSampleModule(model)
    optimizer: Any = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=learning),
        noise_multiplier=noise,
        max_grad_norm=1.0,
        expected_batch_size=int(RATE * len(X)),
    )
    for _ in range(STEPS):
        batch = torch.rand(len(X)) < RATE
        optimizer.zero_grad()
        loss_of(wrapped(X[batch])[:, 0], target[batch]).backward()
        optimizer.step()
    with torch.no_grad():
        scores = model(torch.tensor(B, dtype=torch.float32))[:, 0]
    return np.asarray(scores if metric == "rmse" else torch.sigmoid(scores), float)
