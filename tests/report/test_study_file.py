"""A study is read beside the process that writes it, and never written to."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from tacit.errors import TacitError
from tacit.report.study_file import kind_of, read_study


def begin(path: Path) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(storage=f"sqlite:///{path}", study_name="s")


def test_finished_failed_and_running_trials_are_counted_apart(tmp_path: Path) -> None:
    study = begin(tmp_path / "study.db")
    study.tell(study.ask({"x": optuna.distributions.FloatDistribution(0, 1)}), 0.5)
    study.tell(study.ask(), state=optuna.trial.TrialState.FAIL)
    study.ask()
    before = (tmp_path / "study.db").read_bytes()
    found = read_study(tmp_path / "study.db")
    assert (len(found.done), found.failed, found.running, found.claimed) == (1, 1, 1, 0)
    assert found.done[0].values == [0.5]
    assert (tmp_path / "study.db").read_bytes() == before


def test_a_study_that_grew_is_read_again(tmp_path: Path) -> None:
    study = begin(tmp_path / "study.db")
    assert read_study(tmp_path / "study.db").done == []
    study.tell(study.ask(), 0.5)
    assert len(read_study(tmp_path / "study.db").done) == 1


def test_kinds_are_told_by_what_tacit_wrote_there(tmp_path: Path) -> None:
    study = begin(tmp_path / "study.db")
    assert kind_of(tmp_path / "study.db") == "study"
    study.set_user_attr("tacit:terms", "{}")
    assert kind_of(tmp_path / "study.db") == "search"
    study.set_user_attr("tacit:front", "{}")
    assert kind_of(tmp_path / "study.db") == "discovery"


def test_a_file_that_is_no_database_is_told_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "study.db").write_text("patient 4711")
    with pytest.raises(TacitError, match="cannot be read now") as refused:
        read_study(tmp_path / "study.db")
    assert "4711" not in str(refused.value)
