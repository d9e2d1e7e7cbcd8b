"""Questions: an option answers, a default may, a person is asked again after a typo."""

from __future__ import annotations

import io
import sys

import pytest

from tacit.cli.questions import Asker, read_float, read_interval, read_whole
from tacit.errors import BadInput, positive


def check(answer: object) -> float:
    return positive("epsilon", read_float(answer))


def test_a_person_is_asked_again_after_a_typo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\n-1\n2.5\n"))
    assert Asker(False, True)("epsilon", "Epsilon", 1.0, None, check) == 2.5
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("Epsilon [1.0]: ") == 3
    assert "a number is wanted, got 'one'. Once more:" in said.err
    assert "epsilon must be positive" in said.err


def test_an_option_is_checked_and_not_asked_for_again() -> None:
    assert Asker(False, True)("epsilon", "Epsilon", 1.0, 3, check) == 3.0
    with pytest.raises(BadInput, match="must be positive"):
        Asker(False, True)("epsilon", "Epsilon", 1.0, -3.0, check)


def test_defaults_are_taken_with_yes_and_what_has_none_is_named() -> None:
    assert Asker(True, False)("epsilon", "Epsilon", 1.0, None, check) == 1.0
    with pytest.raises(BadInput, match="nobody can be asked for --scale here: give it"):
        Asker(True, False)("scale", "Scale", None, None)
    with pytest.raises(BadInput, match="for ROWS here: give it, or --yes to take a"):
        Asker(False, False)("ROWS", "Table", "a.csv", None)


@pytest.mark.parametrize("given", ["0,1", "0 1", " 0 , 1 ", (0.0, 1.0)])
def test_an_interval_is_two_numbers_however_they_are_separated(given: object) -> None:
    assert read_interval(given) == (0.0, 1.0)


@pytest.mark.parametrize("given", ["", "1", "1,2,3", "a,b", "2,1"])
def test_anything_else_is_no_interval(given: str) -> None:
    with pytest.raises(BadInput):
        read_interval(given)
    with pytest.raises(BadInput, match="whole number"):
        read_whole("queries", "1.5")
