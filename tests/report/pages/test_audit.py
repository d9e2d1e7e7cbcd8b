"""Pages of audits and of the known-row attack."""

from __future__ import annotations

import pytest
from report_parts import audits

from tacit.errors import BadInput
from tacit.report.pages import audit as audit_page


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
