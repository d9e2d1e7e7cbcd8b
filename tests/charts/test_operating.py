"""The picture of what an attacker reaches."""

from __future__ import annotations

import re

from tacit.charts.operating import operating


def test_the_curve_the_diagonal_and_the_marked_place_are_where_their_numbers_are() -> None:
    text = operating([(0.0, 0.2), (0.5, 0.7), (1.0, 1.0)], (0.5, 0.7), "70%")
    assert "At a 50% false-positive rate any membership test has power at most 70%" in text
    dot = re.search(r'<circle cx="([0-9.]+)" cy="([0-9.]+)"', text)
    assert dot is not None
    lines = [[tuple(map(float, p.split())) for p in d[1:].split("L")] for d in re.findall(r'd="(M[^Z"]+)"', text)]
    curve, guess = lines[-1], lines[1]
    assert curve[1] == (float(dot[1]), float(dot[2]))
    assert curve[0][0] < curve[1][0] < curve[2][0]
    assert curve[0][1] > curve[1][1] > curve[2][1]
    assert curve[2] == guess[1]
