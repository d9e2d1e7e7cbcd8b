"""No record leaves: a sentinel is planted in the data of every entry point, and looked for in all that comes out.

In every public object (its pickle, a copy, its text, its JSON, whatever can be reached from it), in every file that was
written and is not marked private, and in logs, warnings and what was printed.
"""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from registered import marks
from shell_parts import tacit as tacit_command
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

import tacit
from tacit.audit.observer import observe
from tacit.cli.main import VERBS
from tacit.data.split import hold_out
from tacit.data.units import Persons
from tacit.errors import BadInput, ObjectiveError
from tacit.methods.registry import METHODS
from tacit.outsource.curator import PrivateAnswers
from tacit.pareto import PrivateTest, discover
from tacit.report.pages.front import write as write_front
from tacit.training.dp_sgd import LogisticSGD
from tacit.training.registry import TRAINERS, load_trainer
from tacit.training.trainer import NUMBERS

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
        asked |= {} if "out" in how.refuses else {"out": folder / "out"}
        release = tacit.tune(told, space, **asked, **options, ledger=paying, accept_noise=True)
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
    _, hidden = (np.sort(part.rows) for part in hold_out(rows, 0.5, np.random.RandomState(0)))
    frame.loc[hidden[2], :] = [SECRET, WORD]
    labels[hidden[2]] = WORD
    return frame, labels, hidden


def search(estimator: Any, space: dict[str, Any], *, groups: bool = False, **more: Any) -> Callable[[Path], list[Any]]:
    def run(folder: Path) -> list[Any]:
        frame, labels, hidden = table()
        made = tacit.PrivateSearchCV(
            estimator, space, epsilon=2.0, delta=1e-4, trials=3, random_state=0, accept_noise=True, ledger=None, **more
        )
        persons = np.arange(len(frame)).astype(object)
        for i in range(100):  # the number of persons is public, whose the rows are is not
            persons[hidden[2]] = f"{WORD} {i}"
            each = Persons.of(persons, len(persons))
            if hidden[2] in hold_out(len(persons), 0.5, np.random.RandomState(0), each)[1].rows:
                break
        made.fit(frame[["a"]], labels, **{"groups": persons} if groups else {})
        return [made, made.release_, made.schema_, made.best_estimator_, made.protects_]

    return run


