"""Releases that are in no registry: what a training learns of columns, its scores, its runs, a curator's study."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import tacit
from tacit.audit.games.trained import adversarial_training
from tacit.data.metrics import find
from tacit.data.schema import Schema
from tacit.data.split import divide_rows
from tacit.outsource.curator import Curator
from tacit.outsource.curator.payments import answer_mechanism, whole
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.outsource.curator.transform import NoisyProjection
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import EXACT
from tacit.privacy.worst_pair import WorstPair
from tacit.run.private_state import PrivateState
from tacit.space import Space
from tacit.training.learn import learn_preparation
from tacit.training.scoring import Scoring
from tacit.training.search_cost import SearchCost, make_law
from tacit.training.select import OwnSearch
from tacit.training.trainer import CLASSES, NUMBERS, EncodedRows

BUDGET = Budget.approximate(2.0, 1e-5)
COST = SearchCost(BUDGET, make_law(10), 0.0)
LEARNT = SearchCost(BUDGET, make_law(10), 0.3)
ROWS = 400


FAR = -1e30  # below every t that is asked
Cells = tuple[tuple[Any, ...], tuple[Any, Any]]  # what the rows hold, as many each; and one row on either side


def learn(columns: list[Cells], task: str | None, side: int, noise: Any) -> Any:
    """Columns, the target last; one row is replaced."""
    cells = [[value for value in held for _ in range(ROWS // len(held))] for held, _ in columns]
    for column, (_, sides) in zip(cells, columns, strict=True):
        column[0] = sides[side]
    *features, target = cells
    table = pd.DataFrame({str(j): column for j, column in enumerate(features)}, dtype=object)
    return learn_preparation(table, np.array(target, object), task, LEARNT, noise)


def columns() -> list[WorstPair]:
    """A row whose every cell changes: a number that is below all others to a word, or to one that is above all."""
    day = np.datetime64("1950-01-01")
    dates = (np.datetime64("2021-03-01"), np.datetime64("2023-07-01"))
    words: Cells = (("north", "west"), ("north", "west"))
    kinds: list[Cells] = [((0.5, 700.0), (FAR, "west")), words, (dates, (day, 7.0))]
    labels: Cells = (("yes", "no"), ("yes", "no"))
    same: list[Cells] = [((0.5, 700.0), (FAR, -FAR))] * 3
    many: Cells = ((FAR, "x", *map(float, range(38))), (FAR, "x"))  # too many numbers to be labels
    few: Cells = (("yes", "no", "no", 7.0), ("yes", 7.0))
    claim = Budget.gdp(LEARNT.columns)
    about = "in every column a row changes its cell"
    kept, rows = math.sqrt(0.925), math.sqrt(0.9)  # labels cost all of theirs
    return [
        WorstPair(f"{about}, of kind or word; the target is a class", claim, partial(learn, [*kinds, labels], CLASSES)),
        WorstPair(
            f"{about}, of kind or word; the target is a number",
            claim,
            partial(learn, [*kinds, ((1.0, 30.0), (FAR, "x"))], NUMBERS),
        ),
        WorstPair(
            f"{about} from number to number; the target is a class",
            claim,
            partial(learn, [*same, labels], CLASSES),
            kept,
        ),
        WorstPair(
            f"{about} from number to number; the target is a number",
            claim,
            partial(learn, [*same, same[0]], NUMBERS),
            rows,
        ),
        WorstPair(
            f"{about}, of kind or word; the target shows that it is a number",
            claim,
            partial(learn, [*kinds, many], None),
        ),
        WorstPair(
            f"{about}, of kind or word; the target shows that it is a class",
            claim,
            partial(learn, [*kinds, few], None),
            math.sqrt((3 + 1.1) / 5),  # of two columns' share it takes the kinds' tenth, and its labels
        ),
    ]


def run_of_a_training() -> list[WorstPair]:
    """One run of the search of tacit.train, by a trainer that puts out all that it may."""

    def play(side: int, noise: Any) -> Any:
        search = adversarial_training(side, BUDGET, noise).begin(PrivateState(None))[1]
        return search.run(search.draw_params())

    claim = Budget.gdp(adversarial_training(0, BUDGET, EXACT).cost.base.mu)
    pairs = [WorstPair("a training row goes from one end of a feature to the other", claim, play)]
    return [*pairs, WorstPair("a validation row goes from right to wrong", claim, validate)]


class Constant:
    """A trainer whose model always says the first class, and which draws nothing."""

    def calibrate(self, *about: Any) -> Any:
        return None

    def train(self, *about: Any) -> Any:
        return self

    def scores(self, X: Any) -> Any:
        return np.tile([1.0, 0.0], (len(X), 1))


def validate(side: int, noise: Any) -> Any:
    """One run whose model is wrong about one validation row."""
    job: Any = adversarial_training(0, BUDGET, noise)
    search = job.begin(PrivateState(None))[1]
    scoring = Scoring.of(find("error"), search.scoring.preparation)
    rows = EncodedRows(np.zeros((50, 1)), np.r_[float(side), np.zeros(49)])
    ran = replace(search, trainer=Constant(), scoring=scoring, validation=rows).run({})
    assert not ran.failed
    return ran


def train_on(which: int, persons: bool, numbers: bool, side: int, noise: Any) -> Any:
    """tacit.train with a declared schema; one row, or person, of one part is replaced."""
    people = 3000
    part = divide_rows(people, np.arange(people) if persons else None, (0.8, 0.1, 0.1), 0)[which].rows
    who = int(part[0])
    many = np.where(np.arange(people) == who, (1, 12)[side], 1) if persons else np.ones(people, int)
    X, y = np.zeros((people, 1)), np.zeros(people)
    y[who] = side if not numbers else (0.0, np.nan)[side]  # none counts as the worst
    owners = np.repeat(np.arange(people), many)
    target: dict[str, Any] = {"range": (-1, 1)} if numbers else {"labels": [0, 1]}
    schema = Schema.declare({"0": (-1, 1)}, target="y", **target)
    return tacit.train(
        "ridge" if numbers else "logistic",
        X[owners],
        y[owners] if numbers else y[owners].astype(int),
        budget=BUDGET,
        schema=schema,
        groups=owners if persons else None,
        runs=2,
        noise=noise,
        progress=False,
    )


def scores_of_a_training() -> list[WorstPair]:
    """What a test row meets: the score of the released model, and the counts behind the constant prediction."""
    mu = BUDGET.mu()
    pairs = []
    for persons in (False, True):
        for numbers in (False, True):
            who = "a test person becomes another, with 12 rows" if persons else "a test row becomes another"
            about = f"{who}; the target is {'a number' if numbers else 'a class'}"
            pairs.append(WorstPair(about, Budget.gdp(mu), partial(train_on, 2, persons, numbers)))
    return pairs


def selection() -> list[WorstPair]:
    """tacit.select: a test record meets the fresh score, a validation record that of every run."""

    def play(side: int, noise: Any) -> Any:
        def objective(params: Any, base: Any) -> Any:
            return 0.0, np.full(300, 0.5)

        return tacit.select(
            objective,
            {"x": tacit.Float(0.0, 1.0)},
            records=300,
            budget=BUDGET,
            runs=2,
            test=lambda model: np.r_[float(side), np.full(299, 0.5)],
            test_records=300,
            noise=noise,
            progress=False,
        )

    def validate(side: int, noise: Any) -> Any:
        losses = np.r_[float(side), np.full(299, 0.5)]
        space = Space({"x": tacit.Float(0.0, 1.0)})
        search = OwnSearch(lambda params, base: (0.0, losses), space, 300, (0.0, 1.0), COST, None, noise)
        return search.run({"x": 0.5})

    words = "record's loss goes from bound to bound"
    return [
        WorstPair(f"a test {words}", Budget.gdp(BUDGET.mu()), play),
        WorstPair(f"one run; a validation {words}", Budget.gdp(COST.base.mu), validate),
    ]


def study(charged: str, side: int, noise: Any) -> Any:
    """A curator publishes its table and answers queries."""
    rows = np.random.default_rng(0).normal(size=(4, 2))
    rows[0, 0] += side
    answers = np.array([np.nan, 0.5, 0.5, 0.5]) if side == 0 else np.array([1e9, 0.5, 0.5, 0.5])
    if charged == "each":  # every answer may depend on the record
        answers = np.full(4, np.nan if side == 0 else 1e9)
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "queries": 4, "noise": noise}
    private = PrivateAnswers((0.0, 2.0), Budget.gdp(0.5), charged)
    with Curator(rows, answers, answers=private, **asked) as curator:
        return [curator.ask([row])[0].value for row in range(4)]


def curator() -> list[WorstPair]:
    """The table and the answers of a whole study."""
    pairs = []
    for charged in ("each", "once"):
        private = PrivateAnswers((0.0, 2.0), Budget.gdp(0.5), charged)
        table = NoisyProjection(2, epsilon=1.0, delta=1e-5).guarantee
        claim = whole(table, private, answer_mechanism(private, table.unit, EXACT), 4).budget
        assert claim is not None
        about = f"a row moves by 1 and its answers from bound to bound; charged {charged}"
        pairs.append(WorstPair(about, claim, partial(study, charged)))
    return pairs


PARTS: dict[str, Callable[[], list[WorstPair]]] = {
    "columns that are learnt": columns,
    "one run of tacit.train": run_of_a_training,
    "the scores of tacit.train": scores_of_a_training,
    "the scores of tacit.select": selection,
    "a curator's study": curator,
}
