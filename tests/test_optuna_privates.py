"""Private parts of Optuna are touched in run/study*.py alone, so that a new version of it is one place to look at."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "tacit"
PRIVATE = re.compile(
    r"\b(study|storage|trial)\._(?!agree)[a-z]|from optuna[.\w]*\._|optuna\.[a-z.]+\._|\bdef _get_trials"
)


def test_private_parts_of_optuna_are_touched_in_one_place() -> None:
    places = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if PRIVATE.search(path.read_text()) and not path.relative_to(SOURCE).as_posix().startswith("run/study")
    }
    assert places == set()
