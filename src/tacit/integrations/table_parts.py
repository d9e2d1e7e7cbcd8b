"""A table in Parquet files that is too large for memory: a sample trains, all private rows are scored in parts.

Every row group is divided by a public seed into training and private validation rows, as many as its number of rows
says. A sample of training rows, of public size, trains every model and tells all that losses share: encoders, the task,
class rates. The validation rows are read again for every evaluation, a block at a time, here, by processes or
by a cluster, so that memory does not grow with the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.identity import DataIdentity
from tacit.data.matrix import Matrix
from tacit.data.metrics import Metric
from tacit.data.schema import Schema
from tacit.data.split import divide, group_sizes
from tacit.data.table import Table
from tacit.errors import BadInput, ObjectiveError, extra, probability
from tacit.integrations.predictions import predict_for
from tacit.integrations.table import TableObjective, table_objective
from tacit.objective import LossFacts
from tacit.run.frames import BLOCK, divide_files
from tacit.run.shards import Shards
from tacit.space import Params, Space

WHOLE = "a table that is read whole, of at most 1,000,000 rows"
SAMPLE = 100_000  # training rows that train


@dataclass(frozen=True)
class RowsOfFile:
    """Some rows of a Parquet file, by a public seed: the private ones, or a few of the others."""

    path: str
    file: int  # its place among the files: with the seed it decides which rows are private
    groups: tuple[tuple[int, int, int], ...]  # row groups, each with how many rows are private and how many train
    seed: int
    columns: tuple[str, ...]
    private: bool = True

    def read_blocks(self) -> Iterator[Any]:
        """Tables, each of the chosen rows among at most BLOCK."""
        parquet = extra("pyarrow.parquet", "parquet", "reading Parquet")
        with parquet.ParquetFile(self.path) as file:
            for group, held, trained in self.groups:
                rows = file.metadata.row_group(group).num_rows
                parts = divide(
                    [held, trained, rows - held - trained], np.random.default_rng([self.seed, self.file, group])
                )
                mask = np.zeros(rows, bool)
                mask[parts[0 if self.private else 1].rows] = True
                start = 0
                batches = file.iter_batches(BLOCK, row_groups=[group], columns=list(self.columns), use_threads=False)
                for batch in batches:
                    chosen = np.flatnonzero(mask[start : start + len(batch)])
                    start += len(batch)
                    if len(chosen):
                        yield Table.of(batch.take(chosen))


@dataclass(frozen=True, repr=False)
class RowsScore:
    """One loss for each row of a frame, by a fitted model. Holds public things alone, and travels to the rows."""

    metric: Metric
    matrix: Matrix
    task: str
    column: str  # of the target

    def __call__(self, fitted: Any, frame: Any) -> Any:
        target = self.matrix.schema.target
        assert target is not None
        labels, known = self.matrix.schema.encode_target(frame[self.column])
        if self.task == "classification":
            codes = np.where(known, target.encode(labels), -1)
            answers = self.metric.code_answers(codes, target.labels.tolist())
        else:
            answers = np.where(known, labels, np.nan)
        predicted = predict_for(self.metric, fitted, self.matrix.encode(frame), target)
        return self.metric.measure(predicted, answers, None, len(frame))


class TableShards(Shards):
    """The objective of a table in files: models are fitted here on the sample, and scored where the rows are."""

    def __init__(self, sample: TableObjective, parts: Sequence[RowsOfFile], trained: int, data: DataIdentity) -> None:
        score = RowsScore(sample.metric, sample.matrix, sample.task, str(data.target))
        counts = [sum(held for _, held, _ in part.groups) for part in parts]
        super().__init__(parts, counts=counts, score=score, train=self.fit_estimator)
        self.sample, self.trained, self.data = sample, trained, data

    def fit_estimator(self, params: Params) -> Any:
        return self.sample.estimator(params).fit(*self.sample.train)

    @property
    def facts(self) -> LossFacts:
        return replace(self.metric.facts(self.records or 0), reading=self.sample.facts.reading)

    @property
    def metric(self) -> Metric:
        return self.sample.metric

    @property
    def task(self) -> str:
        return self.sample.task

    @property
    def identifiers(self) -> Any:
        return self.sample.identifiers

    @property
    def target_leaks(self) -> Any:
        return self.sample.target_leaks

    @property
    def space(self) -> Space:
        return self.sample.space

    def refuse_space(self, space: Space) -> None:
        self.sample.refuse_space(space)

    def baseline(self) -> str:
        return self.sample.baseline()

    def describe(self) -> list[str]:
        """As TableObjective does; of private rows only their number."""
        aim, columns = self.sample.describe_columns()
        few = len(self.sample.train[1])
        return [
            f"task: {aim}; model: {self.sample.model}; a sample of {few:,} of {self.trained:,} rows to train on, "
            f"{self.records:,} private rows to validate on, read in {len(self.parts)} parts",
            columns,
            self.metric.describe(self.records or 0),
        ]


def table_shards(
    files: Sequence[Path],
    target: str,
    model: str,
    *,
    name: str,
    validation: float = 0.5,
    seed: int = 0,
    person: str | None = None,
    drop: Sequence[str] = (),
    schema: Schema | None = None,
    sample: int = SAMPLE,
    **about: Any,
) -> TableShards:
    """The objective of the rows of Parquet files, of which a sample is read now. ``about`` is as for one table."""
    if person is not None:
        raise BadInput(
            f"--person needs {WHOLE}: a person's rows may be in many files. Make one row of each person first. Nothing "
            "was spent"
        )
    columns = _shared_columns(files, [target, *drop])
    chosen = tuple(c for c in columns if c not in drop)
    parts, trained = divide_groups(files, chosen, probability("validation", validation), seed, sample)
    few = _read_sample(parts)
    objective = table_objective(few, target, model, schema=schema, rows=(np.arange(len(few)), np.arange(0)), **about)
    if objective.metric.pairs:
        raise BadInput(
            f"{objective.metric.name} compares rows with each other, and these are in many parts: choose a metric of "
            f"single rows, or {WHOLE}. Nothing was spent"
        )
    use = f"model {model}, metric {objective.metric.name}, validation {validation:g}, seed {seed}, {sample} rows train"
    use += f", without {', '.join(drop)}" if drop else ""
    rows = trained + sum(held for part in parts for _, held, _ in part.groups)
    mark = hashlib.sha256(repr([columns, schema.to_json() if schema else None]).encode()).hexdigest()[:16]
    data = DataIdentity(name, rows, len(columns), target, mark, use, _digest_files(files))
    return TableShards(objective, parts, trained, data)


def divide_groups(
    files: Sequence[Path], columns: tuple[str, ...], validation: float, seed: int, sample: int
) -> tuple[list[RowsOfFile], int]:
    """Parts of the private rows, each of which knows its share of the sample too; and how many rows may train."""
    parquet = extra("pyarrow.parquet", "parquet", "reading Parquet")
    place, groups_of = (
        {str(path.absolute()): i for i, path in enumerate(files)},
        list[tuple[str, list[tuple[int, int]]]](),
    )
    for part in divide_files(files)[0]:
        about = parquet.read_metadata(part.path)
        groups = range(about.num_row_groups) if part.groups is None else part.groups
        groups_of.append((part.path, [(g, about.row_group(g).num_rows) for g in groups]))
    sizes = iter(group_sizes([n for _, groups in groups_of for _, n in groups], validation, sample))
    parts = [
        RowsOfFile(path, place[path], tuple((g, *next(sizes)) for g, _ in groups), seed, columns)
        for path, groups in groups_of
    ]
    trained = sum(n for _, groups in groups_of for _, n in groups) - sum(h for part in parts for _, h, _ in part.groups)
    if trained < 10 or not any(h for part in parts for _, h, _ in part.groups):
        raise BadInput(f"the files must hold rows to train on and to validate on, got validation={validation:g}")
    return [part for part in parts if any(h for _, h, _ in part.groups)], trained


def _read_sample(parts: Sequence[RowsOfFile]) -> Any:
    tables = list[Table]()
    try:
        for part in parts:
            tables += replace(part, private=False).read_blocks()
        return Table.join(tables)
    except Exception as error:  # Arrow quotes cells
        kind = type(error).__name__
    raise ObjectiveError(f"the files of the table cannot be read ({kind})")


def _shared_columns(files: Sequence[Path], needed: Sequence[str]) -> list[str]:
    parquet = extra("pyarrow.parquet", "parquet", "reading Parquet")
    divide_files(files[:1])  # says what is wrong with a file that is none
    first = [str(c) for c in parquet.read_schema(files[0]).names]
    for path in files[1:]:
        if set(parquet.read_schema(path).names) != set(first):
            raise BadInput(f"all files of a table must have the same columns, and {path.name} has others")
    for column in needed:
        if column not in first:
            raise BadInput(f"the table has no column {column!r} among its {len(first)} columns")
    return first


def _digest_files(files: Sequence[Path]) -> bytes:
    """Of the tables of contents of all files, which tell where every column lies and what its values range over."""
    mark = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            file.seek(-8, 2)
            length = int.from_bytes(file.read(4), "little")
            file.seek(-8 - length, 2)
            mark.update(file.read(length))
    return mark.digest()
