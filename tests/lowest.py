"""The lowest versions that pyproject.toml declares, as constraints for pip; ``make lowest`` tests with them."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

FLOOR = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9.]+)")


def list_floors(project: Path, extras: list[str]) -> Iterator[str]:
    """``name==version`` of all that is needed, and of what these extras ask for."""
    declared = tomllib.loads(project.read_text())["project"]
    for needed in (*declared["dependencies"], *(n for e in extras for n in declared["optional-dependencies"][e])):
        if floor := FLOOR.match(needed):
            yield f"{floor[1]}=={floor[2]}"


if __name__ == "__main__":
    print(*list_floors(Path(sys.argv[1]), sys.argv[2].split(",")), sep="\n")
