"""The pages tell the truth: links lead somewhere, commands and options exist, snippets compile, marked ones run.

A fence of shell lines is checked against the command itself. A Python fence after ``<!-- runs -->`` is run, with the
names of ``doc_names``.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from doc_names import names

import tacit
from tacit.cli import app
from tacit.space import Space

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*TOP, *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"(?P<runs><!-- runs -->\s*)?^```(?P<kind>\w*)[^\n]*\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r'^--8<-- "(.+)"$', re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s*(\S+)$", re.MULTILINE)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def fences(page: Path, *kinds: str) -> Iterator[re.Match[str]]:
    return (f for f in FENCE.finditer(page.read_text(encoding="utf-8")) if f["kind"] in kinds)


def anchors(page: Path) -> set[str]:
    """What can follow # in a link to this page: its headings, as both GitHub and the site spell them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"[`*]|\[(.+?)\]\(.+?\)", r"\1", h) for h in headings]
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", h).strip().lower()) for h in plain}


def test_every_relative_link_leads_to_a_file_and_a_heading() -> None:
    for page in PAGES:
        text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
        for found in LINK.finditer(text):
            target = found[1] or found[2]
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            there = (page.parent / file).resolve() if file else page
            assert there.is_file(), f"{named(page)} links to {target}"
            assert not anchor or anchor in anchors(there), f"{named(page)} links to {target}: no such heading"


def test_every_file_that_is_named_exists() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"\bexamples/\w+\.py\b", text) + INCLUDED.findall(text):
            assert (ROOT / name).is_file(), f"{named(page)} names {name}"
        for name in re.findall(r"\b(?:tests|benchmarks|src)/[\w/]+\.py\b", text):
            assert (ROOT / name).is_file(), f"{named(page)} names {name}"
        for name in re.findall(r"python -m benchmarks ([a-z]\w+)", text):
            assert list((ROOT / "benchmarks").glob(f"*/{name}.py")), f"{named(page)} names the benchmark {name}"


def test_every_page_is_in_the_navigation_and_nothing_else_is() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert set(re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)) == {
        page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if page.parent.name != "results"
    }  # raw tables of results are reached from their page


def test_every_tutorial_includes_an_example() -> None:
    tutorials = sorted((DOCS / "tutorials").glob("*.md"))
    assert len(tutorials) >= 7
    assert all(INCLUDED.findall(tutorial.read_text(encoding="utf-8")) for tutorial in tutorials)


