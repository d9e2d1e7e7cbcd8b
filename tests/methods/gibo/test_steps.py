"""Step rules against their papers' recursions, written out."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.methods.gibo.steps import RULES, rule

GRADIENTS = np.random.default_rng(0).normal(size=(20, 3))


def reference(name: str, rate: float) -> list[np.ndarray]:
    out, m, v = [], np.zeros(3), np.zeros(3)
    for t, g in enumerate(GRADIENTS, 1):
        if name == "plain":
            out.append(rate * g)
        elif name == "momentum":
            m = 0.9 * m + g
            out.append(rate * m)
        elif name == "adagrad":
            v = v + g**2
            out.append(rate * g / np.sqrt(v))
        else:
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            out.append(rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8))
    return out


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_its_recursion(name) -> None:
    move = rule(name, 0.3)
    for g, expected in zip(GRADIENTS, reference(name, 0.3), strict=True):
        np.testing.assert_allclose(move(g), expected, rtol=1e-12)


@pytest.mark.parametrize("name", RULES)
def test_a_coordinate_without_gradient_does_not_move(name) -> None:
    move = rule(name, 0.3)
    for _ in range(3):
        assert move(np.array([1.0, 0.0]))[1] == 0.0


def test_two_descents_do_not_share_a_rule() -> None:
    first, second = rule("momentum", 1.0), rule("momentum", 1.0)
    first(np.ones(1))
    assert second(np.ones(1))[0] == 1.0


@pytest.mark.parametrize(("name", "rate"), [("newton", 1.0), ("plain", 0.0), ("adam", -1.0), ("plain", float("nan"))])
def test_bad_rules_are_refused(name, rate) -> None:
    with pytest.raises(BadInput):
        rule(name, rate)
