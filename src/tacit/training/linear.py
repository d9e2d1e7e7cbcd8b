"""Training linear models by DP-SGD and DP-Adam, many at once: gradients in closed form, nothing per example kept.

    G   groups of models with lots of their own        x   an example and a constant 1 for the intercept, D = d + 1
    K   models in a group, which share its lots        r   residual: the loss's derivative at the margin x w
    m   lot, examples in each                          L   clip; the gradient r x has norm |r| |x|
    W   weights (G, K, D)

Clipping r x to norm L is clipping r to [-L / |x|, L / |x|]: the whole of per-example clipping, for a linear model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.training.linear_losses import LOSSES
from tacit.training.lots import LotSettings

Floats = NDArray[Any]
MOMENTUM, BETA1, BETA2, KAPPA = 0.9, 0.9, 0.999, 1e-8  # Adam's are those of Avent2020 Algorithm 4


@dataclass(frozen=True)
class Rows:
    """Examples as the steps take them: with a constant column, their targets, and the norms |x|."""

    X: Floats  # (n, D)
    target: Floats  # (n,)
    norm: Floats  # (n,)
    loss: str

    @classmethod
    def of(cls, X: Floats, y: NDArray[np.int64], loss: str, dtype: Any) -> Rows:
        with_one = np.ones((len(X), X.shape[1] + 1), dtype)
        with_one[:, :-1] = X
        target = y.astype(dtype)
        norm = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.result_type(X, dtype)) + 1.0).astype(dtype)
        return cls(with_one, target, norm, loss)


def clipped_sums(loss: str, W: Floats, x: Floats, target: Floats, largest: Floats) -> Floats:
    """Sums over lots of clipped gradients at W, shape (G, K, D); x (G, m, D), target and largest |r| (G, 1, m)."""
    margin = np.matmul(W, x.transpose(0, 2, 1))  # (G, K, m)
    each = np.broadcast_to(target, margin.shape).reshape(-1)
    residual = LOSSES[loss](margin.reshape(-1, 1), each).reshape(margin.shape)
    np.minimum(residual, largest, out=residual)
    np.maximum(residual, -largest, out=residual)
    sums: Floats = np.matmul(residual, x)
    return sums


class Update:
    """The step to take along noisy mean gradients: plain ("sgd"), with momentum, or Adam's (Avent2020 Algorithm 4)."""

    def __init__(self, optimiser: str, rate: float, weights: Floats) -> None:
        self.optimiser, self.rate, self.i = optimiser, rate, 0
        self.mean, self.square = np.zeros_like(weights), np.zeros_like(weights)

    def __call__(self, g: Floats) -> Floats:
        if self.optimiser == "sgd":
            return self.rate * g
        if self.optimiser == "momentum":
            self.mean = MOMENTUM * self.mean + g
            return self.rate * self.mean
        self.i += 1
        self.mean = BETA1 * self.mean + (1 - BETA1) * g
        self.square = BETA2 * self.square + (1 - BETA2) * g * g
        root = np.sqrt(self.square / (1 - BETA2**self.i)) + KAPPA
        return np.asarray(self.rate / (1 - BETA1**self.i) * self.mean / root)


def train(
    rows: Rows,
    s: LotSettings,
    optimiser: str,
    coins: Iterator[tuple[NDArray[Any], Floats]],
    shape: tuple[int, int],
) -> Floats:
    """Weights (G, K, D) after all steps. ``coins`` gives blocks of lots (b, G, m) and of normals (b, G, K, D).

    Follows. Avent2020 Algorithm 3 (SGD) and Algorithm 4 (Adam): w0 = 0; each step the mean over the lot of clipped
    gradients plus (2L / m) N(0, sigma^2 I).
    """
    D, dtype = rows.X.shape[1], rows.X.dtype
    W = np.zeros((*shape, D), dtype)
    update = Update(optimiser, s.rate, W)
    x = np.empty((shape[0], s.lot, D), dtype)
    for lots, noise in coins:
        noise *= dtype.type(s.noise)
        target, largest = rows.target[lots][:, :, None], dtype.type(s.clip) / rows.norm[lots][:, :, None]
        for i, lot in enumerate(lots.astype(np.intp)):
            rows.X.take(lot, axis=0, out=x, mode="clip")
            g = clipped_sums(rows.loss, W, x, target[i], largest[i])
            g += noise[i]
            g /= s.lot
            W -= update(g)
    return W
