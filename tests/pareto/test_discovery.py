"""The loop: it finds known fronts, resumes, shares a study, goes on after failures and refuses what it must."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from pareto_toys import Answers, Breaks, Noisy, Singly, Toy

import tacit
from tacit.errors import BadInput, ObjectiveError
from tacit.pareto import DParetoSampler, Front, discover, hypervolume
from tacit.pareto.baselines import DrawnSampler
from tacit.space import Space

ASKED: dict[str, Any] = {"delta": 1e-6, "trials": 40, "startup": 12}


def best_hypervolume() -> float:
    """Of the toy's true front, error = 1 - 0.9 e / (1 + e), up to (10, 1): the integral of 0.9 e / (1 + e)."""
    return 0.9 * (10 - np.log(11))


@pytest.mark.parametrize("privacy_model", ["exact", "gp", "published"])
def test_the_front_of_the_toy_is_found(privacy_model: str) -> None:
    front = discover(Toy(), **ASKED, privacy_model=privacy_model).value
    random = discover(Toy(), **ASKED, sampler=DrawnSampler(Space(Toy().space), seed=1)).value
    assert front.hypervolume() > 0.93 * best_hypervolume()
    assert best_hypervolume() - front.hypervolume() < 0.6 * (best_hypervolume() - random.hypervolume())


def test_proposed_points_carry_the_epsilon_of_the_oracle() -> None:
    front = discover(Toy(), **ASKED).value
    assert [p.epsilon for p in front.tested] == [p.params["steps"] / p.params["noise"] for p in front.tested]


def test_the_exact_form_proposes_points_below_the_reference() -> None:
    """It knows epsilon, so after startup it never tests a point beyond what is of interest."""
    front = discover(Toy(), **ASKED, reference=(1.0, 1.0)).value
    assert all(p.epsilon < 1.0 for p in front.tested[12:])


def test_startup_points_lie_below_the_reference_and_far_apart() -> None:
    asked: dict[str, Any] = {"delta": 0.0, "reference": (1.0, 1.0), "seed": 5}
    tested = discover(Toy(), trials=16, startup=16, **asked).value.tested
    epsilons = np.array([p.epsilon for p in tested])
    assert (epsilons < 1.0).all()  # two of three points of this space are beyond
    pool = Space(Toy().space).params(np.random.default_rng(0).random((4000, 3)))
    known = np.sort([e for e in Toy().epsilons(pool, 0.0) if e < 1.0])
    ranks = np.sort(np.searchsorted(known, epsilons)) / len(known)
    assert np.diff(np.r_[0.0, ranks, 1.0]).max() < 0.3  # no stretch of epsilon is left out
    cube = Space(Toy().space).cube([p.params for p in tested])
    apart = np.linalg.norm(cube[:, None] - cube[None], axis=2)[np.triu_indices(16, 1)]
    assert apart.min() > 0.1
    assert [p.params for p in discover(Toy(), trials=5, startup=5, **asked).value.tested] == [
        p.params for p in tested[:5]
    ]


def test_a_third_of_few_points_is_scattered_unless_told_otherwise() -> None:
    assert discover(Toy(), delta=0.0, trials=24).value == discover(Toy(), delta=0.0, trials=24, startup=8).value
    assert discover(Toy(), delta=0.0, trials=24).value != discover(Toy(), delta=0.0, trials=24, startup=16).value


def test_equal_seeds_give_equal_fronts() -> None:
    assert discover(Noisy(), **ASKED, repeats=2).value == discover(Noisy(), **ASKED, repeats=2).value


def test_repeats_give_mean_best_and_worst() -> None:
    front = discover(Noisy(), delta=0.0, trials=5, repeats=4).value
    for p in front.tested:
        assert len(p.runs) == 4
        assert (p.worst, p.best) == (min(p.runs), max(p.runs))
        assert p.utility == pytest.approx(np.mean(p.runs))
        assert p.worst < p.best


