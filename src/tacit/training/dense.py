"""Released networks: layers of numbers, which need no torch to predict, and torch modules of any other kind."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.files import Json
from tacit.training.linear_losses import link

Floats = NDArray[np.float64]
ACTIVATIONS: dict[str, Any] = {"Tanh": np.tanh, "ReLU": lambda z: np.maximum(z, 0.0), "none": lambda z: z}


@dataclass(frozen=True)
class DenseScores:
    """Linear layers (weights (out, in), constants (out,)), each followed by an activation."""

    __released__ = True

    weights: tuple[Floats, ...]
    constants: tuple[Floats, ...]
    activations: tuple[str, ...]
    task: str

    @classmethod
    def of(cls, module: Any, task: str) -> DenseScores | None:
        """The numbers of a torch Sequential of linear layers and known activations; None for any other module."""
        layers = list(module.children()) if type(module).__name__ == "Sequential" else []
        names = [type(layer).__name__ for layer in layers]
        if not layers or names[0] != "Linear" or not {*names} <= {"Linear", *ACTIVATIONS}:
            return None
        after = [n if n != "Linear" else "none" for n in [*names[1:], "none"]]
        linear = [(layer, after[i]) for i, layer in enumerate(layers) if names[i] == "Linear"]
        if len(layers) != len(linear) + sum(a != "none" for _, a in linear) or any(x.bias is None for x, _ in linear):
            return None
        weights, constants = (
            tuple(getattr(x, n).detach().double().numpy() for x, _ in linear) for n in ("weight", "bias")
        )
        return cls(weights, constants, tuple(a for _, a in linear), task)

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes (n, k), or predicted targets (n, 1)."""
        z = np.nan_to_num(np.asarray(X, float))
        for weights, constants, name in zip(self.weights, self.constants, self.activations, strict=True):
            z = ACTIVATIONS[name](z @ weights.T + constants)
        return link(z, self.task)

    def to_json(self) -> Json:
        numbers = {"weights": [w.tolist() for w in self.weights], "constants": [c.tolist() for c in self.constants]}
        return {"kind": "layers", "task": self.task, "activations": list(self.activations), **numbers}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> DenseScores:
        weights, constants = (tuple(np.array(x, float) for x in stored[name]) for name in ("weights", "constants"))
        names = tuple(str(a) for a in stored["activations"])
        if not {*names} <= {*ACTIVATIONS}:
            raise ValueError("activations")
        return cls(weights, constants, names, str(stored["task"]))


@dataclass(frozen=True)
class TorchScores:
    """A torch module: has no JSON form, and needs torch to predict."""

    __released__ = True
    __trusted__ = ("module",)  # its training is private

    module: Any
    task: str

    def scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes (n, k), or predicted targets (n, 1).

        A copy is asked: layers may remember what passed through them, and rows that are scored are private too.
        """
        import torch

        with torch.no_grad():
            found = copy.deepcopy(self.module)(
                torch.as_tensor(np.nan_to_num(np.asarray(X, float)), dtype=torch.float32)
            )
        return link(found.double().numpy(), self.task)
