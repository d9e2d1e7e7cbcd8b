"""Made-up answers: the search that is tried is the modeler's own, its noise the curator's, and its scores are exact."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.outsource.curator.preview import preview
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.planning import outsourcing
from tacit.planning.outsourcing import Outcome, RowScore, TableTrial, count_informative, made_up_rows, try_out
from tacit.privacy.guarantee import Budget

TERMS = {"epsilon": 3.0, "delta": 1e-4, "queries": 15, "surfaces": 2}


def test_the_noise_is_the_curators_in_shares_of_each_width() -> None:
    rows = made_up_rows(200, (40.0, 8.0))
    tried = try_out(rows, **TERMS, scale=[2.0, 1.0], informative=[1])
    seen = preview(["a", "b"], epsilon=3.0, delta=1e-4, scale=[2.0, 1.0])
    assert tried.noise == pytest.approx(seen.noise)
    assert tried.shares == pytest.approx(tuple(np.array(list(seen.columns.values())) / np.ptp(rows, axis=0)))
    assert (tried.rows, tried.columns, tried.queries, tried.answer_noise) == (200, 2, 15, 0.0)


def test_with_as_many_queries_as_rows_every_search_finds_the_best_row() -> None:
    tried = try_out(made_up_rows(12, (40.0, 8.0)), **{**TERMS, "queries": 99})
    assert tried.queries == 12
    for outcome in tried.outcomes:
        for score in (outcome.found, outcome.without_noise, outcome.random):
            assert score == RowScore(1.0, 1.0, 1.0)
        assert outcome.verdict == "random rows do"


def test_drowned_in_noise_the_search_is_no_better_than_random_rows_and_without_noise_it_is() -> None:
    # 3 surfaces at noise a thousand times the width: the rows asked are random, so their gain is that of random rows;
    # a mean of three differs by more than 0.35 with probability below 1e-3 (gains of one search have sd below 0.15)
    rows = made_up_rows(300, (1e-3,) * 3)
    tried = try_out(rows, epsilon=3.0, delta=1e-4, queries=25, surfaces=3, informative=[3])[3]
    assert abs(tried.better) < 0.35
    assert tried.without_noise.gain > tried.random.gain


def test_scores_of_rows_are_those_of_their_definition() -> None:
    f = np.array([0.0, 0.5, 1.0, 0.5])
    assert outsourcing._score(f, np.array([2])) == (1.0, 1.0, 1.0)
    assert outsourcing._score(f, np.array([1])) == (0.0, 2.0, 0.0)
    assert outsourcing._score(f, np.array([0, 2]))[0] == pytest.approx(0.0)
    assert outsourcing._score(np.zeros(3), np.array([1])) == (1.0, 1.0, 1.0)


def test_random_rows_gain_what_the_best_of_so_many_gains_on_average() -> None:
    f = np.random.default_rng(0).normal(size=9)
    exact = np.mean([f[list(rows)].max() for rows in itertools.combinations(range(9), 3)])
    draws = np.concatenate([f[outsourcing._random_rows(f, 3, 0.0, np.random.default_rng(s))] for s in range(40)])
    assert abs(draws.mean() - exact) < 5 * draws.std() / math.sqrt(len(draws))  # fails once in 1.7 million


def test_private_answers_carry_noise_of_their_mu_and_make_the_search_worse() -> None:
    rows = made_up_rows(200, (60.0, 60.0))
    open_, noisy = (
        try_out(rows, **{**TERMS, "surfaces": 3}, informative=[2], answers=answers)
        for answers in (None, PrivateAnswers((0.0, 7.0), Budget.gdp(0.05)))
    )
    assert noisy.answer_noise == pytest.approx(20.0)
    assert noisy[2].found.gain < open_[2].found.gain


def test_the_same_seed_tries_the_same_and_nothing_is_drawn_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("exact noise was drawn")

    monkeypatch.setattr("tacit.privacy.noise.Exact.gaussian", refuse)
    first, second = (try_out(made_up_rows(60, (9.0,)), **TERMS).to_json() for _ in range(2))
    assert first == second


def outcome(found: float, random: float, error: float, without: float = 1.0) -> Outcome:
    return Outcome(
        3, 0.3, RowScore(found, 1, 0), RowScore(without, 1, 0), RowScore(random, 9, 0), found - random, error
    )


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (outcome(0.99, 0.96, 0.001), "random rows do"),
        (outcome(0.95, 0.75, 0.03), "helps"),
        (outcome(0.85, 0.75, 0.03), "helps a little"),
        (outcome(0.76, 0.75, 0.01), "no better than random rows"),
        (outcome(0.85, 0.75, 0.09), "unclear: try more surfaces"),
        (outcome(0.85, 0.75, math.inf), "unclear: try more surfaces"),
    ],
)
def test_a_verdict_compares_with_random_rows_and_knows_its_error(made: Outcome, says: str) -> None:
    assert made.verdict == says
    tried = TableTrial(9, 4, 5, 1.0, (0.1,), 0.0, 2, 5, 0, (made,))
    advice = {
        "helps": "helps where 3 of the 4",
        "random": "Publish no table",
        "no": "not seen to",
        "unclear:": "not seen",
    }
    assert advice[says.split()[0]] in tried.advice
    assert says in str(tried)


def test_what_cannot_be_tried_is_refused() -> None:
    with pytest.raises(BadInput, match="every column is constant"):
        try_out(np.ones((5, 2)), **TERMS)
    with pytest.raises(BadInput, match="two or more rows of finite numbers"):
        try_out([[1.0, math.nan], [2.0, 3.0]], **TERMS)
    with pytest.raises(BadInput, match="1 to 1, got 2"):
        count_informative(np.array([[1.0, 5.0], [2.0, 5.0]]), [2])
    assert count_informative(np.array([[1.0, 5.0], [2.0, 5.0]])) == [1]
    assert len(made_up_rows(10**6, (1.0,))) == outsourcing.MOST_ROWS


def test_one_far_row_does_not_make_the_answers_smooth(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers change over a share of what the rows spread, whatever the width of the table."""
    lengths, surface = [], outsourcing._surface

    def spy(points: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        lengths.append(40.0 / np.ptp(points[:400], axis=0).max())
        return surface(points, generator)

    monkeypatch.setattr(outsourcing, "_surface", spy)
    rows = made_up_rows(400, (40.0, 40.0))
    for X in (rows, np.vstack([rows, [4000.0, 4000.0]])):
        try_out(X, **{**TERMS, "surfaces": 1}, informative=[2], smooth=0.1)
    evenly, far = lengths
    assert evenly == pytest.approx(4.0, rel=0.03)
    assert far < 80.0  # a tenth of the width would be 400, and every answer nearly a plane


def test_what_is_said_holds_for_every_length_that_was_tried() -> None:
    tried = try_out(made_up_rows(400, (40.0,) * 3), epsilon=3.0, delta=1e-4, queries=20, surfaces=3, informative=[3])
    assert [o.smooth for o in tried.outcomes] == [0.3, 0.1]
    assert tried[3] == min(tried.outcomes, key=lambda o: o.better)
    assert tried.outcomes[0].without_noise.gain > tried.outcomes[1].without_noise.gain  # rough answers hide their best
    for o in tried.outcomes:
        assert o.low <= o.found.gain <= o.high
    both = [outcome(0.95, 0.75, 0.03), outcome(0.76, 0.75, 0.01)]
    assert "only if answers change" in TableTrial(9, 4, 5, 1.0, (0.1,), 0.0, 2, 5, 0, tuple(both)).advice
