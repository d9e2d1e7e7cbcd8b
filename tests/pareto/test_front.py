"""A front: what it holds, what it answers, what it says of itself in every form."""

from __future__ import annotations

import csv
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pareto_toys import Noisy

from tacit.errors import BadInput, MissingExtra
from tacit.pareto import Front, Point, discover

LABEL = "no sampling, one record replaced"


def front_of(*pairs: tuple[float, float], **about: object) -> Front:
    points = tuple(Point.of({"x": i}, e, [u]) for i, (e, u) in enumerate(pairs))
    return Front(points, LABEL, 1e-6, **about)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found() -> Front:
    return discover(Noisy(), delta=1e-6, trials=36, startup=12, repeats=3).value


def test_points_are_the_nondominated_by_rising_epsilon() -> None:
    front = front_of((2.0, 0.5), (1.0, 0.4), (3.0, 0.45), (float("inf"), 1.0), (2.0, 0.5))
    assert [(p.epsilon, p.utility) for p in front.points] == [(1.0, 0.4), (2.0, 0.5)]
    assert front.params == [{"x": 1}, {"x": 0}]
    assert front.values.tolist() == [[1.0, 0.6], [2.0, 0.5]]
    assert front.hypervolume((4.0, 1.0)) == pytest.approx(1 * 0.4 + 2 * 0.5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0.0, 20.0), st.floats(0.0, 1.0)), min_size=1, max_size=12), st.floats(0.01, 25.0))
def test_at_epsilon_is_the_best_tested_point_within_it(pairs: list[tuple[float, float]], epsilon: float) -> None:
    front = front_of(*pairs)
    within = [u for e, u in pairs if e <= epsilon]
    if within:
        assert front.at(epsilon=epsilon).utility == pytest.approx(max(within), abs=1e-12)
    else:
        with pytest.raises(BadInput, match="smallest tested"):
            front.at(epsilon=epsilon)


def test_at_utility_is_the_most_private_tested_point_that_reaches_it() -> None:
    front = front_of((1.0, 0.4), (2.0, 0.5), (5.0, 0.9))
    assert front.at(utility=0.45).epsilon == 2.0
    with pytest.raises(BadInput, match="largest tested"):
        front.at(utility=0.95)
    for asked in ({}, {"epsilon": 1.0, "utility": 0.5}, {"epsilon": 0.0}, {"epsilon": float("nan")}, {"utility": 1.5}):
        with pytest.raises(BadInput):
            front.at(**asked)


def test_json_comes_back_equal(found: Front) -> None:
    document = json.loads(json.dumps(found.to_json()))
    assert Front.from_json(document) == found
    for broken in ({}, {"format": "other"}, {**document, "tested": [{}]}, {**document, "reference": [1]}):
        with pytest.raises(BadInput):
            Front.from_json(broken)


def test_infinite_epsilons_survive_json() -> None:
    front = front_of((1.0, 0.5), (float("inf"), 0.9))
    assert Front.from_json(json.loads(json.dumps(front.to_json(), allow_nan=False))) == front


def test_every_form_says_that_it_is_not_private(found: Front, tmp_path: Path) -> None:
    rows = list(csv.DictReader(found.to_csv(tmp_path / "front.csv").open()))
    assert len(rows) == 36
    assert sum(int(r["on_front"]) for r in rows) == len(found.points)
    assert all(r["guarantee"].startswith("NOT PRIVATE") and r["label"] == LABEL for r in rows)
    forms = [str(found), found.plot().svg, json.dumps(found.to_json()), found.save(tmp_path / "f.json").read_text()]
    assert all("NOT PRIVATE" in form for form in forms)
    assert (found.guarantee.kind, found.private) == ("none", False)
    with pytest.raises(BadInput, match="NOT PRIVATE"):
        found.release()


def test_the_drawing_is_well_formed_and_labelled(found: Front, tmp_path: Path) -> None:
    for show in ("error", "utility"):
        tree = ET.fromstring(found.plot(show=show).save(tmp_path / "f.svg").read_text())
        assert LABEL in "".join(tree.itertext())
        assert "delta = 1e-06" in "".join(tree.itertext())
    with pytest.raises(BadInput):
        found.plot(show="both")
    with pytest.raises(BadInput, match=r"\.svg or \.png"):
        found.plot().save(tmp_path / "f.pdf")
    with pytest.raises(BadInput, match="cannot be written"):
        found.plot().save(tmp_path / "no" / "f.svg")


def test_the_png_is_a_picture_that_says_it_is_not_private(found: Front, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs tacit[plot]")
    for front, name in ((found, "f.png"), (front_of(), "empty.png")):
        with image.open(front.plot().save(tmp_path / name)) as picture:
            assert picture.size == (1216, 704)
            assert picture.text["Description"].startswith("NOT PRIVATE")


def test_a_png_without_matplotlib_says_what_to_install(found: Front, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"tacit\[plot\]"):
        found.plot().save(tmp_path / "f.png")


@pytest.mark.parametrize("front", [front_of(), front_of((0.0, 0.5)), front_of((1.0, 0.0), (1.5, 1.0))])
def test_odd_fronts_can_be_drawn(front: Front) -> None:
    ET.fromstring(front.plot().svg)


def test_files_that_cannot_be_written_are_refused(found: Front, tmp_path: Path) -> None:
    for act in (found.to_csv, found.save):
        with pytest.raises(BadInput, match="cannot be written"):
            act(tmp_path / "no" / "where")
