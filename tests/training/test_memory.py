"""Too little memory is said in a type of ours, with what was spent; who has more goes on and pays nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from forked import exit_code
from train_parts import BUDGET, table

from tacit.data.files import read_table
from tacit.errors import DataRefused, TacitError
from tacit.integrations.sklearn_trained import PrivateClassifier
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger
from tacit.training.descent import DescentTrainer
from tacit.training.private_table import DividedTable
from tacit.training.runs import TRIES
from tacit.training.train import train


class Hungry(DescentTrainer):
    """Asks for more memory than there is, but for the rehearsal's made-up rows, which are few."""

    def train(self, rows: Any, settings: Any, facts: Any, noise: Any) -> Any:
        if facts.records > 200 and "TACIT_TEST_MEMORY" not in os.environ:
            raise MemoryError(f"Unable to allocate {rows.X[0]}")
        return super().train(rows, settings, facts, noise)


def open_ledger(folder: Path) -> Ledger:
    return Ledger.open(folder / "l.db", "set", Budget.approximate(9.0, 1e-3), composition="basic")


@pytest.mark.parametrize("where", ["run", "encoding"])
def test_too_little_memory_says_what_was_spent_and_more_of_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fail(*given: Any) -> Any:
        raise MemoryError

    ledger = open_ledger(tmp_path)
    options: dict[str, Any] = {"target": "ill", "budget": BUDGET, "progress": False, "ledger": ledger}
    with monkeypatch.context() as patch:
        if where == "encoding":
            patch.setattr(DividedTable, "encode", fail)
        for _ in range(TRIES + 1):  # it is no fault of the run
            with pytest.raises(
                TacitError, match=r"too little memory.*entry 1 of ledger 'set', was paid.*not paid"
            ) as e:
                train(Hungry(), table(), **options, out=tmp_path / "out")
            assert e.value.spent
            assert "allocate" not in str(e.value)
            assert e.value.__context__ is None
    monkeypatch.setenv("TACIT_TEST_MEMORY", "1")
    train(Hungry(), table(), **options, out=tmp_path / "out")
    assert sum(e.kind == "charge" for e in ledger.entries()) == 1


def test_without_a_folder_it_says_that_nothing_is_kept() -> None:
    with pytest.raises(TacitError, match=r"which no ledger counts, was paid.*Without out= nothing is kept"):
        train(Hungry(), table(), target="ill", budget=BUDGET, progress=False)


def test_before_anything_is_paid_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any, **options: Any) -> Any:
        raise MemoryError

    ledger = open_ledger(tmp_path)
    monkeypatch.setattr(Ledger, "charge", fail)
    with pytest.raises(TacitError, match=r"too little memory.*Nothing was spent") as caught:
        train(Hungry(), table(), target="ill", budget=BUDGET, progress=False, ledger=ledger, out=tmp_path / "out")
    assert caught.value.spent is False
    assert ledger.entries() == []


READERS = ["train.separate_target", "train.identify_table", "train.divide_rows"]


@pytest.mark.parametrize("place", READERS)
@pytest.mark.parametrize("how", ["train", "fit"])
def test_memory_that_runs_out_while_a_table_is_read_is_said_and_nothing_is_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, how: str
) -> None:
    def fail(*given: Any, **options: Any) -> Any:
        raise MemoryError("Unable to allocate 3 GiB for 'Alice'")

    monkeypatch.setattr(f"tacit.training.{place}", fail)
    ledger, data = open_ledger(tmp_path), table()
    options: dict[str, Any] = {"target": "ill", "budget": BUDGET, "progress": False, "ledger": ledger}
    model = PrivateClassifier(epsilon=2.0, delta=1e-5, ledger=ledger)
    work = {
        "train": lambda: train("logistic", data, **options, out=tmp_path / "out"),
        "fit": lambda: model.fit(data[["age"]].astype(float), data["ill"]),
    }
    with pytest.raises(DataRefused, match=r"too little memory to read the data\. Nothing was spent") as caught:
        work[how]()
    assert caught.value.spent is False
    assert caught.value.__context__ is None
    assert ledger.entries() == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("reader", ["read_text", "_read_excel", "_read_parquet"])
def test_memory_that_runs_out_while_a_file_is_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    monkeypatch.setattr(f"tacit.data.files.{reader}", lambda *given: (_ for _ in ()).throw(MemoryError))
    file = tmp_path / {"read_text": "t.csv", "_read_excel": "t.xlsx", "_read_parquet": "t.parquet"}[reader]
    file.touch()
    with pytest.raises(DataRefused, match="too little memory to read the data"):
        read_table(file)


class Deadly(DescentTrainer):
    """Is killed in every run but that of the rehearsal's made-up rows, which are few."""

    def train(self, rows: Any, settings: Any, facts: Any, noise: Any) -> Any:
        if facts.records > 200:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().train(rows, settings, facts, noise)


def train_deadly(folder: Path) -> None:
    options: dict[str, Any] = {"target": "ill", "budget": BUDGET, "progress": False}
    train(Deadly(), table(), **options, ledger=open_ledger(folder), out=folder / "out")


def test_a_training_that_is_killed_again_and_again_says_so_at_last(tmp_path: Path) -> None:
    for _ in range(TRIES):
        assert exit_code(train_deadly, tmp_path) == -signal.SIGKILL
    with pytest.raises(TacitError, match="every run failed") as caught:
        train_deadly(tmp_path)
    assert caught.value.spent is True
    assert f"It was killed {TRIES} times, as by a limit on memory or time" in str(caught.value)
    assert sum(e.kind == "charge" for e in open_ledger(tmp_path).entries()) == 1
