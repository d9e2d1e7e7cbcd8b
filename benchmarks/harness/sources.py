"""Which code decides a benchmark's figures: its own modules and those of tacit that it imports, and what they import.

A result is stale when that code changed. Comments and docstrings do not count, nor does what only shows results
(``SHOWS``). Imports are read, not run; ``tacit.tune`` and other names that load on first use lead to their homes, and
so does a string that names a module, ``"tacit.methods.gibo:run"``. A benchmark that starts other processes names what
they run in ``ALSO``.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).parents[1]
ROOT = HERE.parent
KINDS = ("papers", "speed", "scale", "faults")
SHOWS = ("tacit.charts", "tacit.page", "tacit.report", "tacit.run.progress", "benchmarks.harness")


def names() -> list[str]:
    """Every benchmark; a module whose name begins with an underscore belongs to others."""
    return sorted(p.stem for kind in KINDS for p in (HERE / kind).glob("[a-z]*.py"))


def path_of(name: str) -> Path:
    """The file of a benchmark."""
    return next(p for kind in KINDS if (p := HERE / kind / f"{name}.py").exists())


def module_of(name: str) -> str:
    """The module of a benchmark."""
    return f"benchmarks.{path_of(name).parent.name}.{name}"


def digest(name: str, also: Iterable[str] = ()) -> str:
    """A digest of the code that decides a benchmark's figures."""
    whole = hashlib.sha256()
    for path in files(name, also):
        whole.update(f"{path.relative_to(ROOT)}\n{_code(path.read_text())}\n".encode())
    return whole.hexdigest()[:16]


def files(name: str, also: Iterable[str] = ()) -> list[Path]:
    """The files of that code."""
    seen: dict[Path, None] = {}
    ahead = [module_of(name), *also]
    while ahead:
        module = ahead.pop()
        path = _file(module)
        if path is None and "." in module:  # a name in a module, or one that its package loads on first use
            package, _, attribute = module.rpartition(".")
            ahead.append(_home(package, attribute) or package)
        elif path is not None and path not in seen and not module.startswith(SHOWS):
            seen[path] = None
            ahead += [m for m in _imports(path) if m.split(".")[0] in ("tacit", "benchmarks")]
    return sorted(seen)


def _file(module: str) -> Path | None:
    root = ROOT / "src" if module.startswith("tacit") else ROOT
    path = root.joinpath(*module.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)


def _home(package: str, name: str) -> str | None:
    """Where a package says that a name is, which it loads on first use."""
    path = _file(package)
    for node in ast.walk(ast.parse(path.read_text())) if path is not None and path.name == "__init__.py" else ():
        if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
            return f"{node.module}.{name}" if node.module != package else None
    return None


def _imports(path: Path) -> Iterator[str]:
    """Every module or name that a file imports, anywhere but for types; ``tacit.name`` counts as an import."""
    ahead: list[ast.AST] = [ast.parse(path.read_text())]
    lists_names = path == ROOT / "src" / "tacit" / "__init__.py"  # what is used of it is found where it is used
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            ahead += node.orelse
            continue
        ahead += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tacit":
            yield f"tacit.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not lists_names:
            module = node.value.partition(":")[0]
            if module.startswith("tacit.") and module.replace(".", "").isidentifier() and _file(module):
                yield module


def _code(text: str) -> str:
    """The code without comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return ast.dump(tree)
