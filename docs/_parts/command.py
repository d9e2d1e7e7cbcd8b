"""Writes the command reference into its page when the site is built (a hook of MkDocs)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

MARK = "<!-- command -->"


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Put the verbs in the place of the mark."""
    if MARK not in markdown:
        return markdown
    from tacit.cli import app

    root: Any = typer.main.get_command(app)
    return markdown.replace(MARK, "\n".join(list_verbs(root, "tacit")))


def list_verbs(command: Any, name: str) -> Iterator[str]:
    """Markdown of a command, or of all commands in it."""
    if hasattr(command, "commands"):
        for word, inner in sorted(command.commands.items()):
            yield from list_verbs(inner, f"{name} {word}")
        return
    yield f"## {name}\n"
    help_text = re.sub(r"\x08|\\b", "", command.help or "").strip()
    words, _, examples = help_text.partition("Example")
    yield " ".join(words.split()) + "\n"
    lines = examples.partition(":")[2].strip("\n")
    if lines.strip():
        yield f"```sh\n{lines}\n```\n"
    if command.params:
        yield "| option | meaning | default |\n| --- | --- | --- |"
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
        shown = names if parameter.param_type_name == "option" else f"`{parameter.name.upper()}`"
        about = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
        yield f"| {shown} | {about} | {describe_default(parameter)} |"
    yield ""


def describe_default(parameter: Any) -> str:
    """The default as a person types it."""
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value is False or value == () or callable(value):
        return ""
    return f"`{value}`"
