"""Long measurements kept piece by piece: a second run goes on where the first one stopped.

A piece is one JSON value under ``benchmarks/parts/NAME`` (or the folder TACIT_PARTS names), named by all that decides
it. Pieces are not results: they are not in the repository, and deleting the folder measures anew. A piece is also made
anew when a function that ran for it has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import executed, sources

ran: dict[str, str] = {}
"""Functions that ran for pieces that were made earlier."""


def folder() -> Path:
    return Path(os.environ.get("TACIT_PARTS", str(Path(__file__).parents[1] / "parts")))


def keep_piece(name: str, key: dict[str, Any], work: Callable[[], Any]) -> Any:
    """``work()``, or what it gave when it was last asked for under this key."""
    words = json.dumps(key, sort_keys=True)
    path = folder() / name / f"{hashlib.sha256(words.encode()).hexdigest()[:16]}.json"
    if path.exists():
        piece = json.loads(path.read_text())
        if not sources.changed(piece.get("executed", {"": ""})):
            os.utime(path)  # it counts to this run too
            ran.update(piece["executed"])
            return piece["value"]
    start = time.perf_counter()
    with executed.Span() as span:
        value = work()
    seconds = round(time.perf_counter() - start, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps({"key": key, "seconds": seconds, "value": value, "executed": span.ran}))
    draft.replace(path)
    return value


def count_pieces(name: str, since: float) -> dict[str, Any]:
    """How many pieces were asked for since then, and the seconds it took to make them; None if some did not say."""
    paths = [path for path in (folder() / name).glob("*.json") if path.stat().st_mtime >= since]
    seconds = [json.loads(path.read_text()).get("seconds") for path in paths]
    return {"pieces": len(paths), "seconds": None if None in seconds else round(sum(seconds), 1)} if paths else {}
