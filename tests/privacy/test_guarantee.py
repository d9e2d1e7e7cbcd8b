"""What may be promised, said, written down and read back."""

from __future__ import annotations

import json
import math
import re

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy import conversions as c
from tacit.privacy.guarantee import LARGEST, Budget, Guarantee, loose, remarks_on
from tacit.privacy.operating import at_most

amounts = st.floats(1e-4, 100)
deltas = st.floats(1e-12, 0.4)
budgets = st.one_of(
    st.builds(Budget.pure, amounts),
    st.builds(Budget.approximate, amounts, deltas),
    st.builds(Budget.zcdp, amounts),
    st.builds(Budget.gdp, st.floats(1e-4, 30)),
)
words = st.text(st.characters(codec="utf-8"), max_size=30)
guarantees = st.builds(
    Guarantee, st.none() | budgets, words, st.lists(words, max_size=3).map(tuple), words, st.floats(1e-12, 0.4)
)
EACH = [Budget.pure(1.0), Budget.approximate(1.0, 1e-6), Budget.zcdp(0.5), Budget.gdp(1.0)]


@each("make", [Budget.pure, Budget.zcdp, Budget.gdp, lambda e: Budget.approximate(e, 1e-6)])
@each(
    ("value", "rule"),
    [
        (0.0, "must be positive, got .*=0.0"),
        (-1, "must be positive, got .*=-1"),
        (math.nan, "must be finite, got .*=nan"),
        (math.inf, "must be finite, got .*=inf"),
        (True, "must be a number, got a bool"),
        ("1", "must be a number, got a str"),
        (None, "must be a number, got a NoneType"),
    ],
)
def test_a_budget_refuses_a_bad_amount_with_the_rule_and_the_value(make, value, rule):
    with pytest.raises(BadInput, match=f"^(epsilon|rho|mu) {rule}"):
        make(value)


@each("make", [Budget.pure, Budget.zcdp, Budget.gdp, lambda amount: Budget.approximate(amount, 1e-6)])
def test_an_amount_beyond_all_measure_is_refused_and_any_other_is_quoted(make):
    for amount in (1.1 * LARGEST, 1e100, 1e308):
        with pytest.raises(BadInput, match=r"must be from 0 to 1e\+15, got"):
            make(amount)
    for amount in (1e-300, 1e7, LARGEST):
        budget = make(amount)
        assert all(map(math.isfinite, Guarantee(budget).quoted()))
        assert math.isfinite(budget.pure_epsilon())
        if budget.notion != "pure":
            assert math.isfinite(budget.mu())


@each("delta", [0.0, 1.0, -1e-6, 2.0, math.nan, math.inf, False, "1e-6", None])
def test_an_approximate_budget_refuses_a_bad_delta(delta):
    with pytest.raises(BadInput, match=r"^delta must be (in \(0, 1\), got delta=|finite, got|a number, got a)"):
        Budget.approximate(1.0, delta)


def test_only_an_approximate_budget_has_a_delta():
    with pytest.raises(BadInput, match="only an approximate budget has a delta, got delta=1e-06 with gdp"):
        Budget("gdp", 1.0, 1e-6)


@each("delta", [5.0, -1e-6, 1.0, math.nan])
def test_no_way_of_making_a_budget_lets_a_bad_delta_in(delta):
    with pytest.raises(BadInput, match="delta"):
        Budget("approximate", 1.0, delta)
    with pytest.raises(BadInput, match="delta"):
        Budget.from_json({"notion": "approximate", "parameters": {"epsilon": 1.0, "delta": delta}})


@given(amounts, deltas)
def test_each_notion_converts_by_its_own_formula(amount, delta):
    assert Budget.pure(amount).epsilon() == amount
    assert Budget.pure(amount).epsilon(delta) == c.approximate_epsilon(amount, 0.0, delta) <= amount
    assert Budget.approximate(amount, delta).epsilon(delta) == amount
    assert Budget.zcdp(amount).epsilon(delta) == c.zcdp_epsilon(amount, delta)
    assert Budget.gdp(amount).epsilon(delta) == c.gdp_epsilon(amount, delta)


@given(budgets.filter(lambda b: b.notion != "pure"))
def test_a_gaussian_that_fits_a_budget_implies_it(budget):
    implied = Budget.gdp(budget.mu())
    if budget.notion == "approximate":
        assert implied.epsilon(budget.delta) <= budget.amount * (1 + 1e-9)
    else:
        assert implied.epsilon(1e-6) <= budget.epsilon(1e-6) * (1 + 1e-9)


