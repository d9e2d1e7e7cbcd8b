"""Whatever a study's database meets below Optuna is an error of ours; what an objective raises is not taken for it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import ObjectiveError, TacitError, is_storage_error


def tune(out: Path) -> Any:
    return tacit.tune(
        lambda params: np.full(4000, params["x"]), {"x": tacit.Float(0, 1)}, records=4000, bounds=(0, 1),
        budget=tacit.Budget.gdp(0.5), trials=3, method="random", out=out, progress=False,
    )  # fmt: skip


def test_a_study_whose_bits_changed_is_told_in_a_type_of_ours(tmp_path: Path) -> None:
    """They meet a parser of dates, of JSON or of names, each with errors of its own."""
    tune(tmp_path / "run")
    content = (tmp_path / "run" / "study.db").read_bytes()
    told = set()
    for words in (b"FloatDistribution", b'"attributes"', b"COMPLETE", b"FINITE"):
        damaged = tmp_path / words.decode().strip('"')
        shutil.copytree(tmp_path / "run", damaged)
        changed = content.replace(words, words[:3] + bytes([words[3] ^ 4]) + words[4:])
        assert changed != content
        (damaged / "study.db").write_bytes(changed)
        with pytest.raises(TacitError, match="the study's storage failed") as refused:
            tune(damaged)
        told.add(str(refused.value).partition(")")[0])
    assert len(told) > 1  # several kinds of errors


def test_terms_of_a_study_that_no_longer_parse_are_refused(tmp_path: Path) -> None:
    tune(tmp_path / "run")
    content = (tmp_path / "run" / "study.db").read_bytes()
    changed = content.replace(b'\\":', b'\\";', 1)  # inside a text: Optuna's own JSON stays whole
    assert changed != content
    (tmp_path / "run" / "study.db").write_bytes(changed)
    with pytest.raises(TacitError, match="the terms that this study holds are not what was written"):
        tune(tmp_path / "run")


def test_a_study_that_lost_its_direction_is_refused(tmp_path: Path) -> None:
    tune(tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "study.db")) as connection, connection:
        connection.execute("DELETE FROM study_directions")
    with pytest.raises(TacitError, match="direction"):
        tune(tmp_path / "run")


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x"), ObjectiveError("x")])
def test_other_errors_are_not_about_a_storage(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        raise error
    assert not is_storage_error(raised.value)
