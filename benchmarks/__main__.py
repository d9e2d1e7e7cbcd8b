"""Run benchmarks and write their JSON; turn the JSON into pages.

python -m benchmarks NAME [NAME ...] [--repeats N] [--out DIR]   just these
python -m benchmarks --within 30     all that fits in 30 minutes (make bench)
python -m benchmarks --full          all, going on where an earlier run stopped (make bench-full)
python -m benchmarks --list          what there is, how long it takes, and what is stale
python -m benchmarks --pages docs    write the results pages and measure nothing (make results)
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.harness import sources
from benchmarks.harness.runner import (
    MEASURED,
    SKIPPED,
    changes,
    choose_within,
    forget,
    is_current,
    measure,
    measure_all,
    read_header,
    read_result,
)
from benchmarks.harness.sources import names

RESULTS = sources.HERE / "results"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("names", nargs="*", metavar="NAME", help="see --list")
    made.add_argument("--repeats", type=int, help="how often (default: what each benchmark says)")
    limit = int(os.environ["TACIT_THREADS"]) if os.environ.get("TACIT_THREADS") else None
    made.add_argument("--threads", type=int, default=limit, help="of linear algebra (default: what each says)")
    made.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    made.add_argument("--fresh", action="store_true", help="measure again what this code has already measured")
    made.add_argument("--within", type=float, metavar="MINUTES", help="all that fits, by what the last runs took")
    made.add_argument("--full", action="store_true", help="all of them")
    made.add_argument("--tell", action="store_true", help=argparse.SUPPRESS)  # exit code 3 if skipped
    made.add_argument(
        "--list",
        action="store_true",
        help="names, titles, seconds of the last run, what is stale and by which functions",
    )
    made.add_argument("--pages", type=Path, metavar="DIR", help="write results.md, papers.md and scale.md there")
    return made


def main(words: list[str] | None = None) -> None:
    asking = parser()
    asked = asking.parse_args(words)
    unknown = set(asked.names) - set(names())
    if unknown:
        asking.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    if asked.pages:
        from benchmarks.harness.pages import write

        write(asked.out, asked.pages)
        return
    if asked.list:
        for name in names():
            old = read_result(name, asked.out)
            state = "current" if is_current(name, asked.out, old.get("repeats", 0)) else "stale"
            shown = state if old.get("figures") else "-"
            why = ", ".join((changes(name, asked.out) or [])[:3]) if state == "stale" else ""
            print(f"{name:26} {old.get('seconds', '-'):>8} s  {shown:8} {why or read_header(name)['TITLE']}")
        return
    if not (asked.names or asked.full or asked.within):
        asking.print_help()
        return
    if asked.fresh:
        forget(asked.names or (names() if asked.full else []))
    if len(asked.names) == 1:
        code = measure(asked.names[0], asked.out, repeats=asked.repeats, threads=asked.threads)
        # a benchmark run for others tells them that it was skipped; to a person that is no failure
        sys.exit(code if code != SKIPPED or asked.tell else MEASURED)
    chosen = asked.names or names()
    if asked.within:
        chosen, left = choose_within(60 * asked.within, asked.out, asked.repeats)
        print(f"left for --full: {', '.join(left) or 'nothing'}", flush=True)
    words = [w for k in ("repeats", "threads") if (v := getattr(asked, k)) for w in (f"--{k}", str(v))]
    sys.exit(measure_all(chosen, asked.out.resolve(), words, repeats=asked.repeats, fresh=asked.fresh))


if __name__ == "__main__":
    main()