@given(budgets)
def test_a_pure_mechanism_that_fits_a_budget_implies_it(budget):
    epsilon = budget.pure_epsilon()
    implied = {"zcdp": c.pure_rho, "gdp": c.pure_mu}.get(budget.notion, float)(epsilon)
    assert implied == pytest.approx(budget.amount, rel=1e-9)


@each(
    ("impossible", "why"),
    [
        (lambda: Budget.gdp(1.0).epsilon(), "gdp implies no epsilon at delta = 0"),
        (lambda: Budget.zcdp(1.0).epsilon(0.0), "zcdp implies no epsilon at delta = 0"),
        (lambda: Budget.approximate(1.0, 1e-3).epsilon(1e-6), "says nothing at a smaller delta, got delta=1e-06"),
        (lambda: Budget.pure(1.0).mu(), "not pure differential privacy"),
        (lambda: Guarantee.none("the noise was simulated").epsilon(1e-6), "no epsilon here: the noise was simulated"),
        (lambda: Guarantee.none("x").as_approximate(1e-6), "no epsilon here"),
    ],
)
def test_an_impossible_conversion_raises(impossible, why):
    with pytest.raises(GuaranteeError, match=why):
        impossible()


def test_a_weaker_statement_may_have_an_epsilon_of_zero():
    assert Guarantee(Budget.gdp(1e-3)).as_approximate(0.1).budget == Budget("approximate", 0.0, 0.1)


@given(guarantees)
def test_a_guarantee_survives_json(guarantee):
    document = json.loads(json.dumps(guarantee.to_json(), allow_nan=False))
    assert Guarantee.from_json(document) == guarantee


def test_a_distance_that_an_earlier_release_stated_stays_stated():
    document = Guarantee(Budget.approximate(1.0, 1e-6)).to_json() | {"distance": 2e-12}
    read = Guarantee.from_json(document)
    assert "within 2e-12 of the exact law" in " ".join(read.premises)
    assert "distance" not in read.to_json()
    assert Guarantee.from_json(read.to_json()) == read
    with pytest.raises(BadInput, match="distance"):
        Guarantee.from_json(document | {"distance": 2.0})


@given(budgets)
def test_the_json_quotes_what_the_budget_implies(budget):
    document = Guarantee(budget, delta=1e-5).to_json()
    if budget.notion in ("pure", "approximate"):
        assert (document["epsilon"], document["delta"]) == (budget.amount, budget.delta)
    else:
        assert (document["epsilon"], document["delta"]) == (budget.epsilon(1e-5), 1e-5)


@each("budget", [*EACH, None])
@each("field", ["format", "notion", "parameters", "unit", "assumptions", "source", "quoted_at"])
def test_a_document_with_a_field_missing_is_refused(budget, field):
    document = Guarantee(budget).to_json()
    del document[field]
    if budget is None and field == "parameters":
        assert Guarantee.from_json(document).notion == "none"  # nothing has no parameters
    else:
        with pytest.raises(BadInput, match=field):
            Guarantee.from_json(document)


@each(
    "change",
    [
        {"format": "tacit.guarantee/2"},
        {"format": "tacit.certificate/1"},
        {"format": None},
        {"notion": "renyi"},
        {"notion": ["gdp"]},
        {"parameters": {}},
        {"parameters": {"mu": "1"}},
        {"parameters": {"mu": -1.0}},
        {"parameters": {"mu": math.nan}},
        {"parameters": {"mu": True}},
        {"parameters": {"mu": 1.0, "delta": 1e-6}},
        {"parameters": None},
        {"assumptions": None},
        {"assumptions": "all is well"},
        {"quoted_at": 0.0},
        {"quoted_at": None},
    ],
)
def test_a_wrong_document_is_refused(change):
    with pytest.raises(BadInput):
        Guarantee.from_json({**Guarantee(Budget.gdp(1.0)).to_json(), **change})


@each("document", [None, [], "tacit.guarantee/1", 3])
def test_something_that_is_no_document_is_refused(document):
    with pytest.raises(BadInput, match="must have format"):
        Guarantee.from_json(document)


