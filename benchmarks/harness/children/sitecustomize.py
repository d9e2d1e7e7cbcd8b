"""What a process that a benchmark starts loads first: it records as its parent does."""

import os

if os.environ.get("TACIT_EXECUTED"):
    from benchmarks.harness.executed import begin

    begin()
