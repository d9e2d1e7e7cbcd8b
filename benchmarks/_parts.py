"""Long measurements kept piece by piece: a second run goes on where the first one stopped.

A piece is one JSON value under ``benchmarks/parts/NAME`` (or the folder TACIT_PARTS names), named by all that decides
it. Pieces are not results: they are not in the repository, and deleting the folder measures anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def folder() -> Path:
    return Path(os.environ.get("TACIT_PARTS", str(Path(__file__).parent / "parts")))


def kept(name: str, key: dict[str, Any], work: Callable[[], Any]) -> Any:
    """``work()``, or what it gave when it was last asked for under this key."""
    words = json.dumps(key, sort_keys=True)
    path = folder() / name / f"{hashlib.sha256(words.encode()).hexdigest()[:16]}.json"
    if path.exists():
        return json.loads(path.read_text())["value"]
    value = work()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps({"key": key, "value": value}))
    draft.replace(path)
    return value
