"""The page on security names a test for every line of its table of threats; each of them exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text()


def threats() -> list[list[str]]:
    part = PAGE.split("## Threats, and the test of each")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in part.splitlines() if line.startswith("| ")
    ]
    return rows[2:]


def test_every_threat_has_a_defence_and_a_test_that_exists() -> None:
    assert len(threats()) >= 20
    for attack, defence, test in threats():
        assert attack
        assert defence
        named = re.fullmatch(r"`(tests/\S+\.py)::(test_\w+)`", test.rstrip("| ").strip())
        assert named, f"no test for: {attack}"
        tree = ast.parse((ROOT / named[1]).read_text())
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert named[2] in functions, f"{named[2]} is not in {named[1]}"


def test_every_test_that_the_page_names_is_in_the_table_or_a_file() -> None:
    for path in re.findall(r"`(tests/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).exists()


def test_the_page_shows_the_files_that_are_tried() -> None:
    for name in re.findall(r'--8<-- "(\S+)"', PAGE):
        assert (ROOT / name).exists()
