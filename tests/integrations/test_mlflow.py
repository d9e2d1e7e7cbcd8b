"""A release in a real MLflow store: what was logged is what was released, and the model predicts the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import BadInput

mlflow = pytest.importorskip("mlflow")

from tacit.integrations.mlflow import log_release  # noqa: E402


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An empty store, and a client that reads it."""
    folder = tmp_path_factory.mktemp("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")
    mlflow.create_experiment("releases", artifact_location=str(folder / "artefacts"))
    mlflow.set_experiment("releases")
    yield mlflow.MlflowClient()
    mlflow.set_tracking_uri(None)


def tune() -> tacit.Release[Any]:
    def losses(params: dict[str, float]) -> np.ndarray:
        return np.full(4000, (params["x"] - 0.3) ** 2)

    budget = tacit.Budget.approximate(1.0, 1e-6)
    return tacit.tune(
        losses, {"x": tacit.Float(0, 1)}, records=4000, bounds=(0, 1), budget=budget, trials=8, progress=False
    )


def frame(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    size, kind = rng.normal(size=n), rng.choice(["a", "b"], n)
    return pd.DataFrame({"size": size, "kind": kind, "label": np.where(size + (kind == "a") > 0.4, "yes", "no")})


def test_a_tuning_is_logged_as_it_was_released(store: Any) -> None:
    release = tune()
    data = store.get_run(log_release(release, run_name="first")).data
    assert {name: float(value) for name, value in data.params.items()} == pytest.approx(release.value.params)
    assert data.metrics["score"] == pytest.approx(release.value.score)
    assert data.metrics["score_low"] < data.metrics["score"] < data.metrics["score_high"]
    assert (data.metrics["epsilon"], data.metrics["delta"]) == pytest.approx((1.0, 1e-6))
    assert data.tags["tacit.guarantee"] == str(release.guarantee)
    assert data.tags["tacit.guarantee.kind"] == "unconditional"
    assert data.tags["tacit.ledger"] == "none paid"


def test_certificate_page_and_model_are_artefacts_and_the_model_predicts_the_same(store: Any) -> None:
    table = frame()
    release = tacit.train(
        "logistic",
        table,
        target="label",
        labels=["no", "yes"],
        budget=tacit.Budget.approximate(4.0, 1e-6),
        progress=False,
    )
    run = log_release(release)
    kept = Path(mlflow.artifacts.download_artifacts(run_id=run, artifact_path="certificate.json"))
    assert json.loads(kept.read_text())["digest"] == release.certificate()["digest"]
    page = Path(mlflow.artifacts.download_artifacts(run_id=run, artifact_path="report.html")).read_text()
    assert "<!doctype html>" in page
    loaded = mlflow.pyfunc.load_model(f"runs:/{run}/model")
    new = table.drop(columns="label")[:50]
    assert list(loaded.predict(new)) == list(release.value.model.predict(new))


def test_an_active_run_is_refused_since_its_times_would_be_kept(store: Any) -> None:
    release = tune()
    with mlflow.start_run(), pytest.raises(BadInput, match="end it first"):
        log_release(release)


def test_what_is_no_release_is_refused() -> None:
    with pytest.raises(BadInput, match=r"that of tacit\.tune or tacit\.train"):
        log_release({"score": 1.0})  # type: ignore[arg-type]
