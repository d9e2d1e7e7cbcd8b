"""What is published, and the fingerprint that ties it to the ledger."""

from __future__ import annotations

import copy
import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import BadInput
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.private import Private
from tacit.privacy.release import Payment, Release, digest, plain

GUARANTEE = Guarantee(Budget.gdp(0.5))
text = st.text(st.characters(codec="utf-8"), max_size=10)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)


@dataclasses.dataclass(frozen=True)
class Best:
    __released__ = True
    index: int
    score: float
    path: tuple[float, ...]


@given(values)
def test_a_certificate_survives_json_and_its_digest_can_be_recomputed(value):
    payment = Payment("id", "icu", 7, "ab" * 32)
    certificate = Release(value, GUARANTEE, payment).certificate()
    back = json.loads(json.dumps(certificate, allow_nan=False))
    assert back == certificate
    assert digest(back["value"]) == back["digest"] == digest(value)
    assert Guarantee.from_json(back["guarantee"]) == GUARANTEE
    assert Payment.from_json(back["payment"]) == payment


def test_a_release_that_nobody_paid_for_says_so():
    assert Release(1.0, GUARANTEE).certificate()["payment"] is None


def test_the_digest_never_changes_between_versions():
    # sha256 of '{"a":[1,2.5,null,"é"],"b":true}' in UTF-8
    assert digest({"b": True, "a": (1, 2.5, None, "é")}) == (
        "6baaa6d0a34dc54e0aa9d63670d984e131969f2ef543a079d99b3d4f200cecd2"
    )


@given(st.dictionaries(text, values, min_size=2, max_size=5))
def test_the_digest_does_not_depend_on_the_order_of_keys(value):
    assert digest(dict(reversed(value.items()))) == digest(value)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=5), st.data())
def test_the_digest_changes_with_the_least_change_of_a_value(value, data):
    k = data.draw(st.integers(0, len(value) - 1))
    other = copy.copy(value)
    other[k] = math.nextafter(value[k], 0.0) if value[k] else 5e-324
    assert digest(other) != digest(value)
    assert digest([*value, value[0]]) != digest(value)


def test_numbers_that_json_lacks_become_words_and_stay_different():
    assert plain([math.nan, math.inf, -math.inf]) == ["nan", "inf", "-inf"]
    assert len({digest(v) for v in (math.nan, math.inf, -math.inf, 0.0, -0.0, None)}) == 6


def test_arrays_and_their_numbers_are_as_lists_and_plain_numbers():
    array = np.array([[1.5, 2.0], [math.nan, 4.0]])
    assert plain(array) == [[1.5, 2.0], ["nan", 4.0]]
    assert digest(array) == digest(array.tolist())
    assert plain(np.float64(0.1)) == plain(np.array(0.1)) == 0.1
    assert plain({"n": np.int64(3), "b": np.bool_(True)}) == {"n": 3, "b": True}


def test_dataclasses_are_as_dictionaries():
    assert plain(Best(3, 0.5, (1.0, math.inf))) == {"index": 3, "score": 0.5, "path": [1.0, "inf"]}


def test_an_object_may_bring_its_own_form():
    assert plain([GUARANTEE]) == [plain(GUARANTEE.to_json())]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda p: p,
        lambda p: [1, p],
        lambda p: {"a": {"b": p}},
        lambda p: Best(1, p, ()),
    ],
)
def test_a_private_value_is_never_released_by_accident(wrap):
    value = wrap(Private(8675309))
    for publish in (digest, plain):
        with pytest.raises(TypeError, match="private value") as caught:
            publish(value)
        assert "8675309" not in str(caught.value)
    with pytest.raises(BadInput, match="got a Private at value") as caught:
        Release(value, GUARANTEE)
    assert "8675309" not in str(caught.value)


@dataclasses.dataclass(frozen=True)
class Rows:
    table: np.ndarray


HIDDEN = np.array([8675309.0])
KEEPERS = {
    "a function": lambda params: HIDDEN,
    "a bound method": HIDDEN.sum,
    "a class of somebody's": Rows(HIDDEN),
    "an array of objects": np.array([HIDDEN, None], object),
    "a generator": (v for v in HIDDEN),
    "bytes": HIDDEN.tobytes(),
    "a set": {8675309.0},
    "an exception": ValueError(8675309),
}


@pytest.mark.parametrize("what", KEEPERS)
def test_a_release_cannot_hold_what_could_keep_a_record(what):
    for value in (KEEPERS[what], {"a": [KEEPERS[what]]}, Best(1, KEEPERS[what], ())):
        with pytest.raises(BadInput, match="a release can hold numbers, text") as caught:
            Release(value, GUARANTEE)
        assert "8675309" not in str(caught.value)


def test_an_attribute_that_was_put_on_a_result_later_is_seen():
    best = Best(1, 0.5, ())
    object.__setattr__(best, "cache", lambda: HIDDEN)
    with pytest.raises(BadInput, match=r"got a function at value\.cache"):
        Release(best, GUARANTEE)


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, 1j, np.array([1j]), object(), int])
def test_a_value_without_a_json_form_is_refused_by_type_only(value):
    with pytest.raises(BadInput, match=r"must have a JSON form, got an? \w+; give it a to_json method"):
        digest(value)


@pytest.mark.parametrize("document", [None, {}, {"ledger": "a", "name": "b", "entry": "x", "hash": "h"}, [1, 2]])
def test_a_wrong_payment_is_refused(document):
    with pytest.raises(BadInput, match="not a payment"):
        Payment.from_json(document)


def test_a_printed_release_fits_a_screen_and_says_what_is_promised_and_who_paid() -> None:
    params, trials = {"rate": 0.123456789, "depth": 3}, [{"params": {"rate": 0.1}, "value": 0.2}] * 500
    release = Release(Tuned(params, 0.25, "observed", "minimize", 0.005, 0.01, trials), GUARANTEE)
    lines = str(release).splitlines()
    assert len(lines) < 25
    assert max(map(len, lines)) <= 120
    assert ["rate", "0.12346"] in [line.split() for line in lines]
    assert any("Differential privacy with epsilon" in line for line in lines)
    assert lines[-1] == "Not charged to any ledger."
    assert repr(release) == "<Release of a Tuned: unconditional guarantee>"
    paid = Release(0.5, GUARANTEE, Payment("id", "icu", 3, "f" * 64))
    assert "Paid by entry 3 of ledger 'icu'." in str(paid)
    assert len(str(Release(list(range(10_000)), GUARANTEE))) < 2000


def test_what_a_release_says_of_itself_and_the_names_of_parts_are_looked_at_too():
    for about in ({"losses": len}, {"data": {"row": [object()]}}):
        with pytest.raises(BadInput, match="a release can hold numbers"):
            Release(1.0, GUARANTEE, about=about)
    with pytest.raises(BadInput, match="a release can hold numbers"):
        Release({len: 1.0}, GUARANTEE)
    assert Release({1: 2.0, "b": 3.0}, GUARANTEE, about={"commit": "abc"}).about == {"commit": "abc"}
