"""What publishing would do is told in the units of the columns, and what nobody wants is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput
from tacit.outsource.curator.preview import preview, private_answers, refuse_excessive_noise, refuse_no_scale
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.privacy.guarantee import Budget

TERMS = {"epsilon": 3.0, "delta": 1e-5}


@pytest.mark.parametrize("answers", [None, PrivateAnswers((0.0, 10.0), Budget.gdp(2.0), "once")], ids=["open", "noisy"])
def test_what_is_foreseen_is_what_is_published(answers: PrivateAnswers | None) -> None:
    rows = np.random.default_rng(0).uniform(0, 9, (40, 2))
    seen = preview(["a", "b"], **TERMS, scale=[2.0, 0.5], answers=answers, queries=7)
    with tacit.Curator(rows, rows[:, 0], **TERMS, scale=[2.0, 0.5], answers=answers, queries=7) as curator:
        terms = curator.published()
    assert seen.noise == pytest.approx(terms.noise, rel=1e-6)
    assert seen.columns == pytest.approx({"a": 2 * terms.noise, "b": terms.noise / 2})
    assert seen.answer_noise == terms.answer_noise
    assert seen.guarantee.budget is not None
    assert terms.whole.budget is not None
    assert seen.guarantee.budget.epsilon(2e-5) == pytest.approx(terms.whole.budget.epsilon(2e-5), rel=1e-6)


def test_remarks_name_every_column_and_the_noise_on_answers() -> None:
    answers = private_answers((0.0, 10_000.0), 0.1)
    table, answer = preview(["amount", "rate"], **TERMS, scale=[9000, 0.04], answers=answers).remarks
    assert "amount ±1.25e+04, rate ±0.0556" in table
    assert "±1e+05, 10 times the width of its bounds" in answer
    assert len(preview(["amount"], **TERMS).remarks) == 1


def test_answers_that_are_noise_are_refused_unless_accepted() -> None:
    loud, quiet = (
        preview(["a"], **TERMS, answers=PrivateAnswers((0.0, 10_000.0), Budget.gdp(mu))) for mu in (0.1, 1.0)
    )
    with pytest.raises(BadInput, match=r"noise of standard deviation 1e\+05, on bounds of width 10000.*--yes"):
        refuse_excessive_noise(loud, False)
    refuse_excessive_noise(loud, True)
    refuse_excessive_noise(quiet, False)
    refuse_excessive_noise(preview(["a"], **TERMS), False)


def test_private_answers_have_no_noise_by_default() -> None:
    with pytest.raises(BadInput, match=r"mu 0.1 gives ±100000, mu 1 ±10000, mu 4 ±2500. Nothing was published"):
        private_answers((0.0, 10_000.0), None)
    with pytest.raises(BadInput, match="give both, or neither"):
        private_answers(None, 1.0)
    assert private_answers(None, None) is None


def test_a_table_without_a_scale_is_refused_with_the_columns_it_would_be_in_the_units_of() -> None:
    with pytest.raises(BadInput, match=r"1 in the units of amount, rate.*--scale \.\.\.,\.\.\.,.*--scale 1 if"):
        refuse_no_scale(["amount", "rate"], False)
    refuse_no_scale(["amount", "rate"], True)