def test_a_scalar_oracle_an_error_and_a_choice_are_enough() -> None:
    front = discover(Singly(), delta=0.0, trials=30).value
    assert {p.params["model"] for p in front.points if p.epsilon > 1} == {"a"}


def test_an_interrupted_study_goes_on_and_equals_one_that_was_not(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    assert len(discover(Toy(), **{**ASKED, "trials": 15}, storage=storage).value.tested) == 15
    front = discover(Toy(), **ASKED, storage=storage).value
    assert len(front.tested) == 40
    whole = discover(
        Toy(), **{**ASKED, "trials": 15}
    ).value.tested  # intervals depend on all points, so they are left out
    assert [(p.params, p.epsilon, p.runs) for p in front.tested[:15]] == [(p.params, p.epsilon, p.runs) for p in whole]


def test_a_study_of_something_else_is_refused(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    discover(Toy(), delta=1e-6, trials=2, storage=storage)
    for other, asked in ((Toy(), {"delta": 1e-5}), (Noisy(), {"delta": 1e-6}), (Toy(), {"delta": 1e-6, "repeats": 2})):
        with pytest.raises(BadInput, match="was begun otherwise"):
            discover(other, trials=3, storage=storage, **asked)
    optuna.create_study(storage=storage, study_name="one objective")
    with pytest.raises(BadInput, match="must minimise 2 objectives"):
        discover(Toy(), delta=0.0, trials=3, storage=storage, study_name="one objective")


def test_a_study_whose_epsilons_follow_another_formula_is_refused(tmp_path: Path) -> None:
    class Changed(Toy):
        """The same by name."""

        def epsilons(self, params: Any, delta: float) -> Any:
            return 1.01 * super().epsilons(params, delta)

    storage = f"sqlite:///{tmp_path}/study.db"
    discover(Toy(), delta=1e-6, trials=2, storage=storage)
    discover(Toy(), delta=1e-6, trials=3, storage=storage)
    with pytest.raises(BadInput, match="formula has changed"):
        discover(Changed(), delta=1e-6, trials=4, storage=storage)


def test_every_stored_epsilon_is_computed_again_when_a_study_goes_on(tmp_path: Path) -> None:
    discover(Toy(), delta=1e-6, trials=12, storage=f"sqlite:///{tmp_path}/study.db")
    for number in range(12):  # one at a time, those in the middle too
        changed = tmp_path / f"{number}.db"
        changed.write_bytes((tmp_path / "study.db").read_bytes())
        with closing(sqlite3.connect(changed)) as file, file:
            one = "trial_id = (SELECT trial_id FROM trials WHERE number = ?) AND objective = 0"
            file.execute(f"UPDATE trial_values SET value = value * 1.01 WHERE {one}", (number,))
        with pytest.raises(BadInput, match=f"trial {number} of this study has epsilon .* formula has changed"):
            discover(Toy(), delta=1e-6, trials=13, storage=f"sqlite:///{changed}")


def test_a_killed_process_leaves_a_trial_that_take_over_closes(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    discover(Toy(), **{**ASKED, "trials": 4}, storage=storage)
    study = optuna.load_study(study_name="pareto", storage=storage)
    study.ask(fixed_distributions=Space(Toy().space).distributions)  # and whoever asked is gone
    assert len(discover(Toy(), **{**ASKED, "trials": 6}, storage=storage).value.tested) == 5
    assert len(discover(Toy(), **{**ASKED, "trials": 6}, storage=storage, take_over=True).value.tested) == 6


def test_two_processes_share_one_study_and_test_each_point_once(ledger_url: str) -> None:
    """On SQLite and on PostgreSQL."""
    storage = ledger_url
    discover(Toy(), **{**ASKED, "trials": 1}, storage=storage)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\nfrom pareto_toys import Toy\nfrom tacit.pareto import discover\n"
        f"discover(Toy(), delta=1e-6, trials=24, startup=12, storage={storage!r})"
    )
    tests = str(Path(__file__).parents[1])
    both = [subprocess.Popen([sys.executable, "-c", code, tests]) for _ in range(2)]
    assert [p.wait(timeout=600) for p in both] == [0, 0]
    front = discover(Toy(), delta=1e-6, trials=24, startup=12, storage=storage).value
    assert len(front.tested) == 24
    assert len({str(p.params) for p in front.tested}) == 24


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_runs_several_points_at_once(pool: Any) -> None:
    with pool(2) as executor:
        front = discover(Toy(), **{**ASKED, "trials": 26}, executor=executor, at_once=4).value
    assert len({str(p.params) for p in front.tested}) == 26


def test_running_trials_are_believed_so_the_next_proposal_looks_elsewhere() -> None:
    space = Space(Toy().space)
    sampler = DParetoSampler(space, lambda ps: Toy().epsilons(ps, 0.0), startup=10, seed=3)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    for _ in range(12):
        trial = study.ask(fixed_distributions=space.distributions)
        study.tell(trial, [Toy().epsilons([trial.params], 0.0)[0], 1 - Toy().utility(trial.params, 0)])
    asked = [study.ask(fixed_distributions=space.distributions).params for _ in range(4)]
    cube = space.cube(asked)
    apart = np.linalg.norm(cube[:, None] - cube[None], axis=2)[np.triu_indices(4, 1)]
    assert apart.min() > 0.02


def test_a_point_that_another_worker_is_about_to_name_is_not_proposed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between beginning a trial and naming its point there is a gap; a worker that never names one holds nobody up."""
    space = Space(Toy().space)

    def begun() -> tuple[optuna.Study, int]:
        sampler = DParetoSampler(space, lambda ps: Toy().epsilons(ps, 0.0), startup=10, seed=3)
        study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
        for _ in range(12):
            trial = study.ask(fixed_distributions=space.distributions)
            study.tell(trial, [Toy().epsilons([trial.params], 0.0)[0], 1 - Toy().utility(trial.params, 0)])
        return study, study._storage.create_new_trial(study._study_id)

    with monkeypatch.context() as impatient:
        impatient.setattr("tacit.pareto.sampler.PATIENCE", 0.0)
        blind, _ = begun()
        taken = blind.ask(fixed_distributions=space.distributions).params
        impatient.setattr("tacit.pareto.sampler.time.sleep", lambda _: pytest.fail("waited twice for nobody"))
        blind.ask(fixed_distributions=space.distributions)

    study, other = begun()
    naps: list[float] = []

    def name_it_meanwhile(seconds: float) -> None:
        naps.append(seconds)
        for name, d in space.distributions.items():
            study._storage.set_trial_param(other, name, d.to_internal_repr(taken[name]), d)

    monkeypatch.setattr("tacit.pareto.sampler.time.sleep", name_it_meanwhile)
    assert study.ask(fixed_distributions=space.distributions).params != taken
    assert len(naps) == 1


def test_threads_of_one_study_wait_for_each_other_and_for_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that waits holds nothing that the one it waits for needs; then nobody is given up."""
    monkeypatch.setattr("tacit.pareto.sampler.PATIENCE", 20.0)
    space = Space(Toy().space)
    sampler = DParetoSampler(space, lambda ps: Toy().epsilons(ps, 0.0), startup=8, seed=3)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        params = {
            "noise": trial.suggest_float("noise", 0.1, 100.0, log=True),
            "rate": trial.suggest_float("rate", 0, 1),
        }
        params["steps"] = trial.suggest_int("steps", 1, 4)
        return float(Toy().epsilons([params], 0.0)[0]), 1 - Toy().utility(params, 0)

    study.optimize(objective, n_trials=32, n_jobs=4)
    assert sampler._nameless == set()
    assert len({str(t.params) for t in study.trials}) == 32


def test_a_known_cost_is_a_third_objective_of_the_sampler() -> None:
    """Steps cost: after 30 points the volume beats that of 30 random points of each of five seeds."""
    toy, space, corner = Toy(), Space(Toy().space), (10.0, 1.0, 5.0)

    def costs(params: Any) -> np.ndarray:
        return np.array([float(p["steps"]) for p in params])

    def volume(sampler: Any) -> float:
        study = optuna.create_study(directions=["minimize"] * 3, sampler=sampler)
        for _ in range(30):
            trial = study.ask(fixed_distributions=space.distributions)
            params = dict(trial.params)
            study.tell(trial, [toy.epsilons([params], 0.0)[0], 1 - toy.utility(params, 0), params["steps"]])
        return hypervolume([t.values for t in study.trials], corner)

    asked: dict[str, Any] = {"startup": 10, "reference": corner, "costs": costs}
    ours = volume(DParetoSampler(space, lambda ps: toy.epsilons(ps, 0.0), **asked))
    assert ours > max(volume(DrawnSampler(space, seed=seed)) for seed in range(5))


def test_objectives_and_reference_must_agree() -> None:
    space = Space(Toy().space)
    with pytest.raises(BadInput, match="one number for each objective"):
        DParetoSampler(space, np.ones_like, reference=(1.0, 1.0), costs=np.ones_like)
    with pytest.raises(BadInput, match="published form has two"):
        DParetoSampler(space, None, privacy_model="gp", reference=(1.0, 1.0, 1.0), costs=lambda ps: np.zeros(len(ps)))
    study = optuna.create_study(directions=["minimize"] * 3, sampler=DParetoSampler(space, np.ones_like))
    with pytest.raises(BadInput, match="must have 2 objectives"):
        study.ask(fixed_distributions=space.distributions)


def test_optuna_itself_can_run_the_sampler_in_threads() -> None:
    space = Space(Toy().space)
    study = optuna.create_study(
        directions=["minimize", "minimize"],
        sampler=DParetoSampler(space, lambda ps: Toy().epsilons(ps, 0.0), startup=8),
    )

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        params = {name: trial._suggest(name, d) for name, d in space.distributions.items()}
        return float(Toy().epsilons([params], 0.0)[0]), 1 - Toy().utility(params, 0)

    study.optimize(objective, n_trials=20, n_jobs=3)
    assert len({str(t.params) for t in study.trials}) == 20
    assert len(study.best_trials) > 5


def test_a_sampler_that_served_one_study_sees_the_points_of_another() -> None:
    space = Space(Toy().space)
    sampler = DParetoSampler(space, lambda ps: Toy().epsilons(ps, 0.0))
    for u in (0.25, 0.75):
        study = optuna.create_study(directions=["minimize", "minimize"])
        params = space.params(np.full((1, space.dimensions), u))[0]
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=dict(space.distributions), values=[1.0, 0.5])
        )
        assert (sampler.features(study.get_trials(deepcopy=False)) == space.features([params])).all()


