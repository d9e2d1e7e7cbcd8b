"""The curator: publishes once, answers once, pays once, forgets nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from outsource_parts import hill, some_rows

import tacit
from tacit.errors import BadInput, BudgetRefused, GuaranteeError, LedgerError, ObjectiveError, StateError
from tacit.outsource.curator import Curator
from tacit.outsource.curator.rows import PrivateAnswers, Prompt, table_and_evaluation
from tacit.outsource.curator.state import State
from tacit.outsource.curator.transform import ATTACK, distance_unit
from tacit.outsource.modeler import Modeler, Prior
from tacit.outsource.protocol.terms import Refused
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger

BUDGET = {"epsilon": 2.0, "delta": 1e-5}


def curator_of(rows: np.ndarray, evaluate: Any = None, **settings: Any) -> Curator:
    return Curator(rows, hill(rows) if evaluate is None else evaluate, **{**BUDGET, **settings})


@pytest.fixture(params=["folder", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a curator's state may be kept."""
    if request.param == "folder":
        return str(tmp_path / "state")
    url: str = request.getfixturevalue("postgres_url")
    return url


def test_a_study_in_one_process() -> None:
    rows = some_rows(300)
    with curator_of(rows) as curator:
        found = Modeler(curator, prior=Prior(8.0)).run(40)
        assert hill(rows).max() - found.value < 0.1
        assert found.guarantee.kind == "conditional"  # answers are open
        assert "not sensitive" in found.guarantee.assumptions[0]
        assert curator.published().guarantee.kind == "unconditional"
        assert abs(curator.table() - rows).std() > 0.3


def test_a_restart_goes_on_with_the_same_table_and_answers(place: str) -> None:
    rows = some_rows(50)
    calls: list[float] = []

    def evaluate(row: np.ndarray) -> float:
        calls.append(row[0])
        return float(row.sum())

    with curator_of(rows, evaluate, state=place) as first:
        before, terms = first.table(), first.published()
        told = first.ask([1, 2, 3], request="request-one")
    with curator_of(rows, evaluate, state=place) as second:
        np.testing.assert_array_equal(second.table(), before)
        assert second.published() == terms
        assert second.ask([1, 2, 3], request="request-one") == told
        assert second.answers() == told
        assert [e.row for e in second.exchanges()] == [1, 2, 3]
    assert len(calls) == 3


