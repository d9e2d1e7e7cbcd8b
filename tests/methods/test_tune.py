"""tacit.tune from end to end: what it refuses, what it releases, what it leaves behind, what it costs."""

from __future__ import annotations

import csv
import json
import logging
import signal
import subprocess
import sys
import threading
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import optuna
import pytest

import tacit
from tacit.errors import BadInput, BudgetRefused, LedgerError, ObjectiveError, TacitError
from tacit.methods.tune import read_release
from tacit.privacy.release import digest

N = 4000
BUDGET = tacit.Budget.approximate(1.0, 1e-6)
SPACE = {"x": tacit.Float(0.0, 1.0)}


@pytest.fixture(autouse=True)
def quiet_optuna() -> None:
    logging.getLogger("optuna").setLevel(logging.WARNING)


class Bowl:
    """Least at x = 0.3; counts its calls."""

    def __init__(self, sign: float = 1.0) -> None:
        self.sign, self.calls = sign, 0

    def __call__(self, params: dict[str, Any]) -> np.ndarray:
        self.calls += 1
        return np.full(N, 0.5 + self.sign * ((params["x"] - 0.3) ** 2 - 0.25))


def tuned(objective: Any = None, space: Any = SPACE, **other: Any) -> tacit.Release:
    given = {"records": N, "bounds": (0.0, 1.0), "budget": BUDGET, "trials": 6, "progress": False}
    return tacit.tune(objective or Bowl(), space, **{**given, "method": "observed", **other})


def ledger_at(path: Path, times: float = 1.0) -> tacit.Ledger:
    """A ledger that holds some runs of the usual budget: n runs of mu cost mu sqrt(n)."""
    return tacit.Ledger.open(path / "ledger.db", "icu", tacit.Budget.gdp(BUDGET.mu() * (times + 1e-6) ** 0.5))


# Methods


@pytest.mark.parametrize("method", ["observed", "random", "grid"])
def test_a_method_of_private_observations_is_unconditional(method: str) -> None:
    release = tuned(method=method, trials=12)
    value = release.value
    assert (value.method, value.direction) == (method, "minimize")
    assert release.guarantee.unconditional
    assert release.guarantee.epsilon(1e-6) == pytest.approx(1.0, rel=1e-9)
    assert len(value.trials) == 12
    assert value.noise == pytest.approx(12**0.5 / (N * BUDGET.mu()), rel=1e-6)
    assert value.params in [t["params"] for t in value.trials]
    truth = Bowl()(value.params)[0]
    assert abs(value.score - truth) < 8 * value.deviation  # false alarm below 1e-14: the score is fresh noise


@pytest.mark.parametrize(("method", "options"), [("kusner1", {}), ("kusner2", {"A": 1.0, "tau": 1.0})])
@pytest.mark.filterwarnings("ignore::tacit.methods.kusner.problem.NearlyUniform")
def test_a_method_on_a_model_is_conditional(method: str, options: Any, tmp_path: Path) -> None:
    release = tuned(method=method, accept_noise=True, candidates=16, out=tmp_path, **options)
    assert release.guarantee.kind == "conditional"
    assert release.guarantee.assumptions
    assert release.value.trials == []  # what was seen on the way is private
    assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "certificate.json"]
    assert read_release(tmp_path) == release.certificate()


@pytest.mark.filterwarnings("ignore::tacit.methods.kusner.problem.NearlyUniform")
def test_the_third_algorithm_needs_a_pure_budget_and_a_lipschitz_constant() -> None:
    space = {"strength": tacit.Float(0.01, 1.0, log=True)}
    with pytest.raises(BadInput, match=r"Budget\.pure"):
        tuned(space=space, method="kusner3", lipschitz=1.0)
    with pytest.raises(BadInput, match=r"needs lipschitz.*Nothing was spent"):
        tuned(space=space, method="kusner3", budget=tacit.Budget.pure(1.0))
    objective = lambda params: np.full(N, params["strength"])  # noqa: E731
    release = tuned(objective, space, method="kusner3", budget=tacit.Budget.pure(1.0), lipschitz=1.0, accept_noise=True)
    assert release.guarantee.notion == "pure"
    assert release.guarantee.kind == "conditional"


def test_the_search_without_privacy_has_no_guarantee_and_keeps_nothing(tmp_path: Path) -> None:
    release = tuned(method="nonprivate", budget=None, trials=20)
    assert release.guarantee.kind == "none"
    assert "NO privacy guarantee" in str(release.guarantee)
    assert release.value.params["x"] == pytest.approx(0.3, abs=0.03)
    kept = {"ledger": ledger_at(tmp_path), "out": tmp_path / "out", "storage": f"sqlite:///{tmp_path}/s.db"}
    for other in ({"budget": BUDGET}, *({name: value} for name, value in kept.items())):
        with pytest.raises(BadInput, match="protects nothing"):
            tuned(method="nonprivate", **{"budget": None, **other})
    assert not (tmp_path / "out").exists()


