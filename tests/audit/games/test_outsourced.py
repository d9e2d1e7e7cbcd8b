"""`tacit audit outsource`: the known-row attack on a table of one's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.audit.games.outsourced import attack_table
from tacit.errors import BadInput

ROWS = np.random.default_rng(3).normal(size=(400, 3)) * (1.0, 20.0, 0.1)


def test_d_plus_one_known_rows_give_back_all_under_the_published_projection_and_none_under_noise() -> None:
    found = {(a.transform, a.known): a.share for a in attack_table(ROWS, epsilon=3.0, delta=1e-5)}
    assert found["projection", 4] == found["projection", 6] == 1.0
    assert found["projection", 3] < 0.05
    assert max(share for (transform, _), share in found.items() if transform == "noisy") == 0.0


def test_duplicates_among_the_rows_do_not_save_the_projection() -> None:
    doubled = np.concatenate([np.repeat(ROWS[:1], 50, axis=0), ROWS])
    found = {(a.transform, a.known): a.share for a in attack_table(doubled, epsilon=3.0, delta=1e-5)}
    assert found["projection", 4] == 1.0


@pytest.mark.parametrize("rows", [np.zeros((3, 2)), np.zeros(5), np.full((20, 2), np.nan), np.zeros((0, 2))])
def test_a_table_that_cannot_be_attacked_is_refused(rows: np.ndarray) -> None:
    with pytest.raises(BadInput):
        attack_table(rows, epsilon=3.0, delta=1e-5)


def test_the_command_shows_both_transforms_and_no_row(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("a,b,c,name\n" + "\n".join(f"{a},{b},{c},x" for a, b, c in ROWS) + "\n")
    tacit = Path(sys.executable).parent / "tacit"
    command = [str(tacit), "audit", "outsource", "--rows", str(table), "--columns", "a,b,c", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {a["transform"] for a in document["attack"]} == {"projection", "noisy"}
    assert repr(float(ROWS[7, 1]))[:8] not in done.stdout
    without = subprocess.run([str(tacit), "audit", "outsource"], capture_output=True, text=True)
    assert (without.returncode, "--rows" in without.stderr) == (2, True)
