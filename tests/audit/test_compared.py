"""compared: sees every way out, is never content with nothing, and raises no false alarm."""

from __future__ import annotations

import array
import functools
import io
import logging
import os
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeClassifier

import tacit
from tacit.audit.recorder import Recorder, compared
from tacit.privacy.mean import BoundedMean
from tacit.privacy.mechanisms import Exponential, Gaussian, Laplace
from tacit.privacy.noise import EXACT

N = 12
ENDS = np.r_[0.0, np.full(N - 1, 0.5)], np.r_[1.0, np.full(N - 1, 0.5)]
CLAIM = tacit.Budget.gdp(1.0)


@dataclass
class Box:
    value: Any


def noisy(data: Any, recorder: Any) -> float:
    return float(recorder.gaussian(np.array([np.clip(data, 0, 1).mean()]), 1 / N)[0])


LEAKS: dict[str, Callable[[Any, Any], Any]] = {
    "beside the answer": lambda data, recorder: (noisy(data, recorder), data.tolist()),
    "in an attribute": lambda data, recorder: Box(Box((noisy(data, recorder), data))),
    "in a closure": lambda data, recorder: (noisy(data, recorder), lambda: data[0]),
    "in a bound method": lambda data, recorder: (noisy(data, recorder), data.sum),
    "in a partial": lambda data, recorder: functools.partial(print, noisy(data, recorder), data),
    "in a private box": lambda data, recorder: (noisy(data, recorder), tacit.Private(data)),
    "in an order": lambda data, recorder: (noisy(data, recorder), np.argsort(data).tolist()),
    "in a type": lambda data, recorder: (noisy(data, recorder), int(data[0]) if data[0] > 0.5 else 0.0),
    "printed": lambda data, recorder: print(noisy(data, recorder), data[0]),
    "printed as an error": lambda data, recorder: print(noisy(data, recorder), data[0], file=sys.stderr),
    "logged": lambda data, recorder: logging.getLogger("mine").warning("%s", data[0] * noisy(data, recorder)),
    "warned": lambda data, recorder: warnings.warn(f"{data.max()} {noisy(data, recorder)}", stacklevel=1),
    "in a generator": lambda data, recorder: (noisy(data, recorder), generate(data)),
    "in a coroutine": lambda data, recorder: (noisy(data, recorder), sleep_over(data)),
    "in an iterator": lambda data, recorder: (noisy(data, recorder), map(str, iter(data.tolist()))),
    "in a file in memory": lambda data, recorder: (noisy(data, recorder), io.StringIO(str(data))),
    "in a buffer": lambda data, recorder: (noisy(data, recorder), memoryview(data), array.array("d", data)),
    "in a generator of numbers": lambda data, recorder: (noisy(data, recorder), np.random.default_rng(int(data[0]))),
    "in the array of a view": lambda data, recorder: np.r_[noisy(data, recorder), data][:1],
    "under a mask": lambda data, recorder: np.ma.array([noisy(data, recorder), data[0]], mask=[False, True]),
    "in the categories of a column": lambda data, recorder: pd.Categorical(
        [1], categories=[1, noisy(data, recorder), *data[:1] + 2]
    ),
    "in the notes of a frame": lambda data, recorder: annotate(pd.DataFrame({"a": [noisy(data, recorder)]}), data),
    "in a class": lambda data, recorder: (noisy(data, recorder), type("Made", (), {"data": data})),
    "in a NaN": lambda data, recorder: (
        noisy(data, recorder),
        struct.unpack("<d", struct.pack("<q", NAN + int(data[0])))[0],
    ),
    "in the cause of an error": lambda data, recorder: fail(noisy(data, recorder), KeyError(data[0])),
    "in a file": lambda data, recorder: write(noisy(data, recorder), data),
}
NAN = 0x7FF8000000000001


def generate(data: Any) -> Any:
    yield from data


async def sleep_over(data: Any) -> Any:
    return data


def annotate(frame: Any, data: Any) -> Any:
    frame.attrs["data"] = data
    return frame


def fail(answer: float, cause: Exception) -> None:
    raise ValueError(f"always: {answer}") from cause


def write(answer: float, data: Any) -> float:
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write(str(data))
    CLEAR.append(file.name)
    return answer


CLEAR: list[str] = []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", LEAKS)
def test_every_way_out_is_compared(way: str) -> None:
    found = compared(LEAKS[way], *ENDS)
    while CLEAR:
        os.remove(CLEAR.pop())
    assert any("beyond the answers of the mechanisms" in said for said in found.within(CLAIM)), way
    assert not any("0.5" in said or "[1.0" in said for said in found.within(CLAIM)), "places, not contents"
    assert found.mu == pytest.approx(1.0)


def test_a_run_that_drew_nothing_from_the_recorder_contradicts_every_claim() -> None:
    for run in (lambda data, recorder: 0.5, lambda data, recorder: None):
        assert "nothing was compared" in compared(run, *ENDS).within(CLAIM)[0]

    def exact(data: Any, recorder: Any) -> float:
        return float(EXACT.gaussian(np.array([data.mean()]), 1 / N)[0])

    assert len(compared(exact, *ENDS).within(CLAIM)) == 2  # and its own noise, which is in the result


def test_noise_that_the_recorder_does_not_see_is_found() -> None:
    def own(data: Any, recorder: Any) -> tuple[float, float]:
        return noisy(data, recorder), float(data.mean() + np.random.default_rng().normal(0, 1e-9))

    assert "noise, or a clock, that the recorder does not see" in compared(own, *ENDS).within(CLAIM)[0]


