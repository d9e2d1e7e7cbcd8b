"""No record leaves: a sentinel is planted in the data of every entry point, and looked for in all that comes out.

In every public object (its pickle, a copy, its text, its JSON, whatever can be reached from it), in every file that was
written and is not marked private, and in logs, warnings and what was printed.
"""

from __future__ import annotations

import copy
import json
import pickle
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

import tacit
from tacit.audit.observer import observe
from tacit.cli.main import main
from tacit.errors import BadInput, ObjectiveError
from tacit.integrations.sklearn import split_rows
from tacit.methods.registry import METHODS
from tacit.outsource.curator import PrivateAnswers
from tacit.pareto import PrivateTest, discover
from tacit.report.pages.front import write as write_front
from tacit.trainers.dp_sgd import LogisticSGD

SECRET, WORD = 0.7182818284590452, "patient-4711-of-room-9"
SHORT = "0.71828182"
PATTERNS = [struct.pack(form, SECRET) for form in ("<d", ">d", "<f", ">f")]
PATTERNS += [text.encode(code) for text in (SHORT, WORD) for code in ("utf-8", "utf-16-le")]
BUDGET, N = tacit.Budget.approximate(2.0, 1e-4), 300
UNIT = {"x": tacit.Float(0.0, 1.0)}
RECORDS = np.r_[np.linspace(0.1, 0.6, N - 1), SECRET]


def holds(content: Any) -> bool:
    if isinstance(content, str):
        return SHORT in content or WORD in content
    return isinstance(content, (bytes, bytearray)) and any(p in content for p in PATTERNS)


def losses(params: dict[str, Any]) -> np.ndarray:
    """Of the sentinel its very value, whatever the parameters."""
    return np.r_[RECORDS[:-1] * (0.5 + params["x"] / 2), RECORDS[-1]]


def ledger(folder: Path, unit: str = "") -> tacit.Ledger:
    return tacit.Ledger.open(folder / f"ledger{unit}.db", "records", tacit.Budget.approximate(9.0, 1e-2))


def tuned(method: str) -> Callable[[Path], list[Any]]:
    def run(folder: Path) -> list[Any]:
        how = METHODS[method]
        budget = BUDGET if "approximate" in how.notions else tacit.Budget.pure(2.0)
        asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": budget, "trials": 4, "method": method}
        options: dict[str, Any] = {"A": 1.0, "tau": 0.5} if method == "kusner2" else {}
        space = {"s": tacit.Float(1.0, 2.0)} if method == "kusner3" else UNIT
        told = losses if method != "kusner3" else regularised()
        paying = ledger(folder) if method not in ("kusner1", "kusner2") else None
        release = tacit.tune(told, space, **asked, **options, ledger=paying, accept_noise=True, out=folder / "out")
        return [release, release.value, release.guarantee, release.payment]

    return run


def regularised() -> Any:
    X = np.column_stack([RECORDS, 1 - RECORDS])
    return tacit.RegularisedClassifier(X, np.sign(RECORDS - 0.3), X, np.sign(RECORDS - 0.3))


def optuna_study(folder: Path) -> list[Any]:
    def objective(trial: Any) -> np.ndarray:
        return losses({"x": trial.suggest_float("x", 0, 1)})

    asked = {"records": N, "bounds": (0.0, 1.0), "budget": BUDGET, "trials": 4, "ledger": ledger(folder)}
    observed = tacit.private(objective, **asked, accept_noise=True)
    study = optuna.create_study(storage=f"sqlite:///{folder}/study.db")
    study.optimize(observed, n_trials=4)
    memory = optuna.create_study()
    again = tacit.private(objective, **{**asked, "ledger": None}, accept_noise=True)
    memory.optimize(again, n_trials=4)
    return [observed.release(study), [t.__dict__ for t in study.trials], repr(observed), str(observed), memory]


