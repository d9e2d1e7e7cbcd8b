"""The privacy-utility front: what every epsilon buys, before one is chosen. Names load on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.pareto.algorithm import Algorithm as Algorithm
    from tacit.pareto.compare import Comparison as Comparison
    from tacit.pareto.discovery import discover as discover
    from tacit.pareto.dominance import hypervolume as hypervolume
    from tacit.pareto.dominance import nondominated as nondominated
    from tacit.pareto.front import Front as Front
    from tacit.pareto.front import Point as Point
    from tacit.pareto.private_front import PrivateTest as PrivateTest
    from tacit.pareto.sampler import DParetoSampler as DParetoSampler

_HOMES = {
    "Algorithm": "algorithm",
    "Comparison": "compare",
    "DParetoSampler": "sampler",
    "Front": "front",
    "Point": "front",
    "PrivateTest": "private_front",
    "discover": "discovery",
    "hypervolume": "dominance",
    "nondominated": "dominance",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tacit.pareto' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tacit.pareto.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
