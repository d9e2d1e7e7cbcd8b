"""Explainable boosting for release: exact sums, bins row by row, columns kept together, and its JSON form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit.data.schema import Schema
from tacit.errors import BadInput
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import EXACT
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.training.additive import AdditiveScores, bin_count, place_in_bins
from tacit.training.ebm import EBM, EBM_NUMBERS, Boosting, add_by_bin, clip_to_whole, divide_bins, evenness
from tacit.training.model_files import read_model
from tacit.training.preparation import Preparation
from tacit.training.train import train
from tacit.training.trainer import CLASSES, NUMBERS, Base, EncodedRows, Facts, Span

BASE = Base(0.5, tabulate(GaussianProfile(0.5), floor=1e-9))


def settings(clip: float = 0.3, records: int = 50) -> Boosting:
    return Boosting(records, 2, 3, 4, 0.5, clip, 5.0, 7.0)


@pytest.mark.parametrize("outputs", [1, 3])
def test_sums_of_clipped_residuals_are_exact_and_one_record_moves_them_by_twice_the_clip_at_most(outputs: int) -> None:
    rng, s = np.random.default_rng(0), settings()
    residual = rng.normal(0, 5, (50, outputs))
    residual[0] = np.inf
    whole = clip_to_whole(residual.copy(), np.ones(50), s)
    assert (whole == np.rint(whole)).all()
    bins = rng.integers(6, size=50)
    found = add_by_bin(whole, bins, 6)
    for b in range(6):  # Python's whole numbers are exact
        assert [int(v) for v in found[b]] == [sum(int(w) for w in whole[bins == b, j]) for j in range(outputs)]
    reach = s.clip * 2.0**s.bits
    squares = [sum(int(v) ** 2 for v in row) for row in whole]
    assert max(squares) <= reach**2  # so a record replaced moves the sums by 2 reach at most


def test_what_a_training_costs_is_the_sums_and_the_counts_together() -> None:
    s = settings()
    assert s.mu == pytest.approx(np.sqrt(7 / 25 + 4 / 49))
    base = Base(0.3, tabulate(GaussianProfile(0.3), floor=1e-9))
    found = EBM.calibrate({"rounds": 5, "rate": 1.0, "leaves": 3, "clip": 0.5}, Facts(100, 4, "classes", 2), base)
    assert 0.3 * (1 - 1e-9) < found.mu <= 0.3


def test_noise_that_floats_would_round_together_with_a_sum_is_refused() -> None:
    """Beyond 2^53 the sum would be rounded before it is hidden, by an amount that depends on the records."""
    params, facts = {"rounds": 10, "rate": 1.0, "leaves": 4, "clip": 0.5}, Facts(4000, 3, "classes", 2)

    def at(mu: float) -> float:
        return EBM.calibrate(params, facts, Base(mu, tabulate(GaussianProfile(0.3), floor=1e-9))).scale

    assert 20 * at(1e-4) + 2.0**52 < 2.0**53
    with pytest.raises(BadInput, match="out of range"):
        at(1e-6)


def test_bins_rise_with_a_number_and_missing_ones_are_apart() -> None:
    schema = Schema.declare({"age": (0, 100), "ward": ["a", "b"]}, target="y", labels=[0, 1])
    preparation = Preparation(schema, {"age": (30.0, 31.0, 70.0)})
    spans = preparation.facts(10).columns
    assert spans == (Span(0, 6, True), Span(6, 10, False))
    ages = np.arange(0, 101, 0.5)
    rows = pd.DataFrame({"age": [*ages, None], "ward": ["a"] * len(ages) + ["z"]})
    X = preparation.features(rows)
    found = place_in_bins(X, spans[0], 8)
    assert (np.diff(found[:-1]) >= 0).all()
    assert found[-1] == 0
    assert found.max() == bin_count(spans[0], 8) - 1
    assert found[60] < found[61 + 1]  # the cut at 31 is kept
    assert place_in_bins(X, spans[1], 8)[[0, -1]].tolist() == [0, 2]


def test_leaves_are_runs_of_bins_for_numbers_and_any_sets_for_words() -> None:
    public = np.random.default_rng(0)
    counts = np.array([10.0, 0, 0, 30, 5, 5, 50])
    for _ in range(50):
        assert (np.diff(divide_bins(counts, 3, ordered=True, public=public)) >= 0).all()
    assert any(
        (np.diff(divide_bins(counts, 3, ordered=False, public=public)) < 0).any() for _ in range(50)
    )  # 50 shuffles in order: less than once in 1e50


def test_rows_of_a_person_count_together_as_one() -> None:
    """Whatever their residuals and bins are, their sums over all leaves stay within the clip, their counts within 1."""
    rng, s = np.random.default_rng(0), settings()
    weights = EncodedRows(np.zeros((7, 1)), np.zeros(7), np.zeros(7, int)).weights
    whole = clip_to_whole(rng.normal(0, 50, (7, 3)), weights, s)
    for bins in (np.zeros(7, int), np.arange(7)):
        assert np.linalg.norm(add_by_bin(whole, bins, 7)) <= s.clip * 2.0**s.bits
    assert np.trunc(weights * 2.0**20).sum() <= 2.0**20


def test_more_rows_for_a_column_make_a_longer_way_and_finer_leaves() -> None:
    told = [EBM.defaults(Facts(n, 10, CLASSES, 2), BASE) for n in (100, 2000, 10_000, 100_000)]
    assert [t["rounds"] * t["rate"] for t in told] == pytest.approx([3.0, 12.5, 50.0, 50.0])
    assert [t["leaves"] for t in told] == [8, 8, 8, 32]
    cells = [
        EBM.calibrate(t, Facts(n, 10, CLASSES, 2), BASE).cells for t, n in zip(told[2:], (10_000, 100_000), strict=True)
    ]
    assert cells == [24, 365]
    assert EBM_NUMBERS.defaults(Facts(2000, 10, NUMBERS, 1), BASE)["rate"] == pytest.approx(told[1]["rate"] / 5)


def test_steps_are_shorter_where_a_class_is_rare() -> None:
    assert evenness(np.zeros(1)) == evenness(np.zeros(3)) == pytest.approx(1.0)
    assert evenness(np.log([0.01 / 0.99])) == pytest.approx(4 * 0.01 * 0.99)
    assert evenness(np.log([0.98, 0.01, 0.01])) == pytest.approx((1 - 0.98**2 - 2 * 0.01**2) * 1.5)


def test_boosting_follows_a_curve_that_no_straight_line_can() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (4000, 2))
    rows = EncodedRows(X, np.cos(3 * X[:, 0]))
    facts, base = Facts(4000, 2, "numbers", 1), Base(5.0, tabulate(GaussianProfile(5.0), floor=1e-9))
    params = {"rounds": 20, "rate": 1.0, "leaves": 4, "clip": 1.0}
    model = EBM_NUMBERS.train(rows, EBM_NUMBERS.calibrate(params, facts, base), facts, EXACT)
    assert np.mean((model.scores(X)[:, 0] - rows.target) ** 2) < 0.2 * np.var(rows.target)


def test_a_released_model_is_read_from_json_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"age": rng.integers(18, 95, 3000), "ward": rng.choice(["n", "w"], 3000)})
    y = np.where((data["age"] > 60) ^ (rng.random(3000) < 0.05), "yes", "no")
    budget = Budget.approximate(2.0, 1e-5)
    release = train("ebm", data, y, budget=budget, runs=3, out=tmp_path, progress=False)
    (tmp_path / "model.joblib").unlink()
    again = read_model(tmp_path)
    assert isinstance(again.model, AdditiveScores)
    assert (again.predict_proba(data) == release.value.model.predict_proba(data)).all()
    assert json.loads((tmp_path / "model.json").read_text())["model"]["kind"] == "additive"
    assert release.value.score < 0.3
    assert not release.guarantee.assumptions[1:]  # nothing but the secret number of runs