def test_a_column_of_words_is_refused_by_its_name_before_anything_is_published(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("age,sex,gain\n40,f,1\n50,m,2\n60,f,4\n")
    with pytest.raises(BadInput, match=r"rows must be numbers, and sex is not: .*--columns"):
        curator_of(file, "gain")
    with pytest.raises(BadInput, match="and sex is not"):
        curator_of(file, "sex")


@pytest.mark.parametrize("held", ["csv", "semicolons", "pandas", "polars", "lists"])
def test_rows_are_read_cell_by_cell_whatever_holds_them(held: str, tmp_path: Path) -> None:
    """A number that is spelled as text is the same number, and does not depend on the cells beside it."""
    cells = [["1", "2.50"], ["-3", "1e2"], ["4.0", "07"]]
    names = ["a", "b"]
    lines = ["a;b" if held == "semicolons" else "a,b", *((";" if held == "semicolons" else ",").join(r) for r in cells)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    columns = dict(zip(names, map(list, zip(*cells, strict=True)), strict=True))
    frames = {"pandas": lambda: pd.DataFrame(columns), "polars": lambda: pl.DataFrame(columns), "lists": lambda: cells}
    rows = frames[held]() if held in frames else tmp_path / "rows.csv"
    values, _, _ = table_and_evaluation(rows, np.zeros(3))
    assert values.tolist() == [[1.0, 2.5], [-3.0, 100.0], [4.0, 7.0]]


def test_a_second_curator_on_the_same_state_is_refused(place: str) -> None:
    rows = some_rows(20)
    with curator_of(rows, state=place), pytest.raises(StateError, match="another curator holds"):
        curator_of(rows, state=place)
    curator_of(rows, state=place).close()


def test_other_rows_or_terms_on_the_same_state_are_refused(place: str) -> None:
    rows = some_rows(20)
    curator_of(rows, state=place).close()
    with pytest.raises(StateError, match="other rows or other terms"):
        curator_of(rows + 1, hill(rows), state=place)
    with pytest.raises(StateError, match="other rows or other terms"):
        curator_of(rows, state=place, epsilon=3.0)
    curator_of(rows, state=place).close()  # a refusal lets go of the state


def test_a_repeated_request_and_a_repeated_row_are_evaluated_once() -> None:
    rows, calls = some_rows(20), []

    def evaluate(row: np.ndarray) -> float:
        calls.append(1)
        return float(len(calls))

    with curator_of(rows, evaluate) as curator:
        one = curator.ask([4, 4, 5], request="abcdefgh")
        assert curator.ask([4, 4, 5], request="abcdefgh") == one
        assert curator.ask([5], modeler="another")[0].value == one[2].value
        assert len(calls) == 2
        assert curator.status()["used"] == 4
        with pytest.raises(Refused, match="other rows") as refusal:
            curator.ask([6], request="abcdefgh")
        assert refusal.value.code == "reused"


def test_limits_and_refusals_evaluate_nothing() -> None:
    rows, calls = some_rows(20), []
    with curator_of(rows, lambda row: calls.append(1) or 1.0, queries=5, per_modeler=3) as curator:
        for asked, code in (([20], "unknown row"), ([-1], "unknown row"), ([], "rows"), ([0, 1, 2, 3], "limit")):
            with pytest.raises(Refused) as refusal:
                curator.ask(asked)
            assert refusal.value.code == code
        with pytest.raises(BadInput, match="named by"):
            curator.ask([1], request="no")
        assert calls == []
        curator.ask([0, 1, 2])
        with pytest.raises(Refused, match="a modeler may ask 3"):
            curator.ask([3])
        with pytest.raises(Refused, match="answers 5 queries"):
            curator.ask([3, 4, 5], modeler="another")
        curator.stop()
        with pytest.raises(Refused, match="stopped"):
            curator.ask([3], modeler="another")
        curator.stop(False)
        assert curator.ask([3], modeler="another")
        assert len(calls) == 4


def test_stopping_survives_a_restart(place: str) -> None:
    rows = some_rows(20)
    with curator_of(rows, state=place) as curator:
        curator.stop()
    with curator_of(rows, state=place) as curator, pytest.raises(Refused, match="stopped"):
        curator.ask([1])


def test_a_curator_can_be_looked_at_and_stopped_while_it_evaluates() -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(row: np.ndarray) -> float:
        begun.set()
        assert go.wait(120)
        return 1.0

    with curator_of(some_rows(20), slow) as curator:
        asking = threading.Thread(target=curator.ask, args=([1],))
        asking.start()
        assert begun.wait(120)
        assert curator.status()["used"] == 0
        assert curator.answers() == []
        curator.stop()
        go.set()
        asking.join()
        assert curator.status()["used"] == 1
        with pytest.raises(Refused, match="stopped"):
            curator.ask([2])


def test_a_restart_may_allow_more_queries_unless_the_guarantee_counts_them(tmp_path: Path) -> None:
    rows = some_rows(20)
    curator_of(rows, state=tmp_path / "open", queries=5).close()
    with curator_of(rows, state=tmp_path / "open", queries=9) as curator:
        assert curator.published().queries == 9
    answers = PrivateAnswers((0.0, 1.0), Budget.gdp(0.1))
    curator_of(rows, state=tmp_path / "private", queries=5, answers=answers).close()
    with pytest.raises(StateError, match="other terms"):
        curator_of(rows, state=tmp_path / "private", queries=9, answers=answers)


def test_several_requests_share_a_commit_and_each_gets_its_own_answer() -> None:
    rows = some_rows(20)
    with curator_of(rows, queries=4) as curator:
        asked = [
            ("a", "request-a1", [1]),
            ("b", "request-b1", [99]),
            ("a", "request-a1", [1]),
            ("b", "request-b2", [1, 2]),
        ]
        good, bad, again, both = curator.ask_all(asked)
        assert isinstance(bad, Refused)
        assert good == again == both[:1]  # type: ignore[index]
        assert curator.status()["used"] == 3
        late = curator.ask_all([("c", "request-c1", [5]), ("c", "request-c2", [6])])
        assert [isinstance(r, Refused) for r in late] == [False, True]


def test_an_evaluation_that_fails_says_so_without_its_words() -> None:
    rows = some_rows(20)

    def broken(row: np.ndarray) -> float:
        raise RuntimeError(f"secret {row}")

    with curator_of(rows, broken) as curator, pytest.raises(ObjectiveError, match=r"row 3 raised RuntimeError$"):
        curator.ask([3])
    with curator_of(rows, lambda row: float("nan")) as curator:
        assert curator.ask([3])[0].value is None


def test_a_person_may_type_the_answers(capsys: pytest.CaptureFixture[str]) -> None:
    typed = iter(["what?", "2.5", ""])
    prompts: list[str] = []

    def read(prompt: str) -> str:
        prompts.append(prompt)
        return next(typed)

    with curator_of(some_rows(20), Prompt(read)) as curator:
        assert [a.value for a in curator.ask([7, 8])] == [2.5, None]
    assert prompts[0].startswith("row 7 [")
    assert "a number" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_a_table_with_a_named_column(kind: str, tmp_path: Path) -> None:
    import pandas as pd

    rows = some_rows(20)
    frame = pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "answer": hill(rows)})
    source: Any = frame
    if kind != "frame":
        source = tmp_path / f"rows.{kind}"
        frame.to_csv(source, index=False) if kind == "csv" else frame.to_parquet(source)
    with Curator(source, "answer", **BUDGET) as curator:
        assert curator.published().columns == 2  # the answer is no input
        assert curator.ask([11])[0].value == pytest.approx(hill(rows)[11])
    with pytest.raises(BadInput, match="no column 'target'; there are a, b, answer"):
        Curator(source, "target", **BUDGET)