def test_a_point_that_fails_twice_is_recorded_and_the_study_goes_on() -> None:
    front = discover(Breaks(), **ASKED).value
    assert front.failed
    assert len(front.tested) + len(front.failed) == 40
    assert all(p["rate"] > 0.6 for p in front.failed)
    # after startup the search leaves the failing part alone for the most part
    assert sum(p.params["rate"] <= 0.6 for p in front.tested[-20:]) >= 15


def test_a_run_that_fails_once_is_tried_again() -> None:
    def every_third_call_raises(calls: int) -> float:
        if calls % 3 == 0:
            raise ValueError("no")
        return 0.5

    algorithm = Answers(every_third_call_raises)
    assert len(discover(algorithm, delta=0.0, trials=6).value.tested) == 6
    assert algorithm.calls == 8


@pytest.mark.parametrize("answer", [float("nan"), lambda calls: 1 / 0])
def test_nothing_but_failures_stops_after_startup(answer: Any) -> None:
    algorithm = Answers(answer)
    with pytest.raises(ObjectiveError, match="first 5 points all failed"):
        discover(algorithm, delta=0.0, trials=50, startup=5)
    assert algorithm.calls == 10


def test_what_a_failing_run_said_is_not_repeated() -> None:
    with pytest.raises(ObjectiveError) as refused:
        discover(Answers(lambda calls: int("record 17")), delta=0.0, trials=4, startup=2)
    assert "record 17" not in str(refused.value)


