"""Records in the partitions of a Spark table, asked where they lie. Needs pyspark with pandas and Arrow, and Java.

Partitions answer by rows that are collected, not by accumulators, which count a task that is retried twice.
"""

import pickle

import pandas
from pyspark import StorageLevel, TaskContext

from tacit import Shards
from tacit.run.dask_engine import count_part
from tacit.run.engine import answer_quietly


class Partition:
    """The rows of one task, as Spark hands them over: frames, one after the other."""

    def __init__(self, frames):
        self.frames = frames

    def read_blocks(self):
        return self.frames

    def __len__(self):
        return sum(len(frame) for frame in self.frames)


class SparkEngine:
    """Partitions of one table, which stay as they are: an empty one is no part."""

    def __init__(self, table):
        self.table = table.persist(StorageLevel.MEMORY_AND_DISK)
        self.counts = {number: rows for number, rows in sorted(self.ask(count_part)) if rows}

    def ask(self, work):
        """``work(number, partition)`` by a task for each partition."""

        def answer(frames):
            found = work(TaskContext.get().partitionId(), Partition(frames))
            yield pandas.DataFrame({"answer": [pickle.dumps(found)]})

        return [pickle.loads(row.answer) for row in self.table.mapInPandas(answer, "answer binary").collect()]

    def totals(self, models, reducer):
        places = {number: place for place, number in enumerate(self.counts)}

        def answer(number, partition):
            return answer_quietly(places[number], partition, models, reducer) if number in places else None

        return [found for found in self.ask(answer) if found is not None]


def shards_of(table):
    """``tacit.Shards`` of a Spark DataFrame."""
    engine = SparkEngine(table)
    return Shards(list(engine.counts), counts=list(engine.counts.values()), cluster=engine)
