"""One `tacit tune --table` call goes down through the files that CONTRIBUTING.md lists, each of them once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import tacit

ROOT = Path(__file__).parents[1]
WALK = """
import json, sys, tacit
from pathlib import Path
from tacit.cli import main

root, entered, spine = str(Path(tacit.__file__).parent) + "/", {}, []

def watch(frame, event, _):  # at every call, and at no line
    name = frame.f_code.co_filename
    if not name.startswith(root):
        return
    entered[name.removeprefix(root)] = True
    if name.endswith("privacy/noise.py") and frame.f_code.co_name == "gaussian_whole" and not spine:
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(root) and spine[-1:] != [name.removeprefix(root)]:
                spine.append(name.removeprefix(root))
            frame = frame.f_back

sys.argv = ["tacit", "tune", "--table", "t.csv", "--target", "sick", "--trials", "6", "--out", "out",
            "--method", "observed", "--yes", "-q"]
sys.argv += ["--ledger", "ledger.db"]
sys.settrace(watch)
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
finally:
    sys.settrace(None)
Path("walked.json").write_text(json.dumps({"entered": sorted(entered), "spine": spine[::-1]}))
"""


def written() -> tuple[list[str], list[str]]:
    """The files at the margin of the list, and all that the section names as walked."""
    section = (
        (ROOT / "CONTRIBUTING.md").read_text().split("## One call, from the shell to the noise")[1].split("\n## ")[0]
    )
    block = section.split("```text")[1].split("```")[0]
    spine = re.findall(r"^(\S+\.py)", block, re.MULTILINE)
    return spine, re.findall(r"^\s*(\S+\.py)", block, re.MULTILINE) + re.findall(
        r"`(\S+\.py)`", section.split("```")[2]
    )


def test_the_written_path_is_the_path(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=2000)
    lines = ["a,b,sick", *(f"{x:.3f},{'xy'[i % 2]},{int(x > 0)}" for i, x in enumerate(rows))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    tacit.Ledger.open(tmp_path / "ledger.db", "default", tacit.Budget.approximate(1.0, 1e-5)).close()
    done = subprocess.run([sys.executable, "-c", WALK], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    walked = json.loads((tmp_path / "walked.json").read_text())
    spine, files = written()
    assert walked["spine"] == spine
    assert len(set(spine)) == len(spine), "none is visited twice on the way down"
    assert set(files) <= set(walked["entered"])
    assert len(files) == len(set(files)) <= 25
