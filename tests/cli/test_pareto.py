"""`tacit pareto` from the shell: JSON alone on standard output, files, resume, refusals with their exit codes."""

from __future__ import annotations

import json
import re
import sys
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
from command_parts import installed
from shell_parts import Said
from shell_parts import tacit as command

from tacit import Budget, Ledger
from tacit.cli import main

NAMES = {"front.csv", "front.json", "front.svg", "front.html", "front.png"}
QUICK = ["--delta", "0", "--trials", "6", "--startup", "4"]


def tacit(*arguments: str, cwd: Path) -> Said:
    with chdir(cwd):
        return command("pareto", *arguments)


def test_a_front_in_json_with_files_and_resumed(tmp_path: Path) -> None:
    done = tacit("pareto_toys:toy", *QUICK, "--out", "front", "--epsilon", "50", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert (document["private"], document["label"], len(document["tested"])) == (
        False,
        "no sampling, one record replaced",
        6,
    )
    assert document["asked"][0]["tested"]["epsilon"] <= 50
    assert {Path(f).name for f in document["files"].values()} == NAMES
    assert all((tmp_path / f).exists() for f in document["files"].values())
    more = tacit("pareto_toys:toy", *QUICK[:3], "9", "--startup", "4", "--out", "front", "--json", cwd=tmp_path)
    measured = [{k: v for k, v in p.items() if k not in ("low", "high")} for p in document["tested"]]
    again = json.loads(more.out)["tested"][:6]  # intervals learn from later points
    assert [{k: v for k, v in p.items() if k not in ("low", "high")} for p in again] == measured


def test_a_shipped_algorithm_with_workers_for_a_person(tmp_path: Path) -> None:
    words = ["--algorithm", "sparse_vector", *QUICK, "--workers", "2", "--epsilon", "2000"]
    done = installed("pareto", *words, at=tmp_path)
    assert "NOT PRIVATE" in done.out
    assert re.search(r"tested     epsilon \S+, utility \S+ \(95% interval \S+ to \S+; runs \S+ to \S+\): b=", done.out)
    assert re.search(r"predicted  .*95% interval \S+ to \S+\): b=", done.out)


def test_another_search_finds_a_front_to_compare(tmp_path: Path) -> None:
    done = tacit("pareto_toys:toy", *QUICK[:3], "12", "--search", "grid", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert {p["params"]["rate"] for p in json.loads(done.out)["tested"]} == {0.0, 1.0}


def test_what_a_module_says_when_it_fails_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("algorithm = float('patient 8271')\n")
    done = tacit("mine:algorithm", *QUICK, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "importing mine raised ValueError" in done.err
    assert "8271" not in done.err


def test_a_table_of_data_with_numbers_and_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{x:.4f},{w},{'yes' if x > 0 else 'no'}" for x, w in zip(rng.normal(size=400), "ab" * 200, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["size,kind,bought", *rows]) + "\n")
    table = ["--algorithm", "logistic_sgd", "--table", "t.csv", "--target", "bought"]
    done = tacit(*table, "--trials", "6", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert max(p["utility"] for p in json.loads(done.out)["tested"]) > 0.8
    (tmp_path / "s.toml").write_text("target = {name = 'bought', labels = ['no', 'yes']}\n[columns]\nsize = 'number'\n")
    private = tacit(*table, "--schema", "s.toml", "--trials", "6", "--test-epsilon", "1", "--json", cwd=tmp_path)
    assert private.code == 0, private.err
    assert json.loads(private.out)["guarantee"]["unit"] == "one test record replaced"


def test_a_missing_target_is_named_with_the_remedy_and_missing_cells_are_borne(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,size,kind,bought\n" + "31,,a,yes\n,4711,,no\n27,1,b,yes\n" * 9)
    (tmp_path / "u.csv").write_text("age,bought\n" + "31,yes\n27,\n" * 9)
    for name, code in (("t.csv", "0"), ("u.csv", "2")):
        words = [
            "--algorithm",
            "logistic_sgd",
            "--table",
            name,
            "--target",
            "bought",
            "--trials",
            "2",
            "--startup",
            "2",
        ]
        monkeypatch.setattr(sys, "argv", ["tacit", "pareto", *words])
        with pytest.raises(SystemExit, match=code):
            main()
        said = capsys.readouterr().err
        assert ("the target 'bought': labels must be text or numbers, and some training rows have none" in said) == (
            code == "2"
        )
        assert "4711" not in said


def test_a_private_front_is_paid_and_certified(tmp_path: Path) -> None:
    private = ["--test-epsilon", "1", "--ledger", "ledger.db", "--ledger-name", "set"]
    Ledger.open(tmp_path / "ledger.db", "set", Budget.approximate(1.0, 1e-6)).close()
    done = tacit("pareto_toys:Toy", *QUICK, *private, "--out", "front", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["guarantee"]["unit"] == "one test record replaced"
    with chdir(tmp_path):
        assert command("verify", "front/certificate.json", "--ledger", "ledger.db").code == 0
    again = tacit("pareto_toys:Toy", *QUICK, *private, "--json", cwd=tmp_path)
    assert again.code == 3


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nowhere:thing"],
        ["pareto_toys"],
        ["pareto_toys:toy", "--trials", "0"],
        ["pareto_toys:toy", "--delta", "1"],
        ["pareto_toys:toy", "--epsilon", "1", "--epsilon", "nan"],
        ["pareto_toys:toy", "--algorithm", "sparse_vector"],
        ["pareto_toys:toy", "--table", "x.csv"],
        ["pareto_toys:toy", "--ledger", "ledger.db"],
        ["--algorithm", "nothing"],
        ["pareto_toys:toy", "--search", "annealing"],
        ["pareto_toys:toy", "--search", "tpe", "--privacy-model", "gp"],
        ["--algorithm", "logistic_sgd"],
        ["--algorithm", "sparse_vector", "--table", "x.csv"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line_and_exit_code_2(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["tacit", "pareto", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    told = capsys.readouterr()
    assert (left.value.code, told.out) == (2, "")
    assert told.err.startswith("tacit: ")
    assert told.err.count("\n") == 1
