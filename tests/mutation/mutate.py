"""Mutants of a module: its syntax tree with one small fault in it.

A mutant is known by its module, its function, and its statement before and after, so that moving lines keeps its name.
Left alone: docstrings, messages of errors and warnings, reprs, formatted text, type hints, decorators, worst pairs,
search spaces, and constants that index, name an axis or are times to wait.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SWAPPED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
ARITHMETIC = {ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Add: ast.Sub, ast.Sub: ast.Add}
RENAMED = {"min": "max", "minimum": "maximum", "floor": "ceil", "argmin": "argmax", "fmin": "fmax", "any": "all"}
RENAMED |= {other: name for name, other in RENAMED.items()}
DROPPED = {"sqrt", "abs", "nextafter", "hypot", "expm1", "log1p"}  # calls that become their first argument
SHOWN = {"__repr__", "__str__", "__format__", "_repr_html_"}
FREE = {"worst_pair", "worst_pairs", "space"}  # what a law plays, and what is searched: no guarantee rests on it
SPEECH = {"warn", "debug", "info", "warning", "print"}  # calls that only tell
QUIET = {"axis", "ndmin", "indent", "timeout", "maxsize", "stacklevel", "dtype"}  # keywords whose constants stay
INDEX = (ast.Constant, ast.UnaryOp, ast.USub, ast.Load, ast.Slice, ast.Tuple)  # parts of x[0], x[-1:], x[:, 1]
TEXT = (ast.JoinedStr, ast.List, ast.Tuple)  # what + joins rather than adds


@dataclass(frozen=True)
class Site:
    """Where a node hangs: replacing it is setting this attribute, or one item of it."""

    parent: ast.AST
    attribute: str
    index: int | None

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.attribute, node)
        else:
            getattr(self.parent, self.attribute)[self.index] = node

    @property
    def node(self) -> Any:
        value = getattr(self.parent, self.attribute)
        return value if self.index is None else value[self.index]


@dataclass(frozen=True)
class Mutant:
    """One fault. ``rank`` orders the faults of one node, so that a sample takes every node before a second of any."""

    module: str
    function: str
    before: str
    after: str
    copy: int  # 0 unless the same statement stands in the function more than once
    line: int
    rank: int = field(default=0, compare=False)
    site: Site = field(default=None, compare=False, repr=False)  # type: ignore[assignment]
    node: ast.AST = field(default=None, compare=False, repr=False)  # type: ignore[assignment]

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.module, self.function, self.before, self.after, self.copy

    @property
    def digest(self) -> str:
        return _hash(*self.key)


def _hash(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def make_mutants(source: str, module: str) -> tuple[ast.Module, list[Mutant]]:
    """The tree of a module, and every mutant of it; ``mutant.site.put(mutant.node)`` changes the tree."""
    tree = ast.parse(source)
    mutants, copies = [], {}
    for site, function, statement in _sites(tree):
        original = site.node
        options = list(_replacements(site))
        order = sorted(range(len(options)), key=lambda i: _hash(function, ast.dump(original), options[i][0]))
        header = _header(statement) if options else ""
        for i, (_, node) in enumerate(options):
            before = header
            site.put(node)
            after = _header(statement)
            site.put(original)
            if before == after:  # a part of a statement that its header leaves out
                before, after = ast.unparse(original), ast.unparse(node)
            key = (function, before, after)
            copies[key] = copies.get(key, -1) + 1
            line = getattr(original, "lineno", statement.lineno)
            mutants.append(Mutant(module, *key, copies[key], line, order.index(i), site, node))
    return tree, mutants


def sample(mutants: list[Mutant], most: int) -> list[Mutant]:
    """The same ``most`` mutants on every machine: one of each node first, in an order that only their names decide."""
    chosen = sorted(mutants, key=lambda m: (m.rank, m.digest))[:most]
    return sorted(chosen, key=lambda m: m.line)


def _header(statement: ast.stmt) -> str:
    """A statement as text, without the block under it."""
    shallow = copy.copy(statement)
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        if getattr(shallow, name, None):
            setattr(shallow, name, [])
    if hasattr(shallow, "decorator_list"):
        shallow.decorator_list = []
    return " ".join(ast.unparse(shallow).split())


def _sites(tree: ast.Module) -> Iterator[tuple[Site, str, ast.stmt]]:
    """Every expression that may be mutated, with its function's qualified name and its statement."""

    def visit(node: ast.AST, function: str, statement: ast.stmt | None) -> Iterator[tuple[Site, str, ast.stmt]]:
        for name, value in ast.iter_fields(node):
            if _is_left_alone(node, name):
                continue
            items = enumerate(value) if isinstance(value, list) else [(None, value)]
            for index, child in items:
                if not isinstance(child, ast.AST) or _is_speech(child):
                    continue
                inner, here = function, child if isinstance(child, ast.stmt) else statement
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    if child.name in SHOWN | FREE:
                        continue
                    inner = f"{function}.{child.name}".lstrip(".")
                if here is not None:
                    yield Site(node, name, index), inner, here
                yield from visit(child, inner, here)

    yield from visit(tree, "", None)


