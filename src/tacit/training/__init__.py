"""Algorithms that come with tacit, by name. Each is one file; nothing is imported before it is asked for."""

from __future__ import annotations

import importlib
from typing import Any

from tacit.errors import choice

SHIPPED: dict[str, str] = {
    "sparse_vector": "sparse_vector:SparseVector",
    "output_perturbation": "output_perturbation:OutputPerturbation",
    "logistic_sgd": "dp_sgd:LogisticSGD",
    "logistic_adam": "dp_sgd:LogisticAdam",
    "svm_sgd": "dp_sgd:SupportVectorSGD",
    "mlp_1000": "dp_mlp:Network1000",
    "mlp_128_64": "dp_mlp:Network128x64",
    "opacus": "opacus:OpacusModel",
    "estimator": "estimator:PrivateEstimator",
}
"""name -> module:class in this package. A class for tables has a class method ``from_table(table, target, seed=0)``."""


TRAINERS: dict[str, str] = {
    "auto": "automatic:AUTOMATIC",
    "auto-numbers": "automatic:AUTOMATIC_NUMBERS",
    "logistic": "descent:LOGISTIC",
    "svm": "descent:SVM",
    "ridge": "descent:RIDGE",
    "logistic-lots": "descent:LOGISTIC_LOTS",
    "logistic-poisson": "descent:LOGISTIC_POISSON",
    "output-perturbation": "perturbed_output:OUTPUT",
    "mlp": "perceptron:MLP",
    "mlp-numbers": "perceptron:MLP_NUMBERS",
    "torch": "torch_descent:TORCH",
    "torch-numbers": "torch_descent:TORCH_NUMBERS",
    "ebm": "ebm:EBM",
    "ebm-numbers": "ebm:EBM_NUMBERS",
}


def load(name: str) -> Any:
    """The class of a shipped algorithm.

    >>> load("sparse_vector").__name__
    'SparseVector'
    """
    known = {**SHIPPED, **TRAINERS}
    module, _, attribute = known[choice("algorithm", name, tuple(known))].partition(":")
    return getattr(importlib.import_module(f"tacit.training.{module}"), attribute)
