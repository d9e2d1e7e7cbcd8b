"""Mutants of the modules on which a guarantee rests: every small fault in them must fail a test.

``tests/mutants.toml`` lists the modules, the tests of each, and the mutants that survive with the reason for each. A
survivor that is not listed fails the run, as does a listed one that a test kills, or that is no longer made.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import time
import tomllib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mutation.children import ROOT, SOURCE, Choice, Finder, Pool, Tests, Watch, import_libraries
from mutation.mutate import Mutant, make_mutants, sample

TESTS = ROOT / "tests"
LIST = TESTS / "mutants.toml"
REASONS = ("equivalent: ", "guard band: ", "stricter: ")
FILE_SECONDS = 900.0  # of CPU, for a file of tests without a fault
KILLED, SURVIVED, STOPPED, BROKEN, LISTED = "killed", "survived", "stopped", "broken", "listed"


@dataclass(frozen=True)
class Listing:
    """What mutants.toml says."""

    modules: dict[str, list[str]]
    survivors: dict[tuple[str, str, str, str, int], str]
    most: int

    @staticmethod
    def read(path: Path = LIST) -> Listing:
        """Read the list, and refuse a path that is not there or a survivor without a proper reason."""
        table = tomllib.loads(path.read_text())
        gone = [m for m in table["modules"] if not (SOURCE / m).is_file()]
        gone += [t for tests in table["modules"].values() for t in tests if not (TESTS / t).is_file()]
        if gone:
            sys.exit(f"{path.name} names what does not exist: {', '.join(sorted(set(gone)))}")
        survivors = {}
        for one in table.get("survivors", []):
            key = (one["module"], one["function"], one["before"], one["after"], one.get("copy", 0))
            if not one["reason"].startswith(REASONS) or key in survivors:
                sys.exit(f"{path.name}: a survivor needs one reason that starts with one of {REASONS}: {key}")
            survivors[key] = one["reason"]
        return Listing(table["modules"], survivors, table["mutants_per_module"])


@dataclass
class Outcome:
    """What became of every mutant."""

    verbose: bool
    of: dict[str, list[tuple[Mutant, str]]] = field(default_factory=dict)

    def add(self, mutant: Mutant, kind: str, killer: str = "") -> None:
        self.of.setdefault(kind, []).append((mutant, killer))
        if self.verbose or kind == SURVIVED:
            where = f"{mutant.module}:{mutant.line}"
            print(f"{mutant.digest} {kind}: {where}: {mutant.before} -> {mutant.after} [{killer}]", flush=True)

    def count(self, kind: str) -> int:
        return len(self.of.get(kind, []))


def find_changed(base: str) -> set[str]:
    """Modules that differ from where this branch left ``base``, in commits or in the working tree."""

    def git(*arguments: str) -> list[str]:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()

    fork = git("merge-base", base, "HEAD")[0]
    names = git("diff", "--name-only", fork) + git("ls-files", "--others", "--exclude-standard")
    return {name.removeprefix("src/tacit/") for name in names if name.startswith("src/tacit/")}


def watch_tests(files: list[str], modules: list[str], pool: Pool) -> dict[str, Tests]:
    """Run each file of tests without a fault; a failure ends everything, since nothing could be concluded."""
    watched = {}

    def keep(name: str) -> Callable[[int, dict], None]:
        def then(code: int, summary: dict) -> None:
            if code or not summary:
                sys.exit(f"without any mutant, {name} ends with {code}: {summary.get('failures', 'no summary')}")
            calls = {test: set(names) for test, names in summary["calls"].items()}
            watched[name] = Tests(summary["seconds"], calls)
            print(f"{name}: {len(calls) - 1} tests, {sum(summary['seconds'].values()):.0f} s", flush=True)

        return then

    for name in files:
        watch = Watch(modules)
        pool.start(watch, [f"tests/{name}"], prepare=watch.prepare, seconds=FILE_SECONDS, then=keep(name))
    pool.wait()
    return watched


def divide_tests(mutant: Mutant, files: dict[str, Tests]) -> list[list[str]]:
    """Tests to run one after the other until one fails, in parts that are quick to begin with.

    First, file by file, the tests that call the mutated function, quick ones first. Last all others: what a cache
    answered while the tests were watched was not seen as a call.
    """
    name = f"{mutant.module}:{mutant.function}"
    parts, others = [], []
    for tests in files.values():
        everywhere = name in tests.calls[""] or not mutant.function
        order = sorted((t for t in tests.calls if t), key=lambda test: tests.seconds[test])
        parts.append([t for t in order if everywhere or name in tests.calls[t]])
        others += [t for t in order if not (everywhere or name in tests.calls[t])]
    return [part for part in (*parts, others) if part]


@dataclass
class Play:
    """A mutant on its way through its tests."""

    tree: ast.Module
    mutant: Mutant
    files: dict[str, Tests]
    parts: list[list[str]]

    def mutate(self) -> None:
        """In a child: put the fault in the tree, and load the module from it."""
        self.mutant.site.put(self.mutant.node)
        sys.meta_path.insert(0, Finder(self.mutant.module, self.tree))

    def start(self, pool: Pool, outcome: Outcome, queue: deque[Play]) -> None:
        """Run the next part of the tests in a child; a mutant that survives goes back into the queue."""
        tests = self.parts.pop(0)

        def then(code: int, summary: dict[str, str]) -> None:
            if code == 0 and self.parts:
                queue.appendleft(self)
            elif code == 0:
                outcome.add(self.mutant, SURVIVED)
            elif code < 0:
                outcome.add(self.mutant, STOPPED, "took too long")
            elif code in (1, 2):
                outcome.add(self.mutant, KILLED, summary.get("killer", ""))
            else:
                outcome.add(self.mutant, BROKEN, f"pytest ended with {code}")

        seconds = {test: s for watched in self.files.values() for test, s in watched.seconds.items()}
        limit = 10 + 5 * sum(seconds[test] for test in tests)
        names = sorted({test.split("::")[0] for test in tests})
        pool.start(Choice(tests), names, prepare=self.mutate, seconds=limit, then=then)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--all", action="store_true", help="every mutant, not a sample of each module")
    parser.add_argument("--changed", action="store_true", help="only modules that this branch changed")
    parser.add_argument("--base", default="main", help="what --changed compares with")
    parser.add_argument("--only", default="", help="modules, with commas between them")
    parser.add_argument("--digests", default="", help="mutants, by the digests with which survivors are printed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verbose", action="store_true", help="print what killed each mutant")
    return parser.parse_args()


def choose_modules(options: argparse.Namespace, listing: Listing) -> list[str]:
    chosen = list(listing.modules)
    if options.changed:
        changed = find_changed(options.base)
        chosen = [module for module in chosen if module in changed]
    if options.only:
        named = options.only.split(",")
        if strange := set(named) - set(chosen):
            sys.exit(f"not in {LIST.name}, or not changed: {', '.join(sorted(strange))}")
        chosen = [module for module in chosen if module in named]
    return chosen


def choose_mutants(options: argparse.Namespace, mutants: list[Mutant], most: int) -> list[Mutant]:
    if options.digests:
        return [m for m in mutants if m.digest in options.digests.split(",")]
    return mutants if options.all else sample(mutants, most)


def main() -> int:
    began, options, listing = time.monotonic(), parse_options(), Listing.read()
    modules = choose_modules(options, listing)
    import_libraries()
    pool, outcome = Pool(options.jobs), Outcome(options.verbose)
    made, queue, unknown = 0, deque[Play](), {key for key in listing.survivors if key[0] in modules}
    try:
        watched = watch_tests(sorted({name for module in modules for name in listing.modules[module]}), modules, pool)
        for module in modules:
            tree, mutants = make_mutants((SOURCE / module).read_text(), module)
            made, unknown = made + len(mutants), unknown - {m.key for m in mutants}
            files = {name: watched[name] for name in listing.modules[module]}
            for mutant in choose_mutants(options, mutants, listing.most):
                if mutant.key in listing.survivors and not options.all:
                    outcome.add(mutant, LISTED)
                else:
                    queue.append(Play(tree, mutant, files, divide_tests(mutant, files)))
        print(f"{len(queue)} mutants to run after {time.monotonic() - began:.0f} s", flush=True)
        while queue or pool.children:
            if queue:
                queue.popleft().start(pool, outcome, queue)
            else:
                pool.wait(len(pool.children) - 1)
    finally:
        pool.close()
    return report(outcome, listing, sorted(unknown), made, began)


def entry(mutant: Mutant) -> str:
    """A survivor as mutants.toml lists it, but for its reason."""
    names = ("module", "function", "before", "after", "copy")
    some = [f"{name} = {json.dumps(value)}" for name, value in zip(names, mutant.key, strict=True) if value != 0]
    return "\n".join(["[[survivors]]", *some, 'reason = ""'])


def report(
    outcome: Outcome,
    listing: Listing,
    unknown: list[tuple[str, str, str, str, int]],
    made: int,
    began: float,
) -> int:
    """Print what survived; 1 if any of it is not listed, or if the list is out of date."""
    faults = 0
    for mutant, _ in outcome.of.get(SURVIVED, []):
        if mutant.key not in listing.survivors:
            faults += 1
            print(
                f"\nSURVIVED {mutant.digest}, line {mutant.line}: write a test that kills it, or list it with a reason"
            )
            print(entry(mutant))
    for mutant, why in outcome.of.get(BROKEN, []):
        faults += 1
        print(f"\nBROKEN {mutant.module}:{mutant.line} {mutant.before} -> {mutant.after}: {why}")
    for mutant, killer in outcome.of.get(KILLED, []):
        if mutant.key in listing.survivors:
            faults += 1
            print(f"\nLISTED BUT KILLED by {killer}: take it out of {LIST.name}: {mutant.key}")
    for key in unknown:
        faults += 1
        print(f"\nLISTED BUT NOT MADE: take it out of {LIST.name}: {key}")
    survivors = [m for m, _ in outcome.of.get(SURVIVED, []) if m.key in listing.survivors]
    print(
        f"\n{sum(map(len, outcome.of.values()))} mutants of {made} that can be made: {outcome.count(KILLED)} killed, "
        f"{outcome.count(STOPPED)} stopped since they ran too long, {outcome.count(LISTED) + len(survivors)} listed "
        f"with a reason, {faults} faults; {time.monotonic() - began:.0f} s"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
