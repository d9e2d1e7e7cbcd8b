"""Several fronts on one axis: different kinds of epsilon are refused unless they are labelled."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tacit.errors import BadInput
from tacit.pareto import Comparison, Front, Point
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.operating import at_most

LABEL = "no sampling, one record replaced"


def front_of(*pairs: tuple[float, float], **about: object) -> Front:
    points = tuple(Point.of({"x": i}, e, [u]) for i, (e, u) in enumerate(pairs))
    return Front(points, LABEL, 1e-6, **about)  # type: ignore[arg-type]


def test_fronts_of_different_kinds_are_refused_unless_mixed() -> None:
    one, other = front_of((1.0, 0.5), name="one"), Front((Point.of({}, 2.0, [0.6]),), "Poisson", 1e-6, name="other")
    with pytest.raises(BadInput, match="different quantities"):
        Comparison([one, other])
    both = Comparison([one, other], mixed=True)
    assert all(label in both.plot().svg for label in (LABEL, "Poisson", "DIFFERENT KINDS"))
    with pytest.raises(BadInput):
        both.hypervolumes()
    with pytest.raises(BadInput):
        Comparison({"not": "a front"})  # type: ignore[dict-item]
    with pytest.raises(BadInput):
        Comparison([])


def test_private_fronts_on_one_chart_state_what_all_of_them_cost() -> None:
    """They may have looked at the same test records: the epsilon of one would promise too much."""
    stated = Guarantee(Budget.gdp(0.25), "one test record replaced")
    fronts = [front_of((1.0, 0.5), name=name, guarantee=stated) for name in ("a", "b", "c", "d")]
    assert f"test epsilon {at_most(Budget.gdp(0.5).epsilon(1e-6), 4)}" in Comparison(fronts).plot().svg
    assert f"test epsilon {at_most(Budget.gdp(0.25).epsilon(1e-6), 4)}" in fronts[0].plot().svg
    other = front_of((1.0, 0.5), name="e", guarantee=Guarantee(Budget.gdp(0.25), "one person replaced"))
    assert "each front by itself" in Comparison([*fronts, other]).plot().svg


def test_fronts_of_one_kind_are_compared(tmp_path: Path) -> None:
    both = Comparison({"sgd": front_of((1.0, 0.5), (2.0, 0.6)), "adam": front_of((1.5, 0.7))})
    assert both.hypervolumes((10, 1)) == {"sgd": pytest.approx(0.5 + 8 * 0.6), "adam": pytest.approx(8.5 * 0.7)}
    at = both.at(epsilon=1.0)
    assert (at["sgd"].utility, at["adam"]) == (0.5, None)
    assert {r["algorithm"] for r in csv.DictReader(both.to_csv(tmp_path / "c.csv").open())} == {"sgd", "adam"}
    assert "NOT PRIVATE" in both.audience
