"""Mutants are made where they should be, keep their names when lines move, and the list of modules is in order."""

from __future__ import annotations

import ast

from mutation.__main__ import Listing
from mutation.children import SOURCE
from mutation.mutate import make_mutants, sample

TEXT = '''
"""A docstring with 2 * 3."""
import math
LIMIT = 4
@cached(maxsize=5)
def scale(x: "1 + 1", *, axis=0) -> "2 * 2":
    """Twice 2."""
    if x < 0 and x > -LIMIT:
        raise ValueError(f"{x * 7} is below {0 + 8}")
    rows = table[0, -1]
    total = rows.sum(axis=9)
    charge(x)
    print(11 * x)
    text = "a" + name
    return max(x, 1) * math.sqrt(total - x) if not x == 6 else -x
class Kind:
    size: int = 3
    def __repr__(self):
        return 12 * "-"
'''


def mutate(text: str) -> dict[str, set[str]]:
    """What becomes of each statement."""
    changes: dict[str, set[str]] = {}
    for mutant in make_mutants(text, "some.py")[1]:
        changes.setdefault(mutant.before, set()).add(mutant.after)
    return changes


def test_every_kind_of_fault_is_made_and_text_is_left_alone() -> None:
    assert mutate(TEXT) == {
        "LIMIT = 4": {f"LIMIT = {n}" for n in (8, 2, 5, 3, 0)},
        "def scale(x: '1 + 1', *, axis=0) -> '2 * 2':": {
            f"def scale(x: '1 + 1', *, axis={n}) -> '2 * 2':" for n in (1, -1)
        },
        "if x < 0 and x > -LIMIT:": {
            "if False:",
            "if x < 0 or x > -LIMIT:",
            "if x <= 0 and x > -LIMIT:",
            "if x < 1 and x > -LIMIT:",
            "if x < -1 and x > -LIMIT:",
            "if x < 0 and x >= -LIMIT:",
            "if x < 0 and x > LIMIT:",
        },
        "charge(x)": {"pass"},
        "return max(x, 1) * math.sqrt(total - x) if not x == 6 else -x": {
            f"return {changed}"
            for changed in (
                "max(x, 1) * math.sqrt(total - x) if x == 6 else -x",
                "max(x, 1) * math.sqrt(total - x) if not x != 6 else -x",
                *(f"max(x, 1) * math.sqrt(total - x) if not x == {n} else -x" for n in (12, 3, 7, 5, 0)),
                "max(x, 1) * math.sqrt(total - x) if not x == 6 else x",
                "max(x, 1) / math.sqrt(total - x) if not x == 6 else -x",
                "max(x, 1) if not x == 6 else -x",
                "math.sqrt(total - x) if not x == 6 else -x",
                "min(x, 1) * math.sqrt(total - x) if not x == 6 else -x",
                *(f"max(x, {n}) * math.sqrt(total - x) if not x == 6 else -x" for n in (2, 0)),
                "max(x, 1) * (total - x) if not x == 6 else -x",
                "max(x, 1) * math.sqrt(total + x) if not x == 6 else -x",
                "max(x, 1) * math.sqrt(total) if not x == 6 else -x",
            )
        },
        "size: int = 3": {f"size: int = {n}" for n in (6, 1, 4, 2, 0)},
    }


def test_a_mutant_changes_the_tree_and_only_where_it_says() -> None:
    tree, mutants = make_mutants("def f(x):\n    return 2 * x\n", "some.py")
    (mutant,) = [m for m in mutants if m.after == "return x"]
    mutant.site.put(mutant.node)
    assert ast.unparse(tree) == "def f(x):\n    return x"


def test_names_and_samples_do_not_depend_on_lines_above() -> None:
    _, here = make_mutants(TEXT, "some.py")
    _, moved = make_mutants("\n\n\ndef other():\n    return None\n" + TEXT, "some.py")
    assert [m.key for m in here] == [m.key for m in moved]
    assert [m.key for m in sample(here, 9)] == [m.key for m in sample(moved, 9)]
    assert len({m.key for m in here}) == len(here)


def test_the_same_statement_twice_gives_two_names() -> None:
    _, mutants = make_mutants("def f(x):\n    x = 2 * x\n    x = 2 * x\n", "some.py")
    assert sorted(m.copy for m in mutants if m.after == "x = x") == [0, 1]


def test_a_sample_takes_every_node_before_a_second_fault_of_any() -> None:
    _, mutants = make_mutants(TEXT, "some.py")
    nodes = {id(m.site.node) for m in mutants}
    assert {id(m.site.node) for m in sample(mutants, len(nodes))} == nodes


def test_the_list_names_what_exists_and_survivors_that_can_be_made() -> None:
    listing = Listing.read()
    names = {key[0] for key in listing.survivors}
    assert names <= set(listing.modules)
    keys = {m.key for name in names for m in make_mutants((SOURCE / name).read_text(), name)[1]}
    assert set(listing.survivors) - keys == set(), "take these out of tests/mutants.toml, or correct them"
