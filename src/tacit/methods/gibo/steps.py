"""How far to go along a noisy gradient: plain, momentum, AdaGrad, Adam.

A rule sees released gradients only, so whatever it does is post-processing and costs no privacy. Rules keep state: one
rule for each descent.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tacit.errors import choice, positive
from tacit.space import Array

RULES = ("plain", "momentum", "adagrad", "adam")
Rule = Callable[[Array], Array]


def rule(name: str, rate: float) -> Rule:
    """A fresh rule: from a noisy gradient (d,) to the displacement (d,) to subtract.

    Follows. Sopa et al. (2025), line 8 of Algorithm 1 (plain) and Remark 4.1 (AdaGrad); Polyak (1964); Duchi, Hazan
    and Singer (2011), diagonal form; Kingma and Ba (2015), Algorithm 1.
    Edges. A coordinate whose gradients were all zero does not move.

    >>> move = rule("adagrad", 0.1)
    >>> move(np.array([3.0, 0.0])).tolist(), move(np.array([4.0, 0.0])).round(3).tolist()
    ([0.1, 0.0], [0.08, 0.0])
    """
    rate = positive("rate", rate)
    return {"plain": _plain, "momentum": _momentum, "adagrad": _adagrad, "adam": _adam}[choice("step", name, RULES)](
        rate
    )


def _plain(rate: float) -> Rule:
    return lambda gradient: rate * gradient


def _momentum(rate: float, keep: float = 0.9) -> Rule:
    speed: Array | float = 0.0

    def move(gradient: Array) -> Array:
        nonlocal speed
        speed = keep * speed + gradient
        return rate * np.asarray(speed)

    return move


def _adagrad(rate: float) -> Rule:
    squares: Array | float = 0.0

    def move(gradient: Array) -> Array:
        nonlocal squares
        squares = squares + gradient * gradient
        return rate * _over(gradient, np.sqrt(squares))

    return move


def _adam(rate: float, first: float = 0.9, second: float = 0.999, epsilon: float = 1e-8) -> Rule:
    mean: Array | float = 0.0
    square: Array | float = 0.0
    t = 0

    def move(gradient: Array) -> Array:
        nonlocal mean, square, t
        t += 1
        mean = first * mean + (1 - first) * gradient
        square = second * square + (1 - second) * gradient * gradient
        towards = np.asarray(mean) / (1 - math.pow(first, t))
        return rate * towards / (np.sqrt(square / (1 - math.pow(second, t))) + epsilon)

    return move


def _over(gradient: Array, size: Array) -> Array:
    return np.divide(gradient, size, out=np.zeros_like(gradient), where=size > 0)