@each("budget", EACH)
def test_the_paragraph_says_how_much_of_what_and_when_it_holds(budget):
    free = str(Guarantee(budget, unit="one patient replaced", source="A and B (2020)", delta=1e-6))
    bound = str(Guarantee(budget, assumptions=("losses are Lipschitz", "n is public")))
    epsilon = budget.amount if budget.notion in ("pure", "approximate") else budget.epsilon(1e-6)
    summary, source = free.split("\n")
    assert len(summary.split()) <= 60
    assert source == "Source: A and B (2020)."
    assert f"epsilon = {epsilon:.4g}" in free
    assert f"at most {at_most(math.exp(epsilon), 4)} p" in free
    assert ("delta = 1e-06" in free) == (budget.notion != "pure")
    assert "one patient replaced" in free
    assert "It holds whatever the data are" in free
    assert "It is conditional: see below.\nIt holds only if:\n- losses are Lipschitz\n- n is public\n" in bound


def test_the_paragraph_of_no_guarantee_says_no():
    text = str(Guarantee.none("noise was simulated"))
    assert text.startswith("NO privacy guarantee: noise was simulated")
    assert "epsilon" not in text


def test_a_huge_epsilon_can_still_be_printed():
    assert "at most e^1e+04 p, which is hardly a promise. At" in str(Guarantee(Budget.pure(1e4)))
    assert "at most e^1000 p + 1e-06, which is hardly a promise. At" in str(Guarantee(Budget.approximate(1e3, 1e-6)))


@each(
    ("guarantee", "kind"),
    [
        (Guarantee(Budget.pure(1.0)), "unconditional"),
        (Guarantee(Budget.pure(1.0), assumptions=("a",)), "conditional"),
        (Guarantee.none("why"), "none"),
    ],
)
def test_the_kind_is_seen_at_a_glance(guarantee, kind):
    assert guarantee.kind == kind
    assert guarantee.unconditional == (kind == "unconditional")


def test_quoting_elsewhere_changes_nothing_else():
    guarantee = Guarantee(Budget.gdp(1.0), "u", ("a",), "s")
    moved = guarantee.at(1e-9)
    assert moved.quoted() == (Budget.gdp(1.0).epsilon(1e-9), 1e-9)
    assert moved.at(guarantee.delta) == guarantee


@pytest.mark.parametrize(
    "budget", [Budget.gdp(0.5), Budget.zcdp(0.0123456789), Budget.approximate(1.23412, 1.23456712e-6)]
)
def test_what_is_printed_promises_no_more_than_what_is_proved(budget: Budget) -> None:
    """A number that is rounded to the nearest may be less than it is."""
    made = Guarantee(budget)
    epsilon, delta = made.quoted() or (0.0, 0.0)
    numbers = [float(n) for n in re.findall(r"(?:epsilon|delta|mu|rho) = ([0-9.e+-]+[0-9])", made.describe()[0])]
    assert numbers[0] >= epsilon * (1 - 1e-9)
    assert numbers[1] >= delta * (1 - 1e-9)
    assert all(n >= budget.amount * (1 - 1e-9) for n in numbers[2:])
    assert "epsilon = 1, delta = 1e-06" in str(Guarantee(Budget.gdp(Budget.approximate(1.0, 1e-6).mu())))


def test_a_root_that_is_found_a_little_too_large_is_printed_as_what_was_asked_for() -> None:
    assert "epsilon = 1, delta = 1e-06" in str(Guarantee(Budget.approximate(1.0 + 1e-13, 1e-6)))
    assert "epsilon = 1.001, delta = 1e-06" in str(Guarantee(Budget.approximate(1.0 + 1e-8, 1e-6)))


@each("budget", [Budget.pure, lambda e: Budget.approximate(e, 1e-6), lambda e: Budget.gdp(c.gdp_mu(e, 1e-6))])
def test_an_epsilon_above_ten_is_remarked_on(budget):
    assert remarks_on(budget(9.99), 5000) == []
    (said,) = remarks_on(budget(10.01), 5000)
    assert "is above 10: " in said
    assert remarks_on(Budget.pure(10.0), 5000) == []


def test_a_delta_of_one_in_so_many_records_is_remarked_on():
    assert loose(0.0499, 20) == loose(0.9, 1) == loose(0.9, 0) == ""
    assert loose(0.05, 20) == "delta=0.05 is not below 1/n = 0.05: publishing one record as it is would satisfy it"
    assert loose(1.0, 1).startswith("delta=1 is not below 1/n = 1: ")
    assert remarks_on(Budget.approximate(1.0, 0.1), 20) == [loose(0.1, 20)]
