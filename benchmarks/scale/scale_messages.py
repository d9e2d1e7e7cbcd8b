"""How many bytes cross the network for each step, from the messages that the code itself makes.

Sizes, not times: nothing is sent. Tasks and answers of an executor are counted as pickled (protocol 5), which is what
processes and Dask send; a part that already lives on its worker is a name there and is not counted. Requests are
counted without HTTP's own headers, a few hundred bytes each.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from typing import Any

import numpy as np

from benchmarks import Figure
from tacit.methods.gibo.design import DescentSettings, Designs, clipping_of
from tacit.outsource.protocol.frames import frame, pack
from tacit.outsource.protocol.wire import Answers, Query
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.mean import BoundedMean
from tacit.run.engine import Reducer, answer_question
from tacit.space import Float, Space

TITLE = "Scale: bytes that cross the network for each step"
LONG = False
REPEATS = 1

RECORDS = 1_000_000


def size(thing: Any) -> int:
    return len(pickle.dumps(thing, protocol=5))


def space(d: int) -> Space:
    return Space({f"x{j}": Float(0.0, 1.0) for j in range(d)})


def observed(d: int) -> list[Figure]:
    params = space(d).params(np.full((1, d), 0.123456789))[0]
    mean = BoundedMean(RECORDS, (0.0, 1.0), budget=Budget.gdp(1.0))
    told = size(answer_question(0, lambda p: np.full(1000, 0.5), [params], Reducer(mean)))
    note = "for each shard and trial, whatever the shard holds; the mechanism's public constants go with it"
    return [
        Figure(f"private observations, parameters to a worker, {d} dimensions", float(size(params)), "bytes",
               note=note),
        Figure(f"private observations, answer of a shard, {d} dimensions", float(told), "bytes",
               against=f"{8 * RECORDS:,} bytes for the losses of 1,000,000 records",
               note="a sum and a count, in whole numbers"),
    ]  # fmt: skip


def descending(d: int) -> list[Figure]:
    where = space(d)
    made = Designs(DescentSettings.of({}, (0.0, 1.0), where), where, 1).at(np.full(d, 0.5), 0)
    clipped = clipping_of(made, DescentSettings.of({}, (0.0, 1.0), where), False)
    listed = where.params(made.points)
    slopes = np.random.default_rng(0).normal(size=(1000, d))
    told = size(answer_question(0, lambda p: slopes @ np.array(list(p.values())), listed, Reducer(clipped)))
    places = len(listed)
    losses = f"{8 * RECORDS * places:,} bytes for the losses of 1,000,000 records at {places} places"
    return [
        Figure(f"DP-GIBO, places and weights to a shard, {d} dimensions", float(size((listed, clipped))), "bytes",
               note=f"{places} places and a matrix of {d} x {places}, once a step and shard"),
        Figure(f"DP-GIBO, answer of a shard, {d} dimensions", float(told), "bytes", against=losses,
               note="d whole numbers and a count, once a step"),
    ]  # fmt: skip


def outsourced(columns: int) -> list[Figure]:
    part = np.random.default_rng(0).normal(size=(4096, columns)).astype("<f4")
    each = len(frame(pack(part), len(part))) / len(part)
    query = Query(request="0" * 36, rows=[123456]).model_dump_json()
    told = {"request": "0" * 36, "answers": [{"row": 123456, "value": 0.123456789}]}
    return [
        Figure(f"outsourcing, the published table, a row of {columns} columns", each, "bytes",
               against=f"{4 * columns} bytes as single floats", note="once; 4,096 rows in a frame, deflated"),
        Figure("outsourcing, one query", float(len(query)), "bytes", note="JSON"),
        Figure("outsourcing, one answer", float(len(Answers.model_validate(told).model_dump_json())), "bytes",
               note="JSON"),
    ]  # fmt: skip


def charged() -> list[Figure]:
    """A charge as it is exported: what the ledger keeps of it, once for a whole study."""
    with tempfile.TemporaryDirectory() as folder, Ledger.open(f"{folder}/l.db", "icu", Budget.gdp(1.0)) as ledger:
        before = len(json.dumps(ledger.export()))
        ledger.charge(Guarantee(Budget.gdp(0.5), "one validation record replaced"), "observed: 50 trials")
        after = len(json.dumps(ledger.export()))
    note = "about as much crosses to a PostgreSQL server; one a study, not one a trial"
    return [Figure("ledger, one charge as kept", float(after - before), "bytes", note=note)]


def run(repeats: int) -> list[Figure]:
    return [
        *(f for d in (2, 10, 100) for f in observed(d)),
        *(f for d in (2, 10, 100) for f in descending(d)),
        *outsourced(10),
        *charged(),
    ]
