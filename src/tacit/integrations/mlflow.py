"""A release in MLflow: parameters, score with its interval, the guarantee as tags, certificate, page and model."""

from __future__ import annotations

import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import BadInput, extra, name_type
from tacit.files import write_file
from tacit.methods.tuned import Tuned
from tacit.privacy.release import Release, plain
from tacit.training.trained import PublishedModel, Trained

if TYPE_CHECKING:
    from mlflow.pyfunc.model import PythonModel


def log_release(release: Release[Any], *, experiment: str | None = None, run_name: str | None = None) -> str:
    """Log a release of ``tacit.tune`` or ``tacit.train`` as a run of MLflow, and return the run's identifier.

    The run is opened and closed here, after the release was made, so that its times say nothing about the search. What
    is logged has been released: parameters; the loss, the score with the ends of its 95% interval for new data, epsilon
    and delta as metrics; the guarantee as tags; ``certificate.json`` and ``report.html`` as artefacts; a trained model
    in MLflow's pyfunc flavour, as the numbers of ``model.json`` where it has that form.

    Args:
        release: What ``tacit.tune`` or ``tacit.train`` returned.
        experiment: Name of the experiment; MLflow's current one if left out.
        run_name: Name of the run; MLflow makes one up if left out.

    Returns:
        The identifier of the run.

    Raises:
        BadInput: The release is of another kind, or a run of MLflow is active, whose times would be kept as well.
        MissingExtra: MLflow is not installed.

    Guarantee. Post-processing: what is logged is covered by the guarantee of the release.
    """
    if not isinstance(release, Release) or not isinstance(release.value, Tuned | Trained):
        raise BadInput(f"release must be that of tacit.tune or tacit.train, got {name_type(release)}")
    mlflow = extra("mlflow", "mlflow", "logging to MLflow")
    if mlflow.active_run() is not None:
        raise BadInput("a run of MLflow is active, and its times may tell how long the search took: end it first")
    value, document = release.value, release.certificate()
    if experiment is not None:
        mlflow.set_experiment(experiment)
    with mlflow.start_run(run_name=run_name) as run, tempfile.TemporaryDirectory() as folder:
        mlflow.log_params(value.params)
        mlflow.log_metrics(list_metrics(release))
        mlflow.set_tags(list_tags(release))
        certificate = Path(folder) / "certificate.json"
        write_file(certificate, json.dumps(document, indent=1))
        mlflow.log_artifact(str(certificate))
        mlflow.log_artifact(str(write_page(release, Path(folder))))
        if isinstance(value, Trained):
            log_model(value.model, Path(folder))
        return str(run.info.run_id)


def list_metrics(release: Release[Any]) -> dict[str, float]:
    """The loss, the score with the ends of its 95% interval for new data, and what the release cost."""
    value, quoted = release.value, release.guarantee.quoted()
    score: float | None = value.score
    loss: float | None = value.loss
    ends = {} if value.interval is None else dict(zip(("score_low", "score_high"), value.interval, strict=True))
    cost = {} if quoted is None else {"epsilon": quoted[0], "delta": quoted[1]}
    known = {"score": score, "loss": loss}
    return {**{name: float(v) for name, v in known.items() if v is not None}, **ends, **cost}


def list_tags(release: Release[Any]) -> dict[str, str]:
    """The guarantee in words, the metric, the digest of the value and who paid."""
    guarantee, document = release.guarantee, release.certificate()
    paid = release.payment
    return {
        "tacit.guarantee": str(guarantee),
        "tacit.guarantee.kind": guarantee.kind,
        "tacit.guarantee.unit": guarantee.unit,
        "tacit.metric": release.value.metric,
        "tacit.digest": document["digest"],
        "tacit.ledger": f"{paid.name}, entry {paid.entry}" if paid else "none paid",
    }


def write_page(release: Release[Any], folder: Path) -> Path:
    """The page of a release, from its certificate alone."""
    from tacit.report.pages import trained, tuned

    make = trained.page if isinstance(release.value, Trained) else tuned.page
    return make(release.certificate()).write(folder / "report.html")


def log_model(model: PublishedModel, folder: Path) -> None:
    """The model in MLflow's pyfunc flavour; as numbers, without a pickle of it, where it has a JSON form."""
    from mlflow import pyfunc

    from tacit.integrations.mlflow_model import LoggedModel

    numbers = folder / "model.json"
    if model.portable:
        write_file(numbers, json.dumps(plain(model.to_json())))
    logged: PythonModel = LoggedModel(None if model.portable else model)
    pyfunc.log_model(
        name="model",
        python_model=logged,
        artifacts={"model": str(numbers)} if model.portable else None,
        pip_requirements=[f"tacit[sklearn]=={version('tacit')}"],
    )
