"""The attacks: each gives a measured epsilon for what an attacker got, beside what was promised."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.audit.recorder import Recorder, compared
from tacit.errors import TacitError
from tacit.methods.registry import METHODS, load
from tacit.privacy.guarantee import UNTIMED, Budget

DELTA = 1e-5
N, T = 40, 8
SPACE = {"x": tacit.Float(0.0, 1.0)}
ENDS = np.r_[0.0, np.full(N - 1, 0.5)], np.r_[1.0, np.full(N - 1, 0.5)]


@dataclass(frozen=True)
class Attack:
    """An entry point, what was tried, what was promised and what was got, as epsilons at one delta."""

    entry: str
    tried: str
    claimed: float
    measured: float
    note: str = ""


def epsilon(budget: Budget) -> float:
    """At the common delta; that of a pure budget as it is."""
    return budget.amount if budget.notion == "pure" else budget.epsilon(max(DELTA, budget.delta))


def recorded(
    entry: str, tried: str, run: Callable[[Any, Recorder], Any], pair: Any, claim: Budget, hidden: bool = False
) -> Attack:
    """What entered the noise on two neighbours, over its scale: exact for this pair, no sampling.

    ``hidden`` is for methods that keep noisy observations to themselves: what is released, with the same coins, counts.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compared(run, *pair, replay="coins" if hidden else "answers")
    if hidden:
        note = "what entered the released values, exactly; conditional claim, data of our choice"
        return Attack(entry, tried, epsilon(claim), found.epsilon, note)
    pure = found.epsilon if not found.mu else float("inf")
    measured = min(pure, Budget("gdp", found.total_mu).epsilon(DELTA)) if claim.notion != "pure" else pure
    leaks = "; ".join(found.differences)
    return Attack(entry, tried, epsilon(claim), measured, leaks or "what entered the noise, exactly")


def corners() -> Iterator[Attack]:
    """Every method on the neighbours at which its claim is tightest."""
    for name, method in METHODS.items():
        if not method.neighbours:
            continue
        data = load(method.neighbours)()

        def run(objective: Any, recorder: Recorder, name: str = name, data: Any = data) -> Any:
            asked = {"records": data.records, "bounds": (0.0, 1.0), "budget": data.budget, "trials": data.trials}
            asked |= {"method": name, "noise": recorder, "accept_noise": True, "progress": False, **data.arguments}
            return tacit.tune(objective, data.space, **asked).value.params

        entry, tried = f"tacit.tune, {name}", "neighbours at the clipping corner"
        yield recorded(entry, tried, run, data.objectives, data.budget, bool(data.conditional))


def study(data: Any, recorder: Recorder) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def losses(trial: Any) -> Any:
        trial.suggest_float("x", 0.0, 1.0)
        return data

    asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": Budget.gdp(1.0), "trials": T}
    objective = tacit.private(losses, **asked, accept_noise=True, noise=recorder)
    made = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    made.optimize(objective, n_trials=T)
    return [t.value for t in made.trials]


def scikit(cell: Any) -> Attack:
    """One validation cell is replaced by something else."""
    import pandas
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    generator = np.random.default_rng(0)
    frame = pandas.DataFrame(generator.normal(size=(300, 3)), columns=list("abc"))
    labels = np.where(frame["a"] > 0, "yes", "no").astype(object)
    hidden = np.sort(np.random.RandomState(0).permutation(300)[:150])
    other, turned = frame.astype(object), labels.copy()
    other.loc[hidden[0], "a"] = cell
    turned[hidden[0]] = "a label that nobody else has"
    columns = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    model = make_pipeline(columns, SimpleImputer(), LogisticRegression())

    def run(data: Any, recorder: Recorder) -> Any:
        space = {"logisticregression__C": tacit.Float(0.01, 100, log=True)}
        search = tacit.PrivateSearchCV(
            model, space, epsilon=1.0, delta=DELTA, trials=4, random_state=0, accept_noise=True, noise=recorder
        )
        return search.fit(*data).best_params_

    what = f"a validation cell {cell!r} and a label of its own"
    return recorded("PrivateSearchCV", what, run, [(frame, labels), (other, turned)], Budget.approximate(1.0, DELTA))


def front(side: Any, recorder: Recorder) -> Any:
    from tacit.pareto import PrivateTest, discover

    class Algorithm:
        label, name, records = "no sampling, one record replaced", "attack", N
        space = {"noise": tacit.Float(0.1, 100.0, log=True)}  # noqa: RUF012

        def epsilons(self, params: Any, delta: float) -> Any:
            return np.array([1 / p["noise"] for p in params])

        def utility(self, params: Any, seed: int) -> float:
            return float(side.mean())

        def each_utility(self, params: Any, seed: int) -> Any:
            return side

    private = PrivateTest(Budget.gdp(1.0), noise=recorder)
    return discover(Algorithm(), delta=0.0, trials=4, startup=4, repeats=2, private=private).value.to_json()["tested"]


def training(name: str) -> Attack:
    """One training run of ``tacit.train``: a record goes from one corner of its features to the other."""
    from tacit.privacy.profiles import GaussianProfile, tabulate
    from tacit.space import Space
    from tacit.training.registry import load_trainer
    from tacit.training.trainer import CLASSES, Base, EncodedRows, Facts

    trainer = load_trainer(name)
    facts = Facts(N, 1, trainer.task, 2 if trainer.task == CLASSES else 1)
    space = Space(trainer.space(facts))
    base = Base(1.0, tabulate(GaussianProfile(1.0), floor=1e-9))
    settings = trainer.calibrate(space.params([[0.3] * space.dimensions])[0], facts, base)

    def run(corner: float, recorder: Recorder) -> Any:
        X, target = np.zeros((N, 1)), np.zeros(N)
        X[0], target[0] = corner, 1.0
        return trainer.train(EncodedRows(X, target), settings, facts, recorder).scores(np.ones((1, 1)))

    return recorded(f"tacit.train, one run of {name}", "a record at either corner", run, (1.0, -1.0), Budget.gdp(1.0))