def table(rows: int = 120) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """The sentinel is a validation row: a number, a word, and a class that nobody else has."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.normal(size=rows), "w": generator.choice(["n", "s"], rows)}).astype(object)
    labels = np.where(generator.random(rows) < 0.5, "no", "yes").astype(object)
    _, hidden = split_rows(np.random.RandomState(0), rows, 0.5)
    frame.loc[hidden[2], :] = [SECRET, WORD]
    labels[hidden[2]] = WORD
    return frame, labels, hidden


def search(estimator: Any, space: dict[str, Any]) -> Callable[[Path], list[Any]]:
    def run(folder: Path) -> list[Any]:
        frame, labels, _ = table()
        made = tacit.PrivateSearchCV(
            estimator, space, epsilon=2.0, delta=1e-4, trials=3, random_state=0, accept_noise=True, ledger=None
        )
        made.fit(frame[["a"]], labels)
        return [made, made.release_, made.schema_, made.best_estimator_, made.protects_]

    return run


def front(private: bool) -> Callable[[Path], list[Any]]:
    def run(folder: Path) -> list[Any]:
        X = np.random.default_rng(0).normal(size=(60, 3))
        test, answers = X[:20].copy(), np.arange(20) % 2
        test[4, 1] = SECRET
        X[7, 2] = SECRET
        algorithm = LogisticSGD(X, np.arange(60) % 2, test, answers, classes=(0, 1))
        paid = PrivateTest(BUDGET, ledger(folder)) if private else None
        found = discover(algorithm, delta=1e-5, trials=4, startup=4, private=paid, storage=f"sqlite:///{folder}/s.db")
        found.save(folder / "front.json")
        found.to_csv(folder / "front.csv")
        found.plot().save(folder / "front.svg")
        write_front(found, folder / "front.html")
        seen: list[Any] = [found, found.points, found.plot(), found.predict(algorithm, epsilon=found.points[0].epsilon)]
        return [*seen, found.release(), found.release().certificate()] if private else seen

    return run


def outsourced(folder: Path) -> list[Any]:
    rows = np.random.default_rng(0).uniform(-5, 5, (40, 2))
    rows[3] = [SECRET, SECRET]
    values = np.clip(rows[:, 0], -1, 1)
    answers = PrivateAnswers((-1.0, 1.0), tacit.Budget.gdp(0.5))
    with tacit.Curator(rows, values, epsilon=2.0, delta=1e-3, answers=answers, ledger=ledger(folder)) as curator:
        modeler = tacit.Modeler(curator)
        found = modeler.run(6)
        told = [found, curator.published(), np.asarray(curator.table()), curator.answers(), repr(curator)]
        with pytest.raises(TypeError):  # whoever holds a curator holds the rows: it stays where it is
            pickle.dumps(curator)
    return told


def mechanisms(folder: Path) -> list[Any]:
    made = [
        tacit.mechanisms.Gaussian(1.0, scale=1.0).release(SECRET, ledger=ledger(folder)),
        tacit.mechanisms.Laplace(1.0, scale=1.0, size=2).release([SECRET, 0.5]),
        tacit.mechanisms.Exponential(1.0, scale=1.0).release([SECRET, 0.5]),
    ]
    return [*made, *(m.certificate() for m in made)]


def trained(folder: Path) -> list[Any]:
    """The sentinel is in training, validation and test rows: every record is protected."""
    frame, labels, _ = table(1500)
    for part in range(0, 1500, 300):
        frame.loc[part, :] = [SECRET, WORD]
    labels[labels == WORD] = "no"
    frame["a"] = frame["a"].astype(float).clip(0, 1)
    schema = tacit.Schema.declare({"a": (0, 1), "w": ["n", "s"]}, target="y", labels=["no", "yes"])
    asked: dict[str, Any] = {"budget": BUDGET, "runs": 3, "schema": schema, "progress": False}
    paying = tacit.Ledger.open(folder / "l.db", "table", tacit.Budget.approximate(9.0, 1e-2), composition="basic")
    release = tacit.train("logistic", frame, labels, **asked, ledger=paying, out=folder / "out")
    return [release, release.value, release.value.model, release.certificate()]


def selected(folder: Path) -> list[Any]:
    def objective(params: Any, base: Any) -> Any:
        return params["x"], losses(params)

    release = tacit.select(objective, UNIT, records=N, budget=BUDGET, runs=3, out=folder / "out")
    return [release, release.certificate()]


def shell(folder: Path) -> list[Any]:
    frame, labels, _ = table()
    order = np.random.default_rng(0).permutation(len(frame))  # the shell's own split
    frame, labels = frame.iloc[np.argsort(np.argsort(order))].reset_index(drop=True), labels[np.argsort(order)]
    hidden = [i for i in range(len(frame)) if frame.loc[i, "w"] == WORD]
    place = int(order[5])
    frame.loc[[hidden[0], place]] = frame.loc[[place, hidden[0]]].to_numpy()
    labels[[hidden[0], place]] = labels[[place, hidden[0]]]
    data = folder / "private"
    data.mkdir()
    frame.assign(y=labels).to_csv(data / "t.csv", index=False)
    words = ["tune", "--table", str(data / "t.csv"), "--target", "y", "--trials", "4", "--yes", "--epsilon", "2"]
    words += ["--delta", "1e-4", "--out", str(folder / "out")]
    before, sys.argv = sys.argv, ["tacit", *words]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
    finally:
        sys.argv = before
    return []


def failing(folder: Path) -> list[Any]:
    """What objectives say when they fail is not passed on, whatever they raise."""
    told = []
    for error in (ValueError, ObjectiveError, BadInput, KeyError, SystemExit):

        def objective(params: Any, error: Any = error) -> Any:
            raise error(f"record {SECRET!r} of {WORD}")

        asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": BUDGET, "trials": 3}
        for way in (tacit.tune, tacit.private):
            try:
                if way is tacit.tune:
                    way(objective, UNIT, **asked, accept_noise=True, progress=False)
                else:
                    study = optuna.create_study()
                    study.optimize(way(objective, **asked, accept_noise=True), n_trials=1, catch=(Exception,))
                    told.append([t.__dict__ for t in study.trials])
            except BaseException as raised:
                told.append(raised)
    return told


CASES: dict[str, Callable[[Path], list[Any]]] = {
    **{f"tune, {name}": tuned(name) for name, method in METHODS.items() if method.notions},
    "private": optuna_study,
    "PrivateSearchCV, linear": search(RidgeClassifier(), {"alpha": tacit.Float(0.1, 1.0)}),
    "PrivateSearchCV, neighbours": search(KNeighborsClassifier(), {"n_neighbors": tacit.Int(1, 9)}),
    "a private front": front(True),
    "a front": front(False),
    "curator and modeler": outsourced,
    "mechanisms": mechanisms,
    "train": trained,
    "select": selected,
    "the shell": shell,
    "objectives that fail": failing,
}


def leaks(run: Callable[[Path], list[Any]], folder: Path) -> list[str]:
    """Where the sentinel is found, by place."""
    seen = observe(lambda: run(folder))
    assert seen.error is None, seen.error
    found = [path for path, (_, content) in seen.leaves.items() if holds(content)]
    for i, thing in enumerate(seen.result):
        for what, form in (("text", str), ("repr", repr), ("pickle", pickle.dumps), ("copy", copied)):
            if isinstance(thing, BaseException) and what in ("pickle", "copy"):
                continue
            if holds(form(thing)):
                found.append(f"{what} of {type(thing).__name__} {i}")
        if hasattr(thing, "to_json") and holds(json.dumps(thing.to_json(), default=str)):
            found.append(f"JSON of {type(thing).__name__} {i}")
    for path in folder.rglob("*"):
        if path.is_file() and "private" not in path.relative_to(folder).parts and holds(path.read_bytes()):
            found.append(path.name)
    return found


def copied(thing: Any) -> bytes:
    return pickle.dumps(copy.deepcopy(thing), protocol=2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_no_record_is_in_anything_that_comes_out(case: str, tmp_path: Path) -> None:
    assert leaks(CASES[case], tmp_path) == []


@pytest.mark.parametrize(
    "leak",
    [
        lambda folder: [tacit.Private],
        lambda folder: [{"a": [RECORDS]}],
        lambda folder: [lambda: RECORDS[-1] and losses],
        lambda folder: [folder.joinpath("x.csv").write_text(str(SECRET))],
        lambda folder: [folder.joinpath("x.db").write_bytes(b"\0" + struct.pack(">d", SECRET))],
        lambda folder: [print(RECORDS.tolist())],
        lambda folder: [np.float32([SECRET, 0.5])],
        lambda folder: [pd.DataFrame({"w": [WORD]})],
    ],
)
def test_the_law_sees_a_sentinel_that_is_there(leak: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first and third hold nothing themselves: a class, and a function of a global name."""
    found = []
    seen = observe(lambda: leak(tmp_path))
    found += [path for path, (_, content) in seen.leaves.items() if holds(content)]
    found += [p.name for p in tmp_path.rglob("*") if holds(p.read_bytes())]
    clean = seen.result and (seen.result[0] is tacit.Private or callable(seen.result[0]))
    assert bool(found) is not bool(clean)