def test_rows_that_are_no_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="rows have no names"):
        curator_of(some_rows(20), "answer")
    with pytest.raises(BadInput, match="one per row, 20 of them"):
        curator_of(some_rows(20), np.zeros(19))
    with pytest.raises(BadInput, match=r"\.xlsx or \.parquet"):
        Curator(tmp_path / "rows.pickle", "y", **BUDGET)
    with pytest.raises(BadInput, match="cannot be read"):
        Curator(tmp_path / "nothing.csv", "y", **BUDGET)
    with pytest.raises(BadInput, match=r"columns \[0\] have missing"):
        curator_of(np.array([[np.nan], [1.0]]), np.zeros(2), delta=0.1)


def test_the_ledger_is_charged_before_the_table_is_drawn_and_once(ledger_url: str, tmp_path: Path) -> None:
    rows = some_rows(20)
    ledger = Ledger.open(ledger_url, "rows", Budget.approximate(2.0, 1e-5))
    for _ in range(2):
        with curator_of(rows, state=tmp_path / "s", ledger=ledger) as curator:
            charge, draw = ledger.entries()
            assert (charge.status, draw.kind) == ("drawn", "drawn")
            assert draw.digest == curator.published().digest
    with pytest.raises(BudgetRefused):
        curator_of(rows, state=tmp_path / "other", ledger=ledger)


def test_private_answers_are_noisy_clipped_and_charged_per_query(tmp_path: Path) -> None:
    rows = some_rows(200)
    answers = PrivateAnswers((0.0, 1.0), Budget.gdp(0.2))
    ledger = Ledger.open(tmp_path / "ledger.db", "rows", Budget.gdp(1.3))  # the table and 40 answers
    with curator_of(
        rows, lambda row: 1e9, queries=200, answers=answers, ledger=ledger, state=tmp_path / "s", epsilon=1.0
    ) as curator:
        values = np.array([a.value for a in curator.ask(list(range(30)))])
        assert curator.published().answer_noise == pytest.approx(5.0, rel=1e-6)
        assert abs(values.mean() - 1.0) < 6 * 5 / np.sqrt(30)  # one false alarm in 5e8
        assert values.std() > 2
        assert len([e for e in ledger.entries() if e.kind == "charge"]) == 31
        curator.ask(list(range(30)), modeler="another")  # told before: costs nothing
        assert len([e for e in ledger.entries() if e.kind == "charge"]) == 31
        assert all(e.status == "drawn" for e in ledger.entries() if e.kind == "charge")
        whole = curator.published().whole
        assert whole.kind == "unconditional"
        assert whole.unit == distance_unit(1.0) + ", with whatever answer it then has"
        with pytest.raises(BudgetRefused):
            curator.ask(list(range(30, 80)), modeler="third")
    assert ledger.verify() is None


