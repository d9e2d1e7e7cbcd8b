from __future__ import annotations

import json
import re
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.data.units import PersonLosses
from tacit.errors import BadInput, ObjectiveError
from tacit.objective import Objective, import_object
from tacit.privacy.guarantee import Budget
from tacit.privacy.mean import BoundedMean
from tacit.run.shards import Shards, loss_total

SECRET = "patient 8271 is 43 years old"


def raising(params: dict[str, object]) -> np.ndarray:
    raise RuntimeError(SECRET)


def test_an_objective_that_raises_is_named_without_its_message() -> None:
    with pytest.raises(ObjectiveError, match="RuntimeError") as caught:
        Objective(raising, 3, (0, 1)).losses({})
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown
    assert "test_objective.py" in str(caught.value)


class Lazy:
    """Losses that are computed when they are asked for, like an array of Dask's."""

    def __array__(self, *args: object, **kwargs: object) -> np.ndarray:
        raise TypeError(SECRET)


@pytest.mark.parametrize("function", [lambda p: Lazy(), Shards([lambda p: Lazy()])], ids=["whole", "shards"])
def test_losses_that_fail_on_conversion_are_named_without_their_message(function: object) -> None:
    with pytest.raises(ObjectiveError) as caught:
        loss_total(Objective(function, 3, (0, 1)), BoundedMean(3, (0, 1), budget=Budget.gdp(1.0)), {})
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("odd", [None, 10**400, "n/a", [0.5], object()], ids=["None", "huge", "word", "list", "thing"])
def test_one_record_without_a_number_has_a_missing_loss_and_stops_nothing(odd: object) -> None:
    """A list with a None in it is an array of objects: refusing it would tell of that record."""
    answer = np.empty(3, object)
    answer[:] = [0.25, odd, 1]
    mean = BoundedMean(3, (0, 1), budget=Budget.gdp(1.0))
    wanted = mean.total(np.array([0.25, np.nan, 1.0]))
    for function in (
        lambda p: answer,
        Shards([lambda p: answer]),
        PersonLosses(lambda p: answer, np.arange(3), 3, (0, 1)),
    ):
        assert loss_total(Objective(function, 3, (0, 1)), mean, {}) == wanted
    with pytest.raises(ObjectiveError):
        Objective(lambda p: [None] * 3, 3, (0, 1)).losses({})


@pytest.mark.parametrize(
    "answer", [0.5, None, [1.0, 2.0], np.zeros((3, 1)), np.zeros(4), ["a", "b", "c"], np.zeros(3, complex), {}]
)
def test_an_answer_of_the_wrong_form_is_refused_by_shape_alone(answer: object) -> None:
    with pytest.raises(ObjectiveError, match=r"shape \(3,\)"):
        Objective(lambda p: answer, 3, (0, 1)).losses({})


def test_words_and_a_forgotten_return_are_called_by_their_names() -> None:
    with pytest.raises(ObjectiveError, match=r"of shape \(3,\) of str_, which are not numbers"):
        Objective(lambda p: [SECRET] * 3, 3, (0, 1)).losses({})
    with pytest.raises(ObjectiveError, match="got a NoneType: it has no return"):
        Objective(lambda p: None, 3, (0, 1)).losses({})


def test_a_mean_instead_of_losses_is_told_the_remedy() -> None:
    with pytest.raises(ObjectiveError, match="not their mean"):
        Objective(lambda p: 0.5, 3, (0, 1)).losses({})


@pytest.mark.parametrize("answer", [[0, 1, 2], np.ones(3, bool), np.ones(3, np.float32)])
def test_any_real_numbers_are_taken(answer: object) -> None:
    assert Objective(lambda p: answer, 3, (0, 1)).losses({}).shape == (3,)


@pytest.mark.parametrize(
    "arguments",
    [
        (None, 3, (0, 1)),
        (abs, 0, (0, 1)),
        (abs, 2.5, (0, 1)),
        (abs, 3, (1, 1)),
        (abs, 3, (0, float("inf"))),
        (abs, 3, 1.0),
        (abs, 3, (0, 1), "up"),
    ],
)
def test_bad_public_facts_are_refused(arguments: tuple[object, ...]) -> None:
    with pytest.raises(BadInput):
        Objective(*arguments)  # type: ignore[arg-type]


# Objects by name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    return tmp_path


def test_an_object_is_found_in_the_working_folder_and_among_packages(folder: Path) -> None:
    (folder / "imported_model.py").write_text("losses = 4")
    assert import_object("imported_model:losses") == 4
    assert import_object("json:dumps") is json.dumps


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("model", "write the objective as module:function, such as mymodel:losses, got 'model'"),
        (":losses", "write the objective as module:function"),
        ("nowhere_at_all:f", "no objective 'nowhere_at_all:f': No module named"),
        ("json:f", "module 'json' has no attribute 'f'"),
        ("imported_rude:f", "importing imported_rude raised ValueError"),
        ("imported_end:f", "importing imported_end raised SystemExit"),
    ],
)
def test_an_object_that_is_not_there_is_refused_without_quoting_data(folder: Path, spec: str, says: str) -> None:
    (folder / "imported_rude.py").write_text("raise ValueError('patient 8675309')")
    (folder / "imported_end.py").write_text("raise SystemExit('patient 8675309')")
    with pytest.raises(BadInput, match=re.escape(says)) as refused:
        import_object(spec)
    assert "8675309" not in str(refused.value)


class Mine(ObjectiveError):
    """A user's own kind of our error."""


@pytest.mark.parametrize("kind", [ObjectiveError, Mine, ValueError, SystemExit])
def test_what_the_users_code_raises_is_not_quoted_even_in_our_own_error(kind: type[BaseException]) -> None:
    def losses(params: dict[str, Any]) -> Any:
        raise kind("secret 42")

    with pytest.raises(ObjectiveError, match=f"the objective raised {kind.__name__} in") as caught:
        Objective(losses, 3, (0.0, 1.0)).losses({})
    assert "42" not in str(caught.value)
    assert caught.value.__context__ is None


def test_our_own_refusal_inside_the_users_function_is_passed_on() -> None:
    def losses(params: dict[str, Any]) -> Any:
        return Objective(lambda p: 0.5, 3, (0.0, 1.0)).losses(params)

    with pytest.raises(ObjectiveError, match="return the losses themselves, not their mean"):
        Objective(losses, 3, (0.0, 1.0)).losses({})
