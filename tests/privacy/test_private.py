"""Nothing but reveal() shows a private value."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import pickle
import pprint
import traceback

import numpy as np
import pytest
from each import each

from tacit.privacy.private import Private

DIGITS = "8675309"
SECRETS = {
    "number": 8675309,
    "float": 0.8675309,
    "text": "patient 8675309",
    "list": [8675309, 1],
    "array": np.array([8675309.0, 2.0]),
    "dict": {"8675309": 8675309},
}


every = each("secret", SECRETS.values())


@every
def test_the_check_below_would_notice_a_leak(secret):
    assert DIGITS in str(secret).replace(".", "")


@every
def test_revealing_gives_the_very_object(secret):
    assert Private(secret).reveal() is secret


@every
@each(
    "show",
    [
        repr,
        str,
        ascii,
        "{}".format,
        "{!r:>80}".format,
        lambda p: f"{p}",
        lambda p: f"{p:.3f}",
        lambda p: "%s" % p,  # noqa: UP031
        lambda p: str([p]),
        lambda p: str({"a": p}),
        pprint.pformat,
        lambda p: " ".join(str(getattr(p, name, "")) for name in dir(p) if name not in ("reveal", "_Private__value")),
    ],
)
def test_no_way_of_printing_shows_it(secret, show):
    text = show(Private(secret))
    assert "private" in text
    assert DIGITS not in text.replace(".", "")


def test_printing_tells_type_and_shape():
    assert repr(Private(np.zeros((2, 3)))) == "<private: an ndarray of shape (2, 3)>"
    assert repr(Private("x")) == "<private: a str>"


@every
def test_logging_does_not_show_it(secret, caplog):
    with caplog.at_level(logging.INFO):
        logging.getLogger("t").info("value %s and %r", Private(secret), Private(secret), extra={"p": Private(secret)})
    assert "private" in caplog.text
    assert DIGITS not in caplog.text.replace(".", "")


@every
@each(
    "take",
    [
        json.dumps,
        lambda p: json.dumps({"a": [p]}),
        *(lambda p, k=k: pickle.dumps(p, protocol=k) for k in range(pickle.HIGHEST_PROTOCOL + 1)),
        lambda p: pickle.dumps([p]),
        copy.copy,
        copy.deepcopy,
        lambda p: copy.deepcopy({"a": p}),
        lambda p: p.__reduce_ex__(2),
        lambda p: p.__getstate__(),
        lambda p: dataclasses.asdict(dataclasses.make_dataclass("D", ["p"])(p)),
        lambda p: p == p,
        lambda p: p != 1,
        lambda p: p in [1, 2],
        lambda p: p < 1,
        hash,
        bool,
        lambda p: 1 if p else 0,
        float,
        int,
        len,
        list,
        vars,
        np.asarray,
        lambda p: np.asarray([p, p]),
        lambda p: np.asarray(p, dtype=object),
        lambda p: np.zeros(1) + p,
        np.mean,
        lambda p: p + 1,
    ],
)
def test_no_other_way_takes_it_out_and_refusing_does_not_show_it(secret, take):
    with pytest.raises((TypeError, AttributeError)) as caught:
        take(Private(secret))
    assert DIGITS not in "".join(traceback.format_exception(caught.value)).replace(".", "")


@every
def test_a_traceback_with_all_its_locals_does_not_show_it(secret):
    def fail(box: Private) -> None:
        inner = [box]
        raise RuntimeError(f"something else went wrong with {box}, {inner}")

    try:
        fail(Private(secret))
    except RuntimeError as error:
        report = traceback.TracebackException.from_exception(error, capture_locals=True)
        frame = report.stack[-1]
        assert frame.name == "fail"
        assert "private" in frame.locals["box"]
        told = "".join(traceback.format_exception(error)) + str(report) + str(frame.locals)
    assert DIGITS not in told.replace(".", "")
