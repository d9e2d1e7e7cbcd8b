"""DP-SGD and DP-Adam for linear models: against loops over examples, dp-accounting, and the paper's own steps."""

from __future__ import annotations

import json
import pickle
from typing import Any

import dp_accounting as da
import numpy as np
import pytest
from absl import logging
from benchmarks.papers._renyi import by_renyi
from dp_accounting import rdp
from scipy.special import expit

from tacit.accounting import epsilon
from tacit.errors import BadInput
from tacit.pareto import discover
from tacit.pareto.algorithm import Algorithm, Oracles
from tacit.privacy.mechanisms import ABOVE
from tacit.privacy.noise import Simulation
from tacit.privacy.profiles import epsilon_at
from tacit.training.dp_sgd import Linear, LogisticAdam, LogisticSGD, SupportVectorSGD
from tacit.training.linear import Rows, Update, clipped_sums, train
from tacit.training.lots import LotSettings, distinct_lots
from tacit.training.random_search import RANDOM
from tacit.training.registry import find_trainer
from tacit.training.secret_lots import draw_lot
from tacit.training.trainer import EncodedRows, Facts
from tacit.training.whole_gradients import WholeGradients

logging.set_verbosity(logging.ERROR)
PARAMS: dict[str, Any] = {"epochs": 2, "lot": 20, "rate": 0.1, "variance": 1.0, "clip": 0.7}
FACTS = Facts(203, 6, "classes", 2)
KINDS = [LogisticSGD, LogisticAdam, SupportVectorSGD]


