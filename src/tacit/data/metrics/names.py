"""Every metric by name, and why some that are often asked for are not among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tacit.data.metrics import losses
from tacit.data.metrics.metric import Bounds, Metric, check_rates
from tacit.data.metrics.reading import CLASSIFICATION, REGRESSION, Reading
from tacit.errors import BadInput, choice, did_you_mean, probability
from tacit.files import Json

LEAST_PROBABILITY = 0.01


def error() -> Metric:
    """The share of rows predicted wrongly. Bounds (0, 1), no clipping.

    >>> error().describe(1000)
    'error: one loss for each record, within [0, 1]; one record of 1,000 moves the mean by at most 0.001'
    """
    return Metric(
        name="error",
        task=CLASSIFICATION,
        reads="labels",
        losses=losses.wrong,
        bounds=(0.0, 1.0),
        shown=Reading("error", unit=True),
    )


def accuracy() -> Metric:
    """1 less the error."""
    return replace(error(), name="accuracy", shown=Reading("accuracy", 1.0, -1.0, higher=True, unit=True))


def balanced(rates: Mapping[Any, float] | None = None) -> Metric:
    """The mean over classes of the share of each class's rows predicted wrongly, by public class rates.

    The error of a row of class c counts 1 / (K rate_c), K classes. ``rates`` are public; where the training rows may be
    known, theirs are taken. Bounds (0, 1 / (K least rate)): a rare class costs noise.
    Edges. If the rates are not those of the measured rows, a class counts as much as its true share over its rate.
    """
    about = "each class counts by its stated rate"
    return Metric(
        name="balanced",
        task=CLASSIFICATION,
        reads="labels",
        losses=losses.wrong,
        balances=True,
        declared=check_rates(rates),
        clips="a row of a rare class counts more",
        shown=Reading("balanced error", unit=True, about=about),
    )


def balanced_accuracy(rates: Mapping[Any, float] | None = None) -> Metric:
    """1 less the balanced error."""
    made = balanced(rates)
    shown = Reading("balanced accuracy", 1.0, -1.0, higher=True, unit=True, about=made.shown.about)
    return replace(made, name="balanced_accuracy", shown=shown)


def log_loss(bounds: Bounds | None = None) -> Metric:
    """-log of the probability of a row's own class; clipped: probabilities below 0.01 count as 0.01, or by bounds."""
    return Metric(
        name="log_loss",
        task=CLASSIFICATION,
        reads="probabilities",
        losses=losses.log_losses,
        bounds=(0.0, -math.log(LEAST_PROBABILITY)),
        clips="clipped: a probability below {least} counts as {least}",
        shown=Reading("log-loss", about="of clipped losses"),
    ).within(bounds)


def brier() -> Metric:
    """Half the squared distance between probabilities and the row's own class, (1 - p)^2 for two classes; in [0, 1]."""
    return Metric(
        name="brier",
        task=CLASSIFICATION,
        reads="probabilities",
        losses=losses.brier_losses,
        bounds=(0.0, 1.0),
        clips="clipped, should probabilities not add up to 1",
        shown=Reading("Brier score", about="of clipped losses"),
    )


def absolute(bounds: Bounds | None = None) -> Metric:
    """The absolute error, clipped to public bounds."""
    shown = Reading("absolute error", about="of clipped losses")
    return _of_numbers("absolute", losses.absolute_losses, bounds, shown, level=0.5)


def squared(bounds: Bounds | None = None, *, root: bool = False) -> Metric:
    """The squared error, clipped to public bounds; with ``root`` its mean is read as the root."""
    shown = Reading("squared error" if not root else "root of the squared error", root=root, about="of clipped losses")
    return _of_numbers("rmse" if root else "squared", losses.squared_losses, bounds, shown, power=2)


def quantile(level: float, bounds: Bounds | None = None) -> Metric:
    """The pinball loss of a predicted quantile, clipped to public bounds.

    >>> quantile(0.9, (0.0, 50.0)).sensitivity(1000)
    0.05
    """
    q = probability("level", level)
    loss = partial(losses.quantile_losses, level=q)
    shown = Reading(f"quantile loss at {q:g}", about="of clipped losses")
    return _of_numbers(f"quantile:{q:g}", loss, bounds, shown, slope=max(q, 1 - q), level=q)


def _of_numbers(name: str, loss: Callable[..., Any], bounds: Bounds | None, shown: Reading, **facts: Any) -> Metric:
    about: Json = {"task": REGRESSION, "reads": "numbers", "clips": "clipped at the bounds", **facts}
    return Metric(name=name, losses=loss, shown=shown, **about).within(bounds)


