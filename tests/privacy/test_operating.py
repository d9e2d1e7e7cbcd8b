"""What is said of an attacker is true, and what was said before is not."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import tacit
from tacit.privacy.conversions import gdp_delta
from tacit.privacy.guarantee import LOSSES, Budget, Guarantee
from tacit.privacy.operating import approximate_power, at_most, power

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "certificates_v1"
MU = Budget.approximate(1.0, 1e-6).mu()


def test_no_event_of_probability_delta_is_left_out_and_the_old_sentence_was_false() -> None:
    """ "The odds move by at most e^epsilon but for an event of probability delta" fails: the event has 2.0e-5."""
    beyond = float(ndtr(-(1.0 / MU - MU / 2)))  # the chance of a privacy loss above 1, under the data
    assert beyond == pytest.approx(2.0e-5, rel=0.05)
    assert beyond > 15 * 1e-6


@given(st.floats(0.01, 3), st.floats(0.001, 0.999))
def test_what_is_concluded_with_probability_p_has_at_most_the_stated_probability(mu: float, p: float) -> None:
    """The best test of N(0, 1) against N(mu, 1), which no other set of outcomes beats, at every epsilon."""
    there = float(ndtr(ndtri(p) + mu))
    for epsilon in (0.1, 1.0, mu):
        assert there <= math.exp(epsilon) * p + gdp_delta(mu, epsilon) + 1e-12
    assert power("gdp", mu, 0.0, p) == pytest.approx(there)
    assert there <= power("zcdp", mu**2 / 2, 0.0, p) + 1e-12
    assert there <= approximate_power(1.0, gdp_delta(mu, 1.0), p) + 1e-12


def test_the_bound_of_epsilon_and_delta_is_reached() -> None:
    """By randomised response with a leak of probability delta, its own worst case."""
    epsilon, delta = 0.7, 0.02
    share = (1 - delta) / (1 + math.exp(epsilon))
    false, right = share, delta + math.exp(epsilon) * share
    assert approximate_power(epsilon, delta, false) == pytest.approx(right)
    assert approximate_power(epsilon, delta, 1 - right) == pytest.approx(1 - false)


@pytest.mark.parametrize("budget", [Budget.pure(1.0), Budget.gdp(0.5), Budget.zcdp(0.1), Budget.approximate(2.0, 1e-5)])
def test_the_curve_rises_from_delta_to_one_and_lies_above_guessing(budget: Budget) -> None:
    guarantee, alarms = Guarantee(budget), np.linspace(0.001, 0.999, 50)
    found = np.array([guarantee.power(float(a)) for a in alarms])
    assert (np.diff(found) >= -1e-12).all()
    assert (found >= alarms - 1e-12).all()
    assert found[0] < 0.05
    assert guarantee.power(0.0) == pytest.approx(budget.delta, abs=1e-9)


def test_without_a_guarantee_an_attacker_may_always_be_right() -> None:
    assert Guarantee.none("why").power() == 1.0


def test_a_printed_bound_is_never_smaller_than_the_bound() -> None:
    for value in np.random.default_rng(0).lognormal(0, 5, 500):
        assert float(at_most(float(value), 3)) >= value
        assert float(at_most(float(value), 3)) <= value * 1.01


def test_the_words_are_those_of_the_numbers() -> None:
    said = str(Guarantee(Budget.gdp(MU), "one validation record replaced", premises=LOSSES))
    assert (
        "Had that one change been made, an outcome of probability p would have probability at most 2.719 p + 1e-06"
        in said
    )
    assert "At a 5% false-positive rate, any membership test has power at most 7.96%." in said
    assert (
        "It holds whatever the data are.\nIt assumes of your code that:\n- each loss is computed from its own" in said
    )
    assert "does not fail, end early or take longer because of what a record holds" in said


def test_no_page_file_or_source_says_the_false_sentence_any_more() -> None:
    """Odds, or a factor e^epsilon on them, are true for pure epsilon alone."""
    false = re.compile(r"but for an event of|odds on (it|one record)[^.]*factor", re.S)
    places = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.*")]
    found = [p.name for p in places if p.suffix in (".md", ".py", ".js", ".html") and false.search(p.read_text())]
    assert found == []


@pytest.mark.parametrize("name", ["observed", "gibo", "front", "laplace"])
def test_certificates_of_the_first_release_still_verify_and_read_truly(name: str, tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes((GOLDEN / "ledger.db").read_bytes())
    document = json.loads((GOLDEN / f"{name}.json").read_text())
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", document["payment"]["name"])
    assert ledger.verify_certificate(document).paid
    guarantee = Guarantee.from_json(document["guarantee"])
    assert guarantee.premises == ()
    assert "Had that one change been made, an outcome" in str(guarantee)


def test_premises_are_certified_and_a_certificate_without_them_is_not_the_one_that_was_paid(tmp_path: Path) -> None:
    ledger = tacit.Ledger.open(tmp_path / "ledger.db", "rows", Budget.pure(3.0))
    document = tacit.mechanisms.Laplace(1.0, budget=Budget.pure(1.0)).release(3.0, ledger=ledger).certificate()
    assert document["guarantee"]["premises"]
    assert ledger.verify_certificate(document).paid
    assert ledger.spent().premises == tuple(document["guarantee"]["premises"])
    del document["guarantee"]["premises"]
    assert not ledger.verify_certificate(document).paid


def test_every_method_states_what_it_presupposes_of_the_users_code() -> None:
    def losses(params: dict[str, float]) -> np.ndarray:
        return np.full(400, (params["x"] - 0.3) ** 2)

    asked = {"records": 400, "bounds": (0.0, 1.0), "accept_noise": True, "progress": False}
    for method in ("observed", "random", "grid", "gibo"):
        budget = Budget.approximate(1.0, 1e-3)
        release = tacit.tune(losses, {"x": tacit.Float(0, 1)}, budget=budget, trials=4, method=method, **asked)
        assert release.guarantee.premises == LOSSES
        assert release.guarantee.unconditional
        assert "premises" in json.dumps(release.certificate())
    pool = {"method": "pool", "trials": 4, **asked}
    for budget in (Budget.pure(1.0), Budget.approximate(1.0, 1e-3), Budget.zcdp(0.1)):
        release = tacit.tune(losses, {"x": tacit.Float(0, 1)}, budget=budget, **pool)
        assert release.guarantee.premises == LOSSES
