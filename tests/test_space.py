from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution, IntDistribution

from tacit.errors import BadInput
from tacit.space import Choice, Float, Int, Space

MIXED = Space(
    {
        "rate": Float(1e-4, 1.0, log=True),
        "depth": Int(1, 9),
        "width": Int(1, 512, log=True),
        "loss": Choice(["a", "b", 3]),
    }
)


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_params_survive_the_way_to_the_cube_and_back(point: list[float]) -> None:
    (params,) = MIXED.params([point])
    (back,) = MIXED.params(MIXED.cube([params]))
    assert back["depth"] == params["depth"]
    assert back["width"] == params["width"]
    assert back["loss"] == params["loss"]
    assert back["rate"] == pytest.approx(params["rate"], rel=1e-9)


def test_ends_of_the_cube_are_ends_of_the_ranges() -> None:
    low, high = MIXED.params([[0, 0, 0, 0], [1, 1, 1, 1]])
    assert low == {"rate": pytest.approx(1e-4), "depth": 1, "width": 1, "loss": "a"}
    assert high == {"rate": pytest.approx(1.0), "depth": 9, "width": 512, "loss": 3}


def test_every_whole_number_gets_an_equal_stretch_of_the_cube() -> None:
    values = [p["k"] for p in Space({"k": Int(0, 4)}).params(np.linspace(0, 1, 1001)[:, None])]
    shares = np.bincount(values) / 1001
    assert shares == pytest.approx(0.2, abs=0.005)


def test_any_two_options_are_one_apart_for_the_gaussian_process() -> None:
    features = Space({"c": Choice(["x", "y", "z"])}).features([{"c": c} for c in "xyz"])
    distances = np.linalg.norm(features[:, None] - features[None], axis=2)
    assert distances[~np.eye(3, dtype=bool)] == pytest.approx(1.0)


def test_true_and_one_are_different_options() -> None:
    features = Space({"c": Choice([True, 1])}).features([{"c": True}, {"c": 1}])
    assert not np.array_equal(features[0], features[1])


def test_a_grid_has_every_combination_once_with_both_ends() -> None:
    grid = MIXED.grid(3)
    assert len(grid) == 3 * 3 * 3 * 3 == len({tuple(p.items()) for p in grid})
    assert {p["depth"] for p in grid} == {1, 5, 9}
    assert sorted({p["rate"] for p in grid}) == pytest.approx([1e-4, 1e-2, 1.0])


def test_sobol_candidates_are_distinct_and_repeatable() -> None:
    a, b = MIXED.sobol(200, seed=1), MIXED.sobol(200, seed=1)
    assert a == b
    assert len({tuple(p.items()) for p in a}) == 200


def test_a_small_space_gives_as_many_candidates_as_it_has() -> None:
    assert len(Space({"c": Choice(["x", "y"])}).sobol(100)) == 2


