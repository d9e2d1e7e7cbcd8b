"""Training and held-out examples, checked once; and models that were trained only to be measured."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.data.identity import DataIdentity
from tacit.data.matrix import Matrix
from tacit.data.schema import Schema
from tacit.data.split import divide
from tacit.data.table import Table
from tacit.errors import BadInput, probability, type_and_shape
from tacit.privacy.private import Private

if TYPE_CHECKING:
    import pandas as pd

LARGEST = 1e6  # of a feature: beyond it single precision overflows, and a clipped gradient would be no number


class Unreleased(Private[Any]):
    """A model trained with fast, seeded noise to measure its utility. It has no guarantee and cannot be given one.

    Printing, pickling and JSON refuse it, so it fits in no certificate. Train again with the exact source to release.

    >>> Unreleased(np.zeros((1, 3)))
    <not released, no guarantee: an ndarray of shape (1, 3)>
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<not released, no guarantee: {type_and_shape(self.reveal())}>"


@dataclass(frozen=True, slots=True, repr=False)
class Examples:
    """X (n, d), classes by number y (n,), and the same held out for utility.

    ``stated`` is whether somebody named the classes. Read off the data they are fit for measuring, not for a release:
    a lone record of a class would show. ``apart`` is whether nothing was read off the test rows.
    """

    X: NDArray[Any]
    y: NDArray[np.int64]
    X_test: NDArray[Any]
    y_test: NDArray[np.int64]
    classes: tuple[Any, ...]
    stated: bool
    apart: bool = False

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        classes: Sequence[Any] | None = None,
        held_out: float = 0.2,
        seed: int = 0,
    ) -> Examples:
        """Check the arrays; without a test set, hold out a random share of the examples.

        Edges. Fewer than two classes, shapes that do not fit, values that are missing, infinite or beyond 1e6 are
        refused. With ``classes`` stated, data of a single class are taken: refusing them would tell.
        """
        if (X_test is None) != (y_test is None):
            raise BadInput("give both X_test and y_test, or neither to hold out a share of X and y")
        features, labels = _features("X", X), _labels("y", y)
        _matching("X", features, "y", labels)
        names = _classes(labels, classes)
        if X_test is None or y_test is None:
            train, test = _divide(len(features), held_out, seed)
            parts = [features[train], labels[train], features[test], labels[test]]
        else:
            parts = [features, labels, _features("X_test", X_test), _labels("y_test", y_test)]
            _matching("X_test", parts[2], "y_test", parts[3])
            if parts[2].shape[1] != features.shape[1]:
                raise BadInput(f"X has {features.shape[1]} columns and X_test has {parts[2].shape[1]}; they must agree")
        here, there = _number_labels("y", parts[1], names), _number_labels("y_test", parts[3], names)
        return cls(parts[0], here, parts[2], there, names, classes is not None)

    @classmethod
    def from_table(
        cls, table: pd.DataFrame, target: str, *, seed: int = 0, schema: Schema | None = None, held_out: float = 0.2
    ) -> Examples:
        """A table's columns but the target: numbers to mean 0 and deviation 1, everything else one column per value.

        Guarantee. None for the training rows: means, deviations and, without a declared ``schema``, values and classes
        are read off them. No fact is read off the rows held out, so a private front on them is possible.
        Edges. A missing number is at the median, a missing word in no column. A label of a row held out that is none of
        the classes is never predicted right; a missing target of a training row is refused.
        """
        if target not in table.columns:
            raise BadInput(f"the table has no column {target!r}; it has {table.shape[1]} others")
        inputs, answers = (whole := Table.of(table)).drop([target]), whole[target]
        if not inputs.names:
            raise BadInput(f"the table has no column besides {target!r}")
        train, test = _divide(len(whole), held_out, seed)
        try:
            seen = Schema.of_rows(inputs.take(train), answers.take(train), task="classification", words="category")
        except BadInput as wrong:
            raise BadInput(f"the target {target!r}: {wrong}") from None
        known = seen if schema is None else replace(schema, target=schema.target or seen.target)
        matrix, rows = Matrix.fit(known, inputs.take(train))
        aim = known.target
        if aim is None or aim.kind != "category" or len(aim.categories) < 2:
            raise BadInput(f"the target {target!r} must have at least two classes to tell apart")
        labels = [aim.encode(answers.take(rows)).astype(np.int64) for rows in (train, test)]
        if (labels[0] < 0).any():
            raise BadInput(
                f"the target {target!r} is none of the declared labels in some training rows; leave them out"
            )
        parts = rows, labels[0], matrix.encode(inputs.take(test)), labels[1]
        return cls(*parts, tuple(aim.labels.tolist()), stated=False, apart=True)

    @property
    def records(self) -> int:
        return len(self.X)

    def identify(self) -> DataIdentity:
        """Which arrays these are, rows held out included."""
        arrays = (self.X, self.y, self.X_test, self.y_test)
        return replace(DataIdentity.of_arrays(arrays), rows=len(self.X) + len(self.X_test))

    def baselines(self, *, linear: bool = True) -> dict[str, float]:
        """Test accuracy of the most frequent class, and of logistic regression without privacy.

        Edges. Without scikit-learn the second is left out. Not private: both look at all test rows.
        """
        most = int(np.bincount(self.y).argmax())
        found = {"majority": float(np.mean(self.y_test == most))}
        with contextlib.suppress(ImportError):
            from sklearn.linear_model import LogisticRegression

            if linear:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # one that has not quite converged serves as well
                    model = LogisticRegression(max_iter=200).fit(self.X, self.y)
                found["not private"] = float(model.score(self.X_test, self.y_test))
        return found

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"<{n} examples of {d} features and {len(self.classes)} classes, {len(self.X_test)} held out>"


