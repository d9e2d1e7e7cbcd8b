"""Every trainer of ``tacit.train``, and all that the rest of the house knows of it.

``train``, ``plan``, fronts, models in files, the laws, the audit and the command read TRAINERS. To add a trainer: one
file with an object that has what ``tacit.training.trainer.Trainer`` lists, and one entry. Names are "module:attribute",
of this room where the module has no dot, and loaded on first use, so that the command lists trainers without importing.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import choice
from tacit.files import Json

if TYPE_CHECKING:
    from tacit.training.trainer import Trainer

CLASSES, NUMBERS = "classes", "numbers"
LINEAR = ("linear", "descent:LinearScores")
ADDITIVE = ("additive", "additive:AdditiveScores")
MEAN = ("mean", "automatic:MeanScores")
PERCEPTRON = ("perceptron", "perceptron:PerceptronScores")
LAYERS = ("layers", "dense:DenseScores")
UNIT_ROWS = ("linear of unit rows", "perturbed_output:UnitLinearScores")


@dataclass(frozen=True)
class TrainerEntry:
    """What a trainer is called, what it predicts, and where its parts are."""

    name: str
    about: str  # one line for help
    home: str  # of an object with space, defaults, calibrate, profile, train and worst_pairs
    model: tuple[str, str]  # the kind of its models in JSON, and their class, which has from_json
    task: str = CLASSES
    aliases: tuple[str, ...] = ()  # names that fronts and earlier releases have for it
    front: str = ""  # the class by which a front measures it as published; run by run with fast noise if empty
    runs: float = 1.0  # usual: above 1 it chooses among settings
    forecast: str = "forecast:forecast"  # what it would cost and give

    def load(self) -> Trainer:
        """The trainer itself."""
        trainer: Trainer = load_part(self.home)
        return trainer


_LISTED = (
    TrainerEntry("auto", "linear, additive or both, by rows per column", "automatic:AUTOMATIC", MEAN),
    TrainerEntry("auto-numbers", "the same of a number", "automatic:AUTOMATIC_NUMBERS", MEAN, NUMBERS),
    TrainerEntry("logistic", "logistic regression", "descent:LOGISTIC", LINEAR),
    TrainerEntry("svm", "linear support vector machine", "descent:SVM", LINEAR),
    TrainerEntry("ridge", "linear regression of a number", "descent:RIDGE", LINEAR, NUMBERS),
    TrainerEntry("logistic-lots", "batches drawn without replacement", "descent:LOGISTIC_LOTS", LINEAR),
    TrainerEntry("logistic-poisson", "Adam on Poisson batches", "descent:LOGISTIC_POISSON", LINEAR),
    TrainerEntry(
        "logistic-sgd",
        "DP-SGD as published (Avent et al. 2020, Algorithm 3)",
        "descent:LOGISTIC_SGD",
        LINEAR,
        aliases=("logistic_sgd",),
        front="dp_sgd:LogisticSGD",
    ),
    TrainerEntry(
        "logistic-adam",
        "DP-Adam as published (Avent et al. 2020, Algorithm 4)",
        "descent:LOGISTIC_ADAM",
        LINEAR,
        aliases=("logistic_adam",),
        front="dp_sgd:LogisticAdam",
    ),
    TrainerEntry(
        "svm-sgd",
        "linear support vector machine by DP-SGD as published",
        "descent:SVM_SGD",
        LINEAR,
        aliases=("svm_sgd",),
        front="dp_sgd:SupportVectorSGD",
    ),
    TrainerEntry("output-perturbation", "published with noise", "perturbed_output:OUTPUT", UNIT_ROWS),
    TrainerEntry(
        "output-perturbation-sgd",
        "the same by passes over single rows as published (Wu et al. 2017)",
        "perturbed_output:OUTPUT_SGD",
        UNIT_ROWS,
        aliases=("output_perturbation",),
        front="output_perturbation:OutputPerturbation",
    ),
    TrainerEntry("mlp", "perceptron with one hidden layer", "perceptron:MLP", PERCEPTRON),
    TrainerEntry("mlp-numbers", "the same of a number", "perceptron:MLP_NUMBERS", PERCEPTRON, NUMBERS),
    TrainerEntry(
        "mlp-1000",
        "perceptron of 1000 as published (Avent et al. 2020)",
        "perceptron:MLP_1000",
        PERCEPTRON,
        aliases=("mlp_1000",),
        front="dp_mlp:Network1000",
    ),
    TrainerEntry(
        "mlp-128-64",
        "perceptron of 128 and 64 as published",
        "perceptron:MLP_128_64",
        PERCEPTRON,
        aliases=("mlp_128_64",),
        front="dp_mlp:Network128x64",
    ),
    TrainerEntry("torch", "torch network by Opacus", "torch_descent:TORCH", LAYERS),
    TrainerEntry("torch-numbers", "the same of a number", "torch_descent:TORCH_NUMBERS", LAYERS, NUMBERS),
    TrainerEntry("ebm", "explainable boosting", "ebm:EBM", ADDITIVE),
    TrainerEntry("ebm-numbers", "the same of a number", "ebm:EBM_NUMBERS", ADDITIVE, NUMBERS),
)
TRAINERS: dict[str, TrainerEntry] = {entry.name: entry for entry in _LISTED}


def find_trainer(name: str) -> TrainerEntry:
    """An entry by its name, or by another name of it.

    >>> find_trainer("logistic_sgd").name
    'logistic-sgd'
    """
    others = {alias: entry for entry in TRAINERS.values() for alias in entry.aliases}
    return others[name] if name in others else TRAINERS[choice("trainer", name, tuple(TRAINERS))]


def load_trainer(trainer: str | Trainer) -> Trainer:
    """A trainer by its name, or as it is."""
    return find_trainer(trainer).load() if isinstance(trainer, str) else trainer


def read_scores(document: Json) -> Any:
    """A model that is made of numbers, from JSON, without the preparation of its inputs; KeyError for another kind."""
    readers = dict(entry.model for entry in TRAINERS.values())
    return load_part(readers[document["kind"]]).from_json(document)


def load_part(name: str) -> Any:
    """What "module:attribute" names.

    >>> load_part("descent:SVM").name, load_part("tacit.training.descent:SVM").name
    ('linear SVM', 'linear SVM')
    """
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module if "." in module else f"tacit.training.{module}"), attribute)
