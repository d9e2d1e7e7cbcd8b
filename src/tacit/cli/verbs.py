"""How a function becomes a verb: its option groups are dataclasses, and its help is grouped and shows no Python type.

A parameter of the function that is a dataclass stands for the options of its fields:

    def train_command(table: TableOptions, budget: BudgetOptions, runs: Annotated[float, typer.Option()] = 40.0): ...
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
import typer.core

WORDS = {float: "NUMBER", int: "N", str: "TEXT", Path: "FILE", tuple: "LOW HIGH"}  # of a value, by its type
COLUMNS = dict.fromkeys(("target", "person", "drop"), "COLUMN")
NAMES = dict.fromkeys(("model", "metric", "method", "algorithm", "study", "ledger_name", "goal", "game"), "NAME")
OWN = {**COLUMNS, **NAMES, "out": "FOLDER", "storage": "URL", "ledger": "PATH", "reference": "EPSILON ERROR"}


class Verb(typer.core.TyperCommand):
    """A command whose help has a section for each group of options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            argument = parameter.param_type_name == "argument"
            title = "Arguments" if argument else getattr(parameter, "rich_help_panel", None) or "Options"
            if record is not None:
                text = fill_lists(record[1])
                named = (str(parameter.metavar) if argument else record[0], text)
                sections.setdefault(title, []).append(named)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def fill_lists(text: str) -> str:
    """A help text with the lists that it names: they are loaded where a person reads them, and nowhere else."""
    from tacit.cli.options import metric_names, model_names

    for name, names in (("{metrics}", metric_names), ("{models}", model_names)):
        text = text.replace(name, ", ".join(names())) if name in text else text
    return text


class Verbs(typer.Typer):
    """A group of verbs."""

    def command(self, name: str | None = None, **about: Any) -> Callable[[Any], Any]:
        """Register a function, its option groups spread out."""
        return lambda function: super(Verbs, self).command(name, cls=Verb, **about)(spread_groups(function))


def spread_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with an option for each field of each group, which puts the groups together again."""
    hints = typing.get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if dataclasses.is_dataclass(kind):
            groups[parameter.name] = kind
            parameters += _options_of(kind)
        else:
            parameters.append(_option(parameter.name, parameter.default, kind))

    def call(**given: Any) -> Any:
        built = {
            name: kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
            for name, kind in groups.items()
        }
        return function(**built, **given)

    call.__name__, call.__doc__, call.__module__ = function.__name__, function.__doc__, function.__module__
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    options = []
    for field in dataclasses.fields(group):
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        options.append(_option(field.name, default, hints[field.name], group.TITLE))
    return options


def _option(name: str, default: Any, hint: Any, title: str | None = None) -> inspect.Parameter:
    """A parameter as Typer reads it, with the section of its help and a word for its value."""
    kind, *marks = typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
    if marks:
        option = copy.copy(marks[0])
        option.rich_help_panel = option.rich_help_panel or title
        argument = isinstance(option, typer.models.ArgumentInfo)
        option.metavar = option.metavar or (name.upper() if argument else OWN.get(name) or _word(kind))
        hint = typing.Annotated[kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _word(kind: Any) -> str | None:
    inner = [k for k in typing.get_args(kind) if k is not type(None)]
    if typing.get_origin(kind) is tuple or kind in WORDS:
        return WORDS[tuple if typing.get_origin(kind) is tuple else kind]
    return _word(inner[0]) if inner else None
