"""Measure one benchmark and keep its JSON; run many, each in a process of its own.

One benchmark's failure does not stop the others. One that lacks something is skipped with its reason, and what was
measured before is kept. Ctrl-C keeps what was finished.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import Figure, Missing
from benchmarks.harness import executed, machine, parts, sources

DEFAULT_REPEATS = 5
MEASURED, FAILED, SKIPPED = 0, 1, 3


def read_header(name: str) -> dict[str, Any]:
    """What a benchmark says of itself (TITLE, LONG, REPEATS, THREADS), read without running it."""
    tree = ast.parse(sources.path_of(name).read_text())
    said = {"TITLE": name, "LONG": False, "REPEATS": None, "THREADS": (1,)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in said:
            said[node.targets[0].id] = ast.literal_eval(node.value)
    return said


def read_result(name: str, out: Path) -> dict[str, Any]:
    """The JSON of an earlier run, or nothing."""
    try:
        document: dict[str, Any] = json.loads((out / f"{name}.json").read_text())
    except (OSError, ValueError):
        return {}
    return document


def repeats_of(name: str, out: Path, asked: int | None) -> int:
    return asked or read_header(name)["REPEATS"] or read_result(name, out).get("repeats") or DEFAULT_REPEATS


def is_current(name: str, out: Path, repeats: int) -> bool:
    """Whether the functions that ran for the kept figures are as they were, and they ran as often as now asked."""
    old = read_result(name, out)
    return bool(old.get("figures")) and old["repeats"] == repeats and changes(name, out) == []


def changes(name: str, out: Path) -> list[str] | None:
    """The functions that ran for the kept figures and have changed since; None if nobody knows what ran."""
    try:
        lines = (out / "executed" / f"{name}.txt").read_text().split("\n")
    except OSError:
        return None
    return sources.changed(dict(line.split(" ") for line in lines if line))


def run_limited(module: ModuleType, repeats: int, only: int | None) -> tuple[list[Figure], list[int]]:
    """The figures, under each limit on threads; with several limits a figure's name says which."""
    from threadpoolctl import threadpool_limits

    limits = [only] if only else list(getattr(module, "THREADS", (1,)))
    figures = []
    for n in limits:
        os.environ["TACIT_THREADS"] = str(n)
        with threadpool_limits(n):
            found = module.run(repeats)
        label = f", {n} thread{'s' if n > 1 else ''}" if len(limits) > 1 or n > 1 else ""
        figures += [replace(f, name=f.name + label) for f in found]
    return figures, limits


