"""What metrics promise: losses within bounds, sensitivities that hold to the last bit, readings that come back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as theirs

import tacit
from tacit.data.metrics import NAMES, Metric, find
from tacit.data.metrics.pairs import FINE, all_matchings, one_matching, persons_in_all_matchings
from tacit.errors import BadInput, ObjectiveError, PrivacyWarning
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import STEPS, BoundedMean

N = 400
BOUNDS = {"absolute": (0.0, 3.0), "squared": (0.0, 9.0), "rmse": (0.0, 9.0), "quantile": (0.0, 3.0)}


def ready(name: str, **more: Any) -> Metric:
    made = find(name, bounds=BOUNDS.get(name), **more)
    return made.with_rates(["no", "yes"], np.array([0] * 70 + [1] * 30))


def some_predictions(metric: Metric, seed: int = 0, n: int = N) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    answers = rng.integers(2, size=n) if metric.task == "classification" else rng.normal(size=n)
    if metric.reads == "labels":
        return rng.integers(2, size=n).astype(float), answers
    if metric.reads == "probabilities":
        p = np.clip(0.5 + 0.4 * (answers - 0.5) + 0.2 * rng.normal(size=n), 0, 1)
        return np.stack([1 - p, p], axis=1), answers
    if metric.reads == "ranking":
        return np.round(answers + rng.normal(size=n), 1), answers  # with ties
    return answers + rng.normal(size=n), answers


def steps(metric: Metric, losses: Any) -> int:
    """The sum that noise is added to, in whole steps."""
    return BoundedMean(len(losses), metric.known_bounds(), budget=Budget.gdp(1.0)).total(losses)


@pytest.mark.parametrize("name", NAMES)
def test_one_record_moves_the_sum_by_at_most_one_loss_to_the_last_bit(name: str) -> None:
    metric = ready(name)
    for n in (N, N + 1):
        predicted, answers = some_predictions(metric, n=n)
        before = steps(metric, metric.measure(predicted, answers))
        rng = np.random.default_rng(1)
        for row in rng.integers(n, size=20):
            for other in range(4):
                moved, told = predicted.copy(), answers.astype(float).copy()
                moved[row] = [np.nan, np.inf, -np.inf, rng.normal()][other]
                told[row] = (
                    [0, 1, -1, 1][other] if metric.task == "classification" else [np.nan, 1e300, -1e300, 0.0][other]
                )
                losses = metric.measure(moved, told)
                assert losses.shape == (metric.units(n),)
                low, high = metric.known_bounds()
                assert ((losses >= low) & (losses <= high)).all()
                assert abs(steps(metric, losses) - before) <= STEPS


@pytest.mark.parametrize("name", NAMES)
def test_one_person_with_all_their_rows_moves_the_sum_by_at_most_one_loss(name: str) -> None:
    metric = ready(name)
    predicted, answers = some_predictions(metric)
    owners = np.sort(
        np.random.default_rng(3).permutation(np.r_[np.arange(150), np.random.default_rng(4).integers(150, size=250)])
    )
    before = steps(metric, metric.measure(predicted, answers, owners, 150))
    for person in (0, 7, 149):
        for rows in (1, 40):  # replaced by a person with another number of rows
            kept = owners != person
            whose = np.r_[owners[kept], np.full(rows, person)]
            fresh, told = some_predictions(metric, seed=person + 5, n=rows)
            losses = metric.measure(
                np.concatenate([predicted[kept], 3 * fresh]), np.concatenate([answers[kept], told]), whose, 150
            )
            assert losses.shape == (metric.units(150),)
            assert abs(steps(metric, losses) - before) <= STEPS


def test_the_worst_record_moves_the_mean_over_pairs_as_far_as_stated() -> None:
    metric, n = ready("auc"), 100
    answers = np.r_[np.ones(1), np.zeros(n - 1)]
    best, worst = np.r_[1.0, np.zeros(n - 1)], np.r_[-1.0, np.zeros(n - 1)]
    moved = steps(metric, metric.measure(worst, answers)) - steps(metric, metric.measure(best, answers))
    assert moved == STEPS
    assert metric.sensitivity(n) == pytest.approx(2 / n)


def test_all_matchings_are_the_mean_of_every_matching() -> None:
    rng = np.random.default_rng(0)
    ranking, answers = np.round(rng.normal(size=30), 1), rng.integers(2, size=30)
    many = np.mean([one_matching(ranking, answers, seed).mean() for seed in range(20_000)])
    # the mean of 20,000 means of 15 losses within [0, 1]: sd below 0.0009, so beyond 0.005 once in 10^7
    assert all_matchings(ranking, answers).mean() == pytest.approx(many, abs=0.005)
    assert FINE == STEPS


def test_auc_is_that_of_scikit_learn() -> None:
    for seed in range(5):
        metric = find("auc")
        ranking, answers = some_predictions(metric, seed)
        known = metric.with_rates([0, 1], answers)  # the rates of the same rows: then it is exact
        loss = float(known.measure(ranking, answers).mean())
        mixed = 2 * answers.mean() * (1 - answers.mean()) * N / (N - 1)
        assert known.reading(N).read(loss) == pytest.approx(theirs.roc_auc_score(answers, ranking), abs=1e-6)
        assert loss == pytest.approx(mixed * (1 - theirs.roc_auc_score(answers, ranking)), abs=1e-7)


def test_persons_with_one_row_each_are_records() -> None:
    ranking, answers = some_predictions(find("auc"))
    owners = np.arange(N)
    assert np.array_equal(persons_in_all_matchings(ranking, answers, owners, N, 0), all_matchings(ranking, answers))


def test_every_row_of_a_person_stands_for_them_in_its_turn() -> None:
    """Two persons, one with two rows, of which one is ranked wrongly: half of the pairs are lost."""
    ranking, answers, owners = np.array([0.9, 0.1, 0.5]), np.array([1, 1, 0]), np.array([0, 0, 1])
    assert persons_in_all_matchings(ranking, answers, owners, 2, 0).tolist() == [0.5]


def test_the_auc_of_persons_counts_each_person_once() -> None:
    """A person with a thousand rows that are all ranked wrongly weighs no more than one with a single row."""
    answers = np.r_[np.ones(50), np.zeros(50), np.ones(1000)]
    ranking = np.r_[np.ones(50), np.zeros(50), np.full(1000, -1.0)]
    owners = np.r_[np.arange(100), np.full(1000, 100)]
    known = find("auc").with_rates([0, 1], answers, owners)
    assert known.rates[1] == pytest.approx(51 / 101)
    value = known.reading(101).read(float(known.measure(ranking, answers, owners, 101).mean()))
    assert value == pytest.approx(50 / 51, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "theirs_is"),
    [
        ("error", lambda a, p: 1 - theirs.accuracy_score(a, p)),
        ("accuracy", theirs.accuracy_score),
        ("balanced", lambda a, p: 1 - theirs.balanced_accuracy_score(a, p)),
        ("balanced_accuracy", theirs.balanced_accuracy_score),
        ("log_loss", lambda a, p: theirs.log_loss(a, np.clip(p, 0.01, 0.99))),
        ("brier", lambda a, p: theirs.brier_score_loss(a, p[:, 1])),
        ("absolute", lambda a, p: np.mean(np.minimum(abs(a - p), 3))),
        ("squared", lambda a, p: np.mean(np.minimum((a - p) ** 2, 9))),
        ("rmse", lambda a, p: math.sqrt(np.mean(np.minimum((a - p) ** 2, 9)))),
        ("quantile", lambda a, p: theirs.mean_pinball_loss(a, p, alpha=0.5)),
    ],
)
def test_a_mean_loss_is_read_as_the_metric_of_scikit_learn(name: str, theirs_is: Any) -> None:
    metric = find(name, bounds=BOUNDS.get(name))
    predicted, answers = some_predictions(metric)
    metric = metric.with_rates([0, 1], answers) if metric.needs_rates else metric
    if name == "log_loss":
        predicted = np.clip(predicted, 0.01, 0.99)
    value = metric.reading(N).read(float(metric.measure(predicted, answers).mean()))
    assert value == pytest.approx(theirs_is(answers, predicted), abs=1e-6)


@pytest.mark.parametrize(("level", "widest"), [(0.9, 3.6), (0.2, 3.2), (0.5, 2.0)])
def test_a_quantile_weighs_what_is_further_out_on_the_longer_side(level: float, widest: float) -> None:
    assert tacit.metrics.quantile(level).widest(4.0) == pytest.approx(widest)


def test_a_quantile_has_its_level_in_its_name() -> None:
    metric = find("quantile:0.9", bounds=(0.0, 10.0))
    predicted, answers = some_predictions(metric)
    expected = theirs.mean_pinball_loss(answers, predicted, alpha=0.9)
    assert metric.measure(predicted, answers).mean() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("f1", "no mean over records: its denominator.*Use balanced, brier or auc"),
        ("f1_macro", "no mean over records"),
        ("neg_median_absolute_error", "Use absolute or quantile"),
        ("r2", "divides by the variance"),
        ("average_precision", "Use auc"),
        ("recall", "public class rates"),
        ("fame", "must be one of error, accuracy"),
        ("error:yes", "must be one of"),
        ("quantile:2", "a level between 0 and 1"),
        ("quantile:x", "a level between 0 and 1"),
    ],
)
def test_what_is_no_mean_is_refused_with_what_to_use(name: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        find(name)


def test_bounds_that_a_metric_has_are_not_given_again() -> None:
    with pytest.raises(BadInput, match="auc has the bounds"):
        find("auc", bounds=(0, 2))
    with pytest.raises(BadInput, match="squared needs bounds"):
        find("squared").sensitivity(100)
    assert find("log_loss", bounds=(0, 2)).known_bounds() == (0.0, 2.0)
    assert "below 0.135 counts" in find("log_loss", bounds=(0, 2)).describe(100)


@pytest.mark.parametrize(
    ("rates", "says"),
    [
        ({"no": 0.9}, "share of each class"),
        ({"no": 0.9, "yes": 0.2}, "add up to 1"),
        ({"no": 1.0, "yes": 0.0}, "must be in"),
        ({"no": 0.5, "maybe": 0.5}, "must name each of the 2 classes"),
        (None, "needs the public rates"),
    ],
)
def test_class_rates_are_checked(rates: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        find("balanced", rates=rates).with_rates(["no", "yes"])


def test_declared_rates_are_found_by_label_and_by_number() -> None:
    assert find("auc", rates={"1.0": 0.2, "0": 0.8}).with_rates([0, 1]).rates == (0.8, 0.2)
    with pytest.raises(BadInput, match="rates of classes are for"):
        find("error", rates={"a": 0.5, "b": 0.5})


def test_auc_of_three_classes_needs_the_one_that_ranks_first() -> None:
    answers = np.array([0, 1, 2, 2])
    with pytest.raises(BadInput, match="auc:LABEL"):
        find("auc").with_rates(["a", "b", "c"], answers)
    known = find("auc:c").with_rates(["a", "b", "c"], answers)
    assert known.rates == (0.5, 0.5)
    assert known.code_answers(np.array([0, 2, -1]), ["a", "b", "c"]).tolist() == [0, 1, -1]
    with pytest.raises(BadInput, match="none of the classes"):
        find("auc:d").with_rates(["a", "b", "c"], answers)


def test_the_interval_of_auc_counts_that_rates_are_of_other_rows() -> None:
    """Coverage of 95% intervals of AUC over 300 data sets: at least 91% (below by chance once in 1,000)."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(300):
        y = rng.random(2000) < 0.1
        scores = y + rng.normal(size=2000)
        metric = find("auc").with_rates([0, 1], y[:1000].astype(int))
        private = y[1000:].astype(int)
        loss = float(metric.measure(scores[1000:], private).mean()) + rng.normal(0, 1e-3)
        reading = metric.reading(1000)
        hits += abs(reading.read(loss) - theirs.roc_auc_score(private, scores[1000:])) < reading.reach(loss, 1.96e-3)
    assert hits >= 0.91 * 300


