"""What scikit-learn users expect of a search: a table of results, arguments for fit, and a word where habits break the
promise: cross-validation around a private search, and a scaler fitted before the rows are divided."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, get_tags

from tacit.errors import BadInput, PrivacyWarning
from tacit.files import Json
from tacit.methods.tuned import Tuned

FOLDS = (
    "this fit is one fold of a cross-validation: every fold spends {budget} anew, together they are worth more, "
    "and the scores of the outer folds are exact. For a score of the chosen model read best_score_, which is paid for"
)
SCALER = (
    "{name} comes before {this}: it was fitted on all rows, the private ones among them, and nothing "
    "would protect what it learnt. {remedy}. Nothing was spent"
)
INSIDE = "Put the pipeline inside: PrivateSearchCV(make_pipeline(..., {kind}()), space)"
AS_THEY_ARE = "Give the rows as they are: numbers, words, dates and missing cells are prepared inside, with paid noise"
REPEATS = (
    "{this} is fitted inside sklearn.{where}, which fits it many times, on rows that overlap or repeat, or scores it "
    "exactly on private rows: no fit's guarantee would cover that. Fit it once, on the whole table; its score, in "
    "release_, is paid for. Nothing was spent"
)
MANY_FITS = {"model_selection", "ensemble", "calibration", "multiclass", "multioutput", "feature_selection", "impute"}
MANY_FITS |= {"semi_supervised"}


def tabulate_results(found: Tuned) -> Json:
    """``cv_results_`` of what was released: every noisy observation, or the released setting where there are none.

    ``std_test_score`` is the standard deviation of the noise, the same for all observations.
    """
    rows = found.trials or [{"params": found.params, "value": found.loss}]
    noise = found.noise if found.trials else found.deviation
    losses = [np.nan if row["value"] is None else float(row["value"]) for row in rows]
    read = (lambda v: -v) if found.reading is None else found.reading.larger_is_better
    scores = np.array([read(loss) for loss in losses])
    spread = [noise or 0.0] * len(rows)
    if found.reading is not None:
        spread = [found.reading.reach(loss, 1.96 * (noise or 0.0)) / 1.96 for loss in losses]
    names = list(dict.fromkeys(name for row in rows for name in row["params"]))
    results: Json = {
        f"param_{name}": np.ma.masked_array(
            [row["params"].get(name) for row in rows],
            mask=[name not in row["params"] for row in rows],
            dtype=object,
        )
        for name in names
    }
    results["params"] = [dict(row["params"]) for row in rows]
    results["split0_test_score"] = results["mean_test_score"] = scores
    results["std_test_score"] = np.array(spread)
    results["rank_test_score"] = np.array([1 + int((scores > s).sum()) for s in scores], np.int32)
    return results


def holds_booleans(y: Any) -> bool:
    """Whether labels came in a container of booleans; its type is public, and no cell is looked at.

    >>> holds_booleans(np.array([True, False])), holds_booleans([True, False]), holds_booleans(np.array([1, 0]))
    (True, False, False)
    """
    return str(getattr(y, "dtype", "")).lower() in ("bool", "boolean")


def restore_booleans(labels: NDArray[Any], wanted: bool) -> NDArray[Any]:
    """Labels 0 and 1 as the booleans they were given as."""
    return labels.astype(bool) if wanted and set(np.unique(labels)) <= {0, 1} else labels


def take_fit_params(given: Mapping[str, Any], rows: int, seen: Any) -> dict[str, Any]:
    """Arguments for the estimator's fit: of one entry for each row those of the training rows, others as they are."""
    return {
        name: _safe_indexing(value, seen) if _has_rows(value, rows) else value
        for name, value in given.items()
        if value is not None
    }


def _has_rows(value: Any, rows: int) -> bool:
    return not isinstance(value, (str, bytes, Mapping)) and hasattr(value, "__len__") and len(value) == rows


def look_around(search: Any, budget: Any) -> None:
    """Warn inside a cross-validation; refuse behind a transformer that was fitted on all rows."""
    for part, act, caller in _callers():
        if (part, act) == ("model_selection", "_fit_and_score"):
            warnings.warn(FOLDS.format(budget=budget), PrivacyWarning, stacklevel=3)
            break
        _refuse_scalers(part, act, caller, search)


def refuse_company(model: Any) -> None:
    """Refuse to be fitted behind a transformer that was fitted on all rows, or by something that fits many times."""
    for part, act, caller in _callers():
        _refuse_scalers(part, act, caller, model)
        if part in MANY_FITS:
            raise BadInput(REPEATS.format(this=type(model).__name__, where=part))


def _callers() -> Iterator[tuple[str, str, Any]]:
    """Of all calls that led here, those in scikit-learn: the part of it, the function, and whose method it is."""
    frame = inspect.currentframe()
    while frame is not None:
        home, _, rest = str(frame.f_globals.get("__name__", "")).partition(".")
        if home == "sklearn":
            yield rest.split(".")[0], frame.f_code.co_name, frame.f_locals.get("self")
        frame = frame.f_back


def _refuse_scalers(part: str, act: str, caller: Any, model: Any) -> None:
    """Refuse steps before the last of a pipeline, and a transformer of the target, that are fitted."""
    steps = getattr(caller, "steps", [])[:-1] if part == "pipeline" and act.startswith("fit") else []
    if part == "compose" and act == "fit":
        steps = [("transformer", getattr(caller, "transformer", None))]
    for name, step in steps:
        if step not in (None, "passthrough") and get_tags(step).requires_fit:
            inside = getattr(model, "estimator", None)
            remedy = AS_THEY_ARE if inside is None else INSIDE.format(kind=type(inside).__name__)
            raise BadInput(SCALER.format(name=repr(name), this=type(model).__name__, remedy=remedy))
