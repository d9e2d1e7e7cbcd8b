"""What every engine must keep to: one suite, which each inherits. Engines are real, with processes of their own."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import ObjectiveError
from tacit.privacy.gradient_mean import Clipped
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.privacy.noise import Simulation
from tacit.run.engine import Reducer, settle
from tacit.run.shards import Shards

N, PARTS, SECRET = 3000, 7, 8675309.25
MEAN = BoundedMean(N, (0.0, 1.0), budget=Budget.gdp(1.0))
SPACE = {"x": tacit.Float(0.0, 1.0), "y": tacit.Float(0.0, 1.0)}
USUAL: dict[str, Any] = {"bounds": (0.0, 1.0), "budget": Budget.gdp(5.0), "progress": False, "accept_noise": True}


def frames() -> list[np.ndarray]:
    """Records in uneven parts; one of them stands for all that must not be seen."""
    rows = np.random.default_rng(5).random((N, 2))
    rows[17, 0] = SECRET
    return np.split(rows, [1, 400, 402, 1000, 1900, 2997])


def train(params: dict[str, Any]) -> np.ndarray:
    return np.array([params["x"], params["y"]])


def score(model: np.ndarray, frame: np.ndarray) -> np.ndarray:
    losses: np.ndarray = ((np.asarray(frame) - model) ** 2).mean(axis=1)
    return losses


def score_in_blocks(model: np.ndarray, frame: np.ndarray) -> Iterator[np.ndarray]:
    for i in range(0, len(frame), 100):
        yield score(model, frame[i : i + 100])


def score_and_fail(model: np.ndarray, frame: np.ndarray) -> np.ndarray:
    if (frame == SECRET).any():
        raise ValueError(f"cannot score {frame[frame == SECRET][0]}")
    return score(model, frame)


def score_column(model: np.ndarray, frame: Any) -> np.ndarray:
    """Of a frame that holds a record in one column."""
    return score(model, np.stack(frame["data"].to_numpy()))


def score_too_few(model: np.ndarray, frame: np.ndarray) -> np.ndarray:
    return score(model, frame)[: max(1, len(frame) - 1)]


def score_ends(model: np.ndarray, frame: np.ndarray) -> np.ndarray:
    return score(model[[0, -1]], frame)


def score_first_columns(model: np.ndarray, frame: np.ndarray) -> np.ndarray:
    return score(model, frame[:, :2])


def score_and_die(model: np.ndarray, frame: np.ndarray) -> np.ndarray:
    os._exit(3)


def score_and_note(model: tuple[np.ndarray, str], frame: np.ndarray) -> np.ndarray:
    """Notes which process looked at which part."""
    point, folder = model
    with open(os.path.join(folder, f"{len(frame)}-{os.getpid()}"), "a") as file:
        file.write("x")
    return score(point, frame)


class EngineLaws:
    """Inherit, and give ``shards``: parts that are ``frames()``, on the engine."""

    @pytest.fixture
    def shards(self) -> Shards:
        raise NotImplementedError

    def total(self, shards: Shards, scoring: Any = score, models: Any = None, summing: Any = MEAN) -> list[int]:
        made = shards.with_score(scoring, None)
        return made.add_up([np.array([0.2, 0.7])] if models is None else models, summing, N, None)

    def test_sums_are_those_of_one_process_to_the_last_bit(self, shards: Shards) -> None:
        points = [np.array([0.1 * i, 1 - 0.1 * i]) for i in range(5)]
        clipped = Clipped(np.random.default_rng(0).normal(size=(2, 5)), 0.3)
        here = Shards(frames())
        for summing in (MEAN, clipped):
            found = [self.total(s, score, points, summing) for s in (here, shards)]
            assert found[0] == found[1]
            assert self.total(shards, score_in_blocks, points, summing) == found[0]

    @pytest.mark.parametrize("method", ["observed", "pool", "gibo"])
    def test_releases_are_those_of_one_process_under_the_same_noise(self, shards: Shards, method: str) -> None:
        usual = {**USUAL, "method": method, "trials": 3, "train": train}
        usual |= {"scan": 4} if method == "gibo" else {}
        both = (Shards(frames(), counts=counts()), shards)
        found = [tacit.tune(score, SPACE, records=s, noise=Simulation(1), **usual) for s in both]
        assert found[0].value.to_json() == found[1].value.to_json()
        assert found[1].value.params.keys() == SPACE.keys()

    @pytest.mark.parametrize("numbers", [10, 100_000])
    def test_a_large_model_is_sent_as_well_as_a_small_one(self, shards: Shards, numbers: int) -> None:
        model = np.linspace(0.0, 1.0, numbers)
        assert self.total(shards, score_ends, [model]) == self.total(Shards(frames()), score_ends, [model])

    def test_every_part_answers_once_with_its_number(self, shards: Shards) -> None:
        answers = shards.engine().totals([np.zeros(2)], Reducer(MEAN, score))
        assert sorted((a.part, a.records) for a in answers) == list(enumerate(counts()))
        assert settle(answers + answers[:3], counts()) == sorted(answers, key=lambda a: a.part)  # retries are harmless

    def test_an_answer_of_another_number_of_records_is_refused(self, shards: Shards) -> None:
        with pytest.raises(ObjectiveError, match=r"one loss for each of its \d+ records"):
            self.total(shards, score_too_few)

    def test_a_failing_part_means_no_sum_and_no_message_quotes_a_record(
        self, shards: Shards, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(ObjectiveError, match="raised ValueError") as caught:
            self.total(shards, score_and_fail)
        said = repr(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__context__)
        said += "".join(capfd.readouterr()) + self.logs()
        assert "8675309" not in said

    def test_what_comes_back_is_small_whatever_a_part_holds(self, shards: Shards) -> None:
        for answer in shards.engine().totals([np.zeros(2)], Reducer(MEAN, score)):
            assert len(pickle.dumps(answer)) < 200

    def test_each_part_is_looked_at_in_one_process_time_after_time(self, shards: Shards, tmp_path: Any) -> None:
        made = shards.with_score(score_and_note, None)
        for _ in range(3):
            made.add_up([(np.zeros(2), str(tmp_path))], MEAN, N, None)
        seen = [name.split("-") for name in os.listdir(tmp_path)]
        assert {int(size) for size, _ in seen} == set(counts())
        if self.pinned:
            assert len(seen) == len(set(counts()))  # one process for each size of a part

    pinned = True

    def logs(self) -> str:
        """What the engine wrote down."""
        return ""


def counts() -> list[int]:
    return [len(frame) for frame in frames()]
