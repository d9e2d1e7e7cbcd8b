"""Whether chaos finds something: each mend is taken out, and the part that looks for it must find a violation.

Faults until the part ended, and violations; both without and with the mend. A part that finds nothing without the mend
would find nothing with it either.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.postgres_server import Server, binaries, memory

from benchmarks import Figure
from benchmarks.faults._mends import MENDS, find_violations
from benchmarks.faults._report import Report

TITLE = "Violations that chaos finds when one mend at a time is taken out"
LONG = True
REPEATS = 1
SEED = 7


def run(repeats: int) -> list[Figure]:
    figures, before = list[Figure](), os.environ.get("XDG_STATE_HOME")
    servers = (Server(), Server()) if binaries() is not None else None
    try:
        for name, mend in MENDS.items():
            if mend.server and servers is None:
                continue
            with tempfile.TemporaryDirectory(prefix="tacit-mends-", dir=memory()) as place:
                os.environ["XDG_STATE_HOME"] = f"{place}/seen"
                report = Report(SEED)
                found = find_violations(mend, report, Path(place), servers if mend.server else None)
            faults = f"{mend.promise}; {report.faults.total()} faults"
            figures.append(
                Figure(f"without: {name}", float(len(found)), against="goal 1", goal=1.0, better="more", note=faults)
            )
            print(f"  {name:32} {len(found):4} violations after {report.faults.total()} faults", flush=True)
    finally:
        for server in servers or ():
            server.remove()
        os.environ.pop("XDG_STATE_HOME") if before is None else os.environ.update(XDG_STATE_HOME=before)
    return figures