def test_predictions_become_an_objective_that_knows_its_facts() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.5, "yes", "no")
    metric = tacit.metrics.auc(rates={"no": 0.5, "yes": 0.5})
    objective = metric.objective(lambda p: p["x"] * (y == "yes") + rng.normal(size=3000), y, classes=["no", "yes"])
    release = tacit.tune(
        objective, {"x": tacit.Float(0, 3)}, method="pool", trials=30, budget=Budget.pure(1.0), progress=False
    )
    assert release.guarantee.unit == "one validation record replaced"
    assert "a pair of scores and labels makes one loss" in release.guarantee.premises[0]
    assert release.value.metric == "AUC"
    assert 0.9 < (release.value.score or 0) <= 1
    again = type(release.value).from_json(release.certificate()["value"])
    assert again.intervals() == release.value.intervals()
    with pytest.raises(BadInput, match="these losses have records=1500"):
        tacit.tune(objective, {"x": tacit.Float(0, 3)}, records=3000, trials=3, budget=Budget.gdp(1.0))
    with pytest.raises(BadInput, match="leave direction out"):
        tacit.tune(objective, {"x": tacit.Float(0, 3)}, direction="maximize", trials=3, budget=Budget.gdp(1.0))


def test_gradients_need_pairs_of_which_a_record_is_in_one() -> None:
    def objective(pairs: str) -> Any:
        metric = tacit.metrics.auc(rates={0: 0.5, 1: 0.5}, pairs=pairs)
        y = np.arange(400) % 2
        return metric.objective(lambda p: p["x"] * y + np.sin(np.arange(400)), y)

    asked: Any = {"method": "gibo", "trials": 2, "budget": Budget.gdp(50.0), "progress": False, "accept_noise": True}
    with pytest.raises(BadInput, match="a part in one of them alone"):
        tacit.tune(objective("all"), {"x": tacit.Float(0, 3)}, **asked)
    with pytest.warns(PrivacyWarning, match="is above 10"):
        assert tacit.tune(objective("one"), {"x": tacit.Float(0, 3)}, **asked).guarantee.notion == "gdp"


