"""What training sees is the same whatever a validation row is: types, categories, classes, errors and warnings."""

from __future__ import annotations

import datetime
import decimal
import pickle
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import check_random_state

import tacit
from tacit.audit import compared
from tacit.data.split import hold_out
from tacit.errors import BadInput
from tacit.integrations.sklearn import PrivateSearchCV

ROWS = 24
SEEN, HIDDEN = (np.sort(part.rows) for part in hold_out(ROWS, 0.5, check_random_state(0)))
GENERATOR = np.random.default_rng(5)
AGE, DOSE = GENERATOR.normal(50, 10, ROWS).round(2).tolist(), GENERATOR.integers(0, 5, ROWS).tolist()
WARD = [("north", "south", "west")[i % 3] for i in range(ROWS)]
LABEL = [int(a + d > 52) for a, d in zip(AGE, DOSE, strict=True)]
TABLE = [list(row) for row in zip(AGE, DOSE, WARD, strict=True)]
NUMBERS = [row[:2] for row in TABLE]
SAW: list[bytes] = []


class Spy(ClassifierMixin, BaseEstimator):
    """Writes down all that it is fitted on; the majority class is its answer."""

    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def fit(self, X: Any, y: Any) -> Spy:
        SAW.append(pickle.dumps(described(X) + described(y)))
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[np.argmax(counts)]
        return self

    def predict(self, X: Any) -> Any:
        return np.full(X.shape[0], self.most_)


def described(data: Any) -> list[Any]:
    if isinstance(data, pd.DataFrame):
        return [list(data.columns), list(data.index), [described(data[c]) for c in data.columns]]
    if isinstance(data, pd.Series):
        held = data.dtype.categories if isinstance(data.dtype, pd.CategoricalDtype) else ()
        return [str(data.dtype), list(held), [repr(v) for v in data]]
    return [str(data.dtype), data.shape, [repr(v) for v in np.asarray(data).ravel().tolist()]]


CELLS = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(10**400), 10**400),
    st.booleans(),
    st.text(max_size=30),
    st.sampled_from(["n/a", "NA", "", "1e999", "True", "moon", "0x1", "1_0", " 3 ", "nan", "a" * 200]),
    st.binary(max_size=5),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=1), st.none(), max_size=1),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.decimals(),
    st.complex_numbers(),
    st.just(pd.NA),
    st.just(pd.NaT),
    st.just(np.array([3.0])),
    st.just(np.float32(2.5)),
    st.just(np.longdouble("1e4000")),
    st.just(object()),
)
ROW = st.one_of(st.lists(CELLS, min_size=2, max_size=3), CELLS)
CONTAINERS = ("list", "objects", "array", "frame")


def as_series(values: list[Any]) -> pd.Series:
    """As pandas holds them; older ones hold a whole number beyond all floats as an object alone."""
    try:
        return pd.Series(values)
    except OverflowError:
        return pd.Series(values, dtype=object)


def built(rows: list[Any], labels: list[Any], container: str, width: int) -> tuple[Any, Any]:
    """Rows as somebody would hold them. NumPy and pandas choose types that hold every cell, the strange one too."""
    whole = [r if isinstance(r, list) and len(r) == width else [r] * width for r in rows]
    if container == "list":
        return rows, labels
    objects, answers = np.empty((len(rows), width), object), np.empty(len(rows), object)
    for i, row in enumerate(whole):
        answers[i] = labels[i]
        for j, cell in enumerate(row):
            objects[i, j] = cell
    if container == "objects":
        return objects, answers
    if container == "frame":
        frame = pd.DataFrame({f"c{j}": as_series(list(objects[:, j])) for j in range(width)})
        return frame, as_series(list(answers))
    try:
        return np.array(whole), np.array(labels)
    except (ValueError, TypeError, OverflowError):  # not two-dimensional any more: not what a caller could hand over
        return objects, answers


def watched(X: Any, y: Any, estimator: Any = None, **options: Any) -> tuple[Any, ...]:
    """All that training saw, what was warned and raised, and the class list."""
    SAW.clear()
    search = PrivateSearchCV(
        Spy() if estimator is None else estimator,
        {"share": tacit.Float(0.0, 1.0)},
        **{"trials": 1, "random_state": 0, "accept_noise": True, "noise": tacit.Simulation(0), **options},
    )
    error, classes = None, None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            search.fit(X, y)
            classes = (str(search.classes_.dtype), search.classes_.tolist())
            classes += (pickle.dumps(search.best_estimator_), search.schema_.to_json())
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    return list(SAW), [str(w.message) for w in told], error, classes


