"""All that comes out of a run: its result to the last attribute, its error, its warnings, its logs, what it printed and
the files that it wrote.

A result is walked as pickle or a debugger would: into containers, attributes, slots, closures, bound methods, frames of
generators, and what else pickle would keep. What is found is a mapping from a path to a leaf that can be compared, or
searched.
"""

from __future__ import annotations

import array
import contextlib
import contextvars
import datetime
import decimal
import enum
import functools
import io
import logging
import os
import random
import struct
import sys
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.identity import hold_date
from tacit.files import Json

LEAVES = (type(None), bool, int, float, complex, str, bytes, bytearray, decimal.Decimal, datetime.date, datetime.time)
TIMES = (datetime.timedelta, datetime.tzinfo, np.generic, range, slice)
NAMED = (type, types.ModuleType, types.BuiltinFunctionType, types.MethodDescriptorType, types.CodeType, enum.Enum)
FRAMES = ("gi_frame", "cr_frame", "ag_frame")  # of generators, coroutines and asynchronous generators
HEAP = 1 << 9  # flag of a class that Python code made
MOST = 200_000  # nodes of one result; a larger one is not a release


@dataclass
class Seen:
    """What an observer saw of one run."""

    leaves: dict[str, tuple[str, Any]] = field(default_factory=dict)  # path -> type and content
    error: str | None = None
    result: Any = None
    warned: list[warnings.WarningMessage] = field(default_factory=list)


def observe(run: Callable[[], Any], skip: tuple[Any, ...] = ()) -> Seen:
    """Run, and note all that comes out; objects in ``skip`` are not walked into. An error is part of what is seen.

    Edges. Global generators of random numbers start the same way each time, so that public randomness repeats. Files
    count that Python's own ``open`` wrote, but for those in a folder named private. Not seen are times, databases,
    variables of modules and of the environment, and what other processes do; all releases bear one date.
    """
    seen, out, err, lines = Seen(), io.StringIO(), io.StringIO(), list[str]()
    raised: Exception | None = None
    states = random.getstate(), np.random.get_state()
    random.seed(0)
    np.random.seed(0)
    try:
        with (
            warnings.catch_warnings(record=True) as warned,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            _collect_logs(lines),
            _collect_files() as written,
            hold_date(),
        ):
            warnings.simplefilter("always")
            try:
                seen.result = run()
            except Exception as error:
                seen.error, raised = f"{type(error).__name__}: {error}", error
        seen.warned = list(warned)
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
    output: Json = {"warnings": [f"{w.category.__name__}: {w.message}" for w in warned], "log": lines}
    output |= {"stdout": out.getvalue().splitlines(), "stderr": err.getvalue().splitlines()}
    output["raised"] = raised
    output["files"] = [p.read_bytes() for p in map(Path, written) if p.is_file() and "private" not in p.parts]
    seen.leaves = dict(walk(seen.result, "result", skip)) | dict(walk(output, "told", skip))
    return seen


_opened: list[list[str]] = []  # one list for each observer at work


def _note_open(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and _opened and isinstance(given[0], str) and given[2] & (os.O_WRONLY | os.O_RDWR):
        for paths in _opened:
            if given[0] not in paths:
                paths.append(given[0])


@functools.lru_cache(maxsize=1)
def _listen_to_open() -> None:
    sys.addaudithook(_note_open)  # it stays, and does nothing while nobody observes


@contextlib.contextmanager
def _collect_files() -> Iterator[list[str]]:
    """Paths that are opened to be written to, in their order."""
    _listen_to_open()
    paths: list[str] = []
    _opened.append(paths)
    try:
        yield paths
    finally:
        _opened.remove(paths)


@contextlib.contextmanager
def _collect_logs(lines: list[str]) -> Iterator[None]:
    """Every line that any logger writes, also of those that pass nothing on."""

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.name}: {record.getMessage()}")

    listener = Listener()
    known = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict)]
    heard = [logging.root, *(logger for logger in known if not logger.propagate)]
    for logger in heard:
        logger.addHandler(listener)
    try:
        yield
    finally:
        for logger in heard:
            logger.removeHandler(listener)


