"""What a private training releases: a model that reads tables, its hyperparameters, and a score from fresh rows."""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.metrics.reading import ANYTHING, Interval, clip_interval
from tacit.errors import BadInput
from tacit.files import Json
from tacit.privacy.release import plain
from tacit.space import Params
from tacit.training.preparation import Preparation
from tacit.training.trainer import CLASSES, Model

FORMAT = "tacit.model/1"


@dataclass(frozen=True)
class PublishedModel:
    """A trained model with the preparation of its inputs: takes rows as the table had them.

    scikit-learn's names are there: ``predict``, ``predict_proba``, ``classes_``, ``feature_names_in_``.
    """

    __released__ = True
    __trusted__ = ("model",)  # its training is private, whatever it is made of

    preparation: Preparation
    model: Model
    trainer: str

    @property
    def classes_(self) -> NDArray[Any]:
        return self.preparation.target.labels

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        return np.array([c.name for c in self.preparation.schema.columns], object)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, or numbers, one for each row."""
        return self.preparation.predictions(self.preparation.scores(self.model, self.preparation.features(X)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of ``classes_``, (n, k)."""
        if self.preparation.task != CLASSES:
            raise BadInput("probabilities are for classes; this model predicts numbers")
        return self.preparation.scores(self.model, self.preparation.features(X))

    @property
    def portable(self) -> bool:
        """Whether the model has a JSON form, which needs no pickle."""
        return hasattr(self.model, "to_json")

    def to_json(self) -> Json:
        about: Json = {"format": FORMAT, "trainer": self.trainer, "preparation": self.preparation.to_json()}
        return {**about, "features": self.preparation.names, "model": plain(self.model)}

    def digest(self) -> str:
        """SHA-256 of the model's JSON form, or of its pickle where it has none."""
        if self.portable:
            text = json.dumps(plain(self.to_json()), sort_keys=True, separators=(",", ":"))
            return hashlib.sha256(text.encode()).hexdigest()
        return hashlib.sha256(pickle.dumps(self.model)).hexdigest()


@dataclass(frozen=True)
class Trained:
    """The released model, its hyperparameters, and its score on test rows that nothing else has touched.

    ``score`` is the metric in its own units, ``loss`` the mean loss within its bounds. ``deviation`` is the standard
    deviation of the privacy noise on the score, ``sampling`` that of the test rows themselves as a sample, at most.
    ``possible`` are the ends of what the score can be. ``details`` has what the search cost, and what it would have
    cost otherwise.
    """

    __released__ = True

    model: PublishedModel
    params: Params
    score: float
    loss: float
    metric: str
    deviation: float
    sampling: float
    possible: Interval = ANYTHING
    details: Json = field(default_factory=dict)

    @property
    def half_width(self) -> float:
        """Of the score's 95% interval for new rows: noise and sampling together."""
        return 1.96 * float(np.hypot(self.deviation, self.sampling))

    @property
    def interval(self) -> Interval:
        """Of the score for new rows, at 95%, within what is possible."""
        return clip_interval(self.score, self.half_width, self.possible)

    def __str__(self) -> str:
        """The model's kind, its parameters and its score, in lines."""
        width = max(len(name) for name in (*self.params, self.metric))
        shown = {n: f"{v:.5g}" if isinstance(v, float) else str(v) for n, v in self.params.items()}
        lines = [f"Released: {self.model.trainer}", *(f"  {n:{width}}  {v}" for n, v in shown.items())]
        of, (low, high) = self.details.get("of", "rows"), self.interval
        lines.append(f"  {self.metric:{width}}  {self.score:.4g} (95%: {low:.3g} to {high:.3g}, for new {of})")
        lines.append(
            f"  of which noise for privacy ± {1.96 * self.deviation:.2g}, and ± {1.96 * self.sampling:.2g} because "
            f"{self.details.get('test', 'the')} test {of} are a sample"
        )
        if "baseline" in self.details:
            off = 1.96 * self.details.get("baseline_deviation", 0.0)
            base = (
                f"{self.details['baseline']:.4g}{f' ± {off:.2g}' if off else ''}, about: {self.details['baseline_of']}"
            )
            lines.append(f"  {'without the model':{width}}  {base}")
        lines += [f"  note: {remark}" for remark in self.details.get("remarks", ())]
        return "\n".join(lines)

    def to_json(self) -> Json:
        names = ("params", "score", "loss", "metric", "deviation", "sampling", "interval")
        return {
            **{name: plain(getattr(self, name)) for name in names},
            "trainer": self.model.trainer,
            "model_digest": self.model.digest(),
            "details": plain(self.details),
        }