def test_methods_that_keep_their_trials_to_themselves_refuse_to_share_them() -> None:
    with pytest.raises(BadInput, match=r"'kusner1' keeps its trials to itself.*no storage"):
        tuned(method="kusner1", storage="sqlite://", accept_noise=True)


# Bad input; nothing is evaluated


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an empty space": ({"space": {}}, "at least one parameter"),
    "a space of strings": ({"space": {"x": "0 to 1"}}, "parameter 'x' must be tacit.Float"),
    "no trials": ({"trials": 0}, "trials must be at least 1, got trials=0"),
    "half a trial": ({"trials": 2.5}, "trials must be a whole number"),
    "no budget": ({"budget": None}, r"'observed' needs a budget, such as tacit\.Budget\.approximate"),
    "a number for a budget": ({"budget": 1.0}, r"must be a tacit\.Budget"),
    "an unknown method": ({"method": "magic"}, "one of auto, observed, random, grid.*got method='magic'"),
    "an unknown option": ({"constants": "icml"}, "'observed' takes no option constants"),
    "an unknown option of a paper": ({"method": "kusner1", "sauce": 1}, "takes no option sauce; it takes constants"),
    "no records": ({"records": 0}, "records must be at least 1"),
    "swapped bounds": ({"bounds": (1.0, 0.0)}, "low < high"),
    "endless bounds": ({"bounds": (0.0, float("inf"))}, "must be finite"),
    "a wrong direction": ({"direction": "up"}, "one of minimize, maximize"),
    "no candidates": ({"candidates": []}, "must not be an empty list"),
    "a candidate outside": ({"candidates": [{"x": 3.0}]}, r"outside \[0, 1\]"),
    "a candidate without x": ({"candidates": [{"y": 0.5}]}, "needs a value for 'x'"),
    "a candidate of words": ({"candidates": [{"x": "half"}]}, "must be a number"),
    "storage that is none": ({"storage": "nowhere://x"}, "storage cannot be opened.*Nothing was spent"),
    "a small grid": (
        {"space": {"c": tacit.Choice(list("abcdefgh"))}, "method": "grid"},
        "smallest grid of this space has 8 points",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_before_anything_is_evaluated(what: str, tmp_path: Path) -> None:
    other, message = BAD[what]
    objective, ledger = Bowl(), ledger_at(tmp_path)
    with pytest.raises(BadInput, match=message):
        tuned(objective, **{"ledger": ledger, **other})
    assert objective.calls == 0
    assert ledger.entries() == []


def test_an_objective_must_be_a_function() -> None:
    with pytest.raises(BadInput, match="must be a function of the parameters"):
        tacit.tune(0.5, SPACE, records=N, bounds=(0, 1), budget=BUDGET, trials=3)  # type: ignore[arg-type]


def test_an_option_that_is_not_in_a_choice_is_refused() -> None:
    with pytest.raises(BadInput, match="is not one of the options"):
        tuned(space={"c": tacit.Choice(["a", "b"])}, candidates=[{"c": "z"}])


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    objective = Bowl()
    with pytest.raises(BadInput, match=r"cannot be written: Not a directory\. Nothing was spent"):
        tuned(objective, out=tmp_path / "file" / "out")
    assert objective.calls == 0


def test_storage_and_folder_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="storage or out, not both"):
        tuned(storage=f"sqlite:///{tmp_path}/s.db", out=tmp_path / "out")


def test_noise_that_drowns_the_scores_is_told_by_its_size_and_refused_until_accepted(tmp_path: Path) -> None:
    objective, ledger = Bowl(), ledger_at(tmp_path)
    noise = 6**0.5 / (20 * BUDGET.mu())
    with pytest.raises(BadInput, match=rf"deviation {noise:.3g}, .*accept_noise=True \(--yes\)\. Nothing was spent"):
        tuned(objective, records=20, ledger=ledger)
    assert (objective.calls, ledger.entries()) == (0, [])
    release = tuned(lambda params: np.zeros(20), records=20, ledger=ledger, accept_noise=True)
    assert release.value.noise == pytest.approx(noise, rel=1e-6)
    assert len(ledger.entries()) == 2


