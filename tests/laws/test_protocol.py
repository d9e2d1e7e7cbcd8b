"""Drawn once: every state of a model of the protocol is looked at, and the model's steps are walked on the code.

No trace draws more than was paid for, loses a debit that was acknowledged, or leaves nobody who can go on without a
word why. With any one mend taken out a trace that breaks a promise is found.
"""

from __future__ import annotations

import importlib
import shutil
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from protocol_model import ALL, CODE, MENDS, Bounds, World, can_go_on, next_worlds, search

from tacit.errors import TacitError
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger

CLONES = Bounds(rows=3, draws=3, limit=2, restores=0)
RESTORES = Bounds(stores=1, openings=3, restores=2)
FINDS = {mend: Bounds() for mend in MENDS} | {"epoch": CLONES, "witness": RESTORES, "digest": Bounds(limit=2, stores=1)}


@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(),
        RESTORES,
        pytest.param(CLONES, marks=pytest.mark.slow),
        pytest.param(Bounds(3, 3, 3, 2, 3, 1, 1), marks=pytest.mark.slow),  # three processes, stores, rows, openings
        pytest.param(Bounds(2, 2, 2, 3, 3, 1, 2, saves=True), marks=pytest.mark.slow),
    ],
)
def test_no_trace_breaks_a_promise(bounds: Bounds) -> None:
    words = set[str]()
    found = search(bounds, ALL, lambda w: words.add(can_go_on(w)))
    assert isinstance(found, int), found
    assert found > 1000
    assert words == {"goes on", "unpaid", *({"forgotten", "older copy"} if bounds.restores > 1 else words - {"unpaid"})}


@pytest.mark.parametrize("mend", MENDS)
def test_with_a_mend_taken_out_a_trace_breaks_a_promise(mend: str) -> None:
    found = search(FINDS[mend], ALL - {mend})
    assert isinstance(found, list), f"{found} states, and none is broken"


def test_the_models_steps_are_functions_of_the_code() -> None:
    for place in CODE.values():
        module, _, name = place.partition(":")
        thing: Any = importlib.import_module(module)
        for part in name.split("."):
            thing = getattr(thing, part)
        assert callable(thing)


class Walk:
    """The model's steps on a real ledger: a store is a dict, a process what ``Ledger.draws`` gave it."""

    def __init__(self, folder: Path) -> None:
        self.path, self.older = folder / "ledger.db", folder / "older.db"
        self.ledger = Ledger.open(self.path, "l", Budget.gdp(1.0))
        self.stores: list[dict[str, str]] = [{}]
        self.processes: list[tuple[int, Any]] = []

    def take(self, step: str, at: tuple[int, ...]) -> None:
        if step == "pay":
            self.ledger.charge(Guarantee(Budget.gdp(0.5)), key="run")
            self.ledger.draws(self.ledger.payment(1)).begin("here", 0)  # the tables are there, as in every older copy
            self.ledger.close()
            shutil.copy(self.path, self.older)
            self.ledger = Ledger.open(self.path, "l")
        elif step == "open":
            draws = self.ledger.draws(self.ledger.payment(1))
            draws.open("here", dict(self.stores[at[0]]))
            self.processes.append((at[0], draws))
        elif step == "clone":
            self.stores.append(dict(self.stores[at[0]]))
        elif step == "put store back":
            self.stores[at[0]] = {}
        elif step == "put ledger back":
            self.path.write_bytes(self.older.read_bytes())
        elif step == "kill":
            del self.processes[at[0]]
        elif step == "record":
            self.stores[self.processes[at[0]][0]][f"row {at[1]}"] = ""
        elif step == "name":
            store, draws = self.processes[at[0]]
            held = self.stores[store]
            draws.name({f"row {at[1]}": _digest(at[2])}, len(held), lambda: held)


def _digest(noise: int) -> str:
    return f"{noise:064x}"


def refused_steps(w: World, bounds: Bounds) -> set[tuple[str, tuple[int, ...]]]:
    """Steps that the model refuses, and that would be taken without its rules."""
    free = {step for step, _ in next_worlds(w, bounds, frozenset({"confirm"}))}
    return {s for s in free - {step for step, _ in next_worlds(w, bounds, ALL)} if s[0] in ("open", "name")}


