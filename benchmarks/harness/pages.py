"""Write the pages that kept results fill, and their pictures. The same JSON gives the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path

from benchmarks.harness.papers_page import page as papers
from benchmarks.harness.pictures import drawn
from benchmarks.harness.reading import chosen, measured, shown
from benchmarks.harness.results_page import Documents, table
from benchmarks.harness.results_page import pages as results_pages
from benchmarks.harness.runner import is_current, read_result

FILLED = re.compile(r"(<!-- figures: (?P<spec>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)
VALUE = re.compile(r"(<!-- value: (?P<spec>[^>]+) -->).*?(<!-- / -->)", re.DOTALL)


def documents(results: Path) -> Documents:
    return {p.stem: json.loads(p.read_text()) for p in sorted(results.glob("*.json"))}


def made(results: Path, docs: Path, current: Collection[str]) -> dict[str, str]:
    """Every page and picture by its path below docs. A page of prose keeps its words; its tables are filled."""
    known = documents(results)
    pictures = drawn(known, results)
    pages = results_pages(known, sorted(pictures), current) | {"papers.md": papers(known, sorted(pictures), current)}
    for page in sorted([*docs.glob("*.md"), *docs.glob("proofs/*.md")]):
        if FILLED.search(text := page.read_text()) or VALUE.search(text):
            pages[str(page.relative_to(docs))] = filled(text, known)
    return pages | {f"pictures/{name}": svg for name, svg in pictures.items()}


def filled(text: str, known: Documents) -> str:
    """A page with what stands between its markers made anew.

    A table stands between ``<!-- figures: BENCHMARK | PATTERN -->`` and ``<!-- end -->``, one value in a sentence
    between ``<!-- value: BENCHMARK | NAME -->`` and ``<!-- / -->``; a value that is not kept is a question mark.
    """

    def one(found: re.Match[str]) -> str:
        name, pattern = (part.strip() for part in found["spec"].split("|"))
        rows = [[r.name, measured(r), r.against, r.note] for r in chosen(known.get(name, {}), [pattern])]
        lines = (
            table(["what", "measured", "against", "note"], rows)
            if rows
            else [f"Missing: `python -m benchmarks {name}`", ""]
        )
        return found[1] + "\n" + "\n".join(lines) + found[3]

    def value(found: re.Match[str]) -> str:
        name, pattern = (part.strip() for part in found["spec"].split("|"))
        rows = chosen(known.get(name, {}), [pattern])
        return found[1] + (shown(rows[0].value) if rows else "?") + found[3]

    return VALUE.sub(value, FILLED.sub(one, text))


def write(results: Path, docs: Path) -> None:
    kept = {path.stem: read_result(path.stem, results).get("repeats", 0) for path in results.glob("*.json")}
    pages = made(results, docs, [name for name, repeats in kept.items() if is_current(name, results, repeats)])
    for folder in ("pictures", "results"):
        (docs / folder).mkdir(parents=True, exist_ok=True)
    for old in (docs / "results").glob("*.md"):
        if f"results/{old.name}" not in pages:
            old.unlink()
    for old in (docs / "pictures").glob("results-*.svg"):
        if f"pictures/{old.name}" not in pages:
            old.unlink()
    for name, text in pages.items():
        (docs / name).write_text(text)
    print(f"wrote results.md, papers.md, scale.md and {len(pages)} files in all")