@pytest.mark.parametrize("answer", [1.5, -0.1, "high", None, [0.1, 0.2], float("inf")])
def test_a_utility_outside_its_range_stops_the_study(answer: Any) -> None:
    algorithm = Answers(answer)
    with pytest.raises(ObjectiveError, match=r"\[0, 1\]"):
        discover(algorithm, delta=0.0, trials=5)
    assert algorithm.calls == 1


def test_a_constant_utility_gives_the_most_private_point() -> None:
    class Constant(Toy):
        def utility(self, params: dict[str, Any], seed: int) -> float:
            return 0.5

    front = discover(Constant(), delta=0.0, trials=25).value
    assert len(front.points) == 1
    assert front.points[0].epsilon == min(p.epsilon for p in front.tested)
    assert front.points[0].epsilon < 0.012  # the least of the space is 0.01


def test_a_space_without_a_finite_epsilon_is_refused_before_a_run() -> None:
    with pytest.raises(BadInput, match="has a finite epsilon"):
        discover(Answers(0.5, float("inf")), delta=0.0, trials=20, startup=5)


def test_an_epsilon_of_zero_is_a_point_like_any_other() -> None:
    front = discover(Answers(0.5, 0.0), delta=0.0, trials=20, startup=5).value
    assert front.at(epsilon=0.1).epsilon == 0.0
    assert front.hypervolume() == 5.0


