"""The engine for Spark that the docs give, held to the laws of engines where pyspark and Java are."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_laws import EngineLaws, N, counts, frames, score

from tacit.run.shards import Shards

RECIPE = Path(__file__).parents[2] / "examples" / "engines" / "spark_engine.py"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recipe() -> Any:
    pytest.importorskip("pyspark")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(RECIPE.parent))
        yield importlib.import_module("spark_engine")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A local Spark of two cores, which tries a task again, with processes of Python as its workers."""
    pyspark = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    with pytest.MonkeyPatch.context() as patch:
        paths = [str(Path(__file__).parents[1]), str(RECIPE.parent), *sys.path]
        patch.setenv("PYTHONPATH", os.pathsep.join(p for p in paths if p))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = pyspark.SparkSession.builder.master("local[2,4]").appName("tacit")
        options = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "700m",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        }
        for name, value in options.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def table(spark: Any) -> Any:
    """The parts of the laws as partitions of their sizes and in their order, between empty ones."""
    rows = [(i + 1, float(x), float(y)) for i, frame in enumerate(frames()) for x, y in frame]
    placed = spark.sparkContext.parallelize(rows, 2).map(lambda row: (row[0], row[1:]))
    return placed.partitionBy(len(counts()) + 2, lambda n: n).values().toDF(["x", "y"])


class TestSpark(EngineLaws):
    pinned = False  # Spark reuses processes of Python for whichever task is next

    @pytest.fixture(scope="class")
    def made(self, recipe: Any, table: Any) -> Any:
        return recipe.shards_of(table)

    @pytest.fixture
    def shards(self, made: Shards) -> Shards:
        return made

    def test_empty_partitions_are_no_parts(self, shards: Shards) -> None:
        assert shards.counts == counts()
        assert shards.records == N

    def test_a_task_that_dies_and_is_tried_again_counts_once(self, shards: Shards, tmp_path: Path) -> None:
        once = str(tmp_path / "died")
        found = self.total(shards, score_and_die_once, [(np.array([0.2, 0.7]), once)])
        assert os.path.exists(once)
        assert found == self.total(Shards(frames()))


def score_and_die_once(model: tuple[np.ndarray, str], frame: Any) -> np.ndarray:
    point, once = model
    try:
        os.close(os.open(once, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return score(point, frame)
    os._exit(3)
