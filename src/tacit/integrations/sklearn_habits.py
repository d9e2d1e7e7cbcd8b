"""What scikit-learn users expect of a search: a table of results, arguments for fit, and a word where habits break the
promise: cross-validation around a private search, and a scaler fitted before the rows are divided."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, get_tags

from tacit.errors import BadInput, PrivacyWarning
from tacit.methods.tuned import Tuned

FOLDS = (
    "this fit is one fold of a cross-validation: every fold spends {budget} anew, together they are worth more, "
    "and the scores of the outer folds are exact. For a score of the chosen model read best_score_, which is paid for"
)
SCALER = (
    "{name} comes before PrivateSearchCV in a pipeline: it was fitted on all rows, the private validation rows among "
    "them, and nothing would protect what it learnt. Put the pipeline inside: PrivateSearchCV(make_pipeline(..., "
    "{kind}()), space). Nothing was spent"
)


def tabulate_results(found: Tuned) -> dict[str, Any]:
    """``cv_results_`` of what was released: every noisy observation, or the released setting where there are none.

    ``std_test_score`` is the standard deviation of the noise, the same for all observations.
    """
    rows = found.trials or [{"params": found.params, "value": found.score}]
    noise = found.noise if found.trials else found.deviation
    losses = [np.nan if row["value"] is None else float(row["value"]) for row in rows]
    read = (lambda v: -v) if found.reading is None else found.reading.larger_is_better
    scores = np.array([read(loss) for loss in losses])
    spread = [noise or 0.0] * len(rows)
    if found.reading is not None:
        spread = [found.reading.reach(loss, 1.96 * (noise or 0.0)) / 1.96 for loss in losses]
    names = list(dict.fromkeys(name for row in rows for name in row["params"]))
    results: dict[str, Any] = {
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
    frame = inspect.currentframe()
    while frame is not None:
        module, act = str(frame.f_globals.get("__name__", "")), frame.f_code.co_name
        if module.startswith("sklearn.model_selection") and act == "_fit_and_score":
            warnings.warn(FOLDS.format(budget=budget), PrivacyWarning, stacklevel=3)
            break
        if module == "sklearn.pipeline" and act.startswith("fit"):
            _refuse_scalers(frame.f_locals.get("self"), search)
        frame = frame.f_back


def _refuse_scalers(pipeline: Any, search: Any) -> None:
    steps = getattr(pipeline, "steps", [])
    if not steps or steps[-1][1] is not search:
        return
    for name, step in steps[:-1]:
        if step not in (None, "passthrough") and get_tags(step).requires_fit:
            raise BadInput(SCALER.format(name=repr(name), kind=type(search.estimator).__name__))
