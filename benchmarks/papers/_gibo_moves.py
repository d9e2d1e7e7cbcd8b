"""Rules that turn noisy gradients into steps: those of the method, and others that know the noise.

A rule sees the point, a released gradient, the standard deviation of its noise and the number of the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tacit.methods.gibo.steps import rule

Move = Callable[[np.ndarray, np.ndarray, float, int], np.ndarray]


def _of_method(name: str, times: float = 1.0) -> Callable[[float, int], Move]:
    def make(rate: float, steps: int) -> Move:
        inner = rule(name, times * rate)
        return lambda theta, g, sigma, t: inner(g)

    return make


def _floored(share: float) -> Callable[[float, int], Move]:
    """AdaGrad whose denominator begins at ``share`` of the noise's variance: noise alone makes no long first step."""

    def make(rate: float, steps: int) -> Move:
        squares = np.zeros(1)

        def move(theta: np.ndarray, g: np.ndarray, sigma: float, t: int) -> np.ndarray:
            nonlocal squares
            squares = squares + g * g
            return rate * g / np.sqrt(squares + share * sigma**2 + 1e-300)

        return move

    return make


def _of_norm(rate: float, steps: int) -> Move:
    """AdaGrad by the norm: coordinates with small gradients move little."""
    squares = 0.0

    def move(theta: np.ndarray, g: np.ndarray, sigma: float, t: int) -> np.ndarray:
        nonlocal squares
        squares += float(g @ g)
        return rate * math.sqrt(len(g)) * g / math.sqrt(squares)

    return move


def _corrected(rate: float, steps: int) -> Move:
    """AdaGrad whose sum of squares has the noise's share taken out, but for a tenth."""
    squares, noise = np.zeros(1), 0.0

    def move(theta: np.ndarray, g: np.ndarray, sigma: float, t: int) -> np.ndarray:
        nonlocal squares, noise
        squares, noise = squares + g * g, noise + sigma**2
        return np.clip(rate * g / np.sqrt(np.maximum(squares - noise, 0.1 * squares) + 1e-300), -rate, rate)

    return move


def _shrunk(rate: float, steps: int) -> Move:
    """AdaGrad times the share of a coordinate's squares so far that is not noise."""
    inner, squares, noise = rule("adagrad", rate), np.zeros(1), 0.0

    def move(theta: np.ndarray, g: np.ndarray, sigma: float, t: int) -> np.ndarray:
        nonlocal squares, noise
        squares, noise = squares + g * g, noise + sigma**2
        return inner(g) * np.maximum(0.0, 1 - noise / np.maximum(squares, 1e-300))

    return move


def _averaged(keep: float) -> Callable[[float, int], Move]:
    """AdaGrad on a running mean of gradients."""

    def make(rate: float, steps: int) -> Move:
        inner, mean, weight = rule("adagrad", rate), np.zeros(1), 0.0

        def move(theta: np.ndarray, g: np.ndarray, sigma: float, t: int) -> np.ndarray:
            nonlocal mean, weight
            mean, weight = keep * mean + (1 - keep) * g, keep * weight + 1 - keep
            return inner(mean / weight)

        return move

    return make


def _smoothed(length: float) -> Callable[[float, int], Move]:
    """AdaGrad on the gradient that all released ones tell of, as a Gaussian process along the path, noise known."""

    def make(rate: float, steps: int) -> Move:
        inner, at, seen, noise = rule("adagrad", rate), list[np.ndarray](), list[np.ndarray](), list[float]()

        def move(theta: np.ndarray, g: np.ndarray, sigma: float, t: int) -> np.ndarray:
            at.append(theta)
            seen.append(g)
            noise.append(sigma**2)
            X, G, variance = np.array(at), np.array(seen), np.array(noise)
            signal = max(float((G**2).mean() - variance.mean()), 0.1 * float(variance.mean()) + 1e-300)
            far = ((X[:, None] - X[None]) ** 2).mean(axis=2)
            K = np.exp(-far / (2 * length**2))
            return inner(K[-1] @ np.linalg.solve(K + np.diag(variance / signal + 1e-9), G))

        return move

    return make


def _radius(rate: float, steps: int) -> Move:
    """A trust region by a public schedule: steps of one length, which shrinks geometrically to a tenth."""

    def move(theta: np.ndarray, g: np.ndarray, sigma: float, t: int) -> np.ndarray:
        size = float(np.linalg.norm(g))
        return rate * 0.1 ** (t / steps) * math.sqrt(len(g)) * g / size if size else 0 * g

    return move


MOVES: dict[str, Callable[[float, int], Move]] = {
    "adagrad": _of_method("adagrad"),
    "adam": _of_method("adam", 0.5),
    "momentum": _of_method("momentum"),
    "plain": _of_method("plain", 5.0),
    "floored": _floored(1.0),
    "floored more": _floored(4.0),
    "norm": _of_norm,
    "corrected": _corrected,
    "shrunk": _shrunk,
    "averaged": _averaged(0.5),
    "averaged more": _averaged(0.8),
    "smoothed": _smoothed(0.15),
    "smoothed more": _smoothed(0.4),
    "radius": _radius,
}