def _divide(n: int, held_out: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of the rows that train and of those held out."""
    kept = n - round(n * probability("held_out", held_out))
    if not 0 < kept < n:
        raise BadInput(f"{n} examples are too few to hold out a share of {held_out:g}; give X_test and y_test")
    train, test = divide([kept, n - kept], np.random.default_rng(seed))
    return train.rows, test.rows


def _features(name: str, value: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise ValueError
        array = array.astype(np.float32 if array.dtype in (np.float32, np.uint8, np.bool_) else np.float64)
    except (TypeError, ValueError):  # NumPy's own message would show the value
        raise BadInput(f"{name} must be an array of numbers, got {type_and_shape(value)}") from None
    if array.ndim != 2 or not array.size:
        raise BadInput(f"{name} must have shape (examples, features), got {array.shape}")
    if not np.isfinite(array).all():
        raise BadInput(f"{name} must be finite; at least one value is missing or infinite. Fill or drop it first")
    if np.abs(array).max() > LARGEST:
        raise BadInput(f"{name} must be within [-1e6, 1e6]; change the unit of its columns")
    return array


def _labels(name: str, value: ArrayLike) -> NDArray[Any]:
    array = np.asarray(value)
    if array.ndim != 1:
        raise BadInput(f"{name} must have shape (examples,), got {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise BadInput(f"{name} must be finite; at least one label is missing")
    return array


def _matching(first: str, a: NDArray[Any], second: str, b: NDArray[Any]) -> None:
    if len(a) != len(b):
        raise BadInput(f"{first} has {len(a)} rows and {second} has {len(b)}; they must agree")


def _classes(labels: NDArray[Any], stated: Sequence[Any] | None) -> tuple[Any, ...]:
    if stated is None:
        try:
            found = np.unique(labels)
        except TypeError:
            raise BadInput("labels must all be of one kind, numbers or text") from None
    else:
        found = np.asarray(list(stated))
        if len(set(stated)) != len(stated):
            raise BadInput(f"classes must be distinct, got {len(stated)} with repeats")
    if len(found) < 2:
        raise BadInput(f"labels must be of at least two classes, got {len(found)}")
    return tuple(c.item() if isinstance(c, np.generic) else c for c in found)


def _number_labels(name: str, labels: NDArray[Any], classes: tuple[Any, ...]) -> NDArray[np.int64]:
    numbers = np.full(len(labels), -1)
    for number, label in enumerate(classes):
        numbers[labels == label] = number
    if (numbers < 0).any():
        raise BadInput(f"{name} has a label that is none of the {len(classes)} classes of y")
    return numbers
