"""The cover of a release answers six questions, and never calls useful what was not shown to be."""

from __future__ import annotations

import pytest

from tacit.page import name_unit, ui
from tacit.page.cover import UNKNOWN, Cover, compare_with_baseline, format_interval
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.release import Payment, Release

SURE = Guarantee(Budget.approximate(1.0, 1e-6), unit="one validation record replaced", source="a theorem")
QUESTIONS = (
    "What is released",
    "Is it worth releasing?",
    "What is protected",
    "What is not protected",
    "What it cost",
    "What is left",
)


@pytest.mark.parametrize(
    ("score", "baseline", "higher", "good", "words"),
    [
        ((0.9, 0.01), (0.8, 0.01), True, True, "Better than predicting the mode"),
        ((0.1, 0.01), (0.2, 0.01), False, True, "Better than predicting the mode"),
        ((0.2126, 0.02), (0.2038, 0.0), False, False, "Not shown to be better than"),
        ((0.3, 0.01), (0.2, 0.01), False, False, "Worse than"),
        ((0.81, 0.03), (0.8, 0.0), True, False, "Not shown to be better than"),
        ((0.86, 0.03), (0.8, 0.06), True, False, "Not shown to be better than"),
    ],
)
def test_a_verdict_weighs_both_intervals(
    score: tuple[float, float], baseline: tuple[float, float], higher: bool, good: bool, words: str
) -> None:
    verdict = compare_with_baseline(score, baseline, higher=higher, of="the mode")
    assert verdict.good is good
    assert verdict.headline.startswith(words)


def test_a_score_is_shown_with_the_ends_of_its_interval() -> None:
    assert format_interval(0.01, (0.0, 0.04)) == "0.01 (95%: 0 to 0.04)"
    assert format_interval(0.5, None) == "0.5"


def test_a_cover_answers_six_questions_and_says_who_paid() -> None:
    certificate = Release(0.5, SURE, Payment("an-id", "icu", 3, "ab" * 32)).certificate()
    certificate["about"] = {"left": {"ledger": "icu", "words": "epsilon = 1.9 of 3"}}
    cover = Cover("A title", [("score", 0.5)], UNKNOWN, SURE, ["the training rows"], certificate)
    shown = ui().release_cover(cover)
    assert [q for q in QUESTIONS if f"<h2>{q}</h2>" not in shown] == []
    for text in (
        "Every validation record.",
        "the training rows",
        "entry 3 of ledger",
        "of 3 in ledger",
        "exceeds budget",
    ):
        assert text in shown.replace('<span class="nobreak">', "").replace("</span>", ""), text
    assert certificate["digest"] in shown
    assert "No ledger paid" not in shown


def test_a_release_that_no_ledger_paid_for_says_so_above_the_signature() -> None:
    shown = ui().release_cover(Cover("A title", [], UNKNOWN, SURE, []))
    assert shown.index("No ledger paid for this release") < shown.index("signature")


def test_no_guarantee_protects_nothing() -> None:
    cover = Cover("A front", [], UNKNOWN, Guarantee.none("it saw exact scores"), ["everything"])
    assert "<strong>Nothing.</strong>" in ui().release_cover(cover)
    assert "No privacy guarantee." in ui().release_cover(cover)


def test_a_stated_signature_is_shown_as_a_statement() -> None:
    certificate = {**Release(0.5, SURE).certificate(), "signature": {"key": "abcdef"}}
    shown = ui().release_cover(Cover("A title", [], UNKNOWN, SURE, [], certificate))
    assert "states a signature by key" in shown
    assert "abcdef" in shown


def test_units_are_named_as_what_they_protect() -> None:
    assert name_unit("one record of the table replaced, whatever it is used for") == (
        "Every record of the table, whatever it is used for"
    )
