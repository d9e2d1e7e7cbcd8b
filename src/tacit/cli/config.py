"""Options from a file: tacit.toml in the working directory, or the one that --config names.

A table for each verb, a key for each option or argument, as on the command line:

    [tune]
    table = "patients.csv"
    epsilon = 1.0

    [curator.serve]
    rows = "loans.csv"

The command line beats the environment, which beats the file. A mistake in the file is refused with its place and the
nearest name that is right; a secret in it is refused too.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tacit.errors import BadInput, did_you_mean
from tacit.files import Json

FILE = "tacit.toml"
WITHOUT = ("init",)  # verbs that take nothing from a file
KINDS = ("epsilon", "rho", "mu")  # of a budget: one at a time
EARLIER = {  # names of options in files that earlier releases wrote
    "curator.serve": {
        "certificate": "tls-certificate",
        "key": "tls-key",
        "insecure": "behind-proxy",
        "rate": "rate-limit",
    },
    "pareto": {"study-name": "study"},
    "report": {"private": "show-private"},
    "train": {"rate": "class-rate"},
    "tune": {"rate": "class-rate"},
}
SECRET = {"token", "password", "passphrase", "secret"}
IN_CLEAR = re.compile(r"://[^/@\s]*:[^/@\s]+@|[?&]password=|-----BEGIN ", re.IGNORECASE)
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", Path: "text", list: "a list"}


def find_file(given: Path | None) -> Path | None:
    """The file to read: the given one, else tacit.toml if it is here."""
    return given if given is not None else Path(FILE) if Path(FILE).is_file() else None


def read(path: Path, root: Any, words: Sequence[str] = ()) -> Json:
    """The file as Click's ``default_map`` for the verbs of ``root``; BadInput for anything it cannot mean.

    ``words`` are those of the command line: a budget given there replaces the file's, of whichever kind it is.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"the configuration {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"the configuration {path} is not text in UTF-8") from None
    return parse(path, text, root, words)


def parse(path: Path, text: str, root: Any, words: Sequence[str] = ()) -> Json:
    """As ``read``, of a text that may not have been written yet."""
    import tomllib

    try:
        document = tomllib.loads(text)
    except ValueError as error:
        raise BadInput(f"the configuration {path} is not TOML: {error}") from None
    typed = {word.partition("=")[0].removeprefix("--") for word in words if word.startswith("--")}
    return _verbs(path, root, document, (), typed)


def _verbs(path: Path, group: Any, tables: Mapping[str, Any], trail: tuple[str, ...], typed: set[str]) -> Json:
    known = {name: command for name, command in group.commands.items() if name not in WITHOUT}
    values = {}
    for name, table in tables.items():
        here = (*trail, name)
        if name not in known:
            _unknown(path, "verb", f"[{'.'.join(here)}]", name, list(known))
        if not isinstance(table, dict):
            raise BadInput(f"{path}: {'.'.join(here)} must be a table, [{'.'.join(here)}], got {_kind(table)}")
        inner = known[name]
        values[name] = (_verbs if hasattr(inner, "commands") else _options)(path, inner, table, here, typed)
    return values


def _options(path: Path, command: Any, table: Mapping[str, Any], trail: tuple[str, ...], typed: set[str]) -> Json:
    """The values of one verb, by the names of its parameters."""
    parameters = {key: p.name for p in command.params for key in _keys(p) if p.name != "help"}
    hints = typing.get_type_hints(inspect.unwrap(command.callback))
    values: Json = {}
    for key, value in table.items():
        name, place = key.replace("_", "-"), f"[{'.'.join(trail)}] {key}"
        name = EARLIER.get(".".join(trail), {}).get(name, name)
        if name in SECRET:
            raise BadInput(
                f"{path}: {place}: secrets are not read from this file. Name a file that holds it (token-file = ...), "
                "or set it in the environment (TACIT_TOKEN)"
            )
        if name not in parameters:
            _unknown(path, "option", place, name, list(parameters))
        if parameters[name] in values:
            raise BadInput(f"{path}: {place} is given twice, spelled in two ways; keep one of them")
        if any(isinstance(v, str) and IN_CLEAR.search(v) for v in (value if isinstance(value, list) else [value])):
            raise BadInput(
                f"{path}: {place} holds a secret in clear, which this file may not. Leave the password out of the URL: "
                "PGPASSWORD and ~/.pgpass are read"
            )
        values[parameters[name]] = _convert(path, place, value, hints[parameters[name]], ".".join((*trail, key)))
    return _one_budget(path, trail, values, typed)


def _keys(parameter: Any) -> list[str]:
    """What a parameter is called in the file: its long option, or the name of an argument."""
    if parameter.param_type_name == "argument":
        return [parameter.name.replace("_", "-")]
    return [option.removeprefix("--") for option in parameter.opts if option.startswith("--")]


def _one_budget(path: Path, trail: tuple[str, ...], made: Json, typed: set[str]) -> Json:
    kinds = [kind for kind in KINDS if kind in made]
    if "delta" in made and kinds and "epsilon" not in kinds:
        raise BadInput(f"{path}: [{'.'.join(trail)}] delta goes with epsilon, not with {kinds[0]}; keep one budget")
    if len(kinds) > 1:
        raise BadInput(f"{path}: [{'.'.join(trail)}] gives {' and '.join(kinds)}; a budget is of one kind, keep one")
    asked = typed & set(KINDS)
    replaced = {"epsilon", "rho", "mu", "delta", "pure"} if asked and not asked & set(kinds) else set()
    replaced |= {"delta"} & made.keys() if "pure" in typed else set()
    return {name: value for name, value in made.items() if name not in replaced}


def _convert(path: Path, place: str, value: Any, hint: Any, address: str) -> Any:
    """The value as the option wants it."""
    options = [h for h in typing.get_args(hint) if h is not type(None)] if _is_union(hint) else [hint]
    wanted, inner = options[0], typing.get_args(options[0])
    kind = typing.get_origin(wanted) or wanted
    if kind is Path and isinstance(value, dict):
        return f"{path}#{address}"  # a space, written in the file itself
    if kind is list and isinstance(value, dict):
        return [f"{name}={json.dumps(v)}" for name, v in value.items()]
    if kind is tuple and isinstance(value, list) and len(value) == len(inner):
        return tuple(_convert(path, place, v, h, address) for v, h in zip(value, inner, strict=True))
    if kind is list and isinstance(value, list):
        return [_convert(path, place, v, inner[0], address) for v in value]
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is bool or isinstance(value, bool):
        right = kind is bool and isinstance(value, bool)
    else:
        right = isinstance(value, str if kind is Path else kind) if kind in WORDS else True
    if not right or kind is tuple:
        rule = f"a list of {len(inner)} numbers" if kind is tuple else WORDS.get(kind, "of another kind")
        raise BadInput(f"{path}: {place} must be {rule}, got {_kind(value)}")
    return value


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _kind(value: Any) -> str:
    named = {dict: "a table", list: "a list", str: "text", bool: "true or false"}
    return named.get(type(value)) or f"{value!r}"


def _unknown(path: Path, what: str, place: str, name: str, known: list[str]) -> NoReturn:
    meant = did_you_mean(name, known).removeprefix("; ")
    remedy = meant or f"there are {', '.join(sorted(known))}"
    raise BadInput(f"{path}: {place} is no {what}; {remedy}")
