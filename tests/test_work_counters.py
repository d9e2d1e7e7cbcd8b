"""How much work a result takes, counted exactly, so that a slow-down is seen without a clock.

Each number has its reason beside it. If a change makes a number smaller, put the new one here; if it makes one larger,
that is the slow-down.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pareto_toys import Toy

import tacit
from tacit.gp import exact
from tacit.gp.exact import GaussianProcess
from tacit.gp.form import Kernel
from tacit.gp.kernels import RBF
from tacit.methods import optimiser
from tacit.outsource.curator.transform import NoisyProjection
from tacit.outsource.protocol.frames import HEAD, frame, pack
from tacit.outsource.protocol.wire import Answers, Query
from tacit.privacy.gradient_mean import Clipped
from tacit.privacy.noise import Exact
from tacit.run.engine import Reducer

pytestmark = pytest.mark.filterwarnings("ignore::tacit.errors.PrivacyWarning")  # large budgets, for little noise

N, STEPS = 300, 50
Counts = Counter[str]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """Counts covariances, factorisations, triangular solves, fits and exact draws, wherever they happen."""
    seen: Counts = Counter()

    def spied(owner: Any, name: str, cost: Any) -> None:
        real = getattr(owner, name)

        def counted(*args: Any, **settings: Any) -> Any:
            seen.update(cost(*args))
            return real(*args, **settings)

        monkeypatch.setattr(owner, name, counted)

    spied(Kernel, "__call__", lambda kernel, A, B: {"covariances": len(A) * len(B)})
    spied(Kernel, "row", lambda kernel, x, scaled, out, spare: {"covariances": len(out)})
    spied(exact, "cholesky", lambda S, *_: {"factorisations": 1})
    spied(exact, "dtrsm", lambda alpha, L, b, *_: {"solves": 1})
    spied(exact, "dtrsv", lambda L, b, *_: {"solves": 1})
    spied(optimiser, "fit", lambda *_: {"fits": 1})
    spied(Exact, "gaussian_whole", lambda source, value, scale: {"draws": 1})
    spied(Exact, "gaussian_whole_array", lambda source, values, scale: {"draws": values.size})
    spied(Exact, "gaussian", lambda source, values, scale: {"draws": values.size})
    spied(Exact, "laplace", lambda source, values, scale: {"draws": values.size})
    spied(Exact, "gumbel_argmax", lambda source, scores, scale: {"choices": 1})
    return seen


def points(n: int, d: int = 2) -> np.ndarray:
    return np.random.default_rng(0).random((n, d))


def test_a_step_over_candidates_costs_one_covariance_each_and_no_solve(work: Counts) -> None:
    C = points(N)
    gp = GaussianProcess(RBF((0.2, 0.2)), noise=0.01, candidates=C, capacity=STEPS)
    for t in range(STEPS):
        i = int(np.argmax(gp.mean + 2 * np.sqrt(gp.variance)))
        gp.append_candidate(i, float(np.sin(7 * C[i, 0])))
        assert len(gp) == t + 1
    # 50 rows of 300; the new row of the factor is already known as a column of V, so nothing is solved or refactored
    assert work == {"covariances": STEPS * N}


def test_a_point_elsewhere_costs_one_solve_more(work: Counts) -> None:
    gp = GaussianProcess(RBF((0.2, 0.2)), noise=0.01, candidates=points(N), capacity=STEPS)
    for x in points(STEPS):
        gp.append(x, 1.0)
    # 0 + 1 + ... + 49 covariances with the points before, and 300 with the candidates each time; a solve for each but
    # the first; never a factorisation
    assert work == {"covariances": STEPS * (STEPS - 1) // 2 + STEPS * N, "solves": STEPS - 1}


def test_a_block_of_points_costs_one_factorisation(work: Counts) -> None:
    gp = GaussianProcess(RBF((0.2, 0.2)), noise=0.01, candidates=points(N))
    gp.extend(points(STEPS), np.ones(STEPS))
    # 50 x 50 among themselves and 50 x 300 with the candidates; solves: the values, one block of candidates
    assert work == {"covariances": STEPS * STEPS + STEPS * N, "factorisations": 1, "solves": 2}


def losses(params: dict[str, Any]) -> np.ndarray:
    return np.full(1000, 0.25 * (params["x0"] - 0.3) ** 2)


def space(d: int) -> dict[str, Any]:
    return {f"x{j}": tacit.Float(0.0, 1.0) for j in range(d)}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[tacit.Ledger]:
    with tacit.Ledger.open(tmp_path / "ledger.db", "icu", tacit.Budget.gdp(100.0)) as opened:
        yield opened


def rows(ledger: tacit.Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()]


def tuned(asked: Any, d: int, ledger: tacit.Ledger, budget: tacit.Budget, **settings: Any) -> Any:
    return tacit.tune(
        asked,
        space(d),
        records=1000,
        bounds=(0.0, 1.0),
        budget=budget,
        ledger=ledger,
        progress=False,
        **{"method": "observed", **settings},
    )


class Asked:
    """An objective that counts how often it is evaluated."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, params: dict[str, Any]) -> np.ndarray:
        self.times += 1
        return losses(params)


