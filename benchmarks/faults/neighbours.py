"""One row, or one person, of a messy table replaced: does anything that leaves differ, but for paid noise?

Random tables in lists, arrays, frames, Arrow tables and text files of four dialects; hostile cells (bytes that are no
text, dates past all calendars, lists, words of 3,000 letters, ragged rows). Through Python: parts, features, classes
and counts of `tacit.train`, and all that `tacit.tune` says of a table with the losses of all other rows. Through the
command: exit code, messages and what is printed by `tacit train`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import Figure
from benchmarks.faults._neighbours import find_leaks, through_the_command

TITLE = "Neighbouring tables: what leaves but for paid noise"
LONG = False
REPEATS = 1
PAIRS, COMMANDS = 5000, 200


def run(repeats: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        python = find_leaks(PAIRS * repeats, 0, Path(folder))
        shell = through_the_command(COMMANDS * repeats, 1, Path(folder))
    figures = []
    for name, tally in (("Python", python), ("the command", shell)):
        many, answered = sum(tally.pairs.values()), sum(tally.answered.values())
        note = "; ".join([f"{many:,} pairs", *tally.found[:3]])
        figures.append(Figure(f"pairs through {name} that differ", len(tally.found), note=note, goal=0, better="less"))
        about = "pairs of which both ended in an answer: two equal refusals show nothing"
        figures.append(
            Figure(f"pairs through {name} that were answered", answered / many, "", note=f"{about}. {tally}")
        )
    return figures
