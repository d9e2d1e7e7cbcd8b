"""The runner of games: any executor finds the same, kept parts are gone on from, other runs are refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit.audit.games import mechanisms
from tacit.audit.play import draw_named_part, run_game
from tacit.errors import BadInput


def test_an_executor_finds_what_one_thread_finds() -> None:
    with ThreadPoolExecutor(2) as pool:
        alone, together = (run_game("laplace", 2000, executor=e, seed=3) for e in (None, pool))
    assert alone.event == together.event


def test_a_game_goes_on_from_the_parts_that_were_kept(tmp_path: Path) -> None:
    first = run_game("laplace", 2000, out=tmp_path)
    parts = sorted((tmp_path / "runs").glob("*.npy"))
    np.save(parts[0], np.load(parts[0]) + 0.0)
    parts[-1].unlink()
    seen: list[int] = []
    made = mechanisms.laplace()
    watched = replace(made, draw=lambda side, runs, noise: (seen.append(side), made.draw(side, runs, noise))[1])
    assert run_game(watched, 2000, out=tmp_path).event == first.event
    assert seen == [1], "only the part that was lost is drawn again"


def test_runs_of_another_number_or_game_are_refused(tmp_path: Path) -> None:
    run_game("laplace", 1000, out=tmp_path)
    with pytest.raises(BadInput, match="holds other runs: trials was 1000, now 2000"):
        run_game("laplace", 2000, out=tmp_path)
    with pytest.raises(BadInput, match="holds other runs: method"):
        run_game("gaussian", 1000, out=tmp_path)


def test_parts_of_one_run_are_refused() -> None:
    with pytest.raises(BadInput, match="has no parts"):
        draw_named_part("dp-sgd-one-run", 0, 0, 40, exact=False, seed=0)
