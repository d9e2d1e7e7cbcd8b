"""A model of how draws are paid for, opened, made, noted and told, small enough to look at every state of it.

    payer      pays                       opener    opens what is kept of the draws, a store, and takes the next epoch
    drawer     draws, records, names, tells            killer    ends a process between any two steps
    copier     clones a store, side by side            restorer  puts an older store, or an older ledger, back

``MENDS`` are the rules that keep the promises; a test takes each of them out and finds a trace that breaks one.
``CODE`` says which function does a step: ``test_protocol.py`` walks through both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

T = TypeVar("T")
Draw = tuple[int, int]  # a row, and which noise was drawn for it
Held = frozenset[Draw]

MENDS = {
    "pay": "nothing is opened before it is paid for",
    "hold": "whoever opens holds every draw that is noted",
    "epoch": "whoever comes with an older epoch shows it again",
    "digest": "a name is noted once, with one value",
    "count": "no fewer draws are kept than are noted",
    "confirm": "nothing is told before the ledger knows of it",
    "witness": "a ledger is refused by a machine that has seen more of it",
}
CODE = {
    "pay": "tacit.privacy.claims:Claims.pay",
    "open": "tacit.privacy.ledger.draws:Draws.open",
    "record": "tacit.outsource.curator.state:State.record",
    "name": "tacit.privacy.ledger.draws:Draws.name",
    "tell": "tacit.outsource.curator:Curator._confirm",
}


class Process(NamedTuple):
    """A drawer: which store it has open, with which epoch, and what the ledger has confirmed to it."""

    store: int
    epoch: int
    confirmed: Held = frozenset()


class Ledger(NamedTuple):
    paid: bool = False
    named: Held = frozenset()
    epoch: int = 0


class World(NamedTuple):
    ledger: Ledger = Ledger()
    stores: tuple[Held, ...] = (frozenset(),)
    processes: tuple[Process, ...] = ()
    told: Held = frozenset()
    drawn: int = 0  # noises so far
    opened: int = 0
    seen: tuple[bool, int] = (False, 0)  # what the machine has seen of the ledger: paid, and draws and epochs
    older_ledger: Ledger | None = Ledger(paid=True)
    older_store: Held | None = frozenset()
    lost: bool = False  # a store was put back
    restored: int = 0

    def broken(self, limit: int) -> str:
        """The promise that is broken here, if one is."""
        rows = [row for row, _ in self.told]
        if len(rows) > len(set(rows)):
            return "a row was answered twice for one payment"
        if len(rows) > limit:
            return "more rows were answered than the study answers"
        if rows and not self.seen[0]:
            return "something was told that nobody paid for"
        if not self.lost and not any(self.ledger.named <= held for held in self.stores):
            return "nobody can go on, though nothing was put back"
        return ""


class Bounds(NamedTuple):
    """How many there may be of each. The restorer has the oldest copies; one that ``saves`` has any."""

    processes: int = 2
    stores: int = 2
    rows: int = 2
    draws: int = 2
    openings: int = 2
    limit: int = 1  # rows that the study answers
    restores: int = 1  # times that something is put back
    saves: bool = False


Step = tuple[str, tuple[int, ...]]
ALL = frozenset(MENDS)


def refusal_to_open(w: World, store: int, mends: frozenset[str]) -> str:
    """Why a store cannot be opened, or nothing."""
    if "pay" in mends and not w.ledger.paid:
        return "unpaid"
    if "witness" in mends and _reach(w.ledger) < w.seen:
        return "forgotten"
    return "older copy" if "hold" in mends and not w.ledger.named <= w.stores[store] else ""


def refusal_to_name(w: World, p: Process, draw: Draw, mends: frozenset[str]) -> str:
    """Why a draw cannot be noted, or nothing."""
    held = w.stores[p.store]
    if "witness" in mends and _reach(w.ledger) < w.seen:
        return "forgotten"
    if "epoch" in mends and p.epoch != w.ledger.epoch and not w.ledger.named <= held:
        return "older copy"
    if "digest" in mends and any(row == draw[0] and noise != draw[1] for row, noise in w.ledger.named):
        return "drawn before"
    rows = {row for row, _ in w.ledger.named} | {draw[0]}
    return "older copy" if "count" in mends and len(rows) > len(held) else ""


def next_worlds(w: World, bounds: Bounds, mends: frozenset[str]) -> Iterator[tuple[Step, World]]:
    """Every step that can be taken, and where it leads. A step that is refused leads nowhere."""
    if not w.ledger.paid:
        yield ("pay", ()), _see(w._replace(ledger=w.ledger._replace(paid=True)))
    for s in range(len(w.stores)):
        if len(w.processes) < bounds.processes and w.opened < bounds.openings and not refusal_to_open(w, s, mends):
            epoch = w.ledger.epoch + 1
            ledger = w.ledger._replace(named=w.ledger.named | w.stores[s], epoch=epoch)
            process = Process(s, epoch, w.stores[s])
            yield (
                ("open", (s,)),
                _see(w._replace(ledger=ledger, processes=(*w.processes, process), opened=w.opened + 1)),
            )
        if len(w.stores) < bounds.stores:
            yield ("clone", (s,)), w._replace(stores=(*w.stores, w.stores[s]))
        if w.older_store is None:
            yield ("save store", (s,)), w._replace(older_store=w.stores[s])
        elif w.older_store != w.stores[s] and w.restored < bounds.restores:
            stores = _change(w.stores, s, w.older_store)
            yield ("put store back", (s,)), w._replace(stores=stores, lost=True, restored=w.restored + 1)
    if w.older_ledger is None:
        yield ("save ledger", ()), w._replace(older_ledger=w.ledger)
    elif w.older_ledger != w.ledger and w.ledger.paid and w.restored < bounds.restores:
        yield ("put ledger back", ()), w._replace(ledger=w.older_ledger, restored=w.restored + 1)
    for i, p in enumerate(w.processes):
        held = w.stores[p.store]
        yield ("kill", (i,)), w._replace(processes=w.processes[:i] + w.processes[i + 1 :])
        for row in range(bounds.rows):
            if row not in {r for r, _ in held} and len(held) < bounds.limit and w.drawn < bounds.draws:
                stores = _change(w.stores, p.store, held | {(row, w.drawn)})
                yield ("record", (i, row)), w._replace(stores=stores, drawn=w.drawn + 1)
        for draw in sorted(held):
            if draw not in p.confirmed and not refusal_to_name(w, p, draw, mends):
                epoch = w.ledger.epoch + (p.epoch != w.ledger.epoch)
                ledger = w.ledger._replace(named=w.ledger.named | {draw}, epoch=epoch)
                processes = _change(w.processes, i, p._replace(epoch=epoch, confirmed=p.confirmed | {draw}))
                yield ("name", (i, *draw)), _see(w._replace(ledger=ledger, processes=processes))
            if draw not in w.told and (draw in p.confirmed or "confirm" not in mends):
                yield ("tell", (i, *draw)), w._replace(told=w.told | {draw})


def search(bounds: Bounds, mends: frozenset[str], keep: Callable[[World], None] | None = None) -> list[Step] | int:
    """A shortest trace that breaks a promise; or how many states there are, none of which does."""
    start = World(older_ledger=None, older_store=None) if bounds.saves else World()
    came: dict[World, tuple[World, Step] | None] = {start: None}
    front = [start]
    while front:
        later = []
        for w in front:
            if w.broken(bounds.limit):
                return _trace(came, w)
            if keep is not None:
                keep(w)
            for step, after in next_worlds(w, bounds, mends):
                if after not in came:
                    came[after] = (w, step)
                    later.append(after)
        front = later
    return len(came)


def can_go_on(w: World) -> str:
    """Whether a new process can open a store, or why not, in a word."""
    reasons = [refusal_to_open(w, s, ALL) for s in range(len(w.stores))]
    return "goes on" if "" in reasons else min(reasons)


def _trace(came: dict[World, tuple[World, Step] | None], w: World) -> list[Step]:
    steps: list[Step] = []
    while (before := came[w]) is not None:
        w, step = before
        steps.append(step)
    return steps[::-1]


def _see(w: World) -> World:
    """The machine notes what it has written; see witness."""
    return w._replace(seen=max(w.seen, _reach(w.ledger)))


def _reach(ledger: Ledger) -> tuple[bool, int]:
    return ledger.paid, len(ledger.named) + ledger.epoch


def _change(items: tuple[T, ...], at: int, item: T) -> tuple[T, ...]:
    return (*items[:at], item, *items[at + 1 :])
