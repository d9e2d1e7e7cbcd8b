"""Hugging Face datasets are read by their Arrow form, cell by cell as anything else: the real ones, and a stand-in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeClassifier

import tacit
from tacit.data.containers import read_column
from tacit.data.table import Table
from tacit.errors import BadInput, DataRefused
from tacit.integrations.table import table_objective

pa = pytest.importorskip("pyarrow")
ODD = {
    "day": pa.array([10, 3_000_000, 20], pa.int32()).cast(pa.date32()),  # the second is past the year 9999
    "time": pa.array([1, 2**62, 3], pa.int64()).cast(pa.timestamp("s")),
    "word": pa.array(["1", "x", None]),
    "bytes": pa.array([b"\xff", b"a", None]),
}


class StandIn:
    """What is used of a datasets.Dataset."""

    def __init__(self, table: Any) -> None:
        self.table = table

    @property
    def column_names(self) -> list[str]:
        return list(self.table.column_names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def select_columns(self, names: list[str]) -> StandIn:
        return StandIn(self.table.select(names))

    def with_format(self, kind: str) -> StandIn:
        assert kind == "arrow"
        return self

    def __getitem__(self, key: Any) -> Any:
        return self.table if isinstance(key, slice) else StandInColumn(self, key)


class StandInColumn:
    """What is used of a datasets.arrow_dataset.Column, whose cells fail one by one."""

    def __init__(self, source: Any, column_name: str) -> None:
        self.source, self.column_name = source, column_name

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, row: int) -> Any:
        raise OverflowError("date value out of range")


class StandInSplits(dict[str, Any]):
    """What is used of a datasets.DatasetDict."""


for _class in (StandIn, StandInColumn, StandInSplits):
    _class.__module__ = "datasets.stand_in"


def make(kind: str, table: Any) -> Any:
    if kind == "stand-in":
        return StandIn(table)
    return pytest.importorskip("datasets").Dataset(table)


def split(kind: str, table: Any) -> Any:
    if kind == "stand-in":
        return StandInSplits(train=StandIn(table))
    return pytest.importorskip("datasets").DatasetDict({"train": make(kind, table)})


def stays(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 95, n).astype(float)
    return pd.DataFrame({"age": age, "ward": rng.choice(["n", "w"], n), "y": np.where(age > 60, "ill", "well")})


KINDS = pytest.mark.parametrize("kind", ["stand-in", "datasets"])


@KINDS
def test_no_cell_of_a_dataset_stops_its_reading(kind: str) -> None:
    table = pa.table(ODD)
    held = make(kind, table)
    whole = Table.of(held)
    for name in ODD:
        alone = read_column(table[name])
        for cells in (whole[name], read_column(held[name])):
            assert [cells[i] for i in range(3)] == [alone[i] for i in range(3)], name


@KINDS
def test_a_dataset_trains_and_tunes_as_the_frame_does(kind: str) -> None:
    frame = stays()
    held = make(kind, pa.Table.from_pandas(frame))
    budget = tacit.Budget.approximate(3.0, 1e-5)
    scores = [
        tacit.train("auto", X, target="y", budget=budget, progress=False, noise=tacit.Simulation(0)).value.score
        for X in (frame, held)
    ]
    assert scores[0] == scores[1]
    losses = [table_objective(X, "y", "linear", task="classification", seed=0)({"C": 1.0}) for X in (frame, held)]
    assert losses[0].tolist() == losses[1].tolist()
    X, y, features = held.select_columns(["age", "ward"]), held["y"], frame[["age", "ward"]]
    model = tacit.PrivateClassifier(epsilon=3.0, delta=1e-5).fit(X, y)
    assert (model.predict(X) == model.predict(features)).all()
    space = {"alpha": tacit.Float(1e-3, 1e3, log=True)}
    best = [
        tacit.PrivateSearchCV(
            RidgeClassifier(), space, trials=3, epsilon=3.0, noise=tacit.Simulation(1), random_state=0
        )
        .fit(*given)
        .best_score_
        for given in ((frame[["age"]], frame["y"]), (held.select_columns(["age"]), y))
    ]
    assert best[0] == best[1]


@KINDS
def test_a_dict_of_splits_is_refused_in_words(kind: str) -> None:
    with pytest.raises(BadInput, match=r"take a split of it, such as dataset\['train'\]"):
        Table.of(split(kind, pa.table(ODD)))


def test_a_stream_is_refused_in_words() -> None:
    class Stream:
        """Without a length."""

        __module__ = "datasets.stand_in"

    with pytest.raises(BadInput, match="got Stream"):
        Table.of(Stream())
    with pytest.raises(DataRefused, match="one cell for each row"):
        read_column(Stream())
