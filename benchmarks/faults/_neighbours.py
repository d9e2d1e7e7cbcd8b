"""Random messy tables, one row or one person of them replaced, and all that leaves compared but for paid noise."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.cells import fill
from tacit.data.files import read_table
from tacit.data.identity import DataIdentity
from tacit.data.schema import Schema
from tacit.data.split import divide_rows, hold_out
from tacit.data.table import Table
from tacit.data.units import Persons
from tacit.integrations.table import table_objective
from tacit.training.column_counts import FINE, ColumnCounts
from tacit.training.learn import declared_preparation, learn_labels_or_range
from tacit.training.private_table import separate_target

HOSTILE = [
    *("x", "", "NA", "n/a", "1e400", "-inf", "tRUE", "maybe", "01", " 1.0", "1_0", "0x1", '"', '"a', "a,b", "a;b", "é"),
    *(
        "2024-05-01",
        "9999-12-31",
        "0001-01-01",
        "1.5.2024",
        "9007199254740993",
        "w" * 3000,
        "\t",
        "a\tb",
        "nan",
        "None",
    ),
]
OBJECTS = [
    None,
    [1],
    {"a": 1},
    3 + 4j,
    10**400,
    float("nan"),
    b"\xff",
    datetime.date(2024, 5, 1),
    True,
    np.float32(0.1),
]
NAMES = ("number", "word", "date", "mixed", "who", "y")
SCHEMA = Schema.declare(
    {
        "number": (-3, 3),
        "word": ["north", "NA", "01", "1"],
        "date": {"kind": "time", "range": (0, 30000)},
        "mixed": (0, 9),
    },
    target="y",
    labels=["0", "1"],
)


@dataclass(frozen=True)
class Pair:
    """Two tables of text or objects, as lists of rows, that differ in the rows of one place, or of one person."""

    tables: tuple[list[list[Any]], list[list[Any]]]
    moved: tuple[int, ...]
    by_person: bool
    container: str
    aim: str  # what the target holds


AIMS: dict[str, Callable[[np.random.Generator, int], list[str]]] = {
    "class": lambda rng, n: [str(v) for v in rng.choice(["0", "1", "1.0"], n)],
    "amount": lambda rng, n: [f"{v:.4f}" for v in np.exp(rng.normal(3, 2, n))],
    "weight": lambda rng, n: [f"{v:.1f}" for v in rng.normal(75, 9, n)],
    "date": lambda rng, n: [str(d) for d in np.datetime64("2020-01-01") + rng.integers(0, 2000, n)],
    "person": lambda rng, n: [f"p{v}" for v in rng.integers(0, n, n)],
    "constant": lambda rng, n: ["7"] * n,
}


def draw_pair(rng: np.random.Generator, containers: tuple[str, ...], aims: tuple[str, ...] = ("class",)) -> Pair:
    aim = str(rng.choice(aims))
    n, container = int(rng.integers(150, 250)), str(rng.choice(containers))
    days, targets = np.datetime64("2020-01-01") + rng.integers(0, 2000, n), AIMS[aim](rng, n)
    rows: list[list[Any]] = [
        [
            f"{rng.normal():.3f}",
            str(rng.choice(["north", "west", "NA", "01", "1"])),
            str(days[i]),
            str(rng.choice(["1", "1.0", "2", "", "True"])),
            f"p{rng.integers(0, n)}",
            targets[i],
        ]
        for i in range(n)
    ]
    for _ in range(int(rng.integers(0, 4))):  # cells that are odd in both tables
        rows[int(rng.integers(n))][int(rng.integers(4))] = HOSTILE[int(rng.integers(len(HOSTILE)))]
    other, by_person = [list(row) for row in rows], bool(rng.random() < 0.3)
    place = int(rng.integers(n))
    moved = tuple(i for i in range(n) if rows[i][4] == rows[place][4]) if by_person else (place,)
    pool: list[Any] = HOSTILE if container in ("text", "arrow") else [*HOSTILE, *OBJECTS]
    for i in moved:
        for j in (0, 1, 2, 3, 5):
            if rng.random() < 0.7:
                other[i][j] = pool[int(rng.integers(len(pool)))]
    if container == "rows" and not by_person and rng.random() < 0.3:
        other[place] = [other[place], other[place][:-1], [*other[place], 1], "ab", None][int(rng.integers(5))]
    return Pair((rows, other), moved, by_person, container, aim)


def hold(rows: list[Any], container: str, folder: Path, dialect: int) -> Any:
    """The rows in a container of that kind."""
    import pandas as pd

    if container == "rows":
        return rows
    if container == "frame":
        return pd.DataFrame({n: pd.Series(fill(r[j] for r in rows), dtype=object) for j, n in enumerate(NAMES)})
    if container == "array":
        table = np.empty((len(rows), len(NAMES)), object)
        for i, row in enumerate(rows):
            table[i] = fill(row)
        return table
    if container == "arrow":
        import pyarrow as pa

        return pa.table({n: pa.array([r[j] for r in rows], pa.string()) for j, n in enumerate(NAMES)})
    separator, ends, suffix = ((",", "\n", "csv"), (";", "\r\n", "csv"), ("\t", "\n", "tsv"), (",", "\r", "csv"))[
        dialect
    ]
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator=ends).writerows([NAMES, *rows])
    path = folder / f"t.{suffix}"
    path.write_bytes(text.getvalue().encode())
    return read_table(path, SCHEMA)


def table_of(held: Any) -> Table:
    table = Table.of(held)
    return table if table.form == "frame" else Table(NAMES, table.cells, table.rows)


def prepare(held: Any, pair: Pair) -> Any:
    """What tacit.train makes of rows that nobody replaced: parts, features and classes, by a declared schema."""
    whole = table_of(held)
    table, labels = separate_target(whole, None, "y")
    groups = whole["who"] if pair.by_person else None
    parts = divide_rows(len(labels), groups, (0.34, 0.33, 0.33), 0)
    prepared = declared_preparation(table, SCHEMA)
    kept = np.setdiff1d(np.arange(len(labels)), pair.moved)
    where = [np.isin(kept, part.rows).tolist() for part in parts]
    identity = DataIdentity.of_table(whole, name="t", target="y", persons=pair.by_person).describe()
    features = prepared.features(table)[kept]
    return where, features.tobytes(), prepared.targets(labels)[kept].tobytes(), prepared.names, identity


class Spy:
    """A source of no noise that remembers what was counted."""

    simulated = True

    def __init__(self) -> None:
        self.seen: list[float] = []

    def gaussian_whole_array(self, values: Any, scale: float) -> Any:
        self.seen.extend((values / FINE).tolist())
        return values


def learn(held: Any, pair: Pair) -> Any:
    """What tacit.train counts to learn columns, which must not fail, and the labels that all but the rows show."""

    spy = Spy()
    table, counts = table_of(held), ColumnCounts(1, 50.0, 1e-9)
    if pair.by_person:  # one row of each trains
        table = table.take(np.unique(Persons.of(table["who"], len(table)).owners, return_index=True)[1])
    totals = []
    for cells in table.cells[:4]:
        spy.seen.clear()
        counts.describe("c", cells, spy)  # type: ignore[arg-type]
        totals.append(sum(spy.seen) // (2 * len(pair.moved) + 2) >= 0)
    return totals, sorted(map(str, learn_labels_or_range(table["y"], counts, spy)[0].categories))


def tune(held: Any, pair: Pair) -> Any:
    """What tacit.tune says of a table in which a validation row or person is replaced, and all other losses."""
    table = table_of(held)
    person = "who" if pair.by_person else None
    persons = Persons.of(table["who"], len(table)) if pair.by_person else None
    hidden = hold_out(len(table), 0.5, np.random.default_rng(0), persons, least=10)[1]
    if not set(pair.moved) <= set(hidden.rows.tolist()):
        return None
    drop = ["date", "mixed"] if person else ["date", "mixed", "who"]
    made = table_objective(table, "y", "linear", task="classification", person=person, drop=drop, seed=0)
    losses = made({"C": 1.0})
    gone = {int(i) for i in np.flatnonzero(np.isin(hidden.rows, pair.moved))}
    if hidden.owners is not None:
        gone = {int(hidden.owners[i]) for i in gone}
    rest = np.delete(losses, sorted(gone))
    return made.describe(), made.baseline(), made.matrix.schema.to_json(), rest.tobytes(), len(losses)


@dataclass(frozen=True)
class Recorded(ColumnCounts):
    """Counts without noise that are noted with their scales; answered as before, where there was a before."""

    before: Recorded | None = None
    exact: list[tuple[dict[Any, float], float]] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    def add_noise(self, counts: Any, noise: Any, scale: float) -> Any:
        return self._note(dict(enumerate(np.asarray(counts, float).tolist())), scale, np.asarray(counts, float))

    def count_values(self, values: list[Any], which: Any, noise: Any = None) -> dict[Any, float]:
        many = np.bincount(which[which >= 0], minlength=len(values)).tolist()
        exact = {v: float(n) for v, n in zip(values, many, strict=True) if v is not None and n}
        answer: dict[Any, float] = self._note(exact, self.scale, {v: n for v, n in exact.items() if n >= 30})
        return answer

    def _note(self, exact: dict[Any, float], scale: float, answer: Any) -> Any:
        self.exact.append((exact, scale))
        self.answers.append(answer if self.before is None else self.before.answers[len(self.answers)])
        return self.answers[-1]

    def spent(self) -> float:
        """mu of all that was counted, against the counts of the neighbour before."""
        assert self.before is not None
        assert len(self.exact) == len(self.before.exact)
        squares = 0.0
        for (here, scale), (there, other) in zip(self.exact, self.before.exact, strict=True):
            assert scale == other
            squares += sum((here.get(k, 0) - there.get(k, 0)) ** 2 for k in {*here, *there}) / scale**2
        return float(np.sqrt(squares))


def learn_target(held: Any, pair: Pair, before: Recorded | None) -> Recorded:
    """The counts by which a target of unknown kind is learnt: labels, or the range of a number."""
    table = table_of(held)
    if pair.by_person:
        table = table.take(np.unique(Persons.of(table["who"], len(table)).owners, return_index=True)[1])
    counts = Recorded(2, 3.0, 1e-9, before)
    aim, _ = learn_labels_or_range(table["y"], counts, None)  # type: ignore[arg-type]
    counts.exact.append(({"number": float(before is None and aim.kind == "number")}, math.inf))
    counts.answers.append(aim.kind)
    return counts


def overspends(pair: Pair, folder: Path, dialect: int) -> tuple[str, str]:
    """What is wrong with the counts of a target, if anything, and what it was taken for."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            first = learn_target(hold(pair.tables[0], pair.container, folder, dialect), pair, None)
            second = learn_target(hold(pair.tables[1], pair.container, folder, dialect), pair, first)
        except Exception as error:
            return f"{type(error).__name__}: {error}", "nothing"
    spent = second.spent()
    return (f"spent mu {spent:.4g} of {first.mu:g}" if spent > first.mu else ""), str(first.answers[-1])