@cache
def unchanged(container: str, words: bool) -> tuple[Any, ...]:
    rows = TABLE if words else NUMBERS
    return watched(*built(rows, LABEL, container, len(rows[0])))


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(row=ROW, label=CELLS, container=st.sampled_from(CONTAINERS), words=st.booleans())
def test_nothing_that_training_sees_depends_on_a_validation_row(
    row: Any, label: Any, container: str, words: bool
) -> None:
    rows = TABLE if words else NUMBERS
    before = unchanged(container, words)
    assert before[2] is None
    changed, labels = [list(r) for r in rows], list(LABEL)
    changed[HIDDEN[4]], labels[HIDDEN[4]] = row, label
    assert watched(*built(changed, labels, container, len(rows[0]))) == before


def fails(*_: Any) -> Any:
    raise SystemExit("a secret")


EVIL = {f"__{name}__": fails for name in ("eq", "hash", "str", "repr", "float", "bool", "len", "lt", "iter", "array")}


@pytest.mark.parametrize("kind", [object, str, bytes, float, int])
@pytest.mark.parametrize("container", ["list", "objects"])
def test_nor_on_a_cell_whose_own_code_fails(kind: type, container: str) -> None:
    cell = type("Cell", (kind,), EVIL)()
    for words, rows in ((True, TABLE), (False, NUMBERS)):
        changed, labels = [list(r) for r in rows], list(LABEL)
        changed[HIDDEN[4]], labels[HIDDEN[4]] = [cell] * len(rows[0]), cell
        assert watched(*built(changed, labels, container, len(rows[0]))) == unchanged(container, words)


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], [False, True], [1.5, 2.5], ["0", "1"]], ids=str)
def test_the_class_list_and_its_type_come_from_training_labels(labels: list[Any]) -> None:
    named = [labels[value] for value in LABEL]
    before = watched(NUMBERS, named)
    for strange in ("n/a", None, 10**400, b"1", "a much longer label", np.nan, 2.5, [1], pd.NaT):
        named[HIDDEN[0]] = strange
        for container in CONTAINERS:
            X, y = built(NUMBERS, named, container, 2)
            assert watched(NUMBERS, y)[3] == before[3], strange
            assert watched(X, y)[3] is not None, strange


def test_a_category_of_validation_rows_is_in_no_model() -> None:
    frame = pd.DataFrame({"ward": WARD, "age": AGE})
    frame.loc[HIDDEN[3], "ward"] = "a ward of one patient"
    frame["ward"] = frame["ward"].astype("category")
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2, categorical_features="from_dtype")
    search = PrivateSearchCV(
        model, {"l2_regularization": tacit.Float(0, 1)}, trials=1, random_state=0, accept_noise=True
    ).fit(frame, LABEL)
    assert b"one patient" not in pickle.dumps(search.best_estimator_)
    assert "one patient" not in str(search.schema_)
    assert search.predict(frame).shape == (ROWS,)
    watched(frame, LABEL)
    assert SAW
    assert b"one patient" not in b"".join(SAW)  # the type of a column lists its categories, and estimators keep it


def test_a_training_label_that_is_missing_is_told_the_same_whatever_the_others_are() -> None:
    told = set()
    for strange in (0, None, "n/a", 1.5):
        labels: list[Any] = list(LABEL)
        labels[SEEN[0]], labels[HIDDEN[0]] = None, strange
        told.add(watched(NUMBERS, labels)[2])
    assert len(told) == 1
    assert "missing in some training rows" in str(told)


def test_a_failing_row_leaves_the_other_losses_as_they_are_to_the_last_bit() -> None:
    """Other rows are predicted in a batch of the same size, so that no product of matrices rounds otherwise."""
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(601, 40)), generator.integers(0, 2, 601)
    _, hidden = (np.sort(part.rows) for part in hold_out(601, 0.5, check_random_state(0)))
    heard: list[Any] = []

    def loss(fitted: Any, rows: Any, labels: Any) -> Any:
        answer = np.abs(fitted.predict_proba(rows)[:, 1] - labels)
        heard.append(answer)
        return answer

    seen = []
    for cell in (0.0, np.nan):
        X[hidden[7], 3] = cell
        search = PrivateSearchCV(
            LogisticRegression(), {"C": tacit.Choice([1.0])}, scoring=loss, bounds=(0, 1), trials=1, random_state=0,
            accept_noise=True,
        )  # fmt: skip
        search.fit(X, y)
        seen.append(next(a for a in reversed(heard) if len(a) == len(hidden)))
    assert np.flatnonzero(seen[0] != seen[1]).tolist() in ([7], [])


