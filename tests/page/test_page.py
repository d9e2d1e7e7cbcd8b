"""A page is one file that asks for nothing, escapes what it shows, and tells which of its parts changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from tacit.errors import BadInput
from tacit.page import Page, embed_json, policy, render_parts, ui

HOSTILE = '</script><script>alert("1")</script>'


def test_a_page_without_a_script_holds_none_and_its_policy_allows_none() -> None:
    html = Page(HOSTILE, {"head": "<h1>x</h1>"}, over=HOSTILE).html()
    assert "<script" not in html
    assert "script-src 'none'" in html
    assert "connect-src" not in html


def test_a_script_is_allowed_by_its_hash_alone() -> None:
    html = Page("t", {}, script="let a = 1;", data={"x": HOSTILE}).html()
    assert re.search(r"script-src 'sha256-[^']+'", html)
    assert html.count("<script") == 2  # the data, which is no program, and the script
    assert json.loads(embed_json({"x": HOSTILE})) == {"x": HOSTILE}
    assert "<" not in embed_json({"x": HOSTILE})


def test_only_a_page_that_asks_may_make_requests() -> None:
    assert "connect-src 'self'" in Page("t", {}, script="1", asks=True).html()
    assert "connect-src 'self'" in Page("t", {}).html(live="t.json")
    assert "frame-ancestors 'none'" in policy([])


def test_a_part_that_changed_has_another_mark_and_the_others_have_not() -> None:
    before, after = (Page("t", {"a": "1", "b": b}).to_json() for b in ("2", "3"))
    assert before["parts"]["a"] == after["parts"]["a"]
    assert before["parts"]["b"][0] != after["parts"]["b"][0]
    assert before["mark"] != after["mark"]
    assert before["shape"] == after["shape"] != Page("t", {"a": "1"}).shape


def test_cells_are_escaped_unless_they_are_html_already() -> None:
    shown = (
        ui().table(["a", HOSTILE], [[HOSTILE, 1]]) + ui().pairs([(HOSTILE, HOSTILE)]) + ui().figures([("a", HOSTILE)])
    )
    assert HOSTILE not in shown
    assert "<br>" in ui().table(["a"], [[Markup("x<br>y")]])


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    made = ui().table(["name", "value"], [["a", 0.123456]], words=["name"])
    assert '<td>a</td><td class="n">0.1235</td>' in made


def test_figures_keep_short_numbers_on_one_line() -> None:
    assert 'class="nobreak"' in ui().figures([("score", "0.29 ± 0.02 (95%)")])
    assert "<dd><" not in ui().figures([("unit", "one validation record replaced")])


def test_a_template_that_lacks_a_value_is_an_error_and_no_empty_text() -> None:
    with pytest.raises(UndefinedError):
        render_parts("attack.html", size="x", heads=["a"])


def test_a_page_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        Page("t", {}).write(tmp_path / "no" / "t.html")