def test_the_officers_table_is_what_guarantees_say() -> None:
    rows = re.findall(
        r"^\| ([\d.]+) \| ([\d.]+)% \| ([\d.]+)% \|$", (DOCS / "officer.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) == 5
    for epsilon, gaussian, any_mechanism in rows:
        budget = tacit.Budget.approximate(float(epsilon), 1e-6)
        powers = (tacit.Guarantee(tacit.Budget.gdp(budget.mu())).power(), tacit.Guarantee(budget).power())
        assert (gaussian, any_mechanism) == tuple(f"{math.ceil(1000 * power) / 10}" for power in powers)  # rounded up


def commands(page: Path) -> Iterator[list[str]]:
    """The words of each call of tacit in the page's fences of shell lines, and in its inline code."""
    text = page.read_text(encoding="utf-8")
    lines = "\n".join(f["body"] for f in fences(page, "", "sh", "bash", "shell", "console")).replace("\\\n", " ")
    inline = re.findall(r"`(tacit [a-z][^`]*)`", FENCE.sub("", text))
    for line in [*lines.splitlines(), *(" ".join(code.split()) for code in inline)]:
        line = re.sub(r"^\s*\$ ", "", line).strip()
        if re.match(r"tacit [a-z-]", line):
            yield from (shlex.split(call, comments=True) for call in line.split(", tacit "))


@cache
def the_command() -> Any:
    return typer.main.get_command(app)


def test_every_command_has_the_verbs_and_options_that_are_told_of() -> None:
    for page in PAGES:
        for words in commands(page):
            at = the_command()
            words = words[1:] if words[0] == "tacit" else words
            while words and hasattr(at, "commands"):
                assert words[0] in at.commands or words[0].startswith("-"), (
                    f"{named(page)}: tacit has no verb {words[0]}"
                )
                if words[0].startswith("-"):
                    break
                at, words = at.commands[words[0]], words[1:]
            known = {option for p in at.params for option in (*p.opts, *p.secondary_opts)} | {"--help"}
            for word in words:
                option = word.partition("=")[0]
                if option.startswith("--"):
                    assert option in known, f"{named(page)}: {at.name} has no option {option}"


def test_every_python_snippet_compiles() -> None:
    for page in PAGES:
        for found in fences(page, "python"):
            body = INCLUDED.sub("", found["body"])
            compile(body, f"{named(page)}, snippet", "exec")


@pytest.mark.parametrize("page", [p for p in PAGES if "<!-- runs -->" in p.read_text(encoding="utf-8")], ids=named)
@pytest.mark.filterwarnings("ignore::tacit.errors.PrivacyWarning")  # some pages show the little noise of a large budget
def test_a_marked_snippet_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number, found in enumerate(f for f in fences(page, "python") if f["runs"]):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        body = re.sub(r"trials=\d+", "trials=8", found["body"])  # as it is told, but shorter
        exec(compile(body, f"{named(page)}, snippet", "exec"), names(body))


def paste(page: Path, folder: Path) -> None:
    """Every block of a page in order, as a reader pastes them into an empty folder: no name is given to them."""
    session: dict[str, Any] = {}
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for found in fences(page, "python", "sh"):
        if found["kind"] == "python":
            exec(compile(found["body"], f"{named(page)}, block", "exec"), session)
            continue
        lines = [line for line in found["body"].splitlines() if not line.startswith(("pip install", "python -m venv"))]
        done = subprocess.run(
            ["bash", "-ec", "\n".join(lines)], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{named(page)}: {lines}\n{done.stderr}"


@pytest.mark.parametrize(
    "name", ["docs/quickstart.md", pytest.param("docs/quickstart-table.md", marks=pytest.mark.slow)]
)
def test_a_quickstart_runs_as_it_stands(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paste(ROOT / name, tmp_path)


def test_the_readmes_first_block_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(next(fences(ROOT / "README.md", "python"))["body"], "README.md", "exec"), {})
    assert (tmp_path / "digits-release" / "certificate.json").is_file()


def test_every_file_of_a_space_can_be_read(tmp_path: Path) -> None:
    for page in PAGES:
        for found in fences(page, "toml"):
            if "# space.toml" in found["body"]:
                (tmp_path / "space.toml").write_text(found["body"])
                assert Space.read(tmp_path / "space.toml").dimensions > 0


def test_every_public_name_is_in_the_reference() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    listed = set(re.findall(r"^::: (\S+)$", text, re.MULTILINE))
    wanted = {f"tacit.{name}" for name in tacit.__all__ if not name.startswith("_")}
    wanted -= {"tacit.audit", "tacit.pareto", "tacit.metrics"}
    wanted |= {f"tacit.metrics.{name}" for name in tacit.metrics.__all__ if name.islower() and name != "zero_one"}
    wanted |= {f"tacit.audit.{name}" for name in tacit.audit.__all__}
    wanted |= {f"tacit.pareto.{name}" for name in tacit.pareto.__all__}
    assert wanted <= listed, f"not in docs/reference: {sorted(wanted - listed)}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: a warning is an error."""
    out = tmp_path_factory.mktemp("site")
    call = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + "\n(needs the extra docs: make docs)"
    return out


@pytest.mark.slow
def test_the_site_fetches_nothing_from_others(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        fetched = re.findall(r'<(?:script|img|iframe)[^>]+src="(.+?)"|<link[^>]+href="(.+?)"', page.read_text("utf-8"))
        assert not [a or b for a, b in fetched if re.match(r"(https?:)?//", a or b)], page


@pytest.mark.slow
def test_sections_of_docstrings_are_paragraphs(site: Path) -> None:
    page = (site / "reference" / "tuning.html").read_text("utf-8")
    assert "<p><strong>Guarantee.</strong>" in page
    assert "<p><strong>Edges.</strong>" in page


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium browser on the PATH (apt install chromium)")
def test_search_finds_a_page_without_a_server(site: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page, errors = browser.new_page(), list[str]()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("requestfailed", lambda request: errors.append(request.url))
        page.goto((site / "tutorials" / "publish.html").as_uri(), wait_until="load")
        page.locator("input.md-search__input").first.click()
        page.keyboard.type("adagrad", delay=50)
        page.wait_for_selector(".md-search-result__item", timeout=30_000)
        assert "GIBO" in page.locator(".md-search-result__list").inner_text()
        browser.close()
    assert errors == []
    assert json.loads((site / "search" / "search_index.json").read_text())["docs"]
