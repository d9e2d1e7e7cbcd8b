"""Deliberately broken variants, which live here only. The audit, the recorder or a law catches each one.

Each test first shows that the sound variant passes the very check that catches the broken one. Noise is simulated with
fixed seeds, so nothing here fails by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.audit.game import Game, Outputs
from tacit.audit.games import mechanisms
from tacit.audit.play import run_game
from tacit.audit.recorder import Recorder, compared
from tacit.methods.observed import ObservationTerms
from tacit.privacy import gradient_mean
from tacit.privacy.mean import STEPS, BoundedMean
from tacit.privacy.mechanisms import Gaussian, Laplace
from tacit.privacy.noise import EXACT, Simulation, Source
from tacit.privacy.release import Release, digest

N = 10
ENDS = np.r_[0.0, np.full(N - 1, 0.5)], np.r_[1.0, np.full(N - 1, 0.5)]
RUNS = 20_000


def verdict(draw: Callable[[int, int, Source], Outputs], claim: tacit.Budget, runs: int = RUNS) -> str:
    return run_game(Game("mutant", "", claim, draw, runs=runs)).verdict


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_half_the_noise_is_caught(kind: str) -> None:
    claim = tacit.Budget.gdp(1.0) if kind == "gaussian" else tacit.Budget.pure(1.0)

    def draw(share: float) -> Callable[[int, int, Source], Outputs]:
        return lambda side, runs, noise: getattr(noise, kind)(np.full(runs, float(side)), share)

    assert verdict(draw(1.0), claim) == "within the claim"
    assert verdict(draw(0.5), claim) == "BROKEN"


def test_half_the_noise_of_a_choice_is_caught() -> None:
    scores = np.zeros(5), np.r_[1.0, np.full(4, -1.0)]

    def draw(scale: float) -> Callable[[int, int, Source], Outputs]:
        def drawn(side: int, runs: int, noise: Any) -> Outputs:
            return np.array([noise.gumbel_argmax(scores[side], scale) for _ in range(runs)])

        return drawn

    assert verdict(draw(2.0), tacit.Budget.pure(1.0), 6000) == "within the claim"
    assert verdict(draw(1.0), tacit.Budget.pure(1.0), 6000) == "BROKEN"


def test_a_forgotten_square_root_of_the_number_of_trials_is_caught() -> None:
    class Forgets(ObservationTerms):
        def mechanism(self, noise: Source = EXACT) -> BoundedMean:
            return BoundedMean(self.records, self.bounds, budget=tacit.Budget.gdp(self.budget.mu()), noise=noise)

    for terms, found in ((ObservationTerms, "within the claim"), (Forgets, "BROKEN")):
        made = terms(N, (0.0, 1.0), tacit.Budget.gdp(1.0), 8)
        mean = made.mechanism()

        def draw(side: int, runs: int, noise: Source, mean: BoundedMean = mean) -> Outputs:
            return mechanisms.means(mean, mean.prepare(ENDS[side]), runs * 8, noise).reshape(runs, 8)

        assert verdict(draw, made.budget) == found

        def run(data: Any, recorder: Recorder, made: ObservationTerms = made) -> list[float]:
            return [made.mechanism(recorder).release(data).value for _ in range(8)]

        assert bool(compared(run, *ENDS).within(made.budget)) == (found == "BROKEN")


def test_clipping_after_averaging_is_caught() -> None:
    claim, far = tacit.Budget.gdp(1.0), (np.zeros(N), np.r_[1e6, np.zeros(N - 1)])

    def before(data: Any, noise: Source) -> float:
        return float(noise.gaussian(np.array([np.clip(data, 0, 1).mean()]), 1 / N)[0])

    def after(data: Any, noise: Source) -> float:
        return float(noise.gaussian(np.array([np.clip(data.mean(), 0, 1)]), 1 / N)[0])

    for mechanism, caught in ((before, False), (after, True)):
        broken = compared(mechanism, *far).within(claim, {"gaussian": 1 / N})
        assert bool(broken) is caught

        def draw(side: int, runs: int, noise: Source, mechanism: Any = mechanism) -> Outputs:
            return np.array([mechanism(far[side], noise) for _ in range(runs)])

        assert (verdict(draw, claim, 4000) == "BROKEN") is caught


def test_a_gradient_sensitivity_of_b_instead_of_2b_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = tacit.Budget.gdp(2.0)

    def run(steep: float, recorder: Recorder) -> Any:
        about = {"records": N, "bounds": (0.0, 1.0), "budget": claim, "trials": 3, "method": "gibo"}
        about |= {"scan": 0, "score_budget": 0.0}
        losses = lambda params: np.r_[steep, np.zeros(N - 1)] * sum(params.values())  # noqa: E731
        space = {"a": tacit.Float(0.0, 1.0), "b": tacit.Float(0.0, 1.0)}
        return tacit.tune(losses, space, **about, noise=recorder, accept_noise=True, progress=False)

    assert compared(run, 1e3, -1e3).within(claim) == []
    reach = gradient_mean.reach
    monkeypatch.setattr(gradient_mean, "reach", lambda d: reach(d) / 2)
    found = compared(run, 1e3, -1e3)
    assert found.mu == pytest.approx(4.0, rel=1e-6)
    assert found.within(claim)
    assert run_game("gibo", 400, exact=False).verdict == "BROKEN"


class Before(Gaussian):
    """Draws, then pays: whoever pulls the plug in between has a value that nobody paid for."""

    def release(self, value: Any, *, ledger: Any = None, purpose: str = "") -> Release[Any]:
        drawn = self.draw(self.prepare(value))
        payment = ledger.charge(self.guarantee, purpose)
        ledger.settle(payment, digest(drawn))
        return Release(drawn, self.guarantee, payment)


@pytest.mark.parametrize(("kind", "caught"), [(Gaussian, False), (Before, True)])
def test_noise_drawn_before_the_debit_is_caught_by_the_law(kind: type[Gaussian], caught: bool, tmp_path: Any) -> None:
    seen = []

    class Looks:
        simulated = False

        def gaussian(self, values: Any, scale: float) -> Any:
            with tacit.Ledger.open(tmp_path / "l.db", "law") as other:  # sees what was committed, and nothing else
                seen.append(len(other.entries()))
            return EXACT.gaussian(values, scale)

    with tacit.Ledger.open(tmp_path / "l.db", "law", tacit.Budget.approximate(8.0, 1e-6)) as ledger:
        kind(1.0, scale=1.0, noise=Looks()).release(0.5, ledger=ledger)  # type: ignore[arg-type]
    assert (seen == [0]) is caught
    assert (seen == [1]) is not caught


@pytest.mark.parametrize(("counted", "caught"), [(N, False), (N + 1, True)])
def test_a_number_of_records_off_by_one_is_caught(counted: int, caught: bool) -> None:
    claim = tacit.Budget.gdp(1.0)

    def run(data: Any, noise: Source) -> float:
        return float(noise.gaussian(np.array([np.clip(data, 0, 1).mean()]), 1 / counted)[0])

    assert bool(compared(run, *ENDS).within(claim)) is caught
    assert compared(run, *ENDS).mu == pytest.approx(counted / N)

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        return noise.gaussian(np.full(runs, ENDS[side].mean()), 1 / counted)

    assert (verdict(draw, claim, 100_000) == "BROKEN") is caught


@pytest.mark.parametrize("caught", [False, True])
def test_seeded_noise_is_caught(caught: bool) -> None:
    """A fresh run with a fixed seed repeats itself: one output for each data set, and the two never meet."""

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        def one() -> float:
            source = Simulation(7) if caught else noise
            return float(Laplace(1.0, scale=1.0, noise=source).release(float(side)).value)

        return np.array([one() for _ in range(runs)])

    assert (verdict(draw, tacit.Budget.pure(1.0), 400) == "BROKEN") is caught


@pytest.mark.parametrize("caught", [False, True])
def test_a_private_value_in_an_error_message_is_caught(caught: bool) -> None:
    def run(data: Any, recorder: Recorder) -> None:
        worst = data.max()
        raise ValueError(f"a loss of {worst} is out of bounds" if caught else "a loss is out of bounds")

    found = compared(run, *ENDS)
    assert found.same_error is not caught
    assert bool(found.within(tacit.Budget.gdp(1.0))) is caught


@pytest.mark.parametrize("where", ["none", "evaluations", "mechanisms", "failing", "shape", "scale"])
def test_a_branch_on_private_data_is_caught(where: str) -> None:
    def run(data: Any, recorder: Recorder) -> Any:
        losses, high = recorder.watch(lambda x: data * x), data[0] > 0.5
        mean = BoundedMean(N, (0.0, 1.0), scale=1.0, noise=recorder)
        answers = [mean.release(losses(1.0)).value]
        if where == "evaluations" and high:
            losses(0.5)
        if where == "mechanisms" and high:  # stops early otherwise
            answers.append(mean.release(losses(1.0)).value)
        if where == "failing" and high:
            raise ValueError("no convergence")
        if where in ("shape", "scale"):
            size = 2 if where == "shape" and high else 1
            recorder.gaussian(np.zeros(size), 2.0 if where == "scale" and high else 1.0)
        return answers

    found = compared(run, *ENDS)
    assert bool(found.differences) is (where != "none")
    assert found.same_evaluations is (where not in ("evaluations", "mechanisms"))
    assert found.same_flow is (where not in ("mechanisms", "shape", "scale"))
    assert found.same_error is (where != "failing")


def test_a_search_that_looks_where_private_losses_are_low_is_caught() -> None:
    """The next place is chosen by exact means, the noise is added to what is shown."""
    claim = tacit.Budget.gdp(1.0)

    def run(data: Any, recorder: Recorder, peeks: bool) -> list[float]:
        losses, mean, places, shown = recorder.watch(lambda x: np.abs(data - x)), [], [0.0, 1.0], []
        mechanism = BoundedMean(N, (0.0, 1.0), budget=tacit.Budget.gdp(1.0 / math.sqrt(3)), noise=recorder)
        for x in (0.0, 1.0):
            mean.append(float(losses(x).mean()))
            shown.append(mechanism.release(losses(x)).value)
        guide = mean if peeks else shown
        shown.append(mechanism.release(losses(0.25 if guide[0] < guide[1] else 0.75)).value)
        return shown + places

    one, other = np.r_[0.4, np.full(N - 1, 0.5)], np.r_[0.6, np.full(N - 1, 0.5)]
    for peeks in (False, True):
        found = compared(lambda data, recorder: run(data, recorder, peeks), one, other)  # noqa: B023
        assert bool(found.within(claim)) is peeks


def test_a_sum_whose_rounding_moves_by_more_than_a_record_is_caught() -> None:
    """In half precision the spacing changes at 2048: above, each -0.9 is rounded away; below, it counts as -1."""
    here = np.concatenate([np.full(2**10, 2.0), [2.0], np.full(1000, -0.9)]).astype(np.float16)
    there, claim = here.copy(), tacit.Budget.gdp(1.0)
    there[2**10] = -2.0

    def naive(data: Any, noise: Source) -> float:
        return float(noise.gaussian(np.array([float(np.cumsum(data)[-1])]), 4.0)[0])

    def exact(data: Any, noise: Source) -> float:
        return BoundedMean(len(data), (-2.0, 2.0), budget=claim, noise=noise).release(data).value

    assert compared(exact, here, there).within(claim, {"gaussian_whole": STEPS}) == []
    assert compared(naive, here, there).within(claim, {"gaussian": 4.0})
