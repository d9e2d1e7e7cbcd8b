"""Released models in files: as JSON, which anybody can read without running code, and as a pickle by joblib."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.errors import BadInput, extra
from tacit.files import Json
from tacit.privacy.release import Release, plain
from tacit.training.preparation import Preparation
from tacit.training.registry import TRAINERS, read_scores
from tacit.training.trained import FORMAT, PublishedModel, Trained

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


def read_model(path: str | Path, *, trust: bool = False) -> PublishedModel:
    """A released model from its folder or file; the JSON form first, since reading it runs nothing.

    Args:
        path: The folder of a release, its model.json, or its model.joblib.
        trust: Read model.joblib where there is no JSON form. It is a pickle, which can run any code as it is read.

    Raises:
        BadInput: There is no model that tacit wrote, or it would have to be unpickled and is not trusted.
    """
    where = Path(path)
    if where.is_dir():
        where = where / AS_JSON if (where / AS_JSON).exists() else where / AS_PICKLE
    try:
        if where.suffix == ".json":
            return from_json(json.loads(where.read_text()))
        where.stat()
        if not trust:
            raise BadInput(
                f"{where} is a pickle, and reading it can run any code. If you know who made it, say so: --trust, or "
                "read_model(path, trust=True). Nothing was read"
            )
        model = load_joblib().load(where)
    except BadInput:
        raise
    except OSError as error:
        raise BadInput(f"no model can be read at {where}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, RecursionError, OverflowError) as error:
        raise BadInput(f"{where} is not a model that tacit wrote ({type(error).__name__})") from None
    if not isinstance(model, PublishedModel):
        raise BadInput(f"{where} is not a model that tacit wrote")
    return model


def from_json(document: Json) -> PublishedModel:
    """A model made of numbers from its JSON form."""
    if document.get("format") != FORMAT:
        raise ValueError("format")
    return PublishedModel(
        Preparation.from_json(document["preparation"]), read_scores(document["model"]), str(document["trainer"])
    )


def scores_to_json(model: Any) -> dict[str, Any] | None:
    """The JSON form of a model that ``read_scores`` reads; None for any other."""
    kinds = {entry.model[0] for entry in TRAINERS.values()}
    document: Json | None = plain(model) if hasattr(model, "to_json") else None
    return document if isinstance(document, dict) and document.get("kind") in kinds else None
