"""What a front predicts at hyper-parameters that were not tested."""

from __future__ import annotations

import pytest
from pareto_toys import Noisy, Toy

from tacit.errors import BadInput
from tacit.pareto import Front, Point, discover

LABEL = "no sampling, one record replaced"


def front_of(*pairs: tuple[float, float], **about: object) -> Front:
    points = tuple(Point.of({"x": i}, e, [u]) for i, (e, u) in enumerate(pairs))
    return Front(points, LABEL, 1e-6, **about)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found() -> Front:
    return discover(Noisy(), delta=1e-6, trials=36, startup=12, repeats=3)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_a_prediction_holds_at_untested_hyper_parameters(found: Front, epsilon: float) -> None:
    answer = found.predict(Toy(), epsilon=epsilon)
    truth = Toy().utility(answer.params, 0)
    best = 0.9 * epsilon / (1 + epsilon)
    assert answer.epsilon == Toy().epsilons([answer.params], 0.0)[0] <= epsilon
    assert answer.low <= answer.utility <= answer.high
    assert answer.low - 0.03 <= truth <= answer.high + 0.03  # three deviations of a mean of three runs
    assert truth > best - 0.06


def test_a_prediction_reaches_a_wanted_utility_at_little_epsilon(found: Front) -> None:
    answer = found.predict(Toy(), utility=0.45)  # 0.9 e / (1 + e) = 0.45 at e = 1
    assert 0.75 < answer.epsilon < 1.4
    with pytest.raises(BadInput, match="expects no utility"):
        found.predict(Toy(), utility=0.97)
    with pytest.raises(BadInput, match="the least is"):
        found.predict(Toy(), epsilon=1e-3)


def test_a_prediction_needs_an_algorithm_and_points(found: Front) -> None:
    with pytest.raises(BadInput, match="the algorithm must have"):
        found.predict(object(), epsilon=1.0)
    with pytest.raises(BadInput, match="at least 3"):
        discover(Toy(), delta=0.0, trials=2).predict(Toy(), epsilon=1.0)
    again = Front.from_json(found.to_json())
    assert again.predict(Noisy(), epsilon=1.0) == found.predict(Toy(), epsilon=1.0)