def persons(folder: Path) -> list[Any]:
    owners = np.repeat(np.arange(N // 2), 2).astype(object)
    owners[-1] = owners[-2] = WORD
    asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": BUDGET, "trials": 4, "groups": owners}
    release = tacit.tune(losses, UNIT, **asked, ledger=ledger(folder), accept_noise=True, out=folder / "out")
    return [release, release.guarantee]


def shards(folder: Path) -> list[Any]:
    parts = [lambda params: losses(params)[: N // 2], lambda params: losses(params)[N // 2 :]]
    asked: dict[str, Any] = {"records": N, "bounds": (0.0, 1.0), "budget": BUDGET, "trials": 4, "method": "random"}
    release = tacit.tune(tacit.Shards(parts), UNIT, **asked, accept_noise=True, out=folder / "out")
    return [release, repr(tacit.Shards(parts))]


def front(private: bool) -> Callable[[Path], list[Any]]:
    def run(folder: Path) -> list[Any]:
        X = np.random.default_rng(0).normal(size=(60, 3))
        test, answers = X[:20].copy(), np.arange(20) % 2
        test[4, 1] = SECRET
        X[7, 2] = SECRET
        algorithm = LogisticSGD(X, np.arange(60) % 2, test, answers, classes=(0, 1))
        paid = PrivateTest(BUDGET, ledger(folder)) if private else None
        found = discover(
            algorithm, delta=1e-5, trials=4, startup=4, private=paid, storage=f"sqlite:///{folder}/s.db"
        ).value
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


def protected(rows: int = 1500) -> tuple[pd.DataFrame, np.ndarray]:
    """The sentinel is in training, validation and test rows: every record is protected."""
    frame, labels, _ = table(rows)
    for part in range(0, rows, 300):
        frame.loc[part, :] = [SECRET, WORD]
    labels[labels == WORD] = "no"
    frame["a"] = frame["a"].astype(float).clip(0, 1)
    return frame, labels


def declared(numbers: bool) -> tacit.Schema:
    columns: dict[str, Any] = {"a": (0, 1), "w": ["n", "s"]}
    if numbers:
        return tacit.Schema.declare(columns, target="y", range=(0.0, 1.0))
    return tacit.Schema.declare(columns, target="y", labels=["no", "yes"])


def trained(name: str) -> Callable[[Path], list[Any]]:
    def run(folder: Path) -> list[Any]:
        frame, labels = protected()
        numbers = load_trainer(name).task == NUMBERS
        target = np.where(labels == "no", 0.25, SECRET) if numbers else labels
        asked: dict[str, Any] = {"budget": BUDGET, "runs": 2, "schema": declared(numbers), "progress": False}
        paying = tacit.Ledger.open(folder / "l.db", "table", tacit.Budget.approximate(9.0, 1e-2), composition="basic")
        release = tacit.train(name, frame, target, **asked, ledger=paying, out=folder / "out")
        return [release, release.value, release.value.model, release.certificate()]

    return run


def estimators(folder: Path) -> list[Any]:
    frame, labels = protected()
    asked: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-4, "runs": 2}
    names = tacit.PrivateClassifier(**asked, schema=declared(False)).fit(frame, labels)
    numbers = tacit.PrivateRegressor(**asked, schema=declared(True)).fit(frame, np.where(labels == "no", 0.25, SECRET))
    return [names, names.release_, numbers, numbers.release_, names.predict(frame[1:9])]


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
    return command(folder, frame, labels, "tune --trials 4 --yes --epsilon 2 --delta 1e-4")


def command(folder: Path, frame: pd.DataFrame, labels: Any, words: str) -> list[Any]:
    """A verb on a table in a private folder, and the pages of what it left."""
    data = folder / "private" / "t.csv"
    data.parent.mkdir(exist_ok=True)
    frame.assign(y=labels).to_csv(data, index=False)
    given = ["--table", str(data), "--target", "y", "--out", str(folder / "out")]
    if "tune" not in words:
        (folder / "schema.json").write_text(json.dumps(declared(False).to_json()))
        given += ["--schema", str(folder / "schema.json")]
    told = [tacit_command(*words.split(), *given), tacit_command("report", str(folder / "out"))]
    assert [(said.code, said.err) for said in told if said.code] == []
    return [[said.out, said.err] for said in told]


def shell_train(folder: Path) -> list[Any]:
    frame, labels = protected(600)
    told = command(folder, frame, labels, "train --epsilon 2 --delta 1e-4 --runs 2")
    data = str(folder / "private" / "t.csv")
    said = tacit_command("predict", str(folder / "out"), data, "--out", f"{data}.answers")
    assert said.code == 0, said.err
    return [*told, said.err]


def shell_front(folder: Path) -> list[Any]:
    words = "pareto --algorithm logistic_sgd --trials 4 --startup 4 --test-epsilon 2 --test-delta 1e-4"
    return command(folder, *protected(600), words)


def curator_try(folder: Path) -> list[Any]:
    rows = pd.DataFrame(np.random.default_rng(0).uniform(-5, 5, (40, 2)), columns=["a", "b"])
    rows.loc[3] = SECRET
    (data := folder / "private").mkdir()
    rows.to_csv(data / "t.csv", index=False)
    words = "curator try --epsilon 3 --scale 1,1 --surfaces 1 --queries 5 --informative 1"
    said = tacit_command(*words.split(), str(data / "t.csv"))
    assert said.code == 0, said.err
    return [said.out, said.err]


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


NEAR = {"n_neighbors": tacit.Int(1, 9)}
CASES: dict[str, Callable[[Path], list[Any]]] = {
    **{f"tune, {name}": tuned(name) for name, method in METHODS.items() if method.notions},
    "tune, persons": persons,
    "tune, shards": shards,
    "private": optuna_study,
    "PrivateSearchCV, linear": search(RidgeClassifier(), {"alpha": tacit.Float(0.1, 1.0)}),
    "PrivateSearchCV, neighbours": search(KNeighborsClassifier(), NEAR),
    "PrivateSearchCV, AUC": search(LogisticRegression(), {"C": tacit.Float(0.1, 1.0)}, scoring="roc_auc"),
    "PrivateSearchCV, persons": search(KNeighborsClassifier(), NEAR, groups=True, scoring=tacit.metrics.error()),
    "a private front": front(True),
    "a front": front(False),
    "curator and modeler": outsourced,
    "mechanisms": mechanisms,
    **{f"train, {name}": trained(name) for name in TRAINERS},
    "estimators": estimators,
    "select": selected,
    "the shell": shell,
    "the shell, train": shell_train,
    "the shell, front": shell_front,
    "the shell, curator try": curator_try,
    "objectives that fail": failing,
}
NUMBERS_ALONE = "is made of public numbers and meets no record"
MARKS = {f"train, {name}": marks(name) for name in TRAINERS}
UNWALKED = {  # public names that no case plants a sentinel in, and why
    **dict.fromkeys(("Float", "Int", "Choice", "Space", "compose", "accounting", "plan", "Plan"), NUMBERS_ALONE),
    "Guarantee": "every release carries one",
    "Release": "what every case gives back",
    "Private": "seals a value, and tests/privacy/test_private.py holds it to that",
    "OpenDPNoise": "a source of noise; it holds nothing",
    "samplers": "samplers of Optuna, which see noisy values alone",
    "Simulation": "noise without a guarantee",
    "Site": "stays with the records of one organisation; what it tells is masked: tests/run/test_masks.py",
    "SiteKey": "a secret of its own, made before any record is seen",
    "TacitError": "what objectives that fail become",
    "audit": "runs on data of its own; `audit objective` shows an index alone: tests/audit/test_premises.py",
    "pareto": "its names are imported one by one",
}
QUIET_VERBS = {
    **dict.fromkeys(("init", "plan"), NUMBERS_ALONE),
    **dict.fromkeys(("ledger", "verify", "sign", "dashboard"), "reads what the cases left in ledgers and folders"),
    "audit": UNWALKED["audit"],
    "modeler": "sees what a curator published",
}


def test_every_public_name_is_walked_or_has_a_reason() -> None:
    source = inspect.getsource(sys.modules[__name__]).partition("UNWALKED")[0]
    named = set(re.findall(r"\btacit\.([A-Za-z]\w*)", source)) & set(tacit.__all__)
    assert named | set(UNWALKED) | {"__version__"} == set(tacit.__all__)
    run = re.findall(r"(?:command\(|labels, |words = )\"(\w+)[ \"]", source)
    assert {*run, *QUIET_VERBS} == set(VERBS)
    assert not {*run} & {*QUIET_VERBS}


def leaks(run: Callable[[Path], list[Any]], folder: Path) -> list[str]:
    """Where the sentinel is found, by place."""
    seen = observe(lambda: run(folder))
    assert seen.error is None, seen.error
    found = [path for path, (_, content) in seen.leaves.items() if holds(content)]
    for i, thing in enumerate(seen.result):
        for what, form in (
            ("text", str),
            ("repr", repr),
            ("pickle", pickle.dumps),
            ("copy", lambda t: pickle.dumps(copy.deepcopy(t), 2)),
        ):
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [pytest.param(c, marks=MARKS.get(c, ())) for c in CASES])
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
    seen = observe(lambda: leak(tmp_path))
    found = [path for path, (_, content) in seen.leaves.items() if holds(content)]
    found += [p.name for p in tmp_path.rglob("*") if holds(p.read_bytes())]
    clean = seen.result and (seen.result[0] is tacit.Private or callable(seen.result[0]))
    assert bool(found) is not bool(clean)
