"""For scikit-learn users: a search over hyperparameters that protects its validation rows."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tacit.data.columns import CellColumn
from tacit.data.containers import read_column
from tacit.data.metrics import Metric, find
from tacit.data.metrics.objective import one_matching
from tacit.data.schema import Schema
from tacit.data.split import hold_out
from tacit.data.table import Table, form_of, is_frame, is_records, is_whole
from tacit.data.units import Persons
from tacit.errors import BadInput, PrivacyWarning, choice, count, extra, interval, refuse_short_memory, type_and_shape
from tacit.integrations.predictions import settle_metric
from tacit.integrations.table_facts import find_identifiers, worth_of_rows
from tacit.methods.registry import AUTO, METHODS
from tacit.methods.tune import tune
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import plain
from tacit.space import Space

try:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
    from sklearn.exceptions import DataConversionWarning, FitFailedWarning
    from sklearn.utils import check_random_state, indexable
    from sklearn.utils.metaestimators import _safe_split, available_if
    from sklearn.utils.validation import _num_samples, check_is_fitted

    from tacit.integrations import sklearn_compat as compat
    from tacit.integrations.sklearn_losses import Losses
except ImportError:
    extra("sklearn", "sklearn", "an estimator for scikit-learn (PrivateSearchCV, PrivateClassifier, PrivateRegressor)")
    raise

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

PROTECTS = (
    "PROTECTED: the {hidden} replaced. NOT PROTECTED: the {seen} training rows, on which "
    "best_estimator_ was trained; anyone who sees it or its predictions may learn about them."
)
OF_PERSONS = "persons whose rows validate, one person with all their rows"


def _has(method: str) -> Callable[[PrivateSearchCV], bool]:
    """Whether the estimator inside has a method; an AttributeError from there says which."""
    return lambda self: getattr(getattr(self, "best_estimator_", self.estimator), method) is not None


class PrivateSearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Choose hyperparameters by their loss on private validation rows; release the choice and its score.

    ``fit(X, y)`` splits the rows at random. Each of ``trials`` settings from ``space`` is fitted on the training rows
    and scored on the validation rows, with noise for the whole search within ``epsilon`` and ``delta``.
    ``validation`` is the share of validation rows. ``scoring`` is "accuracy" (default for classifiers), "log_loss",
    "squared_error" (default for regressors), "absolute_error", or a function (fitted, X, y) -> one loss per row,
    lower is better. All but accuracy need public ``bounds``, chosen without looking at the data, to which losses are
    clipped. ``schema``, a tacit.Schema, declares the columns and labels as public; without it they are read off the
    training rows.

    Attributes after fit: ``best_params_``; ``best_score_``, larger is better: the noisy accuracy, or the noisy loss
    negated; ``best_loss_``, the noisy mean loss within the bounds;
    ``best_score_std_``; ``baseline_score_``, that of a constant on the training rows, where scoring is a
    metric by name; ``best_estimator_``; ``release_``; ``guarantee_``; ``protects_``; ``schema_``; ``cv_results_``, a
    table of the released observations with their noise, and ``best_index_`` where the choice is one of them.

    Guarantee. ``release_``, and with it ``best_params_`` and ``best_score_``, is mu-GDP for one validation row
    replaced, unconditional. THE TRAINING ROWS ARE NOT PROTECTED: publish ``best_estimator_`` only if they may be
    known. The size of the split and the rows that are in it are public.
    Follows. Private observations. Proof: docs/proofs/private-observations.md.
    Differs. Despite the name, and unlike GridSearchCV, this holds out rows once. In cross-validation a row is scored
    in one fold and trains the models of all others, so replacing it may change every loss, and the noise would have
    to cover that. The split is not stratified: that would read private labels. ``best_estimator_`` is fitted on the
    training rows alone; refitting on all rows would reveal the validation rows.
    Edges. The estimator must predict each row by itself, as scikit-learn's do. All rows are put into the form of the
    schema: numbers become float64, also those given as text; words for missing values ('n/a') and what is not finite
    become nan; an unknown category does too. A validation row on which prediction
    fails, or whose loss is missing, counts as the worse bound, silently; so does a class that the schema lacks.
    Before anything is spent, the estimator as given is fitted and scored on training
    rows, and what goes wrong there is raised as it is. Settings that cannot be fitted later count as the worst, with
    a FitFailedWarning; other warnings of the search are not shown, since one could tell of a validation row. Noise
    above a tenth of the bounds' width is refused unless ``accept_noise=True``. Noise is never seeded: two fits differ,
    whatever the ``random_state``, which decides the split and the search. With ``n_jobs`` that many trials run at a
    time, in threads. A fit that is interrupted has spent its budget; tacit.tune with ``out`` can resume.

    >>> import tacit
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> space = {"alpha": tacit.Float(1e-3, 1e6, log=True)}
    >>> search = tacit.PrivateSearchCV(RidgeClassifier(), space, trials=5, random_state=0).fit(X, y)
    >>> search.best_score_ > 0.8, search.guarantee_.unconditional
    (True, True)
    """

    __metadata_request__fit: ClassVar = {"sample_weight": None}  # one of fit_params, which can be requested

    def __init__(
        self,
        estimator: Any,
        space: Mapping[str, Any] | Space,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        trials: int = 50,
        validation: float = 0.5,
        scoring: str | Callable[[Any, Any, Any], Any] | None = None,
        bounds: tuple[float, float] | None = None,
        method: str = AUTO,
        ledger: Ledger | None = None,
        accept_noise: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        noise: Source | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.estimator, self.space = estimator, space
        self.epsilon, self.delta, self.trials = epsilon, delta, trials
        self.validation, self.scoring, self.bounds = validation, scoring, bounds
        self.method, self.ledger, self.accept_noise = method, ledger, accept_noise
        self.n_jobs, self.random_state, self.noise, self.schema = n_jobs, random_state, noise, schema

    def fit(self, X: Any, y: Any, groups: Any = None, **fit_params: Any) -> PrivateSearchCV:
        """Search; X (rows, features) and y (rows,), of which a random share is held out and protected.

        ``groups`` says whose each row is, where persons have several: rows are divided by person, each person has one
        loss, the mean of theirs, and the unit is one person with all their rows. ``fit_params``, such as
        ``sample_weight``, go to the estimator's fit, those of training rows where there is one for each row: validation
        rows all count alike, since a weight would change what one of them can move.
        """
        if y is None:
            raise BadInput("PrivateSearchCV requires y to be passed, but the target y is None")
        if type(X).__module__.split(".")[0] in ("dask", "dask_expr", "distributed", "ray"):
            raise BadInput(
                "PrivateSearchCV takes rows that are held here. Rows on a cluster are scored where they are by "
                "tacit.tune(score, space, train=train, records=rows). Nothing was spent"
            )
        with refuse_short_memory():
            X, y = (part if is_frame(part) else indexable(part)[0] for part in (X, y))
            X = X if is_whole(X) else Table.of(X)
            self._boolean = is_classifier(self.estimator) and compat.holds_booleans(y)
            y, rows = take_labels(y), _num_samples(X)
            if len(y) != rows:
                raise BadInput(f"Found input variables with inconsistent numbers of samples: {[rows, len(y)]}")
            budget, space = Budget.approximate(self.epsilon, self.delta), self._space()
            compat.look_around(self, budget)
            loss, bounds = self._loss()
            choice("method", self.method, (AUTO, *searches()))
            random = check_random_state(self.random_state)
            persons = None if groups is None else Persons.of(groups, rows)
            units = rows if persons is None else len(persons)
            if units < 2:
                what = f"n_samples={rows}" if persons is None else f"{units} persons in all"
                raise BadInput(f"PrivateSearchCV needs something to train on and something to validate on, got {what}")
            trained, validated = hold_out(rows, self.validation, random, persons)
            seen, hidden = np.sort(trained.rows), np.sort(validated.rows)
            owners = None if persons is None else persons.owners
            here, there = (
                X.take(part) if isinstance(X, Table) else _safe_split(self.estimator, X, None, part, seen)[0]
                for part in (seen, hidden)
            )
            self.schema_ = self._schema(here, y.take(seen))  # from training rows alone
            if owners is None and isinstance(here, Table) and here.form == "frame":
                _warn_of_identifiers(self.schema_, here, budget)
            answers, known = self.schema_.encode_target(y.take(hidden))
            target, train_y = self.schema_.target, self.schema_.encode_target(y.take(seen))[0]
            assert target is not None
            if isinstance(loss, Metric):
                loss = one_matching(loss) if self.method != AUTO and METHODS[self.method].separate else loss
                loss = settle_metric(loss, target, train_y, None if owners is None else owners[seen])
            whose = [validated.owners, trained.owners]
            losses = Losses(
                self.estimator,
                loss,
                (self.schema_.encode(here), train_y),
                (self.schema_.encode(there), answers),
                known,
                target,
                bounds,
                whose[0],
                whose[1],
                fit_params=compat.take_fit_params(fit_params, rows, seen),
            )
            losses.rehearse()
        width = _threads(self.n_jobs)
        with _silence_warnings(), ThreadPoolExecutor(width) if width > 1 else nullcontext() as executor:
            self.release_ = tune(
                losses,
                space,
                budget=budget,
                trials=self.trials,
                method=self.method,
                ledger=self.ledger,
                executor=executor,
                progress=False,
                accept_noise=self.accept_noise,
                seed=int(random.randint(2**31 - 1)),
                noise=EXACT if self.noise is None else copy.deepcopy(self.noise),  # fit leaves parameters as they are
            )
        tuned = self.release_.value
        mean, deviation = tuned.loss or 0.0, tuned.deviation
        self.best_params_, self.best_score_std_ = tuned.params, deviation
        self.best_score_, self.best_loss_, self.baseline_score_ = -mean, mean, None
        if tuned.reading is not None:
            self.best_score_ = tuned.reading.larger_is_better(mean)
            base = tuned.reading.baseline
            self.baseline_score_ = base if tuned.reading.higher or base is None else -base
            self.best_score_std_ = tuned.reading.reach(mean, 1.96 * (deviation or 0.0)) / 1.96
        self.guarantee_ = self.release_.guarantee
        self.cv_results_ = compat.tabulate_results(tuned)
        self.__dict__.pop("best_index_", None)
        if tuned.params in self.cv_results_["params"]:
            self.best_index_ = self.cv_results_["params"].index(tuned.params)
        held = f"{len(hidden)} validation rows, one row" if owners is None else f"{losses.units} {OF_PERSONS}"
        self.protects_ = PROTECTS.format(hidden=held, seen=len(seen))
        self.best_estimator_ = losses.fit(tuned.params)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.best_estimator_, name):
                value = getattr(self.best_estimator_, name)
                setattr(self, name, compat.restore_booleans(value, self._boolean and name == "classes_"))
        return self

    def _schema(self, X: Any, y: Any) -> Schema:
        """As declared, or as the training rows show it."""
        task = (
            "classification"
            if is_classifier(self.estimator)
            else "regression"
            if is_regressor(self.estimator)
            else None
        )
        seen = Schema.of_rows(X, y, task=task)
        if self.schema is None:
            return seen
        if not isinstance(self.schema, Schema):
            raise BadInput(f"schema must be a tacit.Schema, got {type_and_shape(self.schema)}. Nothing was spent")
        return replace(self.schema, form=seen.form, target=self.schema.target or seen.target)

    def _space(self) -> Space:
        space = Space(self.space)
        unknown = sorted(set(space.names) - set(self.estimator.get_params()))
        if unknown:
            raise BadInput(f"{type(self.estimator).__name__} has no parameter {', '.join(unknown)}. Nothing was spent")
        for distribution in space.distributions.values():
            plain(list(getattr(distribution, "choices", ())))  # refused here rather than after the budget is spent
        return space

    def _loss(self) -> tuple[Metric | Callable[[Any, Any, Any], Any], tuple[float, float]]:
        """What is measured, and its bounds where they are known yet."""
        default = "accuracy" if is_classifier(self.estimator) else "squared" if is_regressor(self.estimator) else ""
        asked = self.scoring or default
        if not asked:
            name = type(self.estimator).__name__
            raise BadInput(f"{name} is no classifier or regressor: give scoring, a function of (fitted, X, y)")
        if callable(asked):
            if self.bounds is None:
                raise BadInput(
                    "a scoring function needs bounds=(low, high), the range of one row's loss, from what is publicly "
                    "known of the target and not from these data. Losses outside are clipped"
                )
            return asked, interval("bounds", self.bounds)
        metric = asked.within(self.bounds) if isinstance(asked, Metric) else find(asked, bounds=self.bounds)
        return metric, (0.0, 1.0) if metric.balances else metric.known_bounds()

    @available_if(_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        return compat.restore_booleans(self._best().predict(self._rows(X)), self._boolean)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        return self._best().predict_proba(self._rows(X))

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        return self._best().predict_log_proba(self._rows(X))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        return self._best().decision_function(self._rows(X))

    @available_if(_has("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: Any) -> Any:
        return self._best().transform(self._rows(X))

    @available_if(_has("set_output"))  # type: ignore[untyped-decorator]
    def set_output(self, *, transform: str | None = None) -> PrivateSearchCV:
        """Which container the transformers of the estimator answer with, as scikit-learn has it."""
        for inside in (self.estimator, *([self.best_estimator_] if hasattr(self, "best_estimator_") else [])):
            inside.set_output(transform=transform)
        return self

    @available_if(_has("score"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None) -> float:
        """The estimator's own score of given rows: exact, so not for private ones."""
        answers, known = (y, None) if y is None else self._target(y)
        return float(self._best().score(self._rows(X), answers if known is None or known.all() else y))

    def _target(self, y: Any) -> tuple[Any, Any]:
        self._best()
        return self.schema_.encode_target(take_labels(y))

    def _rows(self, X: Any) -> Any:
        """New rows in the form that the estimator was fitted on; where their shape is another, it will say so."""
        self._best()
        names = [c.name for c in self.schema_.columns]
        if is_frame(X):
            held = form_of(X)[1]
            fitting = set(names) <= set(held) if self.schema_.declared else names == held
        else:
            listed = isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.dtype.kind not in "fiub")
            fitting = listed and form_of(X) == (self.schema_.form, names)
        return self.schema_.encode(X) if fitting else X

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags, inside = super().__sklearn_tags__(), copy.deepcopy(get_tags(self.estimator))
        tags.estimator_type, tags.input_tags = inside.estimator_type, inside.input_tags
        tags.classifier_tags, tags.regressor_tags = inside.classifier_tags, inside.regressor_tags
        tags.target_tags.required, tags.target_tags.multi_output = True, False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False  # one label for each row
        tags.non_deterministic = self.noise is None or inside.non_deterministic
        return tags


def searches() -> tuple[str, ...]:
    """The methods whose release can be kept here: of an epsilon with a delta, unconditional."""
    fit = [m for m in METHODS.values() if "approximate" in m.notions and not m.conditional]
    return tuple(m.name for m in fit)


def take_labels(y: Any) -> CellColumn:
    """One label per row, not yet looked at: what all of them together are depends on private rows."""
    if is_frame(y) and not is_records(y):
        if len(form_of(y)[1]) != 1:
            raise BadInput(f"y should be a 1d array, got {len(form_of(y)[1])} columns instead")
        text = "A column-vector y was passed when a 1d array was expected; give y of shape (n_samples,)"
        warnings.warn(text, DataConversionWarning, stacklevel=3)
        return Table.of(y).cells[0]
    shape: tuple[int, ...] = getattr(y, "shape", ()) or (len(y),)
    if len(shape) == 2 and shape[1] == 1:
        text = "A column-vector y was passed when a 1d array was expected; give y of shape (n_samples,)"
        warnings.warn(text, DataConversionWarning, stacklevel=3)
        return read_column(np.asarray(y)[:, 0])
    if len(shape) != 1:
        raise BadInput(f"y should be a 1d array, got an array of shape {tuple(shape)} instead")
    return read_column(y)


def _warn_of_identifiers(schema: Schema, X: Any, budget: Budget) -> None:
    """Columns of training rows that repeat and look like names of persons."""
    for identifier in find_identifiers(schema.columns, X.match(schema.columns)):
        if not identifier.unique:
            warnings.warn(
                f"{identifier.name!r} repeats, up to {identifier.most} training rows each, and looks like an "
                f"identifier: if it names persons, give fit(X, y, groups=...). "
                f"{worth_of_rows(budget, identifier.most)}",
                PrivacyWarning,
                stacklevel=3,
            )


@contextmanager
def _silence_warnings() -> Iterator[None]:
    """No warnings but our own: one from a prediction would tell of validation rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", FitFailedWarning)
        yield


def _threads(n_jobs: int | None) -> int:
    import joblib

    return count("n_jobs", joblib.effective_n_jobs(n_jobs)) if n_jobs is not None else 1