def measure(name: str, out: Path, *, repeats: int | None = None, threads: int | None = None) -> int:
    """Run one here, write its JSON; how it ended. A failure is left to rise."""
    executed.begin()
    module, out = importlib.import_module(sources.module_of(name)), out.resolve()
    repeats = repeats_of(name, out, repeats)
    print(f"{name}: {module.TITLE}", flush=True)
    command = f"python -m benchmarks {name} --repeats {repeats}" + (f" --threads {threads}" if threads else "")
    about: dict[str, Any] = {"name": name, "title": module.TITLE, "command": command, "repeats": repeats}
    about |= {"commit": machine.commit(), "dirty": machine.dirty()}
    about |= {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": machine.machine()}
    start, since = time.perf_counter(), time.time() - 1.0  # clocks of file systems are coarse
    watch = machine.LoadWatch()
    try:
        figures, limits = run_limited(module, repeats, threads)
    except (Missing, ModuleNotFoundError, SystemExit) as error:
        reason = missing_part(error)
        if reason is None:
            raise
        return _skip(about, out, reason)
    seconds = round(time.perf_counter() - start, 1)
    about |= {"others": watch.others()}
    about |= {"seconds": seconds, "threads": limits, "made_of": parts.count_pieces(name, since)}
    ran = out / "executed" / f"{name}.txt"
    ran.parent.mkdir(parents=True, exist_ok=True)
    ran.write_text("".join(f"{of} {digest}\n" for of, digest in sorted((parts.ran | executed.executed()).items())))
    _write(out, {**about, "figures": [asdict(f) for f in figures]})
    for f in figures:
        print(f"  {f.name}: {f.value:.4g} {f.unit}  {f.against}", flush=True)
    return MEASURED


def missing_part(error: BaseException) -> str | None:
    """What is missing, if that is what an error says; a module of our own that is missing is a mistake."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, str) else None
    if isinstance(error, ModuleNotFoundError):
        root = (error.name or "").split(".")[0]
        return None if root in ("", "tacit", "benchmarks", "tests") else f"{root} is not installed: make peers"
    return str(error)


def _skip(about: dict[str, Any], out: Path, reason: str) -> int:
    """Figures measured earlier stay; without any, the reason is kept for the page."""
    print(f"  skipped: {reason}", flush=True)
    if not read_result(about["name"], out).get("figures"):
        _write(out, {**about, "seconds": 0.0, "skipped": reason, "figures": []})
    return SKIPPED


def _write(out: Path, document: dict[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    draft = out / f"{document['name']}.json.draft"
    draft.write_text(json.dumps(document, indent=1) + "\n")
    draft.replace(out / f"{document['name']}.json")


def expected_seconds(name: str, out: Path, repeats: int) -> float | None:
    """What the kept result took, for as many repeats; None if nobody knows. Of one made of pieces, all its pieces."""
    old = read_result(name, out)
    seconds = (old.get("made_of") or old).get("seconds") if old.get("figures") else None
    return None if seconds is None else seconds * repeats / max(1, old["repeats"])


def choose_within(within: float, out: Path, repeats: int | None) -> tuple[list[str], list[str]]:
    """Those that fit in so many seconds: first those that are not LONG, then the long ones, the quickest first."""
    took = {n: expected_seconds(n, out, repeats_of(n, out, repeats)) for n in sources.names()}
    known = {name: (60.0 if s is None and not read_header(name)["LONG"] else s) for name, s in took.items()}
    order = sorted(
        sources.names(), key=lambda n: (read_header(n)["LONG"], float("inf") if known[n] is None else known[n], n)
    )
    chosen, left, spent = [], [], 0.0
    for name in order:
        cost = known[name]
        if cost is not None and spent + cost <= within:
            spent += cost
            chosen.append(name)
        else:
            left.append(name)
    return chosen, left


def measure_all(asked: list[str], out: Path, words: list[str], *, repeats: int | None, fresh: bool) -> int:
    """Run these one after the other; 1 if any failed."""
    ended: dict[str, list[str]] = {"measured": [], "unchanged": [], "skipped": [], "failed": []}
    begun = time.perf_counter()
    try:
        for at, name in enumerate(asked, start=1):
            went = time.perf_counter() - begun
            print(f"[{at}/{len(asked)}, {went / 60:.1f} min] {name}", flush=True)
            if not fresh and is_current(name, out, repeats_of(name, out, repeats)):
                ended["unchanged"].append(name)
                print("  already measured by this code; --fresh measures again", flush=True)
                continue
            command = [sys.executable, "-m", "benchmarks", name, "--tell", "--out", str(out), *words]
            code = subprocess.run(command, cwd=sources.ROOT).returncode
            kind = {MEASURED: "measured", SKIPPED: "skipped"}.get(code, "failed")
            ended[kind].append(name)
            print(f"  {kind} after {time.perf_counter() - begun - went:.0f} s", flush=True)
    except KeyboardInterrupt:
        print(f"\nstopped; what was finished is kept in {out.name}. Run the same command to go on", flush=True)
        return 130
    finally:
        print("; ".join(f"{kind}: {', '.join(which)}" for kind, which in ended.items() if which), flush=True)
    return FAILED if ended["failed"] else MEASURED


def forget(asked: list[str]) -> None:
    """Delete kept pieces, so that a benchmark made of them measures anew."""
    for name in asked:
        shutil.rmtree(parts.folder() / name, ignore_errors=True)
