"""The page of what is spent: `PYTHONPATH=tests python -m spent_table` plays everything and writes it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from recorded_draws import DELTA, Losses, losses_of
from registered import Entry, entries

from tacit.privacy.guarantee import Budget

PAGE = Path(__file__).parent.parent / "docs" / "recorded-draws.md"
HEAD = """# What is really spent

Every mechanism, method, trainer, algorithm of a front, metric and game of the audit is played on the two neighbouring
data sets that are worst for it, with a source of noise that writes down every draw: what was hidden, and how large the
noise was. From these records alone follows what was spent: differences over scales, put together by formulas that share
nothing with the accountant. It must not exceed the claim, and must be the share of the claim that the entry itself
states, so that a claim is neither broken nor empty.

`tests/laws/test_recorded_draws.py` does it in every run of the tests and goes through the registries, so that a new
entry without a worst pair fails. What needs torch is played by `make test-all` where torch is installed. This page is
written by `PYTHONPATH=tests python -m spent_table`, which leaves the lines of what it cannot play as they are.

A share below 1 has a reason. With lots, what is compared is epsilon at delta = 1e-5 of a loss that is rounded down, and
noise is calibrated below a whole curve, of which this is one place. With three classes no record turns a residual of
boosting round by its label alone. Bounds on how far weights move are not reached by any data that we know. Kusner's
first two algorithms claim something about functions of a Gaussian process, not about the worst data. A part of a
trainer, such as the counts of boosting, spends its own share.

| what | name | neighbours | claimed | spent | share |
| --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Row:
    """What one pair of an entry spends; without a claim, why that is not told by draws."""

    entry: Entry
    about: str
    claim: str = ""
    claimed: float = 0.0
    spent: float = 0.0
    stated: float = 1.0

    @property
    def share(self) -> float:
        return self.spent / self.claimed

    @property
    def words(self) -> tuple[str, ...]:
        head = (self.entry.kind, self.entry.name, self.about.replace("|", "/"))
        return (*head, self.claim, f"{self.spent:.4g}", f"{self.share:.3f}") if self.claimed else (*head, "", "", "")


@cache
def rows_of(entry: Entry) -> tuple[Row, ...]:
    """Play all pairs of an entry, once in a process."""
    pairs = entry.pairs()
    if isinstance(pairs, str):
        return (Row(entry, pairs),)
    rows = []
    for pair in pairs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            losses = losses_of(pair)
        spent, claimed = losses.spent(pair.claim)
        rows.append(Row(entry, pair.about, describe(pair.claim, losses, claimed), claimed, spent, pair.share))
    return tuple(rows)


def describe(claim: Budget, losses: Losses, claimed: float) -> str:
    if losses.lots and not claim.delta:
        return f"epsilon = {claimed:.4g}, delta = {DELTA:g} ({claim})"
    return str(claim)


def read_page() -> list[tuple[str, ...]]:
    """The lines of the table."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[2:]]


def lines() -> Iterator[str]:
    earlier = read_page()
    for entry in entries():
        played = [row.words for row in rows_of(entry)] if not entry.lacks else []
        for cells in played or [line for line in earlier if line[:2] == (entry.kind, entry.name)]:
            yield "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    table = "\n".join(lines())
    PAGE.write_text(HEAD + table + "\n")
