"""What packagers read agrees with itself: versions, floors, addresses, extras."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import tacit

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOME = PROJECT["urls"]["Homepage"]


def test_the_version_is_one() -> None:
    assert f"\nversion: {tacit.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'version: "{tacit.__version__}"' in (ROOT / "conda" / "meta.yaml").read_text()


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe = (ROOT / "conda" / "meta.yaml").read_text().partition("  run:\n")[2].partition("\n\n")[0]
    asked = {line.strip("- ").replace(" ", "") for line in recipe.splitlines()} - {"python>=3.11"}
    assert asked == {need.lower() for need in PROJECT["dependencies"]}


def test_the_python_versions_are_those_that_are_tested() -> None:
    said = {c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)}
    matrix = re.search(r"python: \[(.+)\]", (ROOT / ".github" / "workflows" / "test.yml").read_text())
    assert matrix is not None
    assert said == set(re.findall(r"3\.\d+", matrix[1]))
    assert min(said) == PROJECT["requires-python"].removeprefix(">=")


def test_links_of_the_readme_are_absolute_and_lead_to_files() -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert targets
    assert all(target.startswith("https://") for target in targets)
    for target in targets:
        inside = re.match(
            rf"(?:{HOME}/blob/main|https://raw.githubusercontent.com/tacit-dp/tacit/main)/([^#]+)", target
        )
        assert inside is None or (ROOT / inside[1]).is_file(), f"README.md links to {target}"


def test_extras_that_errors_name_exist() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {
        extra
        for path in sources
        for found in re.findall(r"tacit\[([a-z,]+)\]", path.read_text())
        for extra in found.split(",")
    }
    assert named <= PROJECT["optional-dependencies"].keys()
