"""Whether a figure is still what the code would give: the functions that ran while it was measured are all still there.

A function counts with what decides what it does: its code, the constants that it names, the fields of its class and of
those that it names. What decides nothing is left out: comments, docstrings, annotations, messages of errors, names of
locals, and the module in which anything stands. So a figure stays current when other functions change, when its own
move, and when messages are said otherwise. One gap is left: an import that now leads to another function of the same
name is not seen if the old function stays. What only shows results (``SHOWS``) does not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parents[1]
ROOT = HERE.parent
KINDS = ("papers", "speed", "scale", "faults")
SHOWS = ("tacit.charts", "tacit.page", "tacit.report", "tacit.run.progress", "benchmarks.harness")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def names() -> list[str]:
    """Every benchmark; a module whose name begins with an underscore belongs to others."""
    return sorted(p.stem for kind in KINDS for p in (HERE / kind).glob("[a-z]*.py"))


def path_of(name: str) -> Path:
    """The file of a benchmark."""
    return next(p for kind in KINDS if (p := HERE / kind / f"{name}.py").exists())


def module_of(name: str) -> str:
    """The module of a benchmark."""
    return f"benchmarks.{path_of(name).parent.name}.{name}"


def decides(module: str) -> bool:
    """Whether figures rest on a module's code."""
    return module.split(".")[0] in ("tacit", "benchmarks") and module != "benchmarks" and not module.startswith(SHOWS)


@dataclass(frozen=True)
class Place:
    """A function where it stands: its node and the class around it."""

    name: str
    node: Function
    owner: ast.ClassDef | None


@dataclass(frozen=True)
class Unit:
    """A function by its module and name, and a digest of what decides what it does."""

    module: str
    name: str
    digest: str


def functions(tree: ast.AST, prefix: str = "", owner: ast.ClassDef | None = None) -> list[Place]:
    """The functions of a module and the methods of its classes, in order; those nested in them are parts of them."""
    found = []
    for node in getattr(tree, "body", []) + getattr(tree, "orelse", []) + getattr(tree, "handlers", []):
        if isinstance(node, Function):
            found.append(Place(prefix + node.name, node, owner))
        elif isinstance(node, ast.ClassDef):
            found += functions(node, f"{prefix}{node.name}.", node)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            found += functions(node, prefix, owner)
    return found


@cache
def units(module: str) -> list[Unit]:
    """The functions of a module, in order, with their digests."""
    tree = tree_of(module)
    return [] if tree is None else [Unit(module, p.name, _digest(module, p)) for p in functions(tree)]


@cache
def present() -> frozenset[str]:
    """The digests of all functions that there are."""
    modules = (
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for root, package in ((ROOT / "src", "tacit"), (ROOT, "benchmarks"))
        for path in (root / package).rglob("*.py")
    )
    return frozenset(unit.digest for module in modules if decides(module) for unit in units(module))


def changed(executed: Mapping[str, str]) -> list[str]:
    """Those of these functions that are no longer as they were."""
    return sorted(name for name, digest in executed.items() if digest not in present())


def forget() -> None:
    """Read the code anew: for tests, which change it."""
    for kept in (units, present, tree_of, _names):
        kept.cache_clear()


@cache
def tree_of(module: str) -> ast.Module | None:
    """A module's code; None if it is none of ours."""
    root = ROOT / "src" if module.startswith("tacit") else ROOT
    path = root.joinpath(*module.split("."))
    file = next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)
    return ast.parse(file.read_text()) if file else None