@pytest.mark.parametrize("trials", [10, 25])
def test_a_search_draws_once_a_trial_and_is_charged_once(trials: int, work: Counts, ledger: tacit.Ledger) -> None:
    asked = Asked()
    tuned(asked, 2, ledger, tacit.Budget.gdp(1.0), trials=trials)
    confirming = trials // 10
    # the choice is evaluated once more and drawn again for each of the last tenth
    assert asked.times == trials - confirming + 1
    assert work["draws"] == trials
    assert work["choices"] == 0
    # two rows in the ledger however many trials: the debit of the whole budget, and that it was drawn
    assert rows(ledger) == ["charge", "drawn"]
    assert ledger.entries()[0].guarantee.budget == tacit.Budget.gdp(1.0)
    # a fit for each proposal when the startup is over, and one for the answer
    assert work["fits"] == trials - confirming - max(4, min(10, trials // 4)) + 1


def test_random_search_fits_once_for_its_answer(work: Counts, ledger: tacit.Ledger) -> None:
    asked = Asked()
    tuned(asked, 2, ledger, tacit.Budget.gdp(1.0), trials=20, method="random")
    assert asked.times == 20 - 2 + 1
    assert (work["fits"], work["draws"], rows(ledger)) == (1, 20, ["charge", "drawn"])


def test_algorithm_1_draws_one_choice_and_one_score(work: Counts, tmp_path: Path) -> None:
    asked = Asked()
    budget = tacit.Budget.approximate(200.0, 1e-2)
    whole = tacit.Budget.approximate(300.0, 0.1)
    with tacit.Ledger.open(tmp_path / "own.db", "icu", whole, composition="basic") as ledger:
        tuned(asked, 2, ledger, budget, trials=12, method="kusner1", candidates=64, accept_noise=True)
        assert rows(ledger) == ["charge", "drawn"]
    # 12 noisy scores and one Laplace draw; a candidate that comes again is not evaluated again
    assert (work["draws"], work["choices"]) == (12 + 1, 1)
    assert asked.times <= 12
    # 12 steps of the run, 12 of the bound on the information gain, each a row of 64; 64 x 64 for the forecast
    assert work["covariances"] == 2 * 12 * 64 + 64 * 64
    assert work["fits"] == 0


@pytest.mark.parametrize("d", [2, 5])
def test_a_step_of_gibo_costs_two_evaluations_and_one_draw_a_dimension(
    d: int, work: Counts, ledger: tacit.Ledger
) -> None:
    asked, steps = Asked(), 6
    tuned(asked, d, ledger, tacit.Budget.gdp(50.0), trials=steps, method="gibo", scan=0, score_budget=0)
    # a cross has 2d places; a step releases d numbers; no surrogate is fitted and nothing is chosen
    assert asked.times == steps * 2 * d
    assert (work["draws"], work["choices"], work["fits"]) == (steps * d, 0, 0)
    assert rows(ledger) == ["charge", "drawn"]


@pytest.mark.parametrize("records", [100, 100_000])
def test_a_shard_answers_with_as_many_numbers_as_dimensions_whatever_it_holds(records: int) -> None:
    d, places = 3, 6
    clipped = Clipped(np.ones((d, places)), 1.0)
    listed = [{"x0": 0.1 * i} for i in range(places)]
    total, counted = Reducer(clipped)(lambda params: np.full(records, params["x0"]), listed)
    assert (len(total), counted) == (d, records)
    # a whole number takes at most 2 + 8 bytes here, the count 3 to 5, the frame of a list in a tuple 24
    assert len(pickle.dumps((total, counted), protocol=5)) <= 24 + 10 * d + 5


def test_a_table_takes_four_bytes_a_number_before_it_is_compressed() -> None:
    rows, columns = 4096, 10
    part = np.random.default_rng(0).normal(size=(rows, columns)).astype("<f4")
    body = pack(part)
    assert HEAD.size == 8  # of a frame of 4,096 rows
    assert part.nbytes == 4 * rows * columns
    assert len(frame(body, rows)) == HEAD.size + len(body)
    # signs and exponents go, the rest of a noisy number stays: 0.85 to 0.95 of its bytes, by the library's version
    assert 0.85 < len(body) / part.nbytes < 0.95


def test_a_query_and_its_answer_take_this_many_bytes() -> None:
    query = Query(request="0" * 36, rows=[123456]).model_dump_json()
    assert len(query) == 79
    told = Answers.model_validate({"request": "0" * 36, "answers": [{"row": 123456, "value": 0.123456789}]})
    assert len(told.model_dump_json()) == 110


class Counting(Toy):
    """A toy that counts what its oracles are asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.runs = 0

    def epsilons(self, params: Sequence[dict[str, Any]], delta: float) -> np.ndarray:
        self.asked.append(len(params))
        return super().epsilons(params, delta)

    def utility(self, params: dict[str, Any], seed: int) -> float:
        self.runs += 1
        return super().utility(params, seed)


def test_a_proposal_of_dpareto_asks_for_its_epsilons_in_two_calls() -> None:
    toy = Counting()
    tacit.pareto.discover(toy, delta=1e-6, trials=20, startup=16, repeats=2, progress=False)
    # 64 are asked for at the start, whether any is finite; the pool over the whole space is asked for once, for the
    # startup points; every trial asks for its own epsilon
    assert toy.asked[:18] == [64, 2048] + [1] * 16
    # then each proposal asks around the front (at most 256 places) and around the 6 best (at 2 distances, 16 each)
    around, nearer, own = (toy.asked[18 + i :: 3] for i in range(3))
    assert (nearer, own) == ([6 * 2 * 16] * 4, [1] * 4)
    assert all(192 <= n <= 256 for n in around)
    assert toy.runs == 20 * 2  # two repeats of every trial and nothing else


def test_a_published_table_costs_one_exact_draw_a_number(work: Counts) -> None:
    made = NoisyProjection(3, epsilon=1.0, delta=1e-6)
    assert sum(len(block) for block in made.blocks(np.ones((50, 3)))) == 50
    assert work == {"draws": 50 * 3}
