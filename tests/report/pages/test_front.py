"""The front's page: well formed, self-contained, escaped, and plain about who may see it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tacit import Budget, Guarantee
from tacit.errors import BadInput
from tacit.pareto import Comparison, Front, Point
from tacit.report.pages.front import page, write

VOID = {"meta", "input", "br"}


class Checked(HTMLParser):
    """Every element is closed in order; remembers ids and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "action"):
                self.addresses.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def front(name: str = "sgd", label: str = "no sampling, one record replaced", **about: object) -> Front:
    points = (
        Point.of({"rate": 0.1, "model": "svm"}, 0.5, [0.6, 0.7]),
        Point.of({"rate": 0.2, "model": "log"}, 2.0, [0.8]),
    )
    return Front(points, label, 1e-6, name=name, **about)  # type: ignore[arg-type]


def test_the_page_is_well_formed_and_asks_for_nothing() -> None:
    text = page([front("sgd"), front("adam")]).html()
    reader = Checked()
    reader.feed(text)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.addresses == []
    outside = re.findall(r"https?://[^\"' ]+", text)
    assert set(outside) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "default-src 'none'" in text


def test_the_page_holds_what_its_slider_shows() -> None:
    text = page(front()).html()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])  # type: ignore[index]
    point = data["fronts"][0]["points"][0]
    assert (point["epsilon"], point["worst"], point["best"]) == (0.5, 0.6, 0.7)
    assert point["params"] == {"rate": 0.1, "model": "svm"}
    assert data["low"] < 0.5 < 2.0 < data["high"]


def test_the_page_says_not_private_first() -> None:
    text = page(front()).html()
    assert text.index("NOT PRIVATE") < text.index("<body>")
    assert text.count("NOT PRIVATE") >= 3
    assert "NOT PRIVATE" in json.dumps(text[text.index('id="data"') :])


def test_a_private_front_says_its_guarantee_and_what_it_leaves_open() -> None:
    guarantee = Guarantee(Budget.approximate(1.0, 1e-6), "one test record replaced")
    text = page(front(guarantee=guarantee)).html()
    assert "NOT PRIVATE" not in text
    assert "epsilon = 1" in text
    assert "Training records are NOT protected" in text


def test_names_are_escaped_everywhere() -> None:
    bad = "</script><script>alert(1)</script>"
    text = page(front(bad, label=bad)).html()
    assert "<script>alert" not in text


def test_different_kinds_are_refused_or_told_apart() -> None:
    both = [front("one"), front("two", "Poisson-sampled lots, one record added or removed")]
    with pytest.raises(BadInput, match="different quantities"):
        page(both)
    assert "cannot be compared by size" in page(both, mixed=True).html()
    assert "cannot be compared by size" in page(Comparison(both, mixed=True)).html()


def test_an_empty_front_and_failed_points_have_a_page(tmp_path: Path) -> None:
    empty = Front((), "label", 0.0, failed=({"rate": 1.0},))
    assert "1 points failed twice" in write(empty, tmp_path / "p.html").read_text()
    with pytest.raises(BadInput, match="cannot be written"):
        write(empty, tmp_path / "no" / "p.html")