ENTRIES: dict[str, Callable[[Any, Pair], Any]] = {"prepare": prepare, "learn": learn, "tune": tune}


def outcome(entry: Callable[[Any, Pair], Any], rows: list[Any], pair: Pair, folder: Path, dialect: int) -> Any:
    """What leaves: the answer, or the error's type and words; and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            answer = entry(hold(rows, pair.container, folder, dialect), pair)
        except Exception as error:
            answer = type(error).__name__, str(error)
    return json.dumps([repr(answer), [str(w.message) for w in told]])


@dataclass
class Tally:
    """What was found, and how many pairs ended in an answer on both sides: two equal refusals show nothing."""

    found: list[str] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)

    def note(self, name: str, *, answered: bool, fault: str = "") -> None:
        self.pairs[name] += 1
        self.answered[name] += answered
        self.found += [fault] if fault else []

    def __str__(self) -> str:
        return ", ".join(f"{name}: {self.answered[name]:,} of {n:,} answered" for name, n in sorted(self.pairs.items()))


def find_leaks(pairs: int, seed: int, folder: Path) -> Tally:
    """Entry and container of every pair whose outcomes differ."""
    rng, tally = np.random.default_rng(seed), Tally()
    names = [*ENTRIES, "target"]
    for number in range(pairs):
        name = names[number % len(names)]
        aims = tuple(AIMS) if name == "target" else ("class",)
        pair, dialect = draw_pair(rng, ("rows", "frame", "array", "arrow", "text"), aims), int(rng.integers(4))
        where = f"{name} of {pair.container} (pair {number} of seed {seed})"
        if name == "target":
            fault, kind = overspends(pair, folder, dialect)
            ragged = fault.startswith(("BadInput", "DataRefused")) and pair.container == "rows"
            fault = "" if ragged else fault and f"{where}: {pair.aim} as {kind}: {fault}"
            tally.note(f"target, {pair.aim} as {kind}", answered=not fault and not ragged, fault=fault)
            continue
        both = [outcome(ENTRIES[name], rows, pair, folder, dialect) for rows in pair.tables]
        answered = not any(re.match(r"None$|\('\w+', ", json.loads(text)[0]) for text in both)
        tally.note(name, answered=answered, fault="" if both[0] == both[1] else where)
    return tally


def through_the_command(pairs: int, seed: int, folder: Path) -> Tally:
    """The same through `tacit train`: exit codes, remarks, and the names of the files."""
    from typer.testing import CliRunner

    from tacit.cli.main import app

    rng, tally = np.random.default_rng(seed), Tally()
    (folder / "schema.json").write_text(json.dumps(SCHEMA.to_json()))
    for number in range(pairs):
        declared = number % 2 == 1
        pair = draw_pair(rng, ("text",), ("class",) if declared else tuple(AIMS))
        rows = [[list(r) for r in table] * 8 for table in pair.tables]  # enough for a training; the row once
        size = len(pair.tables[0])
        for place in pair.moved:
            for copy in range(1, 8):
                rows[1][copy * size + place] = list(pair.tables[0][place])
        seen = []
        for listed in rows:
            hold(listed, "text", folder, 0)
            words = ["train", "--table", str(folder / "t.csv"), "--target", "y", "--epsilon", "3", "--json"]
            words += ["--schema", str(folder / "schema.json")] if declared else ["--drop", "who"]
            words += ["--runs", "2"] if number % 4 == 3 else []
            words += ["--person", "who"] if declared and pair.by_person else []
            done = CliRunner().invoke(app, words)
            shown = re.sub(r"[0-9.e+-]+", "#", done.stderr)
            keys = sorted(json.loads(done.stdout)) if done.exit_code == 0 else done.stdout
            seen.append((done.exit_code, shown, keys, type(done.exception).__name__))
        fault = "" if seen[0] == seen[1] else f"tacit train (pair {number} of seed {seed}): {seen}"
        kind = f"{'declared' if declared else 'learnt'} {pair.aim}"
        tally.note(kind, answered=all(code == 0 for code, *_ in seen), fault=fault)
    return tally
