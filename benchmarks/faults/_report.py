"""What was broken, and what did not hold."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from random import Random
from typing import TypeVar

T = TypeVar("T")


@dataclass
class Report:
    """Faults by kind, violations in words, typed refusals and work done by kind; begins no round past its seconds."""

    seed: int
    seconds: float = inf
    faults: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    checks: int = 0
    missing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.end = time.monotonic() + self.seconds

    def rounds(self, order: Iterable[T]) -> Iterator[T]:
        """These, one after the other, while there is time."""
        for one in order:
            if time.monotonic() > self.end:
                return
            yield one

    def add(self, other: Report) -> None:
        """What another part found."""
        self.checks += other.checks
        self.violations += other.violations
        for mine, theirs in ((self.faults, other.faults), (self.refusals, other.refusals), (self.done, other.done)):
            mine.update(theirs)
        for what in other.missing:
            self.lack(what)

    def fault(self, kind: str, times: int = 1) -> None:
        self.faults[kind] += times

    def hold(self, true: bool, words: str) -> None:
        """One invariant, looked at."""
        self.checks += 1
        if not true:
            self.violations.append(words)

    def lack(self, what: str) -> None:
        if what not in self.missing:
            self.missing.append(what)

    def pause(self, least: float, most: float) -> None:
        time.sleep(self.random.uniform(least, most))


def modes_of(folder: Path, skip: tuple[str, ...] = ()) -> list[str]:
    """Files and folders that anybody but their owner may touch, but for those whose names begin like one of these."""
    loose = []
    for path in folder.rglob("*"):
        try:
            mode = path.stat().st_mode & 0o777
        except FileNotFoundError:  # gone meanwhile
            continue
        if mode & 0o077 and not (skip and path.name.startswith(skip)):
            loose.append(f"{path.name} {mode:o}")
    return loose