def table(rows: Any, recorder: Recorder) -> Any:
    with tacit.Curator(rows, rows[:, 0], epsilon=1.0, delta=DELTA, noise=recorder) as curator:
        return np.asarray(curator.table())


def moved_rows() -> list[Any]:
    """One row is moved by norm 1, the unit of the promise."""
    rows = np.random.default_rng(0).uniform(-9, 9, (30, 2))
    other = rows.copy()
    other[3] += np.array([0.6, 0.8])
    return [rows, other]


class Stops(Exception):
    """The attacker pulls the plug."""


def draws_of(entry: str, way: str, budget: Budget, got: set[float]) -> Attack:
    """What as many values as the attacker got would cost, each with the noise of one of T."""
    each = budget.mu() / np.sqrt(T)
    measured = Budget.gdp(each * np.sqrt(max(1, len(got)))).epsilon(DELTA)
    return Attack(entry, way, budget.epsilon(DELTA), measured, f"{len(got)} values drawn, {T} paid for")


def interrupted(folder: Path, after: int, paying: Any, **asked: Any) -> set[float]:
    """Values that a run gives before it is stopped after so many evaluations, or at its end."""
    left = [after]

    def losses(params: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise Stops
        return ENDS[0]

    known: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": Budget.gdp(1.0), "trials": T}
    known |= {"accept_noise": True, "progress": False, "method": "random", "ledger": paying, **asked}
    with contextlib.suppress(TacitError, Stops):
        tacit.tune(losses, SPACE, out=folder, **known)
    return values_in(folder / "study.db")


def values_in(database: Path) -> set[float]:
    import optuna

    if not database.exists():
        return set()
    stored = optuna.load_study(study_name=None, storage=f"sqlite:///{database}")
    return {t.value for t in stored.trials if t.value is not None}


def resumes(times: int = 12) -> Attack:
    """Stopped again and again, and run on."""
    with tempfile.TemporaryDirectory() as place:
        paying = tacit.Ledger.open(Path(place) / "l.db", "records", Budget.gdp(1.0))
        got: set[float] = set()
        for _ in range(times):
            got |= interrupted(Path(place) / "run", 1, paying)
        got |= interrupted(Path(place) / "run", 99, paying)
    return draws_of("tacit.tune, random", f"stopped and resumed {times} times", Budget.gdp(1.0), got)


def copies(ledger: bool, times: int = 3) -> Attack:
    """Copied half-way, and every copy run to its end."""
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        paying = tacit.Ledger.open(here / "l.db", "records", Budget.gdp(1.0)) if ledger else None
        got = interrupted(here / "run", T // 2, paying)
        for i in range(times):
            shutil.copytree(here / "run", here / f"copy{i}")
        for i in range(times):
            got |= interrupted(here / f"copy{i}", 99, paying)
        got |= interrupted(here / "run", 99, paying)
    way = f"copied {times} times half-way, {'with' if ledger else 'without'} a ledger"
    return draws_of("tacit.tune, random", way, Budget.gdp(1.0), got)


def clocks(entry: str, release: Callable[[Any], Any], pair: tuple[Any, Any], claim: Budget, runs: int) -> Attack:
    """Only the time of a release is looked at, of many in turn on either data set."""
    from tacit.audit import lower_bound

    took: tuple[list[float], list[float]] = ([], [])
    for i in range(2 * runs):
        start = time.perf_counter()
        release(pair[i % 2])
        took[i % 2].append(time.perf_counter() - start)
    found = lower_bound(np.array(took[0]), np.array(took[1]), delta=DELTA)
    return Attack(entry, "its time alone", epsilon(claim), float(found), f"{runs} runs on each side, bound at 99%")


def values_and_clocks(entry: str, mechanism: Any, claim: Budget, runs: int) -> Attack:
    """What came out and how long it took: half of the runs teach how times go with the size of the noise.

    Time is the processor's, as on a machine that does nothing else: what others do would blur what there is to see.
    """
    from scipy.ndimage import median_filter

    from tacit.audit import lower_bound

    side = np.arange(2 * runs) % 2
    value, took = np.empty(2 * runs), np.empty(2 * runs)
    for i in range(2 * runs):
        start = time.thread_time()
        value[i] = mechanism.release(float(side[i])).value
        took[i] = time.thread_time() - start
    took -= median_filter(took, 201)  # what else the machine did
    slot = np.digitize(took, np.quantile(took, np.arange(1, 8) / 8))

    def size(noise: Any) -> Any:
        return np.minimum(np.abs(noise) / mechanism.scale, 6).astype(int)

    seen, learnt = np.ones((7, 8)), slice(runs)
    np.add.at(seen, (size(value - side)[learnt], slot[learnt]), 1)
    log = np.log(seen / seen.sum(axis=1, keepdims=True))
    laplace = isinstance(mechanism, tacit.mechanisms.Laplace)
    loss = (np.abs(value) - np.abs(value - 1)) / mechanism.scale if laplace else value / mechanism.scale**2
    odds = (loss + log[size(value - 1), slot] - log[size(value), slot])[runs:]
    found = float(lower_bound(odds[side[runs:] == 0], odds[side[runs:] == 1], delta=DELTA))
    note = f"{runs // 2} runs on each side, bound at 99%"
    if UNTIMED in mechanism.premises:
        note += f"; {UNTIMED}: a premise of the claim"
    return Attack(entry, "its value and time", epsilon(claim), found, note)
