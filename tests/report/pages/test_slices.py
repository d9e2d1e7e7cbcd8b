"""What released observations say of each parameter."""

from __future__ import annotations

from typing import Any

from tacit.report.pages.slices import slices_part


def trials(many: int) -> list[dict[str, Any]]:
    places = [(k + 0.5) / many for k in range(many)]
    return [{"params": {"rate": 10 ** (-4 * x), "kind": "a", "deep": 3}, "value": (x - 0.4) ** 2} for x in places]


def test_numeric_parameters_that_vary_have_a_panel_and_a_band_once_there_is_a_choice() -> None:
    seen = trials(12)
    shown = slices_part(seen, 0.01, seen[4]["params"], lambda loss: 1 - loss, "accuracy", 0.5)
    assert shown.count("<svg") == 1  # not of words, nor of what never varied
    assert "accuracy against rate" in shown
    assert 'opacity=".18"' in shown
    assert 'opacity=".18"' not in slices_part(seen, 0.01, None, float, "score")
    assert 'opacity=".18"' not in slices_part(seen[:3], 0.01, seen[0]["params"], float, "score")


def test_without_numbers_there_is_nothing_to_draw() -> None:
    assert slices_part([{"params": {"kind": "a"}, "value": 0.5}] * 6, 0.1, {"kind": "a"}, float, "score") == ""