@pytest.mark.parametrize("seed", range(12))
def test_the_code_takes_and_refuses_the_steps_that_the_model_does(tmp_path: Path, seed: int) -> None:
    random, bounds = Random(seed), Bounds(stores=2, openings=4, draws=4, limit=2, restores=2)
    walk, w, kinds = Walk(tmp_path), World(), set[str]()
    for _ in range(30):
        for step, at in sorted(refused_steps(w, bounds)):
            if w.ledger.paid:
                with pytest.raises(TacitError):
                    walk.take(step, at)
        steps = sorted(next_worlds(w, bounds, ALL), key=lambda found: found[0])
        if not steps:
            break
        weights = [1 if step[0] in ("kill", "put ledger back", "put store back") else 4 for step, _ in steps]
        (step, at), after = random.choices(steps, weights)[0]
        walk.take(step, at)
        if step == "record":  # the model says which noise it was
            walk.stores[walk.processes[at[0]][0]][f"row {at[1]}"] = _digest(w.drawn)
        kinds.add(step)
        w = after
    assert {"pay", "open"} <= kinds


# Where a ledger is: names, schemas, servers


class Places(NamedTuple):
    """A budget of one charge, kept in a file with two names, a journal left under either, and what copies there are.

    Each name is that of a machine, or a container, with a witness of its own; copies are used on the first.
    """

    spent: int = 0
    journals: tuple[int | None, int | None] = (None, None)  # what a process that died under a name would roll back to
    copies: tuple[int, ...] = ()  # spent, as restored servers and schemas of roles have it
    acknowledged: int = 0
    seen: tuple[int, int] = (0, 0)


IDENTITY = ("one name", "witness by identifier", "schema in full")


def next_places(w: Places, mends: set[str]) -> list[Places]:
    """Charges under each name, a process that dies in one, an older dump restored, a role with its own search path."""
    after = []
    for name in (0,) if "one name" in mends else (0, 1):
        left = w.journals[name]
        spent = w.spent if left is None else left
        cleared = (None, w.journals[1]) if name == 0 else (w.journals[0], None)
        if "witness by identifier" in mends and spent < w.seen[name]:
            continue
        if spent < 1:
            seen = (1, w.seen[1]) if name == 0 else (w.seen[0], 1)
            after.append(w._replace(spent=1, journals=cleared, acknowledged=w.acknowledged + 1, seen=seen))
        after.append(w._replace(spent=spent, journals=(spent, cleared[1]) if name == 0 else (cleared[0], spent)))
    if len(w.copies) < 2:
        after.append(w._replace(copies=(*w.copies, 0)))  # an older dump, on another server
        if "schema in full" not in mends:
            after.append(w._replace(copies=(*w.copies, -1)))  # another ledger: with an identifier of its own
    for i, spent in enumerate(w.copies):
        same = spent == 0
        if spent < 1 and not (same and "witness by identifier" in mends and spent < w.seen[0]):
            copies = (*w.copies[:i], 1, *w.copies[i + 1 :])
            after.append(w._replace(copies=copies, acknowledged=w.acknowledged + 1, seen=(1, w.seen[1])))
    return after


def overspends(mends: set[str]) -> bool:
    came, front = {Places()}, [Places()]
    while front:
        w = front.pop()
        if w.acknowledged > 1:
            return True
        new = [after for after in next_places(w, mends) if after not in came]
        came.update(new)
        front += new
    return False


def test_a_ledger_is_one_wherever_it_is_kept() -> None:
    """See tests/privacy/ledger/test_place.py for the same with real files and servers."""
    assert not overspends(set(IDENTITY))
    for mend in IDENTITY:
        assert overspends(set(IDENTITY) - {mend}), mend


# Settings before runs


def law_of_settings(stored: bool) -> dict[str, Fraction]:
    """Of the one run of a search over settings a and b, each as likely; b is killed at its first try, always."""
    half, law = Fraction(1, 2), {"a": Fraction(0), "b": Fraction(0)}
    for first, second in product("ab", repeat=2):
        law[first if stored or first == "a" else second] += half * half
    return law


def test_a_kill_that_depends_on_the_setting_changes_the_law_unless_it_is_stored() -> None:
    assert set(law_of_settings(stored=True).values()) == {Fraction(1, 2)}
    assert law_of_settings(stored=False) == {"a": Fraction(3, 4), "b": Fraction(1, 4)}