def test_answers_that_depend_on_their_row_alone_may_be_charged_once(tmp_path: Path) -> None:
    rows = some_rows(200)
    answers = PrivateAnswers((0.0, 1.0), Budget.gdp(0.5), charged="once")
    ledger = Ledger.open(tmp_path / "ledger.db", "rows", Budget.gdp(1.0))
    with curator_of(rows, answers=answers, ledger=ledger, epsilon=1.0, state=tmp_path / "s") as curator:
        curator.ask(list(range(50)))
        curator.ask(list(range(50, 80)))
        assert [e.status for e in ledger.entries() if e.kind == "charge"] == ["drawn", "drawn"]
        assert "that row alone" in curator.published().whole.assumptions[0]


def test_a_failing_evaluation_is_silent_when_answers_are_private() -> None:
    def broken(row: np.ndarray) -> float:
        raise RuntimeError

    with curator_of(some_rows(20), broken, answers=PrivateAnswers((2.0, 3.0), Budget.gdp(100.0))) as curator:
        assert curator.ask([3])[0].value == pytest.approx(2.0, abs=0.1)


def test_a_charge_without_a_recorded_answer_pays_for_drawing_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = some_rows(20)
    ledger = Ledger.open(tmp_path / "ledger.db", "rows", Budget.gdp(3.0))
    settings: dict[str, Any] = {"answers": PrivateAnswers((0.0, 1.0), Budget.gdp(0.2)), "ledger": ledger}
    with curator_of(rows, state=tmp_path / "s", **settings) as curator:
        monkeypatch.setattr(curator._state, "record", lambda *_: (_ for _ in ()).throw(StateError("disk full")))
        with pytest.raises(StateError):
            curator.ask([5], request="request-five")
    assert [e.status for e in ledger.entries() if e.kind == "charge"] == ["drawn", "debited, not drawn"]
    with curator_of(rows, state=tmp_path / "s", **settings) as curator:
        assert curator.ask([5], request="request-five")[0].row == 5
        assert [e.status for e in ledger.entries() if e.kind == "charge"] == ["drawn", "drawn"]


def test_the_published_projection_needs_its_words_and_takes_no_ledger(tmp_path: Path) -> None:
    rows = some_rows(50)
    with pytest.raises(BadInput, match="known-row attack"):
        curator_of(rows, transform="projection")
    with curator_of(rows, transform="projection", insist=ATTACK, dimensions=5) as curator:
        assert curator.published().whole.kind == "none"
        assert curator.table().dtype == np.float64
    ledger = Ledger.open(tmp_path / "ledger.db", "rows", Budget.gdp(3.0))
    with pytest.raises(GuaranteeError, match="cannot be charged"):
        curator_of(rows, transform="projection", insist=ATTACK, ledger=ledger)


DYING = """
import sys, numpy as np
from tacit.outsource.curator import Curator
from tacit.privacy.guarantee import Budget
from tacit.privacy.ledger import Ledger
state, ledger = sys.argv[1:]
rows = np.random.default_rng(0).uniform(-15, 15, (8000, 5))
print("go", flush=True)
with Curator(rows, rows[:, 0], epsilon=2.0, delta=1e-6, state=state,
             ledger=Ledger.open(ledger, "rows", Budget.approximate(2.0, 1e-6))) as curator:
    print(curator.published().digest, len(curator.table()))
"""


