"""What a notebook shows: the page's charts and words, and no script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.report.notebook import wrap


def test_releases_plans_fronts_and_ledgers_are_drawn(tmp_path: Path) -> None:
    budget = tacit.Budget.approximate(1.0, 1e-6)
    release = tacit.tune(
        lambda p: np.full(5000, (p["x"] - 0.3) ** 2),
        {"x": tacit.Float(0.0, 1.0)},
        records=5000,
        bounds=(0.0, 1.0),
        budget=budget,
        trials=6,
        progress=False,
    )
    with tacit.Ledger.open(tmp_path / "l.db", "icu", tacit.Budget.gdp(1.0)) as ledger:
        ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.6)), "<b>a mean</b>")
        drawn = [release._repr_html_(), ledger._repr_html_()]
    drawn.append(tacit.plan(records=500, trials=10, dimensions=2, budget=budget)._repr_html_())
    point = tacit.pareto.front.Point.of({"x": 1.0}, 0.5, [0.7, 0.8])
    drawn.append(tacit.pareto.Front((point,), "one record replaced", 1e-5)._repr_html_())
    for html in drawn:
        assert "<svg" in html
        assert "<script" not in html
        assert html.count("<div") == html.count("</div>")
    assert "&lt;b&gt;a mean&lt;/b&gt;" in drawn[1]
    assert "NOT PRIVATE" in drawn[3].upper()
    assert "0.25" in tacit.Release(0.25, release.guarantee)._repr_html_()


def test_the_style_stays_within_its_output() -> None:
    made = wrap("<p>x</p>")
    assert made.startswith('<div class="tacit"><style>.tacit {')
    assert ":root" not in made
    assert "body {" not in made
    assert "@page" not in made


NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_was_run_and_shows_no_machine(path: Path) -> None:
    text = path.read_text()
    assert '"output_type": "error"' not in text
    assert '"execution_count": 1' in text
    for place in ("/tmp", "/root", "/home", "/work", "site-packages"):
        assert place not in text
    assert len(text) < 200_000


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path: Path) -> None:
    nbformat, client = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.read(path, as_version=4)
    client.NotebookClient(book, timeout=600, kernel_name="python3").execute(cwd=str(path.parents[2]))