def test_noise_is_judged_by_what_the_metric_can_make_of_it() -> None:
    """With 1% positives all mean losses are within 0.02 of each other, and noise of 0.01 drowns them."""
    y = (np.arange(2000) % 100 == 0).astype(int)
    metric = tacit.metrics.auc(rates={0: 0.99, 1: 0.01})
    with pytest.raises(BadInput, match=r"no further apart than 0\.0198"):
        tacit.tune(metric.objective(lambda p: y, y), {"x": tacit.Float(0, 1)}, trials=5, budget=Budget.gdp(0.5))


def test_predictions_of_another_shape_are_refused_without_their_content() -> None:
    y = np.arange(100) % 2
    for name, answer in (("error", np.zeros(5)), ("brier", np.zeros(100)), ("log_loss", [["x"] * 2] * 100)):
        objective = find(name).objective(lambda p, answer=answer: answer, y)
        with pytest.raises(ObjectiveError, match="predict must return"):
            objective({})


@pytest.mark.parametrize("name", ["auc", "accuracy"])
def test_persons_are_counted_where_their_number_is_not_given(name: str) -> None:
    metric = ready(name)
    predicted, answers = some_predictions(metric)
    owners = np.arange(N) % 150
    losses = metric.measure(predicted, answers, owners)
    assert losses.tolist() == metric.measure(predicted, answers, owners, 150).tolist()