def test_a_curator_killed_while_publishing_pays_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DYING, str(tmp_path / "s"), str(tmp_path / "ledger.db")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    limit = time.monotonic() + 300  # a busy machine may take its time; nothing waits longer than it must
    while time.monotonic() < limit and not (tmp_path / "ledger.db").exists():
        time.sleep(0.01)
    ledger = Ledger.open(tmp_path / "ledger.db", "rows", Budget.approximate(2.0, 1e-6))
    while time.monotonic() < limit and not ledger.entries():
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert [e.status for e in ledger.entries() if e.kind == "charge"] == ["debited, not drawn"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    digest, rows = done.stdout.split()[1:]
    assert rows == "8000"
    charge, draw = ledger.entries()
    assert (charge.status, draw.digest) == ("drawn", digest)


def test_the_face_is_public() -> None:
    assert tacit.Curator is Curator
    assert tacit.Modeler is Modeler


def charges(ledger: Ledger) -> list[str]:
    return [e.purpose.split(" of study ")[0] for e in ledger.entries() if e.kind == "charge"]


def test_a_state_that_was_put_back_pays_again_for_what_it_forgot(tmp_path: Path) -> None:
    rows, ledger = some_rows(40), Ledger.open(tmp_path / "ledger.db", "rows", Budget.gdp(20.0))
    answers = PrivateAnswers((-1.0, 1.0), Budget.gdp(0.5))
    settings: dict[str, Any] = {"answers": answers, "ledger": ledger, "state": tmp_path / "state"}
    with curator_of(rows, **settings) as curator:
        curator.ask([1])
    shutil.copytree(tmp_path / "state", tmp_path / "old")
    with curator_of(rows, **settings) as curator:
        told = curator.ask([7])
    shutil.rmtree(tmp_path / "state")
    shutil.copytree(tmp_path / "old", tmp_path / "state")
    with curator_of(rows, **settings) as curator:
        assert curator.ask([7]) != told  # a second draw of the same answer
        curator.ask([7])
    assert charges(ledger) == ["table", "answer for row 1", "answer for row 7", "answer for row 7"]
    ledger.verify()


def test_a_state_that_was_put_back_is_refused_where_one_charge_covers_all_answers(tmp_path: Path) -> None:
    rows, ledger = some_rows(40), Ledger.open(tmp_path / "ledger.db", "rows", Budget.gdp(20.0))
    answers = PrivateAnswers((-1.0, 1.0), Budget.gdp(0.5), charged="once")
    settings: dict[str, Any] = {"answers": answers, "ledger": ledger, "state": tmp_path / "state"}
    with curator_of(rows, **settings) as curator:
        curator.ask([1])
    shutil.copytree(tmp_path / "state", tmp_path / "old")
    with curator_of(rows, **settings) as curator:
        curator.ask([7])
    shutil.rmtree(tmp_path / "state")
    shutil.copytree(tmp_path / "old", tmp_path / "state")
    with pytest.raises(LedgerError, match="an older copy was put back"):
        curator_of(rows, **settings)
    assert charges(ledger) == ["table", "answers"]


@pytest.mark.parametrize("charged", ["each", "once"])
def test_two_copies_of_a_state_do_not_both_tell_an_answer(tmp_path: Path, charged: str) -> None:
    rows, ledger = some_rows(40), Ledger.open(tmp_path / "ledger.db", "rows", Budget.gdp(20.0))
    answers = PrivateAnswers((-1.0, 1.0), Budget.gdp(0.5), charged=charged)
    settings: dict[str, Any] = {"answers": answers, "ledger": ledger}
    with curator_of(rows, state=tmp_path / "a", **settings) as curator:
        curator.ask([1])
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    if charged == "once":  # the original is still there
        with pytest.raises(BadInput, match="this is a copy"):
            curator_of(rows, state=tmp_path / "b", **settings)
        return
    with (
        curator_of(rows, state=tmp_path / "a", **settings) as a,
        curator_of(rows, state=tmp_path / "b", **settings) as b,
    ):
        drawn = b._answer(7)  # drawn, and not yet recorded, when the other one tells its own
        told = a.ask([7])
        b._answer = lambda row: drawn  # type: ignore[method-assign]
        with pytest.raises(LedgerError, match="does not pay for a second one"):
            b.ask([7])
        assert a.ask([7]) == told
        assert charges(ledger).count("answer for row 7") == 1
        assert b.ask([7]) != told  # pays for its own answer, and tells it then
        assert charges(ledger).count("answer for row 7") == 2


@pytest.mark.parametrize("charged", ["each", "once"])
def test_a_ledger_that_is_named_later_is_charged_for_what_was_told_before(tmp_path: Path, charged: str) -> None:
    rows, ledger = some_rows(40), Ledger.open(tmp_path / "ledger.db", "rows", Budget.approximate(20.0, 1e-5))
    answers = PrivateAnswers((-1.0, 1.0), Budget.gdp(0.5), charged)
    settings: dict[str, Any] = {"answers": answers, "state": tmp_path / "state"}
    with curator_of(rows, **settings) as curator:
        curator.ask([3, 4])
    for _ in range(2):  # once, however often it is started
        with curator_of(rows, **settings, ledger=ledger):
            pass
    assert charges(ledger) == [
        "table",
        *({"each": ["answer for row 3", "answer for row 4"], "once": ["answers"]}[charged]),
    ]
    poor = Ledger.open(tmp_path / "poor.db", "rows", Budget.approximate(1e-3, 1e-5))
    with pytest.raises(BudgetRefused):
        curator_of(rows, **settings, ledger=poor)


def test_a_table_can_be_charged_to_any_budget_that_takes_gaussian_noise(tmp_path: Path) -> None:
    for budget in (Budget.approximate(2.0, 1e-5), Budget.gdp(2.0), Budget.zcdp(2.0)):
        with (
            Ledger.open(tmp_path / "l.db", budget.notion, budget) as ledger,
            curator_of(some_rows(30), state=tmp_path / budget.notion, ledger=ledger, epsilon=1.0) as curator,
        ):
            assert ledger.entries()[0].guarantee == curator.published().guarantee


def test_a_limit_of_no_queries_for_each_modeler_is_not_taken_for_no_limit() -> None:
    for none in (0, -1):
        with pytest.raises(BadInput, match="per_modeler must be at least 1"):
            curator_of(some_rows(40), per_modeler=none)


def test_a_study_with_a_guarantee_does_not_go_on_with_simulated_noise(tmp_path: Path) -> None:
    rows = some_rows(40)
    settings: dict[str, Any] = {"answers": PrivateAnswers((-1.0, 1.0), Budget.gdp(0.5)), "state": tmp_path / "state"}
    with curator_of(rows, **settings):
        pass
    with pytest.raises(StateError, match="other rows or other terms"):
        curator_of(rows, **settings, noise=tacit.Simulation(0))


def test_a_state_of_the_first_release_goes_on(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    shutil.copy(Path(__file__).parents[2] / "golden" / "curator_v1.db", tmp_path / "state" / "curator.db")
    rows = np.arange(40.0).reshape(20, 2) % 7
    for _ in range(2):
        with Curator(rows, rows.sum(axis=1), epsilon=2.0, delta=1e-3, state=tmp_path / "state", queries=5) as curator:
            assert curator.published().study == "58bd94d6edc64a088a590d83396509d2"
            assert curator.table().shape == (20, 2)
            assert [(e.number, e.modeler, e.row) for e in curator.exchanges()][:3] == [
                (1, "alice", 3),
                (2, "alice", 4),
                (3, "bob", 4),
            ]
            assert [a.row for a in curator.ask([3, 4], request="request-34", modeler="alice")] == [3, 4]
            assert curator.ask([5, 6], request="request-56")[0].value == rows[5].sum()
            with pytest.raises(Refused, match="no room"):
                curator.ask([7])


def test_each_answer_of_a_request_is_recorded_before_the_next_is_evaluated(tmp_path: Path) -> None:
    seen: list[set[int]] = []

    def evaluate(row: np.ndarray) -> float:
        looking = State(tmp_path / "state", "study", hold=False)
        seen.append(set(looking.load()[1]))
        looking.close()
        return 1.0

    with curator_of(some_rows(20), evaluate, state=tmp_path / "state") as curator:
        curator.ask([1, 2, 3])
    assert seen == [set(), {1}, {1, 2}]


def test_a_stop_ends_a_request_of_many_rows_at_the_next_one() -> None:
    rows = some_rows(20)
    with curator_of(rows, lambda row: curator.stop() or 1.0) as curator:
        with pytest.raises(Refused, match="The rest was not evaluated"):
            curator.ask([1, 2, 3])
        assert curator.status()["used"] == 0


def test_an_evaluation_that_leaves_the_process_is_one_that_failed() -> None:
    broken = curator_of(some_rows(20), lambda row: sys.exit(3))
    with broken as curator, pytest.raises(ObjectiveError, match="row 3 raised SystemExit"):
        curator.ask([3])
