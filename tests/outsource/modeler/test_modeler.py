"""The modeler: the loop, its model of noisy inputs, and what it does with awkward tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from outsource_parts import Given, hill, some_rows

from tacit.errors import BadInput
from tacit.gp.exact import GaussianProcess
from tacit.gp.kernels import RBF
from tacit.outsource.modeler import Modeler, Prior, _Search
from tacit.outsource.modeler.noisy_inputs import expected_kernel, places
from tacit.outsource.protocol.terms import Answer


def test_the_averaged_kernel_is_the_average_of_the_kernel() -> None:
    # 200,000 draws: the standard error of the mean is at most 1e-3, and 5 of them are allowed
    rng = np.random.default_rng(0)
    unknown = np.array([0.5, 2.0])
    kernel, own = expected_kernel(1.5, 2.0, unknown)
    a, b = np.array([0.3, -1.0]), np.array([1.0, 0.7])
    x, y = (m + rng.normal(size=(200_000, 2)) * np.sqrt(unknown) for m in (a, b))
    values = 2.0 * np.exp(-0.5 * ((x - y) ** 2).sum(axis=1) / 1.5**2)
    assert kernel(a[None], b[None])[0, 0] == pytest.approx(values.mean(), abs=5e-3)
    assert kernel.variance + own == pytest.approx(2.0)


def test_without_noise_the_averaged_kernel_is_the_kernel() -> None:
    kernel, own = expected_kernel(0.7, 1.3, np.zeros(3))
    assert own == pytest.approx(0.0, abs=1e-15)
    assert kernel == RBF((0.7,) * 3, variance=1.3)


def test_places_are_the_least_squares_guess_at_the_rows() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(20_000, 2)) * [5.0, 1.0]
    noisy = rows + 2.0 * rng.normal(size=rows.shape)
    found = places(noisy, 2.0)
    # eigenvalues come in ascending order: the narrow direction first
    truth = rows[:, ::-1] - rows.mean(axis=0)[::-1]
    guess = found.means * np.sign((found.means * truth).sum(axis=0))
    assert ((guess - truth) ** 2).mean(axis=0) == pytest.approx(found.unknown, rel=0.05)
    assert ((noisy - rows) ** 2).mean(axis=0)[0] > found.unknown[1]
    assert places(noisy, 1e9).means == pytest.approx(0.0)  # all noise: nothing is known, and all rows are alike
    assert (places(rows, 0.0).means == rows).all()


def test_beta_and_the_choice_are_those_of_the_paper() -> None:
    rows = some_rows(40)
    source = Given(rows, hill(rows))
    Modeler(source, prior=Prior(8.0, noise=1e-4)).run(6)
    asked = [r for (r,) in source.asked]
    kernel = RBF((8.0, 8.0))
    for t in range(1, 6):
        X, y = rows[asked[:t]], hill(rows)[asked[:t]]
        K = kernel(X, X) + 1e-4 * np.eye(t)
        cross = kernel(X, rows)
        mean = cross.T @ np.linalg.solve(K, y)
        sd = np.sqrt(np.maximum(1 - np.einsum("ij,ij->j", cross, np.linalg.solve(K, cross)), 0))
        beta = 2 * math.log(40 * (t + 1) ** 2 * math.pi**2 / (6 * 0.025))
        score = mean + math.sqrt(beta) * sd
        score[asked[:t]] = -np.inf
        assert asked[t] == int(np.argmax(score))


def test_rows_may_be_asked_again_as_algorithm_2_has_it() -> None:
    rows = some_rows(40)
    prior, values = Prior(40.0, noise=0.5), hill(rows)
    source = Given(rows, values)
    source.history = [Answer(3, float(values[3]))]
    found = Modeler(source, prior=prior, repeat_rows=True).run(20)
    gp = GaussianProcess(RBF((40.0, 40.0)), noise=0.5, candidates=rows)
    expected = [3]
    gp.append_candidate(3, float(values[3]))
    for t in range(2, 21):  # lines 2 to 7 of the paper
        beta = 2 * math.log(40 * t**2 * math.pi**2 / (6 * 0.025))
        expected.append(int(np.argmax(gp.mean + math.sqrt(beta) * np.sqrt(gp.variance))))
        gp.append_candidate(expected[-1], float(values[expected[-1]]))
    assert [answer.row for answer in found.answers] == expected
    assert len(set(expected)) < 20
    values = values.copy()
    values[expected[1]] = np.nan
    once = Modeler(Given(rows, values), prior=prior, repeat_rows=True).run(20)
    assert [a.row for a in once.answers].count(expected[1]) <= 1, "what cannot be evaluated is not asked again"
    with pytest.raises(BadInput, match="repeats its noisy answers"):
        Modeler(Given(rows, hill(rows), answer_noise=0.1), repeat_rows=True).run(3)


@pytest.mark.parametrize("prior", [Prior(8.0), None], ids=["known", "fitted"])
@pytest.mark.parametrize("batch", [1, 4])
def test_it_finds_the_hill(prior: Prior | None, batch: int) -> None:
    rows = some_rows(300)
    source = Given(rows, hill(rows))
    found = Modeler(source, prior=prior, batch=batch).run(25)
    assert found.trials == 25
    assert hill(rows).max() - found.value < 0.05
    flat = [r for rows_asked in source.asked for r in rows_asked]
    assert len(set(flat)) == 25  # no row twice
    assert max(map(len, source.asked)) == batch


def test_minimising_is_maximising_the_opposite() -> None:
    rows = some_rows(60)
    up, down = Given(rows, hill(rows)), Given(rows, -hill(rows))
    best = Modeler(up, prior=Prior(8.0)).run(10)
    least = Modeler(down, prior=Prior(8.0), direction="minimize").run(10)
    assert up.asked == down.asked
    assert (best.row, best.value) == (least.row, -least.value)


def test_knowing_the_noise_beats_ignoring_it() -> None:
    # mean over 20 fixed problems; both sides see the same tables and answers, so nothing here is random
    regret = {True: 0.0, False: 0.0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = some_rows(500, 2, seed)
        kernel = RBF((6.0, 6.0))
        values = np.linalg.cholesky(kernel(rows, rows) + 1e-6 * np.eye(500)) @ rng.normal(size=500)
        table = rows + 3.0 * rng.normal(size=rows.shape)
        for aware in regret:
            found = Modeler(Given(table, values, noise=3.0), prior=Prior(6.0), aware=aware).run(30)
            regret[aware] += (values.max() - found.value) / 20
    assert regret[True] < 0.6 * regret[False]


def test_it_goes_on_where_an_earlier_run_ended() -> None:
    rows = some_rows(80)
    whole = Given(rows, hill(rows))
    Modeler(whole, prior=Prior(8.0)).run(12)
    halved = Given(rows, hill(rows))
    halved.history = [Answer(r, float(hill(rows)[r])) for (r,) in whole.asked[:7]]
    found = Modeler(halved, prior=Prior(8.0)).run(12)
    assert halved.asked == whole.asked[7:]
    assert found.trials == 12
    before = len(halved.asked)
    halved.history = found.answers
    assert Modeler(halved, prior=Prior(8.0)).run(12).row == found.row
    assert len(halved.asked) == before  # nothing left to ask


@pytest.mark.parametrize("prior", [Prior(8.0), None], ids=["known", "fitted"])
def test_rows_that_cannot_be_evaluated_are_skipped(prior: Prior | None) -> None:
    rows = some_rows(30)
    values = hill(rows)
    values[::2] = np.nan
    found = Modeler(Given(rows, values), prior=prior).run(30)
    assert found.row % 2 == 1
    assert found.value == np.nanmax(values)
    with pytest.raises(BadInput, match="no row was answered"):
        Modeler(Given(rows, values * np.nan), prior=prior).run(5)


def test_duplicates_constant_columns_and_few_rows_are_fine() -> None:
    rows = np.repeat(some_rows(5), 4, axis=0)
    rows[:, 1] = 3.0
    for prior in (Prior(8.0), None):
        found = Modeler(Given(rows, hill(rows)), prior=prior).run(1000)
        assert found.trials == 20  # every row once, then it stops
    one = Modeler(Given(rows[:1], np.array([2.0]), noise=1.0)).run(3)
    assert (one.row, one.value, one.trials) == (0, 2.0, 1)


def test_with_noisy_answers_the_best_row_is_not_the_luckiest() -> None:
    rows = some_rows(200)
    rng = np.random.default_rng(3)
    noisy = hill(rows) + 0.5 * rng.normal(size=200)
    found = Modeler(Given(rows, noisy, answer_noise=0.5), prior=Prior(8.0, noise=0.0)).run(60)
    truth = hill(rows)
    lucky = max(found.answers, key=lambda a: a.value or 0.0).row
    assert truth[found.row] >= truth[lucky]
    assert truth.max() - truth[found.row] < 0.25


def test_a_large_table_is_searched_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.outsource.modeler.POOL", 50)
    rows = some_rows(500)
    source = Given(rows, hill(rows))
    Modeler(source, prior=Prior(8.0)).run(200)
    assert len(source.asked) == 50


def test_a_table_of_fewer_directions_is_stretched_to_its_distances() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 20)) * 5
    P = np.linalg.qr(rng.normal(size=(20, 10)))[0]
    source = Given(rows @ P, rows[:, 0], noise=1e-9)
    source.terms.about["scale"] = [1.0] * 20
    search = _Search(Modeler(source, prior=Prior(8.0)), source.terms, source.table())
    apart = ((search.points[:150] - search.points[150:]) ** 2).sum(axis=1)
    truth = ((rows[:150] - rows[150:]) ** 2).sum(axis=1)
    assert apart.mean() == pytest.approx(truth.mean(), rel=0.1)


def test_bad_arguments_are_refused() -> None:
    source = Given(some_rows(5), np.zeros(5))
    with pytest.raises(BadInput, match="trials must be at least 1"):
        Modeler(source).run(0)
    with pytest.raises(BadInput, match="direction must be one of"):
        Modeler(source, direction="up")
    with pytest.raises(BadInput, match="lengthscale must be positive"):
        Prior(0.0)
    with pytest.raises(BadInput, match="must not be negative"):
        Prior(1.0, noise=-1.0)