def test_the_reading_of_an_auc_spreads_as_its_rate_does() -> None:
    """A deviation of the rate r moves log 2 r (1 - r) by (2 - 4 r) / (2 r (1 - r)) times as much, to first order."""
    metric, r, records = ready("auc"), 0.3, 250
    reading, h = metric.reading(records), 1e-6
    slope = (math.log(2 * (r + h) * (1 - r - h)) - math.log(2 * (r - h) * (1 - r + h))) / (2 * h)
    deviation = math.sqrt(r * (1 - r) * (1 / 100 + 1 / records))
    assert reading.spread == pytest.approx(slope * deviation * 99 / 100, rel=1e-6)
    assert reading.factor == pytest.approx(-99 / 100 / (2 * r * (1 - r)))


@pytest.mark.parametrize("name", ["absolute", "squared", "rmse", "quantile:0.9", "quantile"])
def test_a_metric_of_numbers_knows_its_widest_loss_and_its_best_constant(name: str) -> None:
    rng = np.random.default_rng(3)
    metric = tacit.metrics.find(name, bounds=(0.0, 1e9))
    answers = rng.exponential(size=400)
    constants = np.linspace(0.0, 5.0, 501)
    means = [metric.measure(np.full(400, c), answers).mean() for c in constants]
    assert metric.best_constant(answers) == pytest.approx(constants[int(np.argmin(means))], abs=0.02)
    low, high = 2.0, 9.0
    corners = metric.measure(np.array([low, high]), np.array([high, low]))
    assert metric.widest(high - low) == pytest.approx(corners.max(), rel=1e-12)


def test_an_interval_is_cut_to_what_the_metric_can_be() -> None:
    from tacit.data.metrics.reading import clip_interval

    for name, ends in {"accuracy": (0, 1), "auc": (0, 1), "rmse": (0, math.inf), "absolute": (0, math.inf)}.items():
        assert find(name).shown.possible == ends
    assert clip_interval(0.02, 0.1, find("rmse").shown.possible) == (0.0, pytest.approx(0.12))
    assert clip_interval(0.95, 0.1, find("accuracy").shown.possible) == (pytest.approx(0.85), 1.0)
    assert clip_interval(-0.5, 1.0) == (-1.5, 0.5)
