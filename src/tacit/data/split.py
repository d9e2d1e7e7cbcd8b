"""Rows divided into parts by a public coin: by position, or by person where persons have several rows.

Which part a row falls in depends on its number, or on a hash of its person's own name: one record, or person, replaced
moves no other from part to part. Numbers of rows, and of the persons in each part, are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.units import Persons
from tacit.errors import BadInput, count, probability

Rows = NDArray[np.intp]
LEAST = 20  # records, or persons, in a part


@dataclass(frozen=True)
class Part:
    """Rows of one part, and whose they are, numbered from 0; None where every row is a record of its own."""

    rows: Rows
    owners: Rows | None = None

    @property
    def units(self) -> int:
        return len(self.rows) if self.owners is None else int(self.owners.max(initial=-1)) + 1

    def one_each(self) -> Part:
        """One row of each person: the first in the table."""
        if self.owners is None:
            return self
        return Part(self.rows[np.unique(self.owners, return_index=True)[1]])


def divide(sizes: Sequence[int], random: Any, persons: Persons | None = None) -> list[Part]:
    """Parts of these sizes, with persons about: rows in a random order, or those of the persons in theirs.

    ``random`` is a generator of NumPy.

    >>> [part.units for part in divide([7, 3], np.random.default_rng(0))]
    [7, 3]
    """
    if persons is None:
        return [Part(rows) for rows in np.split(random.permutation(sum(sizes)), np.cumsum(sizes)[:-1])]
    chosen = np.searchsorted(np.cumsum(sizes)[:-1] / max(sum(sizes), 1), persons.draw_places(random.bytes(16)), "right")
    parts = []
    for number in range(len(sizes)):
        place = np.full(len(persons), -1)
        place[chosen == number] = np.arange(np.count_nonzero(chosen == number))
        rows = np.flatnonzero(place[persons.owners] >= 0)
        parts.append(Part(rows, place[persons.owners[rows]]))
    return parts


def part_sizes(units: int, shares: tuple[float, float, float]) -> list[int]:
    """Units that train, validate and test.

    >>> part_sizes(1001, (0.8, 0.1, 0.1))
    [801, 100, 100]
    """
    training, validation = round(units * shares[0]), round(units * shares[1])
    return [training, validation, units - training - validation]


def divide_rows(records: int, groups: Any, shares: tuple[float, float, float], seed: int) -> tuple[Part, Part, Part]:
    """Training, validation and test parts; ``groups`` says whose each row is. A share of 0 for validation is no part.

    >>> [part.units for part in divide_rows(1000, None, (0.7, 0.15, 0.15), 0)]
    [700, 150, 150]
    """
    if len(shares) != 3 or not all(0 < s < 1 for s in shares[::2]) or shares[1] < 0 or abs(sum(shares) - 1) > 1e-9:
        raise BadInput(
            f"parts must be three shares above 0, the second at least 0, that add up to 1, got parts={shares!r}"
        )
    persons = None if groups is None else Persons.of(groups, records)
    units, kind = (records, "records") if persons is None else (len(persons), "persons")
    parts = divide(part_sizes(units, shares), np.random.default_rng(count("seed", seed, least=0)), persons)
    parts = [Part(np.sort(part.rows)) if persons is None else part for part in parts]
    if min(part.units for part, share in zip(parts, shares, strict=True) if share) < LEAST:
        found = " + ".join(str(part.units) for part in parts)
        raise BadInput(
            f"each part needs at least {LEAST} {kind}, got {found} to train, validate and test: {units} {kind} in all. "
            "Use a larger table. Nothing was spent"
        )
    return parts[0], parts[1], parts[2]


def group_sizes(rows: Sequence[int], validation: float, sample: int) -> list[tuple[int, int]]:
    """Of row groups of files: how many rows of each are private, and how many of the others train, ``sample`` in all.

    Each group is then divided by itself, by ``divide``, so that it can be read again without the others.

    >>> group_sizes([100, 50], 0.5, 15)
    [(50, 10), (25, 5)]
    """
    held = [round(validation * n) for n in rows]
    share = min(1.0, sample / max(sum(rows) - sum(held), 1))
    return [(h, round(share * (n - h))) for n, h in zip(rows, held, strict=True)]


def hold_out(
    records: int, validation: float, random: Any, persons: Persons | None = None, *, least: int = 1
) -> tuple[Part, Part]:
    """Training rows and a share of rows, or persons, to validate on; ``least`` are needed to train on."""
    units, kind = (records, "row") if persons is None else (len(persons), "person")
    held = round(probability("validation", validation) * units)
    held = min(max(1, held), units - 1) if least == 1 and units > 1 else held
    hidden, seen = divide([held, units - held], random, persons)
    if hidden.units < 1 or seen.units < least:
        raise BadInput(
            f"a table needs 1 {kind} to validate and {least} to train on, got {hidden.units} and {seen.units}: "
            f"{units} {kind}s below the line of names, divided by validation={validation:g}"
        )
    return seen, hidden
