"""Pages of releases with their ledgers, paths and several fronts."""

from __future__ import annotations

import json
from pathlib import Path

from report_parts import KIND, descended, front, observed

import tacit
from tacit.report.choose import joint_page, ledger_page, page_of
from tacit.report.pages import tuned as tuned_page
from tacit.report.subjects import recognise


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
    assert "0.5 (95%: -1.62 to 2.62)" in tuned_page.page(certificate).html()


def test_fronts_of_one_name_are_told_apart_and_kinds_are_labelled(tmp_path: Path) -> None:
    for name, label in (("one", KIND), ("two", "Poisson-sampled lots, one record added or removed")):
        (tmp_path / name).mkdir()
        front(label=label).save(tmp_path / name / "front.json")
    text = joint_page([recognise(tmp_path / "one"), recognise(tmp_path / "two")]).html()
    assert "logistic regression (one)" in text
    assert "cannot be compared by size" in text
    assert "<td>Poisson-sampled lots" in text
