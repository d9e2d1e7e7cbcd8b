"""Scores against each parameter."""

from __future__ import annotations

from tacit.charts.slices import Slice, slice_panels


def test_a_panel_has_its_dots_its_band_and_named_axes() -> None:
    band = Slice("C", [0.1, 1.0, 10.0], [0.5, 0.4, 0.45], 1.0, True, [0.1, 10.0], [0.5, 0.4], [0.4, 0.3], [0.6, 0.5])
    drawn = slice_panels([band, Slice("depth", [3.0, 3.0], [0.5, 0.5], None)], "error", 0.7)
    assert drawn.count("<svg") == 2
    assert drawn.count("<circle") == 5
    assert drawn.count(">error</text>") == 2
    assert ">depth</text>" in drawn
    assert drawn.count('opacity=".18"') == 1
    assert drawn.count('stroke-dasharray="2 4"') == 2