def examples(n: int = 203, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.array([3.0, 1.0, 0.3] * d)[:d]
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def made(kind: type[Linear] = LogisticSGD, **asked: Any) -> Linear:
    return kind(*examples(), *examples(90, seed=1), **asked)


def loss_of(loss: str, w: np.ndarray, x: np.ndarray, y: int) -> float:
    margin = x @ w[:-1] + w[-1]
    return float(np.log1p(np.exp(margin)) - y * margin if loss == "logistic" else max(0.0, 1 - (2 * y - 1) * margin))


def loop_sum(loss: str, w: np.ndarray, X: np.ndarray, y: np.ndarray, clip: float) -> np.ndarray:
    """Clip each example's gradient, taken by central differences of its loss, and add."""
    total = np.zeros_like(w)
    for x, label in zip(X, y, strict=True):
        steps = 1e-6 * np.eye(len(w))
        g = np.array([(loss_of(loss, w + h, x, label) - loss_of(loss, w - h, x, label)) / 2e-6 for h in steps])
        total += g * min(1.0, clip / max(np.linalg.norm(g), 1e-300))
    return total


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("clip", [0.05, 0.7, 100.0])
def test_clipped_sums_equal_a_loop_over_examples_by_finite_differences(loss: str, clip: float) -> None:
    X, y = examples()
    rows = Rows.of(X, y, loss, np.float64)
    rng = np.random.default_rng(5)
    W = rng.normal(size=(2, 3, 7))
    lots = distinct_lots(rng, len(X), 11, 2)
    largest = clip / rows.norm[lots][:, None]
    sums = clipped_sums(loss, W, rows.X[lots], rows.target[lots][:, None], largest)
    for g in range(2):
        for k in range(3):
            by_loop = loop_sum(loss, W[g, k], X[lots[g]], y[lots[g]], clip)
            np.testing.assert_allclose(sums[g, k], by_loop, atol=2e-7 * 11)


def coins_of(seed: int, s: LotSettings, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The lots and normals of one seed, in the order that they are drawn."""
    rng, lots, noise = np.random.default_rng(seed), [], []
    for start in range(0, s.steps, s.block(width)):
        b = min(s.block(width), s.steps - start)
        lots.append(distinct_lots(rng, s.records, s.lot, b))
        noise.append(rng.standard_normal((b, width), dtype=np.float32))
    return np.concatenate(lots), np.concatenate(noise)


@pytest.mark.parametrize("kind", KINDS)
def test_training_equals_the_papers_steps_written_out(kind: type[Linear]) -> None:
    """Algorithms 3 and 4 line by line, in double precision, with the same coins."""
    algorithm = made(kind)
    X, y = examples()
    s = LotSettings.of(PARAMS, len(X))
    lots, noise = coins_of(3, s, 7)
    w, mu, nu = np.zeros(7), np.zeros(7), np.zeros(7)
    for i, (lot, z) in enumerate(zip(lots, noise, strict=True), start=1):
        x = np.c_[X[lot], np.ones(s.lot)]
        if kind is SupportVectorSGD:
            sign = 2 * y[lot] - 1
            gradients = np.where(sign * (x @ w) < 1, -sign, 0)[:, None] * x
        else:
            gradients = (expit(x @ w) - y[lot])[:, None] * x
        norms = np.maximum(np.linalg.norm(gradients, axis=1), 1e-300)
        clipped = gradients * np.minimum(1, s.clip / norms)[:, None]
        g = clipped.sum(axis=0) / s.lot + 2 * s.clip / s.lot * np.sqrt(s.variance) * z
        if kind is LogisticAdam:
            mu, nu = 0.9 * mu + 0.1 * g, 0.999 * nu + 0.001 * g**2
            w = w - s.rate * (mu / (1 - 0.9**i)) / (np.sqrt(nu / (1 - 0.999**i)) + 1e-8)
        else:
            w = w - s.rate * g
    np.testing.assert_allclose(algorithm.train(PARAMS, [3]).reveal()[0], w, rtol=2e-4, atol=2e-5)
    assert s.steps == 2 * (203 // 20)


def test_adam_equals_a_reference_in_double_precision() -> None:
    rng = np.random.default_rng(0)
    W, mean, square = np.zeros((1, 1, 4)), np.zeros(4), np.zeros(4)
    update, w = Update("adam", 0.05, W), np.zeros(4)
    for i in range(1, 40):
        g = rng.normal(size=4)
        W -= update(g.reshape(1, 1, 4))
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        w = w - 0.05 * (mean / (1 - 0.9**i)) / (np.sqrt(square / (1 - 0.999**i)) + 1e-8)
    np.testing.assert_allclose(W[0, 0], w, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_repeats_at_once_equal_repeats_one_by_one(kind: type[Linear]) -> None:
    algorithm, seeds = made(kind), [4, 0, 123456789]
    together = algorithm.train(PARAMS, seeds).reveal()
    for i, seed in enumerate(seeds):
        np.testing.assert_allclose(together[i], algorithm.train(PARAMS, [seed]).reveal()[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        algorithm.utilities(PARAMS, seeds), [algorithm.utility(PARAMS, s) for s in seeds], atol=0.02
    )
    assert len({w.tobytes() for w in together}) == 3


def test_shared_lots_train_the_model_of_the_first_seed_and_others_beside_it() -> None:
    own, shared = made().train(PARAMS, [1]).reveal(), made(shared_lots=True).train(PARAMS, [1, 2, 3]).reveal()
    np.testing.assert_allclose(shared[0], own[0], rtol=1e-4, atol=1e-5)
    assert not np.allclose(shared[1], shared[0])


def test_noise_on_the_mean_is_two_clip_sigma_over_lot() -> None:
    """All features 0 and classes even: the intercept's gradients cancel in every full lot, so one step is pure noise.

    50,000 draws: a relative deviation of 1.5% in the standard deviation is 4.7 sigma, false alarms below 1e-5.
    """
    X, y = np.zeros((4, 4)), np.array([0, 1, 0, 1])
    asked = {"epochs": 1, "lot": 4, "rate": 1.0, "variance": 2.25, "clip": 0.7}
    drawn = LogisticSGD(X, y, X, y).train(asked, list(range(10_000))).reveal()
    assert drawn.std() == pytest.approx(2 * 0.7 * 1.5 / 4, rel=0.015)


@pytest.mark.parametrize(("records", "lot"), [(50, 7), (50, 20), (50, 50), (50, 1), (1000, 200)])
def test_lots_are_distinct_examples_all_equally_often(records: int, lot: int) -> None:
    """Each count is Binomial(20,000, lot / records); 6 deviations are a false alarm below 1e-6 for 1000 counts."""
    many = 20_000
    lots = distinct_lots(np.random.default_rng(1), records, lot, many)
    assert lots.shape == (many, lot)
    assert lots.min() >= 0
    assert lots.max() < records
    assert (np.diff(lots, axis=1) > 0).all()
    rate = lot / records
    counts = np.bincount(lots.ravel(), minlength=records)
    assert np.abs(counts - many * rate).max() <= 6 * np.sqrt(many * rate * (1 - rate))


def test_pairs_of_examples_meet_as_often_as_they_should() -> None:
    """Uniform over sets, not only over members: all 78 pairs of 13, with 3 drawn; 6 deviations."""
    many = 60_000
    lots = distinct_lots(np.random.default_rng(2), 13, 3, many)
    pairs = np.zeros((13, 13))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        np.add.at(pairs, (lots[:, i], lots[:, j]), 1)
    rate = 3 * 2 / (13 * 12)
    met = pairs[np.triu_indices(13, 1)]
    assert np.abs(met - many * rate).max() <= 6 * np.sqrt(many * rate * (1 - rate))


def peer(p: dict[str, Any], records: int, delta: float) -> float:
    gaussian = da.GaussianDpEvent(p["variance"] ** 0.5)  # noise 2 L sigma over sensitivity 2 L
    accountant = rdp.RdpAccountant(neighboring_relation=da.NeighboringRelation.REPLACE_ONE)
    event = da.SampledWithoutReplacementDpEvent(records, p["lot"], gaussian)
    return float(accountant.compose(event, p["epochs"] * (records // p["lot"])).get_epsilon(delta))


def test_epsilons_are_those_of_the_accountant_and_say_their_scheme() -> None:
    X = np.zeros((30_956, 1))
    X[:10] = 1
    algorithm = LogisticSGD(X, X[:, 0], X[:20], X[:20, 0])
    points: list[dict[str, Any]] = [
        {"epochs": 20, "lot": 128, "rate": 0.01, "variance": 1.0, "clip": 1.0},
        {"epochs": 1, "lot": 512, "rate": 0.01, "variance": 4.0, "clip": 0.1},
        {"epochs": 64, "lot": 8, "rate": 0.01, "variance": 0.5, "clip": 4.0},
    ]
    found = algorithm.epsilons(points, 1e-5)
    expected = [
        epsilon(
            noise=p["variance"] ** 0.5,
            records=30_956,
            lot=p["lot"],
            steps=p["epochs"] * (30_956 // p["lot"]),
            delta=1e-5,
        )
        for p in points
    ]
    assert found.tolist() == expected
    assert np.all(found < 0.8 * np.array([peer(p, 30_956, 1e-5) for p in points]))  # dp-accounting's Renyi bound
    assert algorithm.label == "fixed-size lots without replacement, one record replaced"
    assert isinstance(algorithm, Algorithm)
    assert Oracles(algorithm, 1e-5).epsilons([]).shape == (0,)


def test_the_published_bound_equals_dp_accounting() -> None:
    X = np.zeros((30_956, 1))
    X[:10] = 1
    algorithm = by_renyi(LogisticSGD(X, X[:, 0], X[:20], X[:20, 0]))
    points: list[dict[str, Any]] = [
        {"epochs": 20, "lot": 128, "rate": 0.01, "variance": 1.0, "clip": 1.0},
        {"epochs": 64, "lot": 8, "rate": 0.01, "variance": 0.5, "clip": 4.0},
    ]
    expected = [peer(p, 30_956, 1e-5) for p in points]
    np.testing.assert_allclose(algorithm.epsilons(points, 1e-5), expected, rtol=1e-6)
    np.testing.assert_allclose(algorithm.quick_epsilons(points, 1e-5), expected, rtol=1e-6)


def test_quick_epsilons_are_close_to_those_that_are_stated() -> None:
    X = np.zeros((30_956, 1))
    X[:10] = 1
    algorithm = LogisticSGD(X, X[:, 0], X[:20], X[:20, 0])
    few = algorithm.space.params(np.random.default_rng(0).random((24, 5)))
    exact = algorithm.epsilons(few, 1e-5)
    np.testing.assert_allclose(algorithm.quick_epsilons(few, 1e-5), exact, rtol=0.03)  # computed on a coarser grid
    algorithm.quick_epsilons(algorithm.space.params(np.random.default_rng(1).random((600, 5))), 1e-5)
    apart = np.abs(np.log(algorithm.quick_epsilons(few, 1e-5) / exact))  # learnt
    assert np.median(apart) < 0.03
    assert apart.max() < 0.4


def test_what_is_trained_for_measuring_cannot_be_certified() -> None:
    model = made().train(PARAMS, [0])
    assert repr(model) == "<not released, no guarantee: an ndarray of shape (1, 7)>"
    assert not hasattr(model, "guarantee")
    with pytest.raises(TypeError):
        pickle.dumps(model)
    with pytest.raises(TypeError):
        json.dumps(model)


@pytest.mark.parametrize("name", ["logistic_sgd", "logistic_adam", "svm_sgd"])
def test_the_trainer_of_its_name_takes_the_same_steps_for_release(name: str) -> None:
    """The published steps written out, with the lots and noise that the trainer drew: whole gradients, no averaging."""
    X, y = examples()
    trainer: Any = find_trainer(name).load()
    asked = {**PARAMS, "rate": 0.5}
    released = trainer.train(EncodedRows(X, y.astype(float)), trainer.settle(asked, 203), FACTS, Simulation(3))
    source, w, loss = Simulation(3), np.zeros(7), "hinge" if name == "svm_sgd" else "logistic"
    mean, square = np.zeros(7), np.zeros(7)
    whole = WholeGradients(0.7, 20)
    for step in range(1, 21):
        lot = draw_lot(203, 20, source)
        total = loop_sum(loss, w, X[lot], y[lot], 0.7) / whole.unit
        drawn = source.gaussian_whole_array(np.rint(total)[None, :].astype(np.int64), 2 * whole.reach * ABOVE)
        g = drawn[0] * whole.unit / 20
        if name != "logistic_adam":
            w = w - 0.5 * g
            continue
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        w = w - 0.5 / (1 - 0.9**step) * mean / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    np.testing.assert_allclose(released.weights[0], w, rtol=0.02, atol=5e-3)  # features are rounded to 2^-12


def test_a_release_at_a_point_of_a_front_costs_the_epsilon_of_that_point() -> None:
    trainer: Any = find_trainer("logistic_sgd").load()
    profile = trainer.profile(trainer.settle(PARAMS, 203))
    assert epsilon_at(profile, 1e-5) == pytest.approx(float(made().epsilons([PARAMS], 1e-5)[0]), rel=1e-2)


def test_model_and_optimiser_are_searched_beside_the_papers_domain() -> None:
    both = made(Linear)
    assert {*both.space.names} - {*made().space.names} == {"model", "optimiser"}
    assert both.random.keys() == set(both.space.names)
    generator = np.random.default_rng(0)
    assert {both.random["optimiser"](generator) for _ in range(20)} == {"sgd", "adam"}
    for kind, model, optimiser in ((LogisticSGD, "logistic", "sgd"), (SupportVectorSGD, "svm", "sgd")):
        chosen = {**PARAMS, "model": model, "optimiser": optimiser}
        np.testing.assert_array_equal(both.train(chosen, [4]).reveal(), made(kind).train(PARAMS, [4]).reveal())
    adam = {**PARAMS, "model": "logistic", "optimiser": "adam"}
    np.testing.assert_array_equal(both.train(adam, [4]).reveal(), made(LogisticAdam).train(PARAMS, [4]).reveal())
    assert both.epsilons([adam], 1e-5) == made().epsilons([PARAMS], 1e-5)
    front = discover(both, delta=1e-5, trials=6, startup=4).value
    assert {p.params["model"] for p in front.tested} <= {"logistic", "svm"}


def test_a_lot_of_all_examples_and_a_lot_of_one() -> None:
    X, y = examples(30)
    algorithm = LogisticSGD(X, y, X, y)
    for lot, steps in ((30, 2), (1, 60), (16, 2)):
        asked = {**PARAMS, "lot": lot}
        assert LotSettings.of(asked, 30).steps == steps
        assert 0 <= algorithm.utility(asked, 0) <= 1
        assert np.isfinite(algorithm.epsilons([asked], 1e-5)).all()
    assert algorithm.space.distributions["lot"].high == 30
    assert all(1 <= algorithm.random["lot"](np.random.default_rng(i)) <= 30 for i in range(20))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"lot": 204}, "lot must be at most the number of examples"),
        ({"lot": 0}, "lot must be at least 1"),
        ({"lot": 2.5}, "lot must be a whole number"),
        ({"clip": 0.0}, "clip must be positive"),
        ({"variance": float("nan")}, "variance must be finite"),
        ({"rate": 1e12}, "at most 1e9"),
    ],
)
def test_bad_hyper_parameters_are_refused(change: dict[str, Any], rule: str) -> None:
    with pytest.raises(BadInput, match=rule):
        made().utility({**PARAMS, **change}, 0)
    with pytest.raises(BadInput, match=rule):
        made().epsilons([{**PARAMS, **change}], 1e-5)


def test_a_missing_hyper_parameter_is_named() -> None:
    with pytest.raises(BadInput, match="'rate' is missing"):
        made().utility({k: v for k, v in PARAMS.items() if k != "rate"}, 0)


X_, y_ = examples(20)


@pytest.mark.parametrize(
    ("arrays", "rule"),
    [
        ((X_[:, 0], y_), r"X must have shape \(examples, features\)"),
        ((X_, y_[:-1]), "X has 20 rows and y has 19"),
        ((X_, y_[:, None]), r"y must have shape \(examples,\)"),
        ((np.where(X_ > 1, np.nan, X_), y_), "X must be finite"),
        ((X_ * 1e9, y_), "within"),
        ((X_, np.where(y_ > 0, np.nan, 0.0)), "y must be finite"),
        ((X_, np.zeros(20)), "at least two classes, got 1"),
        ((X_, np.arange(20) % 3), "takes 2 classes, got 3"),
        ((X_, y_, X_), "both X_test and y_test"),
        ((X_, y_, X_[:, :2], y_), "X_test has 2"),
        ((X_, y_, X_, y_ + 5), "none of the 2 classes"),
        ((X_.astype(str), y_), "array of numbers"),
    ],
)
def test_bad_data_are_refused_without_showing_them(arrays: tuple[Any, ...], rule: str) -> None:
    with pytest.raises(BadInput, match=rule):
        LogisticSGD(*arrays)


def test_one_class_is_taken_when_classes_are_named() -> None:
    algorithm = LogisticSGD(X_, np.zeros(20), X_, np.zeros(20), classes=(0, 1))
    assert algorithm.examples.classes == (0, 1)
    with pytest.raises(BadInput, match="distinct"):
        LogisticSGD(X_, y_, classes=(1, 1))


def test_without_a_test_set_a_fifth_is_held_out_by_seed() -> None:
    a, b, other = (LogisticSGD(*examples(), seed=s) for s in (0, 0, 1))
    assert (len(a.examples.X), len(a.examples.X_test)) == (162, 41)
    assert (a.examples.X == b.examples.X).all()
    assert not (a.examples.X == other.examples.X).all()


def test_a_table_is_encoded_and_measured() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, 200)
    table = pd.DataFrame({"age": age, "job": rng.choice(["a", "b"], 200), "flat": 1.0, "rich": age > 40})
    algorithm = LogisticSGD.from_table(table, "rich")
    assert algorithm.examples.X.shape == (160, 4)
    assert algorithm.utility({**PARAMS, "epochs": 40, "variance": 0.1}, 0) > 0.7
    with pytest.raises(BadInput, match="no column 'poor'"):
        LogisticSGD.from_table(table, "poor")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cell", ["n/a", "words", None, 10**400, b"x", [1], True])
def test_nothing_that_a_test_row_holds_moves_training_or_other_test_rows(cell: object) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, 200).astype(float)
    table = pd.DataFrame({"age": age, "job": rng.choice(["a", "b"], 200), "rich": np.where(age > 40, "yes", "no")})
    before = LogisticSGD.from_table(table, "rich")
    row = int(np.random.default_rng(0).permutation(200)[160 + 7])
    for column in table.columns:
        changed = table.astype(object)
        changed.at[row, column] = cell
        after = LogisticSGD.from_table(changed, "rich")
        assert after.examples.classes == before.examples.classes
        assert after.examples.X.tobytes() == before.examples.X.tobytes()
        assert after.examples.y.tobytes() == before.examples.y.tobytes()
        moved = after.each_utility(PARAMS, 0) != before.each_utility(PARAMS, 0)
        assert set(np.flatnonzero(moved)) <= {7}
        if column == "rich":
            assert after.each_utility(PARAMS, 0)[7] == 0.0


def test_the_private_front_gets_one_utility_for_each_test_record() -> None:
    algorithm = made()
    each = algorithm.each_utility(PARAMS, 3)
    assert each.shape == (algorithm.records,) == (90,)
    assert each.mean() == pytest.approx(algorithm.utility(PARAMS, 3))


@pytest.mark.parametrize("kind", ["adult", "mnist"])
def test_random_search_draws_within_the_accepted_ranges(kind: str) -> None:
    rng = np.random.default_rng(0)
    for draw in RANDOM[kind].values():
        values = np.array([draw(rng) for _ in range(300)])
        assert draw.low <= values.min()
        assert values.max() <= draw.high
        assert not draw.whole or all(isinstance(draw(rng), int) for _ in range(3))


def test_random_search_has_the_papers_means() -> None:
    """Truncated exponential with rate 10 on [1e-3, 1e-1]: mean 1e-3 + 0.1 - 0.099 / (e^0.99 - 1); 3,000 draws."""
    rng = np.random.default_rng(0)
    rates = [RANDOM["adult"]["rate"](rng) for _ in range(3_000)]
    assert np.mean(rates) == pytest.approx(1e-3 + 0.1 - 0.099 / np.expm1(0.99), rel=0.05)


def test_training_takes_any_blocks_of_coins() -> None:
    """Cutting the stream of coins elsewhere changes nothing."""
    X, y = examples()
    rows, s = Rows.of(X, y, "logistic", np.float32), LotSettings.of(PARAMS, len(X))
    lots, noise = coins_of(0, s, 7)
    cut = iter([(lots[:3, None], noise[:3, None, None].copy()), (lots[3:, None], noise[3:, None, None].copy())])
    whole = iter([(lots[:, None], noise[:, None, None].copy())])
    np.testing.assert_array_equal(*(train(rows, s, "sgd", coins, (1, 1)) for coins in (cut, whole)))
