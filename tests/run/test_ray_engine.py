"""Actors of Ray that die, as often as they like: the same sums or a typed refusal, and then the next answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from engine_laws import MEAN, N, counts, frames, score, score_and_die, score_first_columns
from engine_parts import local_ray

from tacit.errors import ObjectiveError
from tacit.run.ray_engine import RETRIES
from tacit.run.shards import Shards

pytestmark = pytest.mark.slow
POINT = np.array([0.2, 0.7])
WIDE = 200  # columns: parts that Ray keeps in its store, not beside the actor


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    pytest.importorskip("ray")
    with local_ray() as ray:
        yield ray


def ask(shards: Shards, scoring: Any) -> list[int]:
    return shards.with_score(scoring, None).add_up([POINT], MEAN, N, None)


@pytest.mark.parametrize("stored", [False, True])
def test_actors_that_are_killed_again_and_again_answer_the_same(ray: Any, stored: bool) -> None:
    wide = [np.hstack([frame, np.ones((len(frame), WIDE))]) for frame in frames()]
    shards = Shards([ray.put(frame) for frame in wide] if stored else wide, counts=counts(), cluster="ray")
    engine, right = shards.engine(), ask(Shards(frames()), score)
    for _ in range(RETRIES + 2):
        ray.kill(engine.actors[0], no_restart=False)  # type: ignore[attr-defined]
        assert ask(shards, score_first_columns) == right


def test_a_question_that_kills_whoever_takes_it_is_refused_and_the_next_is_answered(ray: Any) -> None:
    shards = Shards([ray.put(frame) for frame in frames()], counts=counts())
    shards.engine()
    with pytest.raises(ObjectiveError, match="a worker died"):
        ask(shards, score_and_die)
    assert ask(shards, score) == ask(Shards(frames()), score)
