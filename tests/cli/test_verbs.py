"""Option groups: spread into options, put together again, and shown in sections of the help without Python types."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import pytest
import typer
import typer.main
from shell_parts import tacit as run
from typer.testing import CliRunner

from tacit.cli.main import app as tacit_app
from tacit.cli.options import BudgetOptions
from tacit.cli.verbs import Verbs
from tacit.errors import BadInput
from tacit.privacy.guarantee import Budget, default_delta


@dataclass(frozen=True)
class Colours:
    TITLE: ClassVar = "Colours"

    ink: Annotated[str, typer.Option(help="Of letters.")] = "black"
    paper: Annotated[float | None, typer.Option(help="How white.")] = None


def test_a_group_is_spread_into_options_and_put_together_again() -> None:
    seen = []
    app = Verbs(rich_markup_mode=None)

    @app.command("draw")
    def draw(colours: Colours, name: Annotated[str, typer.Argument()], twice: bool = False) -> None:
        """Draw."""
        seen.append((colours, name, twice))

    @app.command("rub")
    def rub() -> None:
        """Rub out."""

    assert CliRunner().invoke(app, ["draw", "cat", "--ink", "blue", "--twice"]).exit_code == 0
    assert seen == [(Colours("blue", None), "cat", True)]
    said = CliRunner().invoke(app, ["draw", "--help"]).output
    assert re.search(r"Colours:\n +--ink TEXT .*\n +--paper NUMBER", said)


def commands(group: object, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    known = getattr(group, "commands", None)
    return [words] if known is None else [w for name in known for w in commands(known[name], (*words, name))]


@pytest.mark.parametrize("words", commands(typer.main.get_command(tacit_app)), ids=" ".join)
def test_help_shows_no_python_type(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tacit"])
    said = CliRunner().invoke(tacit_app, [*words, "--help"]).output
    assert not re.search(r"<(str|int|float|path|list|bool)|\b(INTEGER|FLOAT|TUPLE)\b", said), said


def test_one_rule_for_delta() -> None:
    assert [default_delta(n) for n in (0, 500, 100_000, 200_000, 3_000_000)] == [1e-6, 1e-6, 1e-6, 5e-7, 3e-8]
    assert BudgetOptions().budget(200_000) == Budget.approximate(1.0, 5e-7)
    assert BudgetOptions(epsilon=2.0).optional_budget() == Budget.approximate(2.0, 1e-6)
    assert BudgetOptions(epsilon=2.0, pure=True).optional_budget() == Budget.pure(2.0)
    assert BudgetOptions().optional_budget() is None
    for wrong in ({"delta": 1e-6}, {"rho": 1.0, "mu": 1.0}, {"mu": 1.0, "delta": 1e-6}, {"pure": True}):
        with pytest.raises(BadInput, match=r"give one budget|--pure goes with"):
            BudgetOptions(**wrong).optional_budget()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tune", "m:f", "--method", "obsered"], "did you mean 'observed'?"),
        (["train", "--table", "t.csv", "--target", "y", "--model", "logistik"], "did you mean 'logistic'?"),
        (["train", "--table", "t.csv", "--target", "y", "--metric", "acuracy"], "did you mean 'accuracy'?"),
        (["train", "--table", "t.csv", "--target", "yy"], "did you mean 'y'?"),
        (["train", "--table", "t.csv", "--target", "y", "--mu", "1"], "At delta 1e-6 that is --epsilon 4.89"),
        (["train", "--table", "t.csv", "--target", "y", "--epsilon", "1", "--pure"], "Leave --pure out"),
        (["audit", "laplce"], "did you mean 'laplace'?"),
        (["dashboard", "--port", "99999"], "port must be 0 to 65535"),
        (["verify", "none.json"], "none.json is not a readable certificate"),
        (["tune", "--epsilon", "abc"], "--epsilon"),
        (["pareto", "--algorithm", "svm_sgdd", "--table", "t.csv", "--target", "y"], "did you mean 'svm_sgd'?"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_is_named_as_it_was_typed(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,y\n1,0\n2,1\n")
    said = run(*words)
    assert (said.code, says in said.err, said.out) == (2, True, ""), said.err