def auc(positive: Any = None, *, rates: Mapping[Any, float] | None = None, pairs: str = "all", seed: int = 0) -> Metric:
    """The area under the ROC curve, as a mean over pairs of records (or persons).

    The records are paired without looking at their labels; a pair is lost if its labels differ and the positive one has
    the lower score. One record moves the mean over n/2 pairs by at most 2/n. ``pairs="all"`` is the mean over all
    matchings, with the same sensitivity and without the luck of one; "one" is one matching, where each record is in one
    pair alone, as method "gibo" needs it. ``positive`` is the class that ranks first, of more than two.

    The mean is read as 1 - mean / (share of pairs whose labels differ), by public class ``rates``; where training rows
    may be known, theirs are taken, and the interval counts that other rows may have other rates.

    >>> import numpy as np
    >>> metric = auc(rates={"no": 0.5, "yes": 0.5}).with_rates(["no", "yes"])
    >>> loss = metric.measure(np.array([0.9, 0.1, 0.8, 0.3]), np.array([1, 0, 1, 0])).mean()
    >>> metric.reading(4).read(float(loss))
    1.0
    """
    choice("pairs", pairs, ("all", "one"))
    return Metric(
        name="auc" if positive is None else f"auc:{positive}",
        task=CLASSIFICATION,
        reads="ranking",
        bounds=(0.0, 1.0),
        pairs=pairs,
        positive=positive,
        declared=check_rates(rates),
        seed=seed,
        shown=Reading("AUC", 1.0, -1.0, higher=True, unit=True),
    )


NAMES: dict[str, Callable[[], Metric]] = {
    "error": error,
    "accuracy": accuracy,
    "balanced": balanced,
    "balanced_accuracy": balanced_accuracy,
    "log_loss": log_loss,
    "brier": brier,
    "auc": auc,
    "absolute": absolute,
    "squared": squared,
    "rmse": partial(squared, root=True),
    "quantile": partial(quantile, 0.5),
}
WITH_ARGUMENT: dict[str, Callable[[str], Metric]] = {  # what is behind the colon of a name
    "auc": auc,
    "quantile": lambda level: _quantile_of(level),
}
OTHER_NAMES = {  # as scikit-learn has them
    "zero_one": "error",
    "balanced_error": "balanced",
    "neg_log_loss": "log_loss",
    "neg_brier_score": "brier",
    "brier_score": "brier",
    "roc_auc": "auc",
    "absolute_error": "absolute",
    "neg_mean_absolute_error": "absolute",
    "mae": "absolute",
    "squared_error": "squared",
    "neg_mean_squared_error": "squared",
    "mse": "squared",
    "neg_root_mean_squared_error": "rmse",
    "pinball": "quantile",
}
NO_MEAN = {
    "f1": ("its denominator counts predictions of all rows together", "balanced, brier or auc"),
    "precision": ("it divides by the number of rows predicted positive, which every row moves", "balanced or auc"),
    "recall": ("it divides by the number of positive rows, which is private", "balanced, with public class rates"),
    "average_precision": ("it ranks all rows together, and no sum over pairs gives it", "auc"),
    "r2": (
        "it divides by the variance of the targets, which is private",
        "squared, and public knowledge of the variance",
    ),
    "explained_variance": ("it divides by the variance of the targets, which is private", "squared"),
    "matthews_corrcoef": ("it divides by counts of all rows together", "balanced or auc"),
    "jaccard": ("its denominator counts predictions of all rows together", "balanced or brier"),
    "cohen_kappa": ("it divides by counts of all rows together", "balanced"),
    "median_absolute_error": ("a median may jump from one loss to another as one row changes", "absolute or quantile"),
    "max_error": ("one row decides it", "absolute, with bounds"),
    "mean_absolute_percentage_error": ("a loss divided by its target has no public bound", "absolute or squared"),
}
ALSO = {
    "kappa": "cohen_kappa",
    "mcc": "matthews_corrcoef",
    "mape": "mean_absolute_percentage_error",
    "ap": "average_precision",
}


def find(name: str, *, bounds: Bounds | None = None, rates: Mapping[Any, float] | None = None) -> Metric:
    """The metric of a name, such as "auc", "auc:yes" or "quantile:0.9"; names of scikit-learn's scorers are known too.

    Edges. Metrics that are no mean over records or pairs, such as F1, are refused with what to use instead.

    >>> find("roc_auc").name, find("quantile:0.9", bounds=(0, 50)).bounds
    ('auc', (0.0, 50.0))
    >>> find("f1")
    Traceback (most recent call last):
    ...
    tacit.errors.BadInput: metric 'f1' is no mean over records: its denominator counts ... Use balanced, brier or auc...
    """
    word, colon, tail = str(name).partition(":")
    known = OTHER_NAMES.get(word, word)
    plain = known.lower().removeprefix("neg_").removesuffix("_score")
    plain = ALSO.get(plain, plain)
    for refused, (why, instead) in NO_MEAN.items():
        if plain == refused or plain.startswith(f"{refused}_"):
            raise BadInput(
                f"metric {name!r} is no mean over records: {why}, so one record could move it by an amount that no "
                f"public bound covers. Use {instead}. Nothing was spent"
            )
    if known not in (WITH_ARGUMENT if colon else NAMES):
        near = did_you_mean(known, NAMES)
        raise BadInput(f"metric must be one of {', '.join(NAMES)}, got {name!r}. Nothing was spent{near}")
    metric = WITH_ARGUMENT[known](tail) if colon else NAMES[known]()
    if rates is not None:
        if not metric.needs_rates:
            raise BadInput(f"rates of classes are for balanced and auc, got metric {name!r}")
        metric = replace(metric, declared=check_rates(rates))
    return metric.within(bounds)


def _quantile_of(level: str) -> Metric:
    try:
        return quantile(float(level))
    except ValueError:
        raise BadInput(f"quantile takes a level between 0 and 1, such as quantile:0.9, got {level!r}") from None
