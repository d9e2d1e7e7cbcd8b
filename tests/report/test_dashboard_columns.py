"""What the list of runs says of each."""

from __future__ import annotations

from pathlib import Path

import tacit
from tacit.data.metrics.reading import Reading
from tacit.methods.tuned import Tuned
from tacit.report.dashboard import _show_left as show_left
from tacit.report.dashboard import _show_score as show_score
from tacit.report.subjects import Subject


def test_a_release_shows_its_score_in_its_metric_and_what_was_left() -> None:
    value = Tuned({}, 0.25, "pool", "minimize", deviation=0.01, reading=Reading("accuracy", 1.0, -1.0, higher=True))
    document = {"value": value.to_json(), "about": {"left": {"words": "epsilon = 1 of 3"}}}
    subject = Subject("release", Path("certificate.json"), document)
    assert show_score(subject) == "accuracy 0.75 ± 0.02"
    assert show_left(subject) == "epsilon = 1 of 3"
    for odd in ({"value": {"trainer": "x"}}, {"value": 3}, {"value": {"params": 1}}):
        assert show_score(Subject("release", Path("certificate.json"), odd)) == ""
        assert show_left(Subject("release", Path("certificate.json"), odd)) == ""


def test_a_ledger_shows_what_it_has_left_now(tmp_path: Path) -> None:
    with tacit.Ledger.open(tmp_path / "l.db", "icu", tacit.Budget.gdp(1.0)) as ledger:
        ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.6)), "a mean")
    assert show_left(Subject("ledger", tmp_path / "l.db")) == "icu: mu = 0.8 of mu = 1"
    assert show_left(Subject("ledger", tmp_path / "none.db")) == ""
    assert show_score(Subject("ledger", tmp_path / "l.db")) == ""
