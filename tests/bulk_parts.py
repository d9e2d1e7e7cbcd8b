"""What a table of noise draws, read back from its cells in whole numbers."""

from __future__ import annotations

from tacit.privacy.noise_tables import DRAW, WORD, NoiseTable


def shares(table: NoiseTable) -> list[int]:
    """The probability of each outcome times 2^128."""
    cells = 1 << table.bits
    found = [0] * cells
    for cell, (high, low) in enumerate(zip(table.high.tolist(), table.low.tolist(), strict=True)):
        threshold = (high >> table.bits) << WORD | low
        found[cell] += threshold
        found[high & (cells - 1)] += (1 << (DRAW - table.bits)) - threshold
    return found
