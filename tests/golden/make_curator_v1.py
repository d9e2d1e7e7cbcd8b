"""How curator_v1.db was made: by tacit 0.1.0, whose states have schema version 1. Run it with that version only."""

from __future__ import annotations

import shutil
import sys
import tempfile

import numpy as np

from tacit.outsource.curator import Curator

rows = np.arange(40.0).reshape(20, 2) % 7

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        with Curator(rows, rows.sum(axis=1), epsilon=2.0, delta=1e-3, state=folder, queries=5) as curator:
            curator.ask([3, 4], request="request-34", modeler="alice")
            curator.ask([4], request="request-4", modeler="bob")
        shutil.copy(f"{folder}/curator.db", sys.argv[1])
