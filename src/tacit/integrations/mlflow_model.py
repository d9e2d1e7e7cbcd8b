"""A released model as MLflow's pyfunc flavour loads it: found by this module's name, read from its numbers."""

from __future__ import annotations

from typing import Any

from mlflow.pyfunc.model import PythonModel

from tacit.training.trained import PublishedModel


class LoggedModel(PythonModel):
    """Predicts rows as the released model does; ``params={"probabilities": True}`` gives those of the classes."""

    def __init__(self, model: PublishedModel | None = None) -> None:
        self.model = model

    def load_context(self, context: Any) -> None:
        from tacit.training.model_files import read_model

        if self.model is None:
            self.model = read_model(context.artifacts["model"])

    def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]  # MLflow reads hints as a schema
        if self.model is None:
            raise RuntimeError("the model was not loaded: use mlflow.pyfunc.load_model")
        wanted = bool((params or {}).get("probabilities"))
        return self.model.predict_proba(model_input) if wanted else self.model.predict(model_input)
