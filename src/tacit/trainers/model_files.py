"""Released models in files: as JSON, which anybody can read without running code, and as a pickle by joblib."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.errors import BadInput, extra
from tacit.privacy.release import Release
from tacit.schema import Column, Schema
from tacit.trainers.additive import AdditiveScores
from tacit.trainers.dense import DenseScores
from tacit.trainers.descent import LinearScores
from tacit.trainers.perceptron import PerceptronScores
from tacit.trainers.perturbed_output import UnitLinearScores
from tacit.trainers.preparation import Preparation
from tacit.trainers.trained import FORMAT, PublishedModel, Trained
from tacit.trainers.trainer import Model

KINDS: dict[str, Callable[[dict[str, Any]], Model]] = {
    "linear": LinearScores.from_json,
    "additive": AdditiveScores.from_json,
    "perceptron": PerceptronScores.from_json,
    "layers": DenseScores.from_json,
    "linear of unit rows": UnitLinearScores.from_json,
}
AS_JSON, AS_PICKLE = "model.json", "model.joblib"


def write_model(folder: Path, release: Release[Trained]) -> None:
    """model.json where the model is made of numbers alone, and model.joblib."""
    model = release.value.model
    if model.portable:
        (folder / AS_JSON).write_text(json.dumps(model.to_json(), indent=1) + "\n")
    load_joblib().dump(model, folder / AS_PICKLE)


def load_joblib() -> ModuleType:
    """What writes and reads model.joblib; asked for before anything is spent."""
    return extra("joblib", "sklearn", "model.joblib")


def read_model(path: str | Path) -> PublishedModel:
    """A released model from its folder or file; the JSON form first, since reading it runs nothing.

    Edges. A joblib file is a pickle, which can run code: read only those that you trust.
    """
    where = Path(path)
    if where.is_dir():
        where = where / AS_JSON if (where / AS_JSON).exists() else where / AS_PICKLE
    try:
        if where.suffix == ".json":
            return from_json(json.loads(where.read_text()))
        model = load_joblib().load(where)
    except OSError as error:
        raise BadInput(f"no model can be read at {where}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise BadInput(f"{where} is not a model that tacit wrote ({type(error).__name__})") from None
    if not isinstance(model, PublishedModel):
        raise BadInput(f"{where} is not a model that tacit wrote")
    return model


def from_json(document: dict[str, Any]) -> PublishedModel:
    """A model made of numbers from its JSON form."""
    if document.get("format") != FORMAT or document["model"]["kind"] not in KINDS:
        raise ValueError("format")
    prepared, model = document["preparation"], document["model"]
    cuts = {name: tuple(values) for name, values in prepared["cuts"].items()}
    stored = prepared["schema"]
    columns = tuple(_column(c) for c in stored["columns"])
    schema = Schema(columns, _column(stored["target"]), bool(stored["declared"]), prepared["form"])
    scores = KINDS[model["kind"]](model)
    return PublishedModel(Preparation(schema, cuts), scores, str(document["trainer"]))


def _column(stored: dict[str, Any]) -> Column:
    span = stored.get("range")
    return Column(
        str(stored["name"]), stored["kind"], tuple(stored.get("categories", ())), (span[0], span[1]) if span else None
    )
