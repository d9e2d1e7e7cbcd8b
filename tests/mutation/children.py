"""Tests in forked processes: one process for each mutant, with all libraries imported beforehand.

A child imports tacit afresh, the mutated module from its changed tree, and runs tests until the first failure. What it
has to tell goes through a file. A child that runs much longer than the tests did without a fault is stopped.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tacit"
LIBRARIES = """
numpy scipy.linalg scipy.optimize scipy.special scipy.stats scipy.integrate pandas optuna sqlalchemy hypothesis mpmath
dp_accounting dp_accounting.pld.privacy_loss_distribution sklearn.linear_model sklearn.ensemble sklearn.model_selection
sklearn.utils.estimator_checks opendp.prelude cryptography typer rich matplotlib
"""
OPTIONS = ["-q", "-x", "--assert=plain", "--import-mode=importlib", "-p", "no:cacheprovider", "-o", "addopts="]
OPTIONS += ["-p", "_hypothesis_pytestplugin", "-m", "not slow and not postgres"]
MEMORY = 6 << 30  # bytes that a child may take


def import_libraries() -> None:
    """Import what tests import, but nothing of tacit: children start with all of it."""
    for name in LIBRARIES.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert "tacit" not in sys.modules, "a child must import tacit itself"
    gc.freeze()  # no child need look through all of this


@dataclass
class Tests:
    """What a file of tests does without a fault: how long each test takes, and which functions it calls."""

    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)  # for a test, or "" for all: module:function
    failures: list[str] = field(default_factory=list)


class Watch:
    """A plugin of pytest that records what a file of tests does: see Tests."""

    def __init__(self, modules: list[str]) -> None:
        self.modules, self.tests, self.current = modules, Tests(calls={"": set()}), ""

    def prepare(self) -> None:
        """In a child: let every function of the modules say that it is called."""
        builtins.note_call = self.note  # type: ignore[attr-defined]
        for module in self.modules:
            tree = ast.parse((SOURCE / module).read_text())
            add_notes(tree, f"{module}:")
            sys.meta_path.insert(0, Finder(module, tree))

    def note(self, function: str) -> None:
        self.tests.calls[self.current].add(function)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        settings.register_profile("mutants", settings.default, database=None, derandomize=True)
        settings.load_profile("mutants")

    def pytest_runtest_setup(self, item: Any) -> None:
        self.current = ""  # what a fixture of many tests calls, each of them may notice

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        self.current = item.nodeid
        self.tests.calls[item.nodeid] = set()
        try:
            return (yield)
        finally:
            self.current = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.tests.seconds[report.nodeid] = self.tests.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.tests.failures.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.tests.failures.append(report.nodeid)

    def summary(self) -> dict[str, Any]:
        calls = {test: sorted(names) for test, names in self.tests.calls.items()}
        return {"seconds": self.tests.seconds, "calls": calls, "failures": self.tests.failures}


class Choice:
    """A plugin of pytest that runs the named tests in their order, and notes which one failed."""

    def __init__(self, tests: list[str]) -> None:
        self.place, self.killer = {test: i for i, test in enumerate(tests)}, ""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        phases = (Phase.explicit, Phase.generate)  # a mutant's example need not be small
        settings.register_profile("mutants", settings.default, database=None, derandomize=True, phases=phases)
        settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.place), key=lambda item: self.place[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.killer = self.killer or report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.killer = self.killer or f"import of {report.nodeid}"

    def summary(self) -> dict[str, Any]:
        return {"killer": self.killer}


def add_notes(tree: ast.AST, name: str) -> None:
    """Put a call of note_call(module:function) at the head of every function."""
    for node in ast.iter_child_nodes(tree):
        inner = name
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = f"{name}{'' if name.endswith(':') else '.'}{node.name}"
            note = ast.parse(f"note_call({inner!r})").body
            node.body[1 if ast.get_docstring(node, clean=False) is not None else 0 : 0] = note
        add_notes(node, inner)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from a tree instead of its file."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self.tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return compile(ast.fix_missing_locations(self.tree), self.path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """Finds one module, the mutated one, before anything else does."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.path, self.tree = SOURCE / module, tree
        parts = ("tacit", *Path(module).with_suffix("").parts)
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def find_spec(self, fullname: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        inside = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        loader = Loader(fullname, str(self.path), self.tree)
        return importlib.util.spec_from_file_location(
            fullname, self.path, loader=loader, submodule_search_locations=inside
        )


@dataclass
class Child:
    """A forked pytest: ``end`` is when it is stopped, ``file`` where it writes its summary."""

    pid: int
    file: Path
    end: float
    then: Callable[[int, dict[str, Any]], None]


class Pool:
    """At most ``jobs`` children at once; what each one found is handed to its ``then``, in this process."""

    def __init__(self, jobs: int) -> None:
        self.jobs, self.children = jobs, []
        self.folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(self.folder / "bytecode")  # compiled once, for all

    def start(
        self,
        plugin: Watch | Choice,
        arguments: list[str],
        *,
        prepare: Callable[[], None],
        seconds: float,
        then: Callable[[int, dict[str, Any]], None],
    ) -> None:
        """Run pytest in a child that may take so many seconds of CPU, and four times as many of waiting."""
        self.wait(self.jobs - 1)
        sys.stdout.flush()
        descriptor, name = tempfile.mkstemp(dir=self.folder)
        os.close(descriptor)
        pid = os.fork()
        if pid == 0:
            self._be_child(plugin, arguments, prepare, seconds, Path(name))
        self.children.append(Child(pid, Path(name), time.monotonic() + 4 * seconds + 60, then))

    def _be_child(
        self, plugin: Watch | Choice, arguments: list[str], prepare: Callable[[], None], seconds: float, file: Path
    ) -> None:
        code = 3
        try:
            os.setsid()
            os.chdir(ROOT)
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            prepare()
            scratch = tempfile.mkdtemp(dir=self.folder)
            code = int(pytest.main([*OPTIONS, "--basetemp", scratch, *arguments], [plugin]))
            file.write_text(json.dumps(plugin.summary()))
            shutil.rmtree(scratch, ignore_errors=True)
        finally:
            os._exit(code)

    def wait(self, most: int = 0) -> None:
        """Wait until at most so many children run."""
        while len(self.children) > most:
            for child in list(self.children):
                pid, status = os.waitpid(child.pid, os.WNOHANG)
                if pid == 0 and time.monotonic() < child.end:
                    continue
                with contextlib.suppress(ProcessLookupError):  # and whatever its tests started
                    os.killpg(child.pid, signal.SIGKILL)
                if pid == 0:
                    _, status = os.waitpid(child.pid, 0)
                self.children.remove(child)
                text = child.file.read_text()
                child.then(os.waitstatus_to_exitcode(status), json.loads(text) if text else {})
            time.sleep(0.02)

    def close(self) -> None:
        for child in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
