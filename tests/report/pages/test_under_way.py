"""Pages of runs under way: they show what was released, and keep the rest."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from report_parts import KIND

import tacit
from tacit.report.pages.under_way import HIDDEN, discovery_page, search_page, study_page
from tacit.report.study_file import StudyFile, Trial

TERMS = {"records": 1000, "bounds": [0, 1], "trials": 8, "direction": "minimize"}
TERMS |= {"budget": tacit.Budget.approximate(1.0, 1e-6).to_json()}
POINT = Trial({"rate": 0.1}, [0.5, 0.3], {"tacit:runs": [0.6543, 0.7]})
ABOUT = {"name": "sgd", "label": KIND, "delta": 1e-6, "repeats": 2, "private": False}


def test_a_search_under_way_shows_what_is_released() -> None:
    noisy, exact = Trial({"x": 0.5}, [0.25], {"tacit:drawn": True}), Trial({"x": 0.5}, [0.4711], {})
    kept = StudyFile({"tacit:terms": json.dumps(TERMS)}, [noisy, exact], 3, 0, 1)
    text = search_page(kept).html()
    assert "0.4711" not in text  # got into the file by another way, without noise
    assert "3 of 8 observations made" in text
    assert "0.25" in text
    assert "epsilon = 1, delta = 1e-06" in text
    simulated = {"tacit:terms": json.dumps({**TERMS, "simulated": True})}
    assert "NO privacy guarantee" in search_page(StudyFile(simulated, [], 0, 0, 0)).html()


def test_exact_values_under_way_are_kept_unless_asked_for() -> None:
    kept = StudyFile({"tacit:front": json.dumps(ABOUT), "tacit:wanted": 9}, [POINT], 0, 0, 1)
    hidden, shown = discovery_page(kept).html(), discovery_page(kept, private=True).html()
    assert HIDDEN in hidden
    assert "1 of 9 points tested" in hidden
    assert not {"0.6543", "0.65", "0.7", "0.3"} & set(re.findall(r"[\d.]+\d", hidden[hidden.index("<body>") :]))
    assert "0.6543" in shown
    assert "NOT PRIVATE" in shown
    study = StudyFile({}, [Trial({"x": 0.123}, [0.4711], {})], 0, 0, 0)
    assert "0.4711" not in study_page(study).html()
    assert "0.123" not in study_page(study).html()
    assert "0.4711" in study_page(study, private=True).html()


def test_a_private_front_under_way_is_shown_with_its_guarantee() -> None:
    test = {"records": 100, "trials": 9, "repeats": 2, "budget": TERMS["budget"], "simulated": False}
    noisy, exact = replace(POINT, attrs={**POINT.attrs, "tacit:drawn": True}), replace(POINT, values=[0.5, 0.4711])
    kept = StudyFile({"tacit:front": json.dumps(ABOUT), "tacit:test": json.dumps(test)}, [noisy, exact], 1, 0, 0)
    text = discovery_page(kept).html()
    assert text.count("0.6543") == discovery_page(replace(kept, done=[noisy])).html().count("0.6543")
    assert "0.6543" in text
    assert "NOT PRIVATE" not in text
    assert "epsilon = 1, delta = 1e-06" in text
