"""Rows divided into training, validation and test rows: by position, or by person where persons have several rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput, count
from tacit.persons import number_persons

Rows = NDArray[np.intp]
LEAST = 20  # records, or persons, in a part


@dataclass(frozen=True)
class Part:
    """Rows of one part, and whose they are, numbered from 0; None where every row is a record of its own."""

    rows: Rows
    owners: Rows | None = None

    @property
    def units(self) -> int:
        return len(self.rows) if self.owners is None else int(self.owners.max()) + 1

    def one_each(self) -> Part:
        """One row of each person: the first in the table."""
        if self.owners is None:
            return self
        return Part(self.rows[np.unique(self.owners, return_index=True)[1]])


def divide_rows(records: int, groups: Any, shares: tuple[float, float, float], seed: int) -> tuple[Part, Part, Part]:
    """Training, validation and test parts. The division is public: it knows the number of records, and nothing else.

    Persons are numbered in the order in which they first appear; ``groups`` says whose each row is.

    >>> [part.units for part in divide_rows(1000, None, (0.7, 0.15, 0.15), 0)]
    [700, 150, 150]
    """
    if len(shares) != 3 or not all(0 < s < 1 for s in shares) or abs(sum(shares) - 1) > 1e-9:
        raise BadInput(f"parts must be three shares above 0 that add up to 1, got parts={shares!r}")
    owners = np.arange(records) if groups is None else number_persons(groups, records)
    units = int(owners.max()) + 1 if records else 0
    kind = "records" if groups is None else "persons"
    sizes = [round(units * shares[0]), round(units * shares[1])]
    sizes.append(units - sum(sizes))
    if min(sizes) < LEAST:
        raise BadInput(
            f"each part needs at least {LEAST} {kind}, got {' + '.join(map(str, sizes))} to train, validate and test: "
            f"{units} {kind} in all. Use a larger table. Nothing was spent"
        )
    order = np.random.default_rng(count("seed", seed, least=0)).permutation(units)
    found = []
    for chosen in np.split(order, np.cumsum(sizes)[:2]):
        place = np.full(units, -1)
        place[np.sort(chosen)] = np.arange(len(chosen))
        rows = np.flatnonzero(place[owners] >= 0)
        found.append(Part(rows, None if groups is None else place[owners[rows]]))
    return found[0], found[1], found[2]
