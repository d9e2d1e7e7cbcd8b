"""Scores learnt from outputs see a moved mean, a changed spread and a rarer label; few outputs teach few scores."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.audit.scores import FEW, learn_scores


def best_gap(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of means over pooled deviations, among all scores, on the second half of the outputs."""
    gaps, half = [], len(a) // 2
    for score in learn_scores(a[:half], b[:half]):
        x, y = score(a[half:]), score(b[half:])
        gaps.append(abs(x.mean() - y.mean()) / (np.concatenate([x, y]).std() + 1e-12))
    return max(gaps)


@pytest.mark.parametrize(
    ("what", "moved"),
    [
        ("mean", lambda x, rng: x + np.eye(4)[0]),
        ("spread", lambda x, rng: x * np.array([3.0, 1.0, 1.0, 1.0])),
        ("sign", lambda x, rng: np.where(rng.random(len(x))[:, None] < 0.5, x, -x) + 4.0 * np.eye(4)[1]),
    ],
)
def test_a_difference_in_twenty_thousand_numbers_is_seen(what: str, moved: object) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4000, 4))
    assert best_gap(a, moved(b, rng)) > 0.3  # type: ignore[operator]
    assert best_gap(a, b) < 0.2  # the best of a dozen scores, by luck


def test_labels_are_scored_by_how_often_they_were_seen() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.choice(3, size=(2000, 1), p=p).astype(float) for p in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
    names = [s.name for s in learn_scores(a, b)]
    assert names == ["the output itself", "its label's frequency"]


def test_few_outputs_teach_one_score() -> None:
    a, b = np.random.default_rng(2).normal(size=(2, FEW - 1, 3))
    assert len(list(learn_scores(a, b))) == 1
