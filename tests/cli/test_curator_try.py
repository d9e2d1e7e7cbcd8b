"""`tacit curator try`: public numbers or the rows, made-up answers, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell_parts import tacit as run

QUICK = ["--queries", "12", "--surfaces", "2", "--informative", "1,2"]


@pytest.fixture(autouse=True)
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i * 7 % 50},{i * 11 % 30},{9999 if i == 4 else i},x\n" for i in range(50))
    Path("rows.csv").write_text("a,b,y,word\n" + rows)
    return tmp_path


def test_public_numbers_are_enough_and_no_file_is_read_or_written() -> None:
    Path("rows.csv").unlink()
    said = run("curator", "try", "--count", "200", "--widths", "50,30", "--scale", "2,1", *QUICK)
    assert said.code == 0, said.err
    assert said.out.startswith("200 made-up rows, spread evenly, 2 columns, 12 queries, epsilon 3, delta 1e-06")
    assert "Nothing was published and nothing was spent." in said.out
    assert "would take r =" not in said.out  # no rank leaves the singular values of so small a table as they are
    assert "column 1 ±3.09, column 2 ±1.54" in said.err
    assert "depend on your rows" not in said.err
    assert list(Path().iterdir()) == []


def test_rows_are_tried_without_their_answers_and_the_figures_are_said_to_depend_on_them() -> None:
    words = ["curator", "try", "rows.csv", "--columns", "a,b", "--scale", "2,1", *QUICK]
    first = run(*words, "--json")
    assert "these figures depend on your rows" in first.err
    assert (first.json["rows"], first.json["columns"], first.json["looked_at_rows"]) == (50, 2, True)
    assert [(o["informative"], o["smooth"]) for o in first.json["outcomes"]] == [(1, 0.3), (1, 0.1), (2, 0.3), (2, 0.1)]
    assert set(first.json["noise_of_columns"]) == {"a", "b"}
    Path("rows.csv").write_text(Path("rows.csv").read_text().replace("9999", "0"))
    assert run(*words, "--json").json == first.json  # an answer has no say
    assert [p.name for p in Path().iterdir()] == ["rows.csv"]


def test_the_rank_of_the_published_projection_is_said_where_there_is_one() -> None:
    words = ["curator", "try", "--count", "5000", "--widths", "50000,50000", "--scale", "1,1", "--queries", "2"]
    said = run(*words, "--surfaces", "1", "--informative", "1", "--smooth", "0.5", "--json")
    assert said.json["rank"] > 100


def test_private_answers_are_tried_with_their_noise() -> None:
    words = ["curator", "try", "--count", "60", "--widths", "50", "--scale", "1", "--queries", "8", "--surfaces", "2"]
    tried = run(*words, "--bounds", "0", "10", "--answer-mu", "0.5", "--json").json
    assert tried["answer_noise"] == 2.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a table, or the public --widths"),
        (["--widths", "1,2"], "--widths goes with --count"),
        (["rows.csv"], "rows must be numbers, and word is not"),
        (["rows.csv", "--columns", "a,b"], "no --scale is given"),
        (["rows.csv", "--columns", "a,z"], "there is no column 'z'"),
        (
            ["rows.csv", "--columns", "a,b", "--scale", "1", "--informative", "3"],
            "informative columns are 1 to 2, got 3",
        ),
        (["rows.csv", "--columns", "a,b", "--scale", "1,2,3"], "scale must be a positive number, or one for each"),
        (["rows.csv", "--columns", "a,b", "--scale", "1", "--bounds", "0", "1"], "private answers need --answer-mu"),
    ],
)
def test_what_cannot_be_tried_is_refused(words: list[str], message: str) -> None:
    said = run("curator", "try", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
