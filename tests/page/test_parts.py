"""Parts that pages share: a guarantee by its kind, who paid, a ledger, how far a run is."""

from __future__ import annotations

from pathlib import Path

import tacit
from tacit.page import ui
from tacit.page.parts import find_changes, guarantee_part, ledger_parts, origin_part, payment_part
from tacit.privacy.origin import UNCHECKED


def test_a_guarantee_shows_its_kind_and_what_it_assumes() -> None:
    sure = guarantee_part(tacit.Guarantee(tacit.Budget.approximate(1.0, 1e-6)))
    assert '<span class="kind unconditional">' in sure
    assert "It assumes" not in sure
    given = guarantee_part(tacit.Guarantee(tacit.Budget.pure(1.0), assumptions=("the world <is> flat",)))
    assert '<span class="kind conditional">' in given
    assert "<li>the world &lt;is&gt; flat</li>" in given
    assert '<span class="kind none">' in guarantee_part(tacit.Guarantee.none("it saw exact scores"))


def test_a_release_that_nobody_paid_for_says_so() -> None:
    assert "not charged to a ledger" in payment_part(None)


def test_charges_of_a_ledger_are_listed_and_the_one_of_this_run_is_marked(tmp_path: Path) -> None:
    with tacit.Ledger.open(tmp_path / "l.db", "icu", tacit.Budget.gdp(1.0), description="<b>ICU</b>") as ledger:
        ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.1)), "an earlier mean")
        paid = ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.2)), "this & that")
        shown = payment_part(paid.to_json(), ledger)
        assert f"{paid.entry}, this run" in shown
        assert "this &amp; that" in shown
        assert "&lt;b&gt;ICU" in shown
        assert "this run" not in ledger_parts(ledger)["ledger"]
    with tacit.Ledger.open(tmp_path / "other.db", "icu", tacit.Budget.gdp(1.0)) as other:
        assert "this run" not in payment_part(paid.to_json(), other), "another ledger of that name did not pay"


def test_a_run_is_as_far_as_its_bar_and_its_words() -> None:
    assert "3 of 8 steps" in ui().progress(3, 8, "steps", "go on")
    assert 'max="8" value="3"' in ui().progress(3, 8, "steps", "")
    assert 'max="1" value="0"' in ui().progress(0, 0, "steps", "")


def test_a_charge_of_a_healthy_run_is_under_way_and_not_lost(tmp_path: Path) -> None:
    with tacit.Ledger.open(tmp_path / "l.db", "icu", tacit.Budget.gdp(1.0)) as ledger:
        paid = ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.2)), "tune").to_json()
        assert "debited, under way" in payment_part(paid, ledger, under_way=True)
        assert "debited; no release recorded" in payment_part(paid, ledger)
        assert "not drawn" not in ledger_parts(ledger)["ledger"]


def test_what_was_changed_in_a_certificate_is_found() -> None:
    sealed = tacit.Release({"x": 0.25}, tacit.Guarantee(tacit.Budget.approximate(1.0, 1e-6))).certificate()
    assert find_changes(sealed) == []
    assert find_changes({**sealed, "value": {"x": 0.2}}) == ["the value is not the one whose digest it states"]
    cheaper = {**sealed, "guarantee": {**sealed["guarantee"], "epsilon": 0.1}}
    assert find_changes(cheaper) == ["the epsilon or delta that it shows is not that of its own guarantee"]
    assert find_changes({**sealed, "guarantee": None}) == ["its guarantee cannot be read"]


def test_a_certificate_that_its_ledger_did_not_pay_for_is_marked(tmp_path: Path) -> None:
    with tacit.Ledger.open(tmp_path / "l.db", "icu", tacit.Budget.gdp(1.0)) as ledger:
        guarantee = tacit.Guarantee(tacit.Budget.gdp(0.2))
        paid = ledger.charge(guarantee, "a mean")
        sealed = tacit.Release(0.5, guarantee, paid).certificate()
        ledger.settle(paid, sealed["digest"])
        assert find_changes(sealed, ledger) == []
        other = tacit.Release(0.4, guarantee, paid).certificate()  # consistent in itself, but not what was drawn
        assert "records another value" in " ".join(find_changes(other, ledger))


def test_a_ledger_is_drawn_as_shares_that_add_up_under_names_for_people(tmp_path: Path) -> None:
    with tacit.Ledger.open(tmp_path / "l.db", "icu", tacit.Budget.gdp(1.0)) as ledger:
        assert "<svg" not in ledger_parts(ledger)["ledger"]
        for _ in range(8):
            ledger.charge(tacit.Guarantee(tacit.Budget.gdp(0.25)), "tune 79fc1843b9f74e4a8885d68fae276cda: 9 looks")
        shown = ledger_parts(ledger)["ledger"]
    assert "79fc1843b9f74e4a" not in shown
    assert "8. tune: 9 looks 6.25%" in shown
    assert "3 earlier 18.8%" in shown
    assert "left 50%" in shown


def test_a_page_says_of_which_data_and_when_a_release_was_made() -> None:
    data = {"name": "stays.csv", "rows": 2999, "columns": 10, "target": "stay", "use": "model linear"}
    shown = origin_part({"data": data, "date": "2026-11-17T02:32:14+00:00", "version": "1", "command": "tacit <x>"})
    assert "stays.csv, 2,999 rows, 10 columns" in shown
    assert "2026-11-17 02:32 UTC" in shown
    assert "<code>tacit &lt;x&gt;</code>" in shown
    assert f"No ledger checks this part: {UNCHECKED}" in shown
    assert origin_part(None) == ""
