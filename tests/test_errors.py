"""The checks say rule, value and remedy, show no content, and every refusal is a TacitError."""

from __future__ import annotations

import importlib
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest

from tacit import errors
from tacit.errors import BadInput, MissingExtra, TacitError

BAD: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    (errors.positive, ("epsilon", 0.0), {}, "epsilon must be positive, got epsilon=0.0"),
    (errors.positive, ("epsilon", math.nan), {}, "epsilon must be finite"),
    (errors.real, ("epsilon", True), {}, "epsilon must be a number, got a bool"),
    (errors.real, ("epsilon", "1"), {}, "epsilon must be a number, got a str"),
    (errors.real, ("epsilon", np.zeros(2)), {}, "epsilon must be a number, got an ndarray"),
    (errors.real, ("epsilon", 10**400), {}, "epsilon must be a number, got an int"),
    (errors.probability, ("delta", 0.0), {}, r"delta must be in \(0, 1\)"),
    (errors.probability, ("delta", 1.0), {"zero": True}, r"delta must be in \[0, 1\)"),
    (errors.count, ("trials", 2.0), {}, "trials must be a whole number, got trials=2.0"),
    (errors.count, ("trials", True), {}, "trials must be a whole number"),
    (errors.count, ("trials", 0), {}, "trials must be at least 1, got trials=0"),
    (errors.interval, ("bounds", (1.0, 1.0)), {}, r"bounds must have low < high, got bounds=\(1, 1\)"),
    (errors.interval, ("bounds", 3), {}, "bounds must be a pair"),
    (errors.interval, ("bounds", (0.0, math.inf)), {}, r"bounds\[1\] must be finite"),
    (
        errors.choice,
        ("method", "magic", ("grid", "random")),
        {},
        "method must be one of grid, random, got method='magic'",
    ),
]


@pytest.mark.parametrize(("check", "given", "named", "says"), BAD)
def test_a_value_that_breaks_a_rule_is_refused_by_name(check: Any, given: Any, named: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        check(*given, **named)


def test_values_within_the_rules_come_back_as_plain_numbers() -> None:
    assert errors.positive("epsilon", np.float64(0.5)) == 0.5
    assert type(errors.positive("epsilon", np.float32(0.5))) is float
    assert errors.count("trials", np.int64(3)) == 3
    assert errors.interval("bounds", [0, 1]) == (0.0, 1.0)  # type: ignore[arg-type]
    assert errors.probability("delta", 0.0, zero=True) == 0.0


def test_every_refusal_is_a_tacit_error_and_some_are_pythons_own_too() -> None:
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, Exception)]
    assert len(kinds) >= 8
    assert all(issubclass(k, TacitError) for k in kinds if not issubclass(k, Warning))
    assert issubclass(BadInput, ValueError)
    assert issubclass(MissingExtra, ImportError)


def test_what_may_be_said_of_a_value_holds_none_of_its_content() -> None:
    assert errors.type_and_shape(np.array([4711.0])) == "an ndarray of shape (1,)"
    assert errors.type_and_shape("patient 4711") == "a str"


def test_a_missing_library_names_the_line_that_installs_it() -> None:
    with pytest.raises(MissingExtra, match=r"drawing needs nowhere_at_all: pip install 'tacit\[plot\]'"):
        errors.extra("nowhere_at_all.part", "plot", "drawing")
    assert errors.extra("json", "plot", "drawing").dumps is not None


def test_an_error_knows_whether_something_was_spent_and_what_to_do() -> None:
    refusal = errors.NoLedger("no ledger 'icu' at ledger.db: it has none.", name="icu", place="ledger.db")
    assert (refusal.spent, refusal.message) == (False, "no ledger 'icu' at ledger.db: it has none.")
    assert str(refusal) == f"{refusal.message} {refusal.remedy}"
    again = pickle.loads(pickle.dumps(refusal))
    assert (type(again), str(again), again.name, again.spent) == (errors.NoLedger, str(refusal), "icu", False)
    assert errors.ObjectiveError("it raised").spent is None  # what was observed before is paid for
    assert errors.ObjectiveError("it raised", spent=True).spent is True
    assert not any(kind.spent for kind in (errors.BadInput, errors.BudgetRefused, errors.ExcessiveNoise))


def test_every_class_is_drawn_in_the_tree() -> None:
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, TacitError)]
    assert [k.__name__ for k in kinds if f"{k.__name__} " not in str(errors.__doc__)] == []


def test_the_nearest_word_is_offered() -> None:
    with pytest.raises(BadInput, match=r"got method='randon'; did you mean 'random'\?"):
        errors.choice("method", "randon", ("grid", "random"))


def test_the_tree_at_the_head_of_the_file_lists_every_class() -> None:
    for module in ("cli.shell", "outsource.protocol.terms", "pareto.algorithm"):
        importlib.import_module(f"tacit.{module}")
    drawn = re.findall(r"^ {4}(?:[│ ]{4})*[├└]── (\w+)", errors.__doc__ or "", re.MULTILINE)

    def below(kind: type) -> list[str]:
        mine = [
            k for k in kind.__subclasses__() if k.__module__.startswith("tacit.") and not k.__name__.startswith("_")
        ]
        return [name for k in mine for name in (k.__name__, *below(k))]

    assert sorted(drawn) == sorted(below(TacitError))