@pytest.mark.parametrize("epsilon", [-1.0, float("nan")])
def test_an_epsilon_that_is_none_stops_the_study(epsilon: float) -> None:
    with pytest.raises(ObjectiveError, match="epsilon"):
        discover(Answers(0.5, epsilon), delta=0.0, trials=3)


def test_a_reference_below_every_point_is_worked_towards() -> None:
    """No startup point lies below it; the search goes to smaller epsilons until one does."""
    front = discover(Toy(), delta=0.0, trials=30, startup=6, reference=(0.01001, 1.0)).value
    assert not any(p.epsilon < 0.01001 for p in front.tested[:6])
    assert front.hypervolume() > 0


@pytest.mark.parametrize(
    "asked",
    [
        {"trials": 0},
        {"trials": 2.5},
        {"delta": 1.0},
        {"delta": -0.1},
        {"delta": float("nan")},
        {"startup": 0},
        {"repeats": 0},
        {"reference": (0.0, 1.0)},
        {"reference": (10.0, float("inf"))},
        {"reference": (1.0, 1.0, 1.0)},
        {"privacy_model": "guess"},
        {"at_once": 0},
        {"storage": "nosuch://place"},
    ],
    ids=str,
)
def test_bad_arguments_are_refused_before_anything_runs(asked: dict[str, Any]) -> None:
    algorithm = Answers(0.5)
    with pytest.raises(BadInput):
        discover(algorithm, **{"delta": 0.0, "trials": 3, **asked})
    assert algorithm.calls == 0


@pytest.mark.parametrize("missing", ["label", "space", "utility", "epsilons"])
def test_an_algorithm_without_its_parts_is_refused(missing: str) -> None:
    broken = type("Broken", (Toy,), {missing: None, "each_utility": None})()
    with pytest.raises(BadInput):
        discover(broken, delta=0.0, trials=3)
    with pytest.raises(BadInput, match="class"):
        discover(Toy, delta=0.0, trials=3)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    discover(Toy(), delta=0.0, trials=4, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_public_face() -> None:
    front = tacit.pareto.discover(Toy(), delta=1e-6, trials=20, startup=16, reference=(10, 1), storage=None).value
    assert isinstance(front, Front)
    assert "NOT PRIVATE" in str(front)