def test_a_record_count_that_disagrees_is_told_by_both_counts() -> None:
    with pytest.raises(ObjectiveError, match=r"shape \(4001,\), got an ndarray of shape \(4000,\)"):
        tuned(records=N + 1)


# What is released


@pytest.mark.parametrize(("loss", "score"), [(-1e9, 0.0), (1e9, 1.0), (np.inf, 1.0)])
def test_the_score_is_clipped_to_the_bounds(loss: float, score: float) -> None:
    """At the bound, so that about half of the noise goes beyond it."""
    scores = [tuned(lambda params: np.full(N, loss), method="random").value.score for _ in range(6)]
    assert all(0.0 <= s <= 1.0 for s in scores)
    assert all(abs(s - score) < 0.05 for s in scores)


def test_maximizing_finds_the_top() -> None:
    """Simulated noise from a fixed seed."""
    release = tuned(Bowl(-1.0), direction="maximize", trials=25, noise=tacit.Simulation(3))
    assert release.value.params["x"] == pytest.approx(0.3, abs=0.15)
    assert release.value.score == pytest.approx(0.75, abs=0.05)


def test_the_same_seed_and_simulated_noise_give_the_same_release() -> None:
    runs = [tuned(trials=10, noise=tacit.Simulation(1), seed=4) for _ in range(2)]
    assert digest(runs[0].value) == digest(runs[1].value)


@pytest.mark.parametrize(
    ("space", "trials", "size"),
    [
        ({"x": tacit.Float(0, 1), "y": tacit.Float(0, 1)}, 12, 9),
        ({"x": tacit.Int(1, 3, log=True)}, 12, 3),
        ({"x": tacit.Int(1, 2), "c": tacit.Choice(["a", "b", "c"])}, 12, 6),
        ({"x": tacit.Float(1e-3, 1.0, log=True)}, 1, 1),
    ],
)
def test_a_grid_search_visits_the_largest_grid_and_then_confirms(space: Any, trials: int, size: int) -> None:
    release = tuned(lambda params: np.full(N, 0.5), space, method="grid", trials=trials)
    visited = [t["params"] for t in release.value.trials]
    assert len(visited) == trials
    first = visited[:size]
    assert len({repr(p) for p in first}) == size
    assert all(p == release.value.params for p in visited[size:])


@pytest.mark.parametrize("method", ["observed", "random"])
def test_candidates_are_all_that_is_tried(method: str) -> None:
    candidates = [{"x": x} for x in (0.1, 0.2, 0.35, 0.7)]
    release = tuned(candidates=candidates, method=method, trials=10)
    assert all(t["params"] in candidates for t in release.value.trials)


# What it leaves behind, and calling again


def test_the_output_folder_holds_the_study_the_trials_and_the_certificate(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    release = tuned(out=tmp_path / "out", ledger=ledger)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        ".lock",
        "certificate.json",
        "study.db",
        "trials.csv",
    ]
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate == release.certificate() == read_release(tmp_path / "out")
    assert certificate["digest"] == digest(release.value)
    assert ledger.verify_certificate(certificate).paid
    with (tmp_path / "out" / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(float(r["x"]), float(r["value"])) for r in rows] == [
        (t["params"]["x"], t["value"]) for t in release.value.trials
    ]
    study = optuna.load_study(study_name="tacit", storage=f"sqlite:///{tmp_path}/out/study.db")
    assert [t.value for t in study.trials] == [t["value"] for t in release.value.trials]


def test_a_finished_database_does_not_tell_how_long_a_trial_took(ledger_url: str) -> None:
    """Kept where ledgers are too: in a file, and on a server."""

    def slow(params: dict[str, float]) -> np.ndarray:
        sleep(0.02 if params["x"] < 0.5 else 0.0)
        return Bowl()(params)

    given = {"storage": ledger_url, "study_name": "slow", "method": "random", "seed": 1}
    other = optuna.create_study(storage=ledger_url.replace("postgresql://", "postgresql+psycopg://"))
    other.optimize(lambda trial: 0.0, n_trials=1)
    release = tuned(slow, **given)
    stored = optuna.load_study(study_name="slow", storage=other._storage)
    times = {t for trial in stored.trials for t in (trial.datetime_start, trial.datetime_complete)}
    assert [t.isoformat()[10:] for t in times if t] == ["T00:00:00"]
    assert other.trials[0].datetime_start.microsecond or other.trials[0].datetime_complete.microsecond  # not ours
    assert tuned(slow, **given) == release


