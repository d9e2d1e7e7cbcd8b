"""Run benchmarks and write their JSON; turn the JSON into a page.

python -m benchmarks                      everything but the long ones
python -m benchmarks NAME [NAME ...]      just these
python -m benchmarks --long               the long ones too
python -m benchmarks --page docs/results.md
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
import subprocess
import time
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import benchmarks

HERE = Path(__file__).parent
RESULTS = HERE / "results"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "optuna", "opendp", "dp-accounting", "SQLAlchemy", "botorch", "torch")


def names() -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules([str(HERE)]) if not m.name.startswith("_"))


def machine() -> dict[str, object]:
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return {"cores": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version(), **versions}


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def measure(name: str, repeats: int, out: Path) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    print(f"{name}: {module.TITLE}", flush=True)
    start = time.perf_counter()
    figures = [asdict(f) for f in module.run(repeats)]
    document = {
        "name": name,
        "title": module.TITLE,
        "command": f"python -m benchmarks {name} --repeats {repeats}",
        "repeats": repeats,
        "seconds": round(time.perf_counter() - start, 1),
        "commit": commit(),
        "machine": machine(),
        "figures": figures,
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")
    for f in figures:
        print(f"  {f['name']}: {f['value']:.4g} {f['unit']}  {f['against']}", flush=True)


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def page(results: Path) -> str:
    lines = [
        "# Results",
        "",
        "Made by `make docs` from `benchmarks/results/*.json`. Nothing here is typed by hand.",
        "",
    ]
    for path in sorted(results.glob("*.json")):
        r = json.loads(path.read_text())
        made = ", ".join(f"{k} {v}" for k, v in r["machine"].items())
        lines += [f"## {r['title']}", "", f"`{r['command']}` · commit {r['commit']} · {r['seconds']} s · {made}", ""]
        lines += ["| what | measured | least to most | against | note |", "| --- | --- | --- | --- | --- |"]
        for f in r["figures"]:
            spread = f"{number(f['low'])} to {number(f['high'])}" if f["low"] is not None else ""
            lines.append(
                f"| {f['name']} | {number(f['value'])} {f['unit']} | {spread} | {f['against']} | {f['note']} |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names())}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--long", action="store_true", help="the long ones too")
    parser.add_argument("--page", type=Path, help="write the results page and measure nothing")
    asked = parser.parse_args()
    if asked.page:
        asked.page.parent.mkdir(parents=True, exist_ok=True)
        asked.page.write_text(page(asked.out))
        print(f"wrote {asked.page}")
        return
    unknown = set(asked.names) - set(names())
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    for name in asked.names or names():
        module = importlib.import_module(f"benchmarks.{name}")
        if asked.names or asked.long or not getattr(module, "LONG", False):
            measure(name, asked.repeats, asked.out)


if __name__ == "__main__":
    main()