def neighbours(cell: str) -> list[tuple[Any, Any]]:
    """The same table but for one validation cell."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(400, 3)), columns=list("abc"))
    y = (frame["a"] > 0).astype(int)
    _, hidden = (np.sort(part.rows) for part in hold_out(400, 0.5, check_random_state(0)))
    other = frame.astype(object)
    other.loc[hidden[0], "a"] = cell
    return [(frame, y), (other, y)]


@pytest.mark.parametrize("cell", ["n/a", "not known"])
def test_the_measured_loss_of_a_cell_of_text_among_numbers_is_within_the_claim(cell: str) -> None:
    """Before the schema the column became text, and the recorder measured mu = 195 against 0.237."""
    columns = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    model = make_pipeline(columns, SimpleImputer(), LogisticRegression())

    def run(data: Any, recorder: Any) -> Any:
        space = {"logisticregression__C": tacit.Float(0.01, 100, log=True)}
        how = {"trials": 4, "method": "observed", "random_state": 0, "accept_noise": True}
        search = PrivateSearchCV(model, space, **how, noise=recorder)
        return search.fit(*data).best_params_

    found = compared(run, *neighbours(cell))
    claim = tacit.Budget.gdp(tacit.Budget.approximate(1.0, 1e-6).mu())
    assert found.within(claim) == []
    assert 0 < found.mu <= claim.amount


def test_text_sparse_matrices_and_times_pass_through() -> None:
    documents = [f"{w} {'good' if v else 'bad'}" for w, v in zip(WARD, LABEL, strict=True)]
    options = {"trials": 1, "random_state": 0, "accept_noise": True}
    text = PrivateSearchCV(make_pipeline(CountVectorizer(), GaussianText()), {"gaussiantext__share": tacit.Float(0, 1)},
                           **options)  # fmt: skip
    assert text.fit(documents, LABEL).score(documents, LABEL) == 1.0
    sparse = PrivateSearchCV(RidgeClassifier(), {"alpha": tacit.Float(0.1, 1)}, **options)
    assert sparse.fit(csr_matrix(np.array(NUMBERS)), LABEL).n_features_in_ == 2
    days = pd.DataFrame({"day": [datetime.date(2024, 1, 1 + i) for i in range(ROWS)], "age": AGE})
    saw, _, error, _ = watched(days, LABEL)
    assert error is None
    assert b"datetime64[us]" in saw[0]


class GaussianText(GaussianNB):  # type: ignore[misc]
    """Naive Bayes on the dense form of counts."""

    def __init__(self, share: float = 0.5) -> None:
        super().__init__()
        self.share = share

    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(X.toarray(), y)

    def predict(self, X: Any) -> Any:
        return super().predict(X.toarray())


def test_a_declared_schema_decides() -> None:
    frame = pd.DataFrame({"id": range(ROWS), "ward": WARD, "code": ["1", "2"] * (ROWS // 2)})
    schema = tacit.Schema.declare(
        {"ward": ["north", "south", "moon"], "code": ["1", "2"]}, target="y", labels=["0", "1"]
    )
    saw, _, error, classes = watched(frame, LABEL, schema=schema)
    assert error is None
    assert classes[1] == ["0", "1"]
    assert b"moon" in saw[0]
    assert b"west" not in saw[0]
    assert b"'id'" not in saw[0]
    assert "schema must be a tacit.Schema" in str(watched(frame, LABEL, schema={"ward": "text"})[2])
    with pytest.raises(BadInput, match="no column 'bed' of the schema"):
        tacit.Schema.declare({"bed": "number"}).encode(frame)


def test_decimals_and_predictions_from_text_are_numbers() -> None:
    rows = [[decimal.Decimal(str(a)), str(d)] for a, d in NUMBERS]
    search = PrivateSearchCV(RidgeClassifier(), {"alpha": tacit.Float(0.1, 1)}, trials=1, random_state=0,
                             accept_noise=True).fit(rows, [str(v) for v in LABEL])  # fmt: skip
    assert search.predict(rows).tolist() == search.predict(np.array(NUMBERS, float)).tolist()
    assert search.score(rows, [str(v) for v in LABEL]) == search.score(np.array(NUMBERS, float), LABEL) > 0.6
