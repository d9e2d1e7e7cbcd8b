"""Who may import whom. Data flows one way; this test holds the line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "tacit"
GROUND = {
    "errors",
    "files",
    "locks",
    "space",
    "objective",
    "charts",
    "data",
    "schema",
    "metrics",
    "notebook",
}
ROOMS = {"privacy", "gp", "accounting", "page"}
METHODS = {"run", "methods", "training", "pareto", "outsource", "audit"}
ALLOWED = {
    "errors": set(),
    "files": {"errors"},
    "locks": {"errors", "files"},
    "space": {"errors"},
    "objective": {"errors", "data", "space"},  # cells that are no numbers; types of a reading and of parameters
    "data": {"errors", "files", "objective", "data"},
    "schema": {"data"},  # public names
    "metrics": {"data"},
    "notebook": set(),
    "page": {"errors", "files", "charts", "privacy", "page", "__version__"},
    "charts": {"errors", "files", "charts"},
    "privacy": GROUND | {"privacy"},
    "accounting": {"privacy"},
    "gp": GROUND | {"gp"},
    "run": GROUND | ROOMS | {"run"},
    "methods": GROUND | ROOMS | {"run", "methods"},
    "outsource": GROUND | ROOMS | {"run", "outsource"},
    "pareto": GROUND | ROOMS | {"run", "methods", "training", "pareto"},
    "training": GROUND | ROOMS | {"run", "methods", "pareto", "training"},
    "audit": GROUND | ROOMS | METHODS | {"integrations"},
}
ANYTHING_BUT_CLI = GROUND | ROOMS | METHODS | {"integrations", "report", "planning", "samplers"}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(source: str) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tacit":
            names = [node.module] if node.module != "tacit" else [f"tacit.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.split(".")[0] == "tacit"]
        else:
            continue
        rooms |= {n.split(".")[1] if "." in n else "__init__" for n in names}
    return rooms


def test_every_file_imports_only_what_its_room_may() -> None:
    wrong = {}
    for path in FILES:
        room, imported = room_of(path), imported_rooms(path.read_text())
        if room in ("cli", "__main__"):  # the command may use anything; `python -m tacit` is it
            imported -= {"cli", "__init__"}
        if extra := imported - ALLOWED.get(room, ANYTHING_BUT_CLI | {room}):
            wrong[str(path.relative_to(SOURCE))] = extra
    assert wrong == {}


def test_curator_and_modeler_do_not_know_each_other() -> None:
    for name, other in (("curator", "modeler"), ("modeler", "curator")):
        for path in (SOURCE / "outsource" / name).rglob("*.py"):
            assert f"tacit.outsource.{other}" not in path.read_text()


def test_the_reader_of_imports_sees_every_form() -> None:
    source = (
        "import tacit.cli\nfrom tacit import plan\nfrom tacit.gp.exact import x\ndef f():\n  from tacit.audit import y"
    )
    assert imported_rooms(source) == {"cli", "plan", "gp", "audit"}


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    assert [str(p) for p in FILES if len(p.read_text().splitlines()) > 400] == []


def test_the_picture_in_contributing_lists_every_room() -> None:
    table = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text().split("## The house")[1].split("\n\n`tests")[0]
    named = set(
        re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `")))
    )
    aside = set(re.findall(r"`(\w+)`", table))  # public names and what runs a room are named beside it
    rooms = {room_of(path) for path in FILES} - {"__init__"}
    assert named <= rooms
    assert rooms <= named | aside