def _is_left_alone(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Assert():
            return name == "msg"
        case ast.Subscript():
            return name == "slice" and all(isinstance(part, INDEX) for part in ast.walk(node.slice))
        case ast.keyword():
            return node.arg in QUIET
        case ast.If() if ast.unparse(node.test) == "TYPE_CHECKING":
            return True
    return name in ("annotation", "returns", "decorator_list", "type_params", "type_comment", "ops", "op", "ctx")


def _is_speech(node: ast.AST) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Constant):
        return True
    return isinstance(call, ast.Call) and _name(call.func) in SPEECH


def _name(function: ast.AST) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _replacements(site: Site) -> Iterator[tuple[str, ast.AST]]:
    """Faults to put in a node's place, each with the name of its kind."""
    node = site.node
    match node:
        case ast.Constant(value=bool()):
            return
        case ast.Constant(value=int() | float() as number):
            yield from _constants(number)
        case ast.BinOp(op=ast.Add()) if any(_is_text(side) for side in (node.left, node.right)):
            return
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in ARITHMETIC:
                yield "swap", ast.BinOp(left, ARITHMETIC[type(op)](), right)
                yield "drop the right", left
            if isinstance(op, (ast.Mult, ast.Add)):
                yield "drop the left", right
            if isinstance(op, ast.Pow):
                yield "drop the power", left
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield "drop the sign", operand
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                if type(op) in SWAPPED:
                    swapped = [*ops[:i], SWAPPED[type(op)](), *ops[i + 1 :]]
                    yield "compare", ast.Compare(node.left, swapped, node.comparators)
        case ast.BoolOp(op=op, values=values):
            yield "and, or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.Call(func=function, args=[first, *_]) if _name(function) in DROPPED:
            yield "drop the call", first
        case ast.Call(func=function) if _name(function) in RENAMED:
            renamed = copy.copy(function)
            setattr(renamed, "id" if isinstance(function, ast.Name) else "attr", RENAMED[_name(function)])
            yield "rename", ast.Call(renamed, node.args, node.keywords)
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield "drop the statement", ast.Pass()
    if site.attribute == "test" and isinstance(site.parent, ast.If) and isinstance(site.parent.body[0], ast.Raise):
        yield "never", ast.Constant(False)
    elif site.attribute in ("test", "ifs") and not _is_negated_already(node):
        yield "negate", ast.UnaryOp(ast.Not(), node)


def _is_negated_already(node: ast.AST) -> bool:
    """Whether another fault of this node is its negation."""
    equality = isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
    return equality or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _constants(number: float) -> Iterator[tuple[str, ast.AST]]:
    half = number // 2 if isinstance(number, int) else number / 2
    for other in dict.fromkeys((number * 2, half, number + 1, number - 1, type(number)(0))):
        if other != number and math.isfinite(other):
            value = ast.Constant(abs(other))
            yield f"{other}", ast.UnaryOp(ast.USub(), value) if other < 0 else value


def _is_text(node: ast.AST) -> bool:
    """Whether + with this joins text or lists; an expression of them too."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_text(node.left) or _is_text(node.right)
    if isinstance(node, ast.IfExp):
        return _is_text(node.body) or _is_text(node.orelse)
    return isinstance(node, TEXT) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
