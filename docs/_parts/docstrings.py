"""How docstrings become Markdown: sections get a paragraph each, doctests and tables of words keep their columns."""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^(Guarantee|Follows|Differs|Edges)\. ", re.MULTILINE)
PROOF = re.compile(r"docs/proofs/([a-z-]+)\.md")
COLUMNS = re.compile(r"\S {2,}\S")


def markdown(text: str) -> str:
    """A docstring of this project as Markdown."""
    linked = PROOF.sub(r"[docs/proofs/\1.md](../proofs/\1.md)", text.strip())  # the reference is one folder of pages
    blocks = re.split(r"\n[ \t]*\n", SECTION.sub(r"\n**\1.** ", linked))
    return "\n\n".join(_block(block.strip("\n")) for block in blocks)


def _block(block: str) -> str:
    lines = block.splitlines()
    if lines and lines[0].lstrip().startswith(">>>"):
        return f"```pycon\n{block}\n```"
    if any(COLUMNS.search(line) for line in lines):
        return f"```text\n{block}\n```"
    return block


class Docstrings(griffe.Extension):
    """Rewrites each docstring once, when its object is loaded."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