def test_a_finished_run_called_again_is_the_same_release_for_nothing(tmp_path: Path) -> None:
    objective, ledger = Bowl(), ledger_at(tmp_path)
    first = tuned(objective, out=tmp_path / "out", ledger=ledger)
    calls, entries = objective.calls, ledger.entries()
    again = tuned(objective, out=tmp_path / "out", ledger=ledger)
    before, now = first.certificate(), again.certificate()
    before["about"].pop("date"), now["about"].pop("date")  # of their making, to the second
    assert now == before
    assert (objective.calls, ledger.entries()) == (calls, entries)


def test_a_folder_of_another_space_is_refused(tmp_path: Path) -> None:
    tuned(out=tmp_path)
    objective = Bowl()
    for space in ({"y": tacit.Float(0.0, 1.0)}, {"x": tacit.Float(0.4, 0.5)}):
        with pytest.raises(BadInput, match="another space"):
            tuned(objective, space, out=tmp_path)
    with pytest.raises(BadInput, match=r"method 'observed'.*now method 'random'"):
        tuned(objective, method="random", out=tmp_path)
    assert objective.calls == 0


def test_a_second_run_continues_the_budget_and_the_third_is_refused(tmp_path: Path) -> None:
    ledger, objective = ledger_at(tmp_path, times=2), Bowl()
    tuned(ledger=ledger, out=tmp_path / "first")
    tuned(ledger=ledger, out=tmp_path / "second")
    assert [e.kind for e in ledger.entries()] == ["charge", "drawn"] * 2
    with pytest.raises(BudgetRefused, match="Nothing was released"):
        tuned(objective, ledger=ledger, out=tmp_path / "third")
    assert objective.calls == 0
    assert not (tmp_path / "third" / "certificate.json").exists()
    tuned(objective, ledger=ledger, out=tmp_path / "second")  # a finished run needs no budget
    assert objective.calls == 0


def test_a_run_that_was_refused_may_be_run_again_with_another_ledger(tmp_path: Path) -> None:
    small = tacit.Ledger.open(tmp_path / "small.db", "icu", tacit.Budget.gdp(0.01))
    with pytest.raises(BudgetRefused):
        tuned(ledger=small, out=tmp_path / "out")
    assert tuned(ledger=ledger_at(tmp_path), out=tmp_path / "out").payment is not None


def test_a_closed_ledger_is_refused_before_anything_is_evaluated(tmp_path: Path) -> None:
    ledger, objective = ledger_at(tmp_path), Bowl()
    ledger.close()
    with pytest.raises(LedgerError, match="was closed"):
        tuned(objective, ledger=ledger)
    assert objective.calls == 0


def test_two_runs_in_one_folder_at_once_are_refused(tmp_path: Path) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def waits(params: dict[str, Any]) -> np.ndarray:
        inside.set()
        go_on.wait(60)
        return Bowl()(params)

    running = threading.Thread(target=tuned, args=(waits,), kwargs={"out": tmp_path})
    running.start()
    inside.wait(60)
    try:
        with pytest.raises(TacitError, match="another run is writing to"):
            tuned(out=tmp_path)
    finally:
        go_on.set()
        running.join()
    assert len(tuned(out=tmp_path).value.trials) == 6


def test_no_certificate_is_read_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no certificate can be read"):
        read_release(tmp_path)
    (tmp_path / "certificate.json").write_text("{")
    with pytest.raises(BadInput, match="no certificate can be read"):
        read_release(tmp_path)


FULL = """
import resource, sys
import numpy as np
import tacit

calls, most = [], resource.getrlimit(resource.RLIMIT_FSIZE)
def losses(params):
    calls.append(1)
    if len(calls) == 3:  # from now on no file may grow, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most[1]))
    return np.full(4000, params["x"])

def tune(objective):
    return tacit.tune(objective, {"x": tacit.Float(0, 1)}, records=4000, bounds=(0, 1), budget=tacit.Budget.gdp(0.5),
                      trials=6, method="random", out="run", ledger=ledger, progress=False)

ledger = tacit.Ledger.open("l.db", "icu", tacit.Budget.gdp(0.5))
try:
    tune(losses)
except tacit.TacitError as error:
    resource.setrlimit(resource.RLIMIT_FSIZE, most)
    print(error)
tune(lambda params: np.full(4000, params["x"]))
print(sum(entry.kind == "charge" for entry in ledger.entries()))
"""


def test_a_full_disk_is_said_and_the_run_goes_on_without_paying_twice(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", FULL], cwd=tmp_path, capture_output=True, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
    )  # fmt: skip
    said = child.stdout.splitlines()
    assert len(said) == 2, child.stderr[-500:]
    assert "the study's storage failed" in said[0]
    assert "nothing is paid twice" in said[0]
    assert said[1] == "1"