class Copycat:
    """A source that keeps the first noise and uses it again."""

    simulated = True

    def __init__(self, inside: Recorder) -> None:
        self.inside, self.kept = inside, None

    def gaussian(self, values: Any, scale: float) -> Any:
        if self.kept is None:
            answer = self.inside.gaussian(values, scale)
            self.kept = answer - values
            return answer
        return values + self.kept


def test_one_noise_in_two_answers_is_found() -> None:
    def one_vector(data: Any, recorder: Any) -> Any:  # a mean and a sum, hidden by the same draw
        noise = recorder.gaussian(np.zeros(1), 1.0)[0]
        return data[0] + noise, data.mean() + noise

    def taken_out(data: Any, recorder: Any) -> Any:
        answer = recorder.gaussian(data[:1], 1.0)[0]
        return answer, data[:2].sum() * 2 + (answer - data[0])

    def kept(data: Any, recorder: Any) -> Any:
        source: Any = Copycat(recorder)
        return [Gaussian(1.0, scale=1.0, noise=source).release(v).value for v in (data[0], 2 * data[0])]

    def rewound(data: Any, recorder: Any) -> Any:
        state = recorder.generator.bit_generator.state
        first = recorder.gaussian(data[:1], 1.0)
        recorder.generator.bit_generator.state = state
        return first, recorder.gaussian(2 * data[:1], 1.0)

    for run in (one_vector, taken_out, kept, rewound):
        assert compared(run, *ENDS).differences, run.__name__
    assert "one draw of noise was used for two answers" in compared(rewound, *ENDS).differences[0]


def test_a_clock_in_the_log_is_not_taken_for_a_leak() -> None:
    def run(data: Any, recorder: Any) -> dict[str, Any]:
        logging.getLogger("mine").warning("took %s s", time.perf_counter())
        return {"answer": noisy(data, recorder), "at": str(time.perf_counter())}

    assert compared(run, *ENDS).within(CLAIM) == []


def test_private_search_is_recorded_although_it_copies_its_arguments() -> None:
    """Before, it copied the recorder too: nothing was recorded, and mu = 0 passed."""
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(60, 3)), generator.integers(0, 2, 60)
    other = y.copy()
    hidden = np.setdiff1d(np.arange(60), np.random.RandomState(0).permutation(60)[30:])
    other[hidden[0]] = 1 - other[hidden[0]]

    def run(labels: Any, recorder: Any) -> Any:
        space = {"alpha": tacit.Float(0.1, 1.0)}
        search = tacit.PrivateSearchCV(
            RidgeClassifier(), space, trials=3, method="observed", random_state=0, accept_noise=True, noise=recorder
        )
        if np.array_equal(labels, other):
            time.sleep(1.1)  # the date of a release, told to the second, is no difference
        return search.fit(X, labels)  # the search itself, with all its attributes

    found = compared(run, y, other)
    claim = tacit.Budget.gdp(tacit.Budget.approximate(1.0, 1e-6).mu())
    assert found.within(claim) == []
    assert found.mu == pytest.approx(claim.amount, rel=1e-6)


def correct(seed: int) -> tuple[Callable[[Any, Any], Any], Any, Any]:
    """A mechanism that keeps mu = 1, however odd, and two neighbours."""
    rng = np.random.default_rng(seed)
    here = rng.random(N)
    there = here.copy()
    there[rng.integers(N)] = rng.choice([0.0, 1.0, 5.0, -3.0])
    kinds = [("gaussian", "laplace", "pick", "mean")[i] for i in rng.integers(0, 4, rng.integers(1, 4))]
    form, steps, threshold = int(rng.integers(7)), len(kinds), float(rng.random())

    def run(data: Any, recorder: Any) -> Any:
        answers: list[Any] = []
        clipped = np.clip(data, 0, 1)
        for kind in kinds:
            # adaptive: what is asked next depends on answers, and on nothing else
            weight = 1.0 if not answers or float(np.sum(answers)) > threshold else 0.5
            if kind == "gaussian":
                made: Any = Gaussian(1 / N, scale=steps / N, noise=recorder)
                answers.append(made.release(clipped.mean() * weight).value)
            elif kind == "laplace":
                made = Laplace(1 / N, scale=4 * steps / N, noise=recorder)
                answers.append(made.release(clipped.mean() * weight).value)
            elif kind == "pick":
                made = Exponential(1.0, scale=8.0 * steps, noise=recorder)
                answers.append(made.release(np.array([(clipped > t).sum() for t in (0.2, 0.5, 0.8)], float)).value)
            else:
                made = BoundedMean(N, (0.0, 1.0), scale=steps / N, noise=recorder)
                answers.append(made.release(data * weight).value)
        if form == 0:
            print("answers", answers)
        if form == 1:
            logging.getLogger("mine").info("answers %s", answers)
        if form == 2:
            return lambda: answers
        if form == 3:
            return Box({"answers": np.array(answers, float), "best": max(answers)})
        if form == 4:
            return {round(float(a), 3) for a in answers}, np.random.random(), recorder
        if form == 5 and answers[0] > threshold:
            raise ValueError(f"{answers[0]} is too large")
        return tuple(answers)

    return run, here, there


@pytest.mark.filterwarnings("ignore")
def test_no_correct_mechanism_is_flagged() -> None:
    """600 of them: adaptive, of every kind, released in every form. Deterministic: never a false alarm."""
    flagged = {}
    for seed in range(600):
        run, here, there = correct(seed)
        found = compared(run, here, there, seed=seed)
        assert found.mu <= 1 + 1e-9
        if found.differences:
            flagged[seed] = found.differences
    assert flagged == {}