def walk(value: Any, name: str = "", skip: tuple[Any, ...] = ()) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Every leaf that can be reached from a value, with its path. Each object once.

    >>> [path for path, _ in walk({"a": [1, 2.5]}, "x")]
    ['x.keys[0]', "x['a'][0]", "x['a'][1]"]
    """
    waiting, known, count = deque([(name, value)]), {id(s) for s in skip}, 0
    held = []  # so that no id is used twice
    while waiting:
        path, this = waiting.popleft()
        if isinstance(this, (*LEAVES, *TIMES)):
            yield path, (type(this).__name__, _content(this))
            continue
        if id(this) in known:
            continue
        known.add(id(this))
        held.append(this)
        count += 1
        if count > MOST:
            yield path, ("unread", "more than can be walked")
            return
        if isinstance(this, (array.array, memoryview)):
            yield path, (type(this).__name__, this.tobytes())
        elif isinstance(this, np.ndarray) and this.dtype != object:
            yield path, (f"{this.dtype}{this.shape}", this.view(np.ndarray).tobytes())
            hidden = ((".base", this.base), *_attributes(this))  # a view's array, a mask
            waiting.extend((path + step, part) for step, part in hidden if part is not None)
        elif isinstance(this, NAMED) and not _bound(this) and not _is_made_here(this):
            named: Any = this
            yield path, (type(named).__name__, str(getattr(named, "__qualname__", getattr(named, "__name__", ""))))
        else:
            inside = list(_inside(this))
            if not inside:
                yield path, (type(this).__qualname__, "")
            waiting.extend((path + step, part) for step, part in inside)


def _bound(this: Any) -> bool:
    """Whether it is a method in C of some object."""
    home = getattr(this, "__self__", None)
    return isinstance(this, types.BuiltinFunctionType) and home is not None and not isinstance(home, types.ModuleType)


def _is_made_here(this: Any) -> bool:
    """Whether it is a class that was made in a run, and not one that a module has."""
    if not isinstance(this, type):
        return False
    home: Any = sys.modules.get(this.__module__)
    for name in this.__qualname__.split("."):
        home = getattr(home, name, None)
    return home is not this and bool(this.__flags__ & HEAP)


def _content(leaf: Any) -> Any:
    if isinstance(leaf, (str, bytes)):
        return leaf
    return repr(leaf) if leaf == leaf or not isinstance(leaf, float) else struct.pack("<d", leaf)  # one NaN of many


def _inside(this: Any) -> Iterator[tuple[str, Any]]:
    """The parts of an object and how to get to them."""
    if isinstance(this, Mapping):
        yield from ((f".keys[{i}]", k) for i, k in enumerate(this))
        yield from ((f"[{k!r}]" if isinstance(k, (str, int)) else f"[{i}]", this[k]) for i, k in enumerate(this))
    elif isinstance(this, (list, tuple, deque)):
        yield from ((f"[{i}]", part) for i, part in enumerate(this))
    elif isinstance(this, (set, frozenset)):
        yield from ((f"{{{i}}}", part) for i, part in enumerate(sorted(this, key=repr)))
    elif isinstance(this, np.ndarray):
        yield from ((f"[{i}]", part) for i, part in enumerate(this.ravel().tolist()))
    elif isinstance(this, contextvars.Context):
        yield from ((f"[{i}]", pair) for i, pair in enumerate(sorted(this.items(), key=lambda pair: pair[0].name)))
    elif isinstance(this, type):
        yield ".name", this.__qualname__
        yield from ((f".{name}", part) for name, part in vars(this).items() if name not in ("__dict__", "__weakref__"))
    elif isinstance(this, types.FunctionType):
        yield ".attributes", this.__dict__
        yield from ((f".closure[{i}]", _cell(cell)) for i, cell in enumerate(this.__closure__ or ()))
        yield from ((".defaults", this.__defaults__), (".named", this.__kwdefaults__), (".name", this.__qualname__))
    elif isinstance(this, types.MethodType) or _bound(this):
        yield from ((".self", this.__self__), (".function", getattr(this, "__func__", this.__name__)))
    elif isinstance(this, functools.partial):
        yield from ((".function", this.func), (".given", this.args), (".named", this.keywords))
    elif hasattr(this, "to_numpy") and hasattr(this, "index"):  # a pandas frame or series
        yield from ((".index", np.asarray(this.index)), (".values", this.to_numpy()))
        yield from ((".columns", list(getattr(this, "columns", []))), (".attrs", this.attrs))
        kinds = this.dtypes if hasattr(this, "columns") else [this.dtype]
        yield (
            ".kinds",
            [getattr(kind, "categories", None) if hasattr(kind, "categories") else str(kind) for kind in kinds],
        )
    else:
        seen = list(_attributes(this))
        frames = ((name, getattr(this, name, None)) for name in FRAMES)
        yield from (*seen, *((f".{name}", frame.f_locals) for name, frame in frames if frame is not None))
        if not seen or not all(kind.__flags__ & HEAP for kind in type(this).__mro__[:-1]):
            yield from _pickle_parts(this)  # C code may hide what pickle keeps


def _pickle_parts(this: Any) -> Iterator[tuple[str, Any]]:
    """What pickle would keep of an object; nothing of one that it refuses."""
    try:
        reduced = this.__reduce_ex__(4)
    except Exception:
        return
    for i, part in enumerate(reduced[1:] if isinstance(reduced, tuple) else ()):
        yield f".pickled[{i}]", list(islice(part, MOST)) if i > 1 and part is not None else part


def _attributes(this: Any) -> Iterator[tuple[str, Any]]:
    for name, part in sorted(getattr(this, "__dict__", {}).items(), key=lambda item: str(item[0])):
        yield f".{name}", part
    for kind in type(this).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            mangled = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and name[-2:] != "__" else name
            if name != "__weakref__" and name != "__dict__" and hasattr(this, mangled):
                yield f".{name}", getattr(this, mangled)
    if isinstance(this, BaseException):
        yield from ((".args", this.args), (".cause", this.__cause__), (".context", this.__context__))


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