@cache
def _names(module: str) -> dict[str, ast.AST | str]:
    """What the names of a module stand for: a class, a function, a value, or, as text, what is imported."""
    found: dict[str, ast.AST | str] = {}
    tree = tree_of(module)
    ahead = list(tree.body) if tree else []
    while ahead:
        node = ahead.pop(0)
        if isinstance(node, Function | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {n.id: node.value for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {a.asname or a.name: f"{node.module}:{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.asname: f"{a.name}:" for a in node.names if a.asname}
        elif isinstance(node, ast.If | ast.Try | ast.With):
            ahead = [*node.body, *getattr(node, "orelse", []), *ahead]
    return found


def _digest(module: str, place: Place) -> str:
    whole = hashlib.sha256(_normal(place.node).encode())
    seen: set[tuple[str, str]] = set()
    parts = [_class(place.owner)] if place.owner else []
    ahead = [(module, node) for node in (place.node, place.owner) if node]
    while ahead:
        where, node = ahead.pop()
        for name in sorted(_loaded(node)):
            if (found := _resolve(where, name)) is None or (found[0], name) in seen:
                continue
            home, value = found
            seen.add((home, name))
            if not isinstance(value, Function):
                parts.append(_class(value) if isinstance(value, ast.ClassDef) else _normal(value))
                ahead.append((home, value))
    for part in sorted(parts):
        whole.update(part.encode())
    return whole.hexdigest()[:10]


def _loaded(node: ast.AST) -> set[str]:
    """Names that a node reads, and ``module.name`` of what it imported; of a class, those of its fields alone."""
    found = set()
    for top in _fields(node) if isinstance(node, ast.ClassDef) else [node]:
        for part in _walk(top):
            if isinstance(part, ast.Name):
                found.add(part.id)
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                found.add(f"{part.value.id}.{part.attr}")
    return found


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of annotations."""
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _walk(child)


def _resolve(module: str, name: str, depth: int = 0) -> tuple[str, ast.AST] | None:
    """Where a name of a module has its value, and the value; nothing for what is not ours."""
    first, _, attribute = name.partition(".")
    value = _names(module).get(first)
    if isinstance(value, ast.AST):
        return None if attribute else (module, value)
    if value is None or depth > 5:
        return None
    home, _, imported = value.partition(":")
    if not decides(home):
        return None
    inner = f"{home}.{imported}".rstrip(".")
    if tree_of(inner) is not None:
        return _resolve(inner, attribute, depth + 1) if attribute else None
    return None if attribute else _resolve(home, imported, depth + 1)


def _fields(node: ast.ClassDef) -> list[ast.AST]:
    """What a class is besides its methods: bases, decorators, and the statements of its body."""
    body = [s for s in node.body if not isinstance(s, Function | ast.ClassDef)]
    return [*node.bases, *node.decorator_list, *[k.value for k in node.keywords], *body]


def _class(node: ast.ClassDef) -> str:
    return ";".join(_normal(part) for part in _fields(node))


def _normal(node: ast.AST) -> str:
    """A node's code without what decides nothing."""
    inside = list(_walk(node))
    arguments = {a.arg for n in inside if isinstance(n, ast.arg) for a in [n]}
    outer = {name for n in inside if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    stored = {n.id: None for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    stored |= {n.name: None for n in inside if isinstance(n, ast.ExceptHandler) and n.name}
    is_function = isinstance(node, Function)
    numbers = {name: f"_{i}" for i, name in enumerate(n for n in stored if n not in arguments | outer)}
    return _write(node, numbers if is_function else {})


def _write(value: object, locals_: Mapping[str, str]) -> str:
    match value:
        case ast.Name(id=name):
            return locals_.get(name, name)
        case ast.Raise(exc=ast.Call(func=kind)):
            return f"raise {_write(kind, locals_)}"
        case ast.Constant(value=str(text)) if text.startswith("tacit."):
            return repr(text.rpartition(".")[2])
        case ast.Constant(value=constant):
            return repr(constant)
        case ast.Expr(value=ast.Constant()):
            return ""
        case ast.ImportFrom(names=aliases):
            return f"import {_write(aliases, locals_)}"
        case ast.AST():
            left_out = ("annotation", "returns", "ctx", "type_comment", "kind", "type_params")
            fields = [
                locals_.get(part, part) if isinstance(part, str) and field == "name" else _write(part, locals_)
                for field, part in ast.iter_fields(value)
                if field not in left_out
            ]
            return f"{type(value).__name__}({','.join(fields)})"
        case list():
            return f"[{','.join(filter(None, (_write(part, locals_) for part in value)))}]"
        case _:
            return str(value)
