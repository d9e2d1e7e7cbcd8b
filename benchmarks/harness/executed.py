"""Which functions of tacit and of the benchmarks run while a figure is measured, in this process and its children.

Modules are compiled with a mark at the head of each function of ``sources.units``: one store into a file that all
processes share in memory. It costs some 30 nanoseconds a call, outlives a process that is killed, and is the same in
whoever is forked or started with our environment (``children/sitecustomize.py``). Nested functions belong to the
function around them. What was imported before ``begin`` is not recorded: the runner itself.
"""

from __future__ import annotations

import ast
import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import marshal
import mmap
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from benchmarks.harness import sources

FOLDER = "TACIT_EXECUTED"  # the environment's name for where the marks are
MARKS = "__executed__"  # a module's name for its own


def begin() -> None:
    """Record from now on, here and in every process that is started from here."""
    if not os.environ.get(FOLDER):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="executed-")
        atexit.register(_forget, os.environ[FOLDER], os.getpid())
        children = str(Path(__file__).parent / "children")
        paths = [children, str(sources.ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        sys.path.append(children)  # for those whose environment is made of sys.path
    sys.meta_path.insert(0, _Finder())


def executed() -> dict[str, str]:
    """The functions that ran since ``begin``, by name, with a digest of each."""
    ran = {}
    for path in Path(os.environ[FOLDER]).glob("*.marks"):
        marks = path.read_bytes()
        ran |= {
            f"{u.module}:{u.name}": u.digest for u, mark in zip(sources.units(path.stem), marks, strict=True) if mark
        }
    return ran


def _forget(folder: str, process: int) -> None:
    if os.getpid() == process:  # and not who was forked
        shutil.rmtree(folder, ignore_errors=True)


class Span:
    """What runs between its beginning and its end, for a piece that is kept; it counts for the whole as well."""

    def __enter__(self) -> Span:
        self.ran: dict[str, str] = {}
        self._before = {}
        if os.environ.get(FOLDER):
            self._before = {path: path.read_bytes() for path in Path(os.environ[FOLDER]).glob("*.marks")}
            for path, marks in self._before.items():
                path.write_bytes(bytes(len(marks)))
        return self

    def __exit__(self, *_: Any) -> None:
        if os.environ.get(FOLDER):
            self.ran = executed()
            for path, marks in self._before.items():
                now = path.read_bytes()
                path.write_bytes(bytes(a | b for a, b in zip(marks, now, strict=True)))


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not sources.decides(fullname):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return spec
        spec.loader = _Loader(fullname, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        name = module.__spec__.name if module.__spec__ else module.__name__
        module.__dict__[MARKS] = _marks(name)
        super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType | None:
        kept = Path(os.environ[FOLDER]) / f"{fullname}.code"
        try:
            code: CodeType = marshal.loads(kept.read_bytes())
        except (OSError, ValueError, EOFError):
            tree = ast.parse(self.get_data(self.path))
            for number, unit in enumerate(sources.functions(tree)):
                mark = ast.parse(f"{MARKS}[{number}] = 1").body[0]
                at = 1 if ast.get_docstring(unit.node, clean=False) is not None else 0
                for node in ast.walk(mark):
                    ast.copy_location(node, unit.node.body[0])
                unit.node.body.insert(at, mark)
            code = compile(tree, self.path, "exec", dont_inherit=True)
            draft = kept.with_suffix(f".{os.getpid()}")
            draft.write_bytes(marshal.dumps(code))
            draft.replace(kept)
        return code


def _marks(module: str) -> mmap.mmap | bytearray:
    """A module's marks: shared by all processes that record together."""
    path = Path(os.environ[FOLDER]) / f"{module}.marks"
    if not path.exists():
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_bytes(bytes(len(sources.functions(sources.tree_of(module)))))
        with suppress(FileExistsError):
            os.link(draft, path)  # whoever comes first: marks that are already made stay
        draft.unlink()
    if path.stat().st_size == 0:
        return bytearray()
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)
