"""A game draws parts that are the same again, refuses a wrong number of outputs, and says both numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.audit.game import Game, draw_part, part_sizes
from tacit.audit.games import mechanisms
from tacit.audit.play import run_game
from tacit.errors import BadInput
from tacit.report.pages.audit import write


def test_simulated_parts_are_the_same_again_and_differ_from_each_other() -> None:
    made = mechanisms.laplace()
    a, b, c = (draw_part(made, 0, n, 50, exact=False, seed=1) for n in (0, 0, 1))
    assert (a == b).all()
    assert not (a == c).any()
    assert sum(part_sizes(made, 25_001)) == 25_001


def test_a_game_with_the_wrong_number_of_outputs_is_refused() -> None:
    bad = Game("bad", "", tacit.Budget.pure(1.0), lambda side, runs, noise: np.zeros(3))
    with pytest.raises(BadInput, match="must give 50 outputs"):
        run_game(bad, 50)


def test_the_words_and_the_page_show_both_numbers(tmp_path: Path) -> None:
    audit = run_game("laplace", 2000)
    shown = [str(audit), *(p.read_text() for p in write(audit, tmp_path) if p.suffix != ".json")]
    for made, digits in zip(shown, (4, 3, 3), strict=True):
        assert "claimed" in made
        assert f"{audit.measured:.{digits}g}" in made
    assert "http" not in shown[-1].replace("http://www.w3.org/2000/svg", "")
