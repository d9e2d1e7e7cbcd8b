"""Names tell: verbs for acts, nouns for things, no participle for a function, one meaning for each class."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import tacit

SOURCE = Path(tacit.__file__).parent
IRREGULAR = """
told kept found made held sent given taken written drawn known seen shown chosen spent paid lost met built brought
caught done gone begun grown hidden broken forgotten thrown stolen meant felt sought
"""
NOUNS = {"seed", "need", "speed", "feed", "embed", "exceed", "proceed", "shed", "feedback"}  # or verbs
SMALL = {"up", "back", "before", "by", "from", "as", "at", "in", "on", "out", "off"}
# Functions that are named by a participle all the same, and why.
ALLOWED = {
    "audit/bounds.py:counted": "public since the first release",
    "audit/recorder.py:compared": "public since the first release",
    "pareto/dominance.py:nondominated": "public since the first release",
    "outsource/curator/__init__.py:published": "public since the first release",
    "outsource/modeler/client.py:published": "public since the first release",
    "outsource/protocol/terms.py:published": "public since the first release",
    "privacy/guarantee.py:quoted": "public since the first release",
    "privacy/ledger/__init__.py:recorded": "public since the first release",
    "privacy/ledger/__init__.py:spent": "public since the first release",
    "methods/search.py:observed": "the name of the method",
    "data/metrics/names.py:balanced": "the name of the metric",
    "data/metrics/names.py:squared": "the name of the metric",
    "planning/outsourcing.py:published": "a source as a modeler knows it",
}


def is_participle(word: str) -> bool:
    return word in IRREGULAR.split() or (word.endswith("ed") and word not in NOUNS)


def is_named_by_participle(function: str) -> bool:
    """Whether it is one, as ``kept``, or one with a particle, as ``used_up``.

    Not ``known_rows``, which is a noun; nor ``refuse_lost``, which is an act.
    """
    word, *rest = function.strip("_").split("_")
    return is_participle(word) and set(rest) <= SMALL


@cache
def definitions() -> list[tuple[str, ast.AST]]:
    """Every function and class, with its file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [
        (path.relative_to(SOURCE).as_posix(), node)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, kinds)
    ]


def is_attribute(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A property reads as the thing it gives."""
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def test_no_function_is_named_by_a_participle() -> None:
    found = {
        f"{path}:{node.name}"
        for path, node in definitions()
        if not isinstance(node, ast.ClassDef) and is_named_by_participle(node.name) and not is_attribute(node)
    }
    assert found == set(ALLOWED)  # rename what is new; what is gone leaves the list


def test_what_is_a_participle_and_what_is_not() -> None:
    assert all(map(is_named_by_participle, ("told", "_kept", "used_up", "checked", "_asked_before")))
    assert not any(map(is_named_by_participle, ("known_rows", "is_claimed", "seed", "tell", "read", "refuse_lost")))


def test_every_class_has_a_name_of_its_own() -> None:
    places: dict[str, set[str]] = {}
    for path, node in definitions():
        if isinstance(node, ast.ClassDef):
            places.setdefault(node.name, set()).add(path)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
