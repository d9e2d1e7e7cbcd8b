"""Pages of audits, curators, ledgers and runs under way: they say what was released, and keep the rest."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from report_parts import KIND, audits, curator, descended, front, observed

import tacit
from tacit.errors import BadInput
from tacit.outsource.curator import page as curator_page
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.report.pages import audit as audit_page
from tacit.report.pages import joint_page, ledger_page, page_of
from tacit.report.pages import tuned as tuned_page
from tacit.report.pages.under_way import HIDDEN, discovery_page, search_page, study_page
from tacit.report.study_file import StudyFile, Trial
from tacit.report.subjects import recognise


def test_audits_show_claimed_and_measured_and_name_what_is_broken() -> None:
    text = audit_page.page(audits()).html()
    assert "4 audits, 1 broken" in text
    assert text.count("measured ≥ 2.3, BROKEN") == 4  # broad and narrow, drawn and described
    assert "claimed nothing" in text
    assert "<td>BROKEN</td>" in text
    one = audit_page.page(audits()[:1]).html()
    assert "<h1>laplace: within the claim</h1>" in one
    assert "Epsilon at delta = 1e-05 is at least 0.94" in one


def test_what_is_no_audit_is_refused() -> None:
    for broken in ({}, {**audits()[0], "measured": "much"}, {**audits()[0], "runs": None}):
        with pytest.raises(BadInput, match="not an audit"):
            audit_page.page([broken])
    with pytest.raises(BadInput, match="not an attack"):
        audit_page.attack_page({"attack": [{}], "rows": 1, "columns": 1})


def test_the_attack_has_a_page() -> None:
    line = {"transform": "projection", "guarantee": "none", "known": 3, "share": 1.0, "median_error": 1e-9}
    text = audit_page.attack_page({"rows": 100, "columns": 2, "attack": [line]}).html()
    assert "100 rows of 2 columns" in text
    assert "100%" in text


def test_a_curators_page_holds_no_exact_answer_and_no_secret(tmp_path: Path) -> None:
    text = curator_page.study_page(curator_page.Standing.of_folder(curator(tmp_path))).html()
    exact = {f"{0.4711 + k / 1000:.4g}" for k in range(40)} | {"0.4711"}
    assert not any(value in text for value in exact)
    tokens = json.loads((tmp_path / "tokens.json").read_text())["tokens"]
    assert not any(t["hash"] in text for t in tokens)
    assert "s content and no exact answer is on this page" in text
    for shown in ("7 of 20 queries answered", "alice", "revoked 20", "unconditional", "conditional", "standard"):
        assert shown in text
    assert [int(n) for n in re.findall(r"<td>(\d+)</td><td>20", text)] == [7, 6, 5, 4, 3, 2, 1]


def test_a_private_page_says_so_first_and_shows_the_answers(tmp_path: Path) -> None:
    text = curator_page.study_page(curator_page.Standing.of_folder(curator(tmp_path)), private=True).html()
    assert "PRIVATE: this page shows exact answers" in text
    assert text.index("PRIVATE:") < text.index("What was published")
    assert "0.4741" in text  # row 3


def test_noisy_answers_are_shown_as_the_modelers_were_told_them(tmp_path: Path) -> None:
    text = curator_page.study_page(
        curator_page.Standing.of_folder(curator(tmp_path, answers=PrivateAnswers((0.0, 1.0), tacit.Budget.gdp(0.5))))
    ).html()
    assert "Answers carry their noise" in text
    assert "<svg" in text
    assert "exact answers" not in text


def test_a_release_shows_its_ledger_if_it_is_the_one_that_paid(tmp_path: Path) -> None:
    budget = tacit.Budget.approximate(1.0, 1e-6)
    with tacit.Ledger.open(tmp_path / "ledger.db", "icu", budget, description="<b>ICU</b>") as ledger:
        ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.05)), "an earlier mean")
        paid = ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.1)), "this & that")
        certificate = {**observed(), "payment": paid.to_json()}
        text = tuned_page.page(certificate, ledger=ledger).html()
    assert "2, this run" in text
    assert "an earlier mean" in text
    assert "this &amp; that" in text
    assert "&lt;b&gt;ICU" in text
    (tmp_path / "certificate.json").write_text(json.dumps(certificate))
    assert "2, this run" in page_of(recognise(tmp_path)).html()  # found beside the run
    other = {**certificate, "payment": {**paid.to_json(), "ledger": "another"}}
    (tmp_path / "certificate.json").write_text(json.dumps(other))
    assert "this run" not in page_of(recognise(tmp_path)).html()
    assert "an earlier mean" in ledger_page(str(tmp_path / "ledger.db")).html()


def test_a_path_is_shown_with_its_bias() -> None:
    text = tuned_page.page(descended()).html()
    assert text.count('class="spark"') == 3
    assert "15 steps along released gradients" in text
    assert "Posterior variance of the gradient" in text
    assert "The score was maximised." in text
    flat = descended()
    flat["value"]["details"]["bias_trace"] = [[0.25] * 15]
    assert "0.25 after every step" in tuned_page.page(flat).html()


def test_kusners_interval_is_that_of_laplace_noise() -> None:
    certificate = observed()
    certificate["value"] |= {"method": "kusner1", "trials": [], "deviation": 1.0, "score": 0.5}
    assert "0.5 ± 2.1 (95%)" in tuned_page.page(certificate).html()


def test_fronts_of_one_name_are_told_apart_and_kinds_are_labelled(tmp_path: Path) -> None:
    for name, label in (("one", KIND), ("two", "Poisson-sampled lots, one record added or removed")):
        (tmp_path / name).mkdir()
        front(label=label).save(tmp_path / name / "front.json")
    text = joint_page([recognise(tmp_path / "one"), recognise(tmp_path / "two")]).html()
    assert "logistic regression (one)" in text
    assert "cannot be compared by size" in text
    assert "<td>Poisson-sampled lots" in text


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