def test_optuna_distributions_with_steps_are_kept_on_their_steps() -> None:
    space = Space({"x": FloatDistribution(0.0, 1.0, step=0.25), "k": IntDistribution(0, 10, step=5)})
    params = space.params(np.random.default_rng(0).random((200, 2)))
    assert {p["x"] for p in params} == {0, 0.25, 0.5, 0.75, 1.0}
    assert {p["k"] for p in params} == {0, 5, 10}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Space({}), "at least one parameter"),
        (lambda: Space({"x": 3}), "must be tacit.Float"),
        (lambda: Float(1.0, 1.0), "low < high"),
        (lambda: Float(0.0, 1.0, log=True), "low > 0"),
        (lambda: Float(float("nan"), 1.0), "finite"),
        (lambda: Int(3, 2), "low <= high"),
        (lambda: Choice([]), "at least one option"),
        (lambda: Choice("abc"), "list"),
        (lambda: MIXED.grid(2000), "at most"),
        (lambda: MIXED.cube([{"rate": 2.0, "depth": 1, "width": 1, "loss": "a"}]), "outside"),
        (lambda: MIXED.features([{"rate": 0.1}]), "needs a value"),
        (lambda: MIXED.cube([{"rate": 0.1, "depth": 1, "width": 1, "loss": "q"}]), "not one of"),
    ],
)
def test_a_bad_space_is_refused_with_the_rule(make: object, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        make()  # type: ignore[operator]


def test_a_space_is_read_from_toml_and_json(tmp_path) -> None:
    (tmp_path / "s.toml").write_text(
        'rate = {low = 1e-3, high = 1.0, log = true}\ndepth = {low = 1, high = 5}\nc = ["a", "b"]\n'
    )
    (tmp_path / "s.json").write_text('{"rate": {"low": 0, "high": 1, "type": "float"}}')
    space = Space.read(tmp_path / "s.toml")
    assert space.names == ["rate", "depth", "c"]
    assert isinstance(space.distributions["depth"], IntDistribution)
    assert isinstance(Space.read(tmp_path / "s.json").distributions["rate"], FloatDistribution)


@pytest.mark.parametrize(
    "text", ["rate = 3", "rate = {low = 1}", "rate = {low = 0, high = 1, typo = 2}", "rate = {", ""]
)
def test_a_bad_space_file_is_refused_with_the_rule(tmp_path, text: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(BadInput, match=r"rate|TOML|at least one"):
        Space.read(tmp_path / "s.toml")
    with pytest.raises(BadInput, match="cannot be read"):
        Space.read(tmp_path / "absent.toml")


def test_features_at_points_of_the_cube_are_those_of_their_parameters() -> None:
    space = Space(
        {
            "rate": Float(1e-4, 10.0, log=True),
            "depth": Int(1, 9),
            "size": Int(1, 300, log=True),
            "kind": Choice(["a", True, 1, 1.0]),
            "step": FloatDistribution(0.0, 1.0, step=0.25),
        }
    )
    cube = np.random.default_rng(0).random((500, space.dimensions))
    cube[0], cube[1] = 0.0, 1.0
    np.testing.assert_allclose(space.features_at(cube), space.features(space.params(cube)), rtol=0, atol=1e-15)


def test_points_of_another_shape_are_refused() -> None:
    for space in (
        Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}),
        Space({"x": Int(0, 9), "y": Choice(["a", "b"])}),
    ):
        for convert in (space.params, space.features_at):
            with pytest.raises(BadInput, match=r"points must have shape \(n, 2\), got \(3, 1\)"):
                convert(np.full((3, 1), 0.5))


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (10**400, "between 1 and 1234567 must be a number"),
        ([2], "between 1 and 1234567 must be a number"),
        (2.5, "between 1 and 1234567 must be a whole number"),
    ],
)
def test_a_value_that_a_parameter_cannot_have_is_refused_by_its_range(y: object, words: str) -> None:
    space = Space({"x": Float(0.0, 1.0), "y": Int(1, 1234567)})
    for convert in (space.cube, space.features):
        with pytest.raises(BadInput, match=words):
            convert([{"x": 0.5, "y": y}])


def test_a_wide_range_beside_a_log_scale_is_no_warning() -> None:
    space = Space({"x": Float(1e-300, 1e300), "y": Float(0.1, 1.0, log=True)})
    with np.errstate(all="raise", under="ignore"):
        assert space.cube([{"x": 1e300, "y": 0.1}]).tolist() == [[1.0, 0.0]]


def test_whole_and_real_numbers_may_go_in_steps() -> None:
    space = Space({"k": Int(10, 100, step=40), "x": Float(0.0, 1.0, step=0.25)})
    seen = space.params(np.random.default_rng(0).random((400, 2)))
    assert {p["k"] for p in seen} == {10, 50, 90}
    assert {p["x"] for p in seen} == {0.0, 0.25, 0.5, 0.75, 1.0}
    assert space.params(space.cube(seen)) == seen
    assert space.grid_size(9) == 15
    for wrong in (
        lambda: Int(1, 9, log=True, step=2),
        lambda: Float(0.1, 1.0, log=True, step=0.1),
        lambda: Int(1, 9, step=0),
    ):
        with pytest.raises(BadInput, match="step"):
            wrong()


def test_steps_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("k = {low = 2, high = 9, step = 3}")
    assert Space.read(tmp_path / "s.toml").distributions["k"] == IntDistribution(2, 8, step=3)


def test_what_scikit_learns_users_write_is_a_space() -> None:
    from scipy.stats import loguniform, norm, randint, uniform

    space = Space(
        {
            "C": loguniform(1e-3, 1e2),
            "tol": uniform(0.1, 0.4),
            "depth": randint(2, 9),
            "kind": ["a", "b"],
            "leaf": np.array([1, 5, 20]),
            "width": range(8, 65, 8),
        }
    )
    assert space.distributions["C"] == FloatDistribution(1e-3, 1e2, log=True)
    assert space.distributions["tol"] == FloatDistribution(0.1, 0.5)
    assert space.distributions["depth"] == IntDistribution(2, 8)  # the end of randint is not in it
    assert space.distributions["width"] == IntDistribution(8, 64, step=8)
    assert space.distributions["leaf"] == Choice([1, 5, 20])
    assert [type(v) for v in space.distributions["leaf"].choices] == [int] * 3  # type: ignore[attr-defined]
    with pytest.raises(BadInput, match=r"scipy\.stats\.norm, whose law has no bounds"):
        Space({"x": norm(0, 1)})
    with pytest.raises(BadInput, match="give a function of a trial"):
        Space([{"a": [1]}, {"b": [2]}])  # type: ignore[arg-type]
