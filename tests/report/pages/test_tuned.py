"""The report of a run: one file that opens offline, repeats only what was released, and cannot be made to lie."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import BadInput
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.release import Payment, Release
from tacit.report.pages.tuned import page, write

VOID = {"meta", "br", "hr", "img", "input", "link"}
SURE = Guarantee(Budget.gdp(0.25), unit="one validation record replaced", source="a theorem")
HOSTILE = "<script>alert('4711')</script><img src=http://evil.example/x onerror=alert(1)>\"'&"


class Reader(HTMLParser):
    """Checks that tags balance, and keeps tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def certificate(
    values: list[float] | None = None, guarantee: Guarantee = SURE, paid: bool = False, **other: Any
) -> dict[str, Any]:
    values = [0.31, 0.28, 0.3] if values is None else values
    params = {"rate": 0.012345678, "loss": "hinge"}
    given: dict[str, Any] = {"params": params, "loss": 0.2875, "method": "observed", "direction": "minimize"}
    given |= {"deviation": 0.01, "noise": 0.02, "trials": [{"params": params, "value": v} for v in values], **other}
    payment = Payment("an-id", "icu <4711>", 3, "ab" * 32) if paid else None
    return Release(Tuned(**given), guarantee, payment).certificate()


CASES: dict[str, dict[str, Any]] = {
    "usual": {},
    "paid": {"paid": True},
    "one observation": {"values": [0.3]},
    "equal values without noise": {"values": [0.3, 0.3], "noise": 0.0, "loss": 0.3},
    "negative values": {"values": [-3.5, -1e-12, -7.0], "loss": -3.0},
    "huge values": {"values": [1e300, -1e300], "loss": 0.0, "noise": 1e299},
    "tiny values": {"values": [1e-300, 2e-300], "loss": 1e-300, "noise": 1e-301},
    "hidden observations": {"values": [], "noise": None, "deviation": None},
    "no score": {"values": [], "loss": None, "deviation": None, "noise": None},
    "hostile": {"params": {HOSTILE: HOSTILE, "n": 3}, "method": HOSTILE, "details": {"score": HOSTILE}},
    "hostile trials": {"trials": [{"params": {HOSTILE: HOSTILE}, "value": 0.5}]},
    "hostile guarantee": {"guarantee": Guarantee(Budget.pure(1.0), HOSTILE, (HOSTILE,), HOSTILE)},
    "no guarantee": {"guarantee": Guarantee.none("the search saw exact scores")},
    "odd options": {"params": {"layers": None, "wide": True, "many": 10**30}},
}


@pytest.mark.parametrize("case", CASES)
def test_a_page_is_well_formed_self_contained_and_drawn_with_numbers(case: str) -> None:
    text = page(certificate(**CASES[case])).html()
    read = Reader(text)
    assert read.tags[:2] == ["html", "head"]
    assert not {"script", "link", "iframe", "img", "object", "embed", "base", "form"} & set(read.tags)
    assert not {"src", "href", "action", "srcset", "onerror", "onload", "data"} & {name for name, _ in read.attributes}
    assert not any(re.search("https?:|url\\(", value or "") for _, value in read.attributes)
    assert not re.search("@import|url\\(", text[text.index("<style>") : text.index("</style>")])
    drawing = "".join(re.findall("<svg.*?</svg>", text, re.S))
    for name, value in read.attributes:
        if name in ("x", "y", "cx", "cy", "d", "r"):
            numbers = re.findall(r"[-+]?[\d.]+(?:e[-+]?\d+)?", value or "")
            assert numbers
            assert all(math.isfinite(float(n)) for n in numbers)
    assert not re.search(r"\b(nan|inf)\b", drawing)


@pytest.mark.parametrize("case", [c for c in CASES if c.startswith("hostile")])
def test_hostile_names_and_values_are_shown_as_text(case: str) -> None:
    text = page(certificate(**CASES[case])).html()
    assert "<script" not in text
    assert "<img" not in text
    assert HOSTILE in Reader(text).words


def test_a_page_shows_what_was_released_and_what_is_guaranteed() -> None:
    words = Reader(page(certificate(paid=True)).html()).words
    for shown in ("rate", "0.012346", "loss", "hinge", "0.2875 (95%: 0.268 to 0.307)", "unconditional", str(SURE)):
        assert shown in words
    for shown in (
        "3 observations",
        "standard deviation 0.02",
        "icu <4711>",
        "ab" * 32,
        "tacit verify certificate.json",
    ):
        assert shown in words
    assert "It assumes" not in words


def test_a_page_of_a_run_that_nobody_paid_for_says_so() -> None:
    assert "not charged to a ledger" in page(certificate()).html()


def test_a_conditional_guarantee_lists_what_it_assumes() -> None:
    guarantee = Guarantee(Budget.approximate(1.0, 1e-6), assumptions=("the world is flat", "and so is the prior"))
    text = page(certificate(guarantee=guarantee)).html()
    assert '<span class="kind conditional">conditional</span>' in text
    assert "<li>the world is flat</li><li>and so is the prior</li>" in text


def test_no_guarantee_says_no() -> None:
    text = page(certificate(guarantee=Guarantee.none("the search saw exact scores"))).html()
    assert '<span class="kind none">none</span>' in text
    assert "NO privacy guarantee: the search saw exact scores." in text


def test_hidden_observations_are_said_to_be_private() -> None:
    text = page(certificate(**CASES["hidden observations"])).html()
    assert text.count("<svg") == text.count('class="operating"') == 1  # what an attacker reaches, and no observation
    assert "any membership test has power at most" in text
    assert "Its observations are private and are not shown." in text


BROKEN: dict[str, Any] = {
    "not a document": [],
    "no value": {"guarantee": SURE.to_json()},
    "another release": Release(0.5, SURE).certificate(),
    "params alone": Release({"params": {"x": 1}}, SURE).certificate(),
    "no guarantee": {**certificate(), "guarantee": None},
    "half a payment": {**certificate(), "payment": {"name": "icu"}},
    "words for values": {
        **certificate(),
        "value": {**certificate()["value"], "trials": [{"params": {}, "value": "x"}]},
    },
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_no_certificate_of_a_run_is_refused(what: str) -> None:
    with pytest.raises(BadInput):
        page(BROKEN[what])


def test_the_page_is_written_beside_the_certificate(tmp_path: Path) -> None:
    import json

    with pytest.raises(BadInput, match="no certificate can be read"):
        write(tmp_path)
    (tmp_path / "certificate.json").write_text(json.dumps(certificate()))
    assert write(tmp_path) == tmp_path / "report.html"
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page(certificate()).html()
    (tmp_path / "report.html").unlink()
    (tmp_path / "report.html").mkdir()
    with pytest.raises(BadInput, match=r"report\.html cannot be written: Is a directory"):
        write(tmp_path)
