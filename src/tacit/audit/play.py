"""The runner of games: in parts, here or in an executor's workers; a folder keeps finished parts, to go on from."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from pathlib import Path
from typing import Any

import numpy as np

from tacit.audit.game import EXACTLY, SIMULATED, Audit, Game, Outputs, draw_part, part_sizes, score_outputs
from tacit.audit.games import find_game
from tacit.audit.games.one_run import OneRun
from tacit.errors import BadInput, ObjectiveError, count, differences
from tacit.files import Json, create_private_folder
from tacit.privacy.guarantee import Budget
from tacit.run.progress import progress_bar

Part = tuple[int, int, int]  # side, number, runs


def run_game(
    game: str | Game | OneRun,
    runs: int | None = None,
    *,
    claim: Budget | None = None,
    confidence: float = 0.99,
    exact: bool | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    out: str | Path | None = None,
    progress: bool = False,
) -> Audit:
    """Draw ``runs`` outputs on each of a game's two data sets and score them: claimed against measured.

    ``game`` is a name of ``tacit.audit.games.GAMES``, ``module:name``, or a game. ``claim`` is what a mechanism given
    by ``module:name`` claims. ``executor`` draws parts elsewhere; processes need a game by its name. ``out`` is a
    folder in which finished parts are kept: the same call goes on from there.

    Edges. Simulated runs are the same for the same seed, with any executor; exact ones never are. The number of runs
    is fixed in advance: a folder of another number is refused.

    >>> run_game("gaussian", 4000).verdict
    'within the claim'
    """
    found_game = find_game(game, claim) if isinstance(game, str) else game
    name = game if isinstance(game, str) else found_game.name
    if isinstance(found_game, OneRun):
        _open_runs(out, {"method": name, "seed": seed, "exact": exact})
        return found_game.audit(confidence=confidence, exact=exact, seed=seed)
    real = found_game.exact if exact is None else exact
    wanted = count("runs", found_game.runs if runs is None else runs, least=40)
    folder = _open_runs(out, {"method": name, "trials": wanted, "seed": seed, "exact": real})
    parts = [(side, number, size) for number, size in enumerate(part_sizes(found_game, wanted)) for side in (0, 1)]
    sent, start = game if isinstance(game, str) else found_game, time.perf_counter()
    with progress_bar("auditing", 2 * wanted, wanted=progress) as advance:
        drawn = _draw_parts(found_game, sent, parts, folder, executor, {"exact": real, "seed": seed}, advance)
    here, there = (np.concatenate([drawn[part] for part in parts if part[0] == side]) for side in (0, 1))
    seconds, noise = time.perf_counter() - start, EXACTLY if real else SIMULATED
    return score_outputs(found_game, here, there, confidence=confidence, seconds=seconds, noise=noise)


def _draw_parts(
    made: Game,
    sent: str | Game,
    parts: list[Part],
    folder: Path | None,
    executor: Executor | None,
    how: dict[str, Any],
    advance: Callable[[int], None],
) -> dict[Part, Outputs]:
    """The outputs of every part: read where they were kept, drawn otherwise."""
    drawn: dict[Part, Outputs] = {}
    for part in parts:
        if folder is not None and _file(folder, part).exists():
            drawn[part] = np.load(_file(folder, part), allow_pickle=False)
            advance(part[2])
    left = [part for part in parts if part not in drawn]
    futures = {p: executor.submit(draw_named_part, sent, *p, **how) for p in left} if executor is not None else {}
    try:
        for part in left:
            drawn[part] = futures[part].result() if futures else draw_named_part(made, *part, **how)
            if folder is not None:
                _keep(_file(folder, part), drawn[part])
            advance(part[2])
    except BrokenExecutor:
        left_over = f"The runs made so far are kept in {folder.parent}" if folder else "Nothing is kept: give a folder"
        raise ObjectiveError(
            "a worker died: it was killed, ran out of memory, or the mechanism ended it. "
            f"{left_over}, to go on by running it again"
        ) from None
    finally:
        for future in futures.values():
            future.cancel()
    return drawn


def draw_named_part(game: str | Game, side: int, number: int, runs: int, *, exact: bool, seed: int) -> Outputs:
    """The outputs of one part, of a game or of its name: for workers, which are sent names and numbers only."""
    found_game = find_game(game) if isinstance(game, str) else game
    if isinstance(found_game, OneRun):
        raise BadInput(f"{found_game.name} is one run; it has no parts")
    return draw_part(found_game, side, number, runs, exact=exact, seed=seed)


def _file(folder: Path, part: Part) -> Path:
    return folder / "{}-{}-{}.npy".format(*part)


def _keep(file: Path, outputs: Outputs) -> None:
    partial = file.with_name("part.npy.part")
    with partial.open("wb") as opened:
        np.save(opened, outputs, allow_pickle=False)
    partial.replace(file)


def _open_runs(out: str | Path | None, terms: Json) -> Path | None:
    """The folder of finished parts; refuses runs of another game or number: that choice is made in advance."""
    if out is None:
        return None
    folder, wanted = Path(out) / "runs", json.dumps(terms, sort_keys=True)
    try:
        create_private_folder(folder)
        file = folder / "terms.json"
        if file.exists() and file.read_text() != wanted:
            raise BadInput(f"{out} holds other runs: {differences(file.read_text(), wanted)}. Give another folder")
        file.write_text(wanted)
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    return folder
