"""DP-GIBO: its noise, its guarantee on neighbours, its settings, its refusals, and what it finds."""

from __future__ import annotations

import json
import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from shard_parts import Part
from shell_parts import tacit as command

import tacit
from tacit.errors import BadInput, BudgetRefused, GuaranteeError
from tacit.methods.gibo import CLAIM, GradientPath, GradientSearch, release, suggest_clip
from tacit.methods.gibo.design import DescentSettings, Designs
from tacit.methods.intervals import sampling_deviation
from tacit.methods.task import Task
from tacit.objective import Objective
from tacit.privacy.conversions import mu_range, range_mu
from tacit.privacy.gradient_mean import STEPS
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Simulation
from tacit.run.shards import Shards
from tacit.space import Choice, Float, Int, Space

D, N = 4, 2000
RNG = np.random.default_rng(0)
TARGET = np.array([0.3, 0.7, 0.05, 0.5])
DATA = TARGET + 0.1 * RNG.normal(size=(N, D))
SPACE = Space({name: Float(0.0, 1.0) for name in "abcd"})


class Silent:
    """No noise at all, to see what is under it."""

    simulated = True

    def gaussian_whole(self, value: int, scale: float) -> int:
        return value

    def gaussian_whole_array(self, values: np.ndarray, scale: float) -> np.ndarray:
        return values

    def gumbel_argmax(self, scores: np.ndarray, scale: float) -> int:
        return int(np.argmax(scores))


def problem(
    function=None, *, space=SPACE, trials=20, budget=None, records=N, noise=None, options=None, file=None, **more
) -> GradientSearch:
    direction = more.pop("direction", "minimize")
    asked = Objective(function or Part(DATA), records, (0.0, 1.0), direction)
    settings = DescentSettings.of(options or {}, (0.0, 1.0), space)
    more.setdefault("accept_noise", True)
    task = Task(asked, space, budget or Budget.gdp(1.0), trials, noise=noise or Simulation(1), **more)
    return GradientSearch(task, settings, file)


def found(made) -> np.ndarray:
    return np.array(list(made.value.params.values()))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"design": "simplex"},
        {"design": "optimised", "batch": 2},
        {"design": "optimised", "kernel": "polynomial", "lengthscale": 0.3, "centring": "theta"},
        {"design": "adaptive", "tolerance": 0.3},
        {"kernel": "matern52"},
        {"step": "adam", "rate": 0.1},
        {"step": "plain", "rate": 1.0},
        {"step": "momentum", "rate": 0.2},
        {"starts": 3},
        {"average": 0.0},
    ],
    ids=lambda o: "-".join(map(str, o.values())) or "default",
)
def test_every_variant_finds_the_optimum(options) -> None:
    made = release(problem(trials=40, options=options))
    assert np.abs(found(made) - TARGET).max() < 0.06


def test_the_noise_is_two_b_root_t_over_n_mu() -> None:
    for trials, mu, clip in ((20, 1.0, 0.25), (150, 0.5, 1.0), (1, 2.0, 3.0)):
        p = problem(trials=trials, budget=Budget.gdp(mu), options={"clip": clip, "scan": 0, "score_budget": 0})
        assert p.mechanism.scale == pytest.approx(2 * clip * math.sqrt(trials) / (N * mu), rel=1e-8)
    scored = problem(options={"score_budget": 0.1, "scan": 8, "scan_budget": 0.09})
    assert scored.mechanism.scale == pytest.approx(2 * 0.25 * math.sqrt(20) / (N * 0.9), rel=1e-8)
    assert scored.choice.scale == pytest.approx(2 / (N * mu_range(0.3)), rel=1e-8)
    assert release(scored).value.details["noise_scale"] == scored.mechanism.scale


@pytest.mark.parametrize("starts", [1, 2, 5])
def test_places_steps_and_scores_share_the_squared_budget(starts: int) -> None:
    """Each start draws a place and a score; all steps of all starts are ``trials`` together. Squares of mu add up."""
    options = {"starts": starts, "scan": 8, "scan_budget": 0.09, "score_budget": 0.2}
    p = problem(trials=30, budget=Budget.gdp(0.8), options=options)
    assert p.choice is not None
    assert p.scoring is not None
    place = range_mu(2 / (N * p.choice.scale))
    step = 2 * p.settings.clip / (N * p.mechanism.scale)
    score = 1 / (N * p.scoring.scale)
    assert starts * place**2 == pytest.approx(0.09 * 0.8**2, rel=1e-7)
    assert starts * score**2 == pytest.approx(0.2 * 0.8**2, rel=1e-7)
    assert 30 * step**2 + starts * (place**2 + score**2) == pytest.approx(0.8**2, rel=1e-7)
    lengths = [len(path) for path in release(p).value.details["gradients"]]
    assert (len(lengths), sum(lengths)) == (starts, 30)


def extreme_gap(p_options: dict, records: int) -> tuple[float, GradientSearch]:
    """How far the exact mean gradient moves when a record of slope +huge is replaced by one of slope -huge."""
    space = Space({"x": Float(0.0, 1.0)})

    def losses(sign):
        return lambda params: np.r_[sign * 1e300 * params["x"], np.zeros(records - 1)]

    first = problem(losses(+1), space=space, records=records, noise=Silent(), **p_options)
    other = problem(losses(-1), space=space, records=records, noise=Silent(), **p_options)
    ours, theirs = (release(q).value.details["gradients"][0] for q in (first, other))
    return abs(ours[0][0] - theirs[0][0]), first


def test_the_worst_neighbours_are_as_far_apart_as_the_guarantee_says_and_no_further() -> None:
    gap, p = extreme_gap({"trials": 1, "budget": Budget.gdp(1.0), "options": {"scan": 0, "score_budget": 0}}, 100)
    assert gap == pytest.approx(2 * p.settings.clip / 100, rel=1e-9)
    assert gap / p.mechanism.scale <= 1.0  # mu of one step, exactly
    assert gap / p.mechanism.scale == pytest.approx(1.0, rel=1e-7)


def test_nothing_private_is_in_the_release_or_its_words() -> None:
    p = problem(options={"score_budget": 0.1, "starts": 2})
    document = json.dumps(release(p).certificate())
    exact = release(problem(options={"score_budget": 0.1, "starts": 2}, noise=Silent())).value.details["gradients"][0][
        0
    ]
    assert all(repr(x) not in document for x in exact)
    assert repr(float(Part(DATA)(release(p).value.params).mean())) not in document
    assert "Part" not in repr(p)


def test_the_result_tells_its_path_noise_bias_and_claim() -> None:
    made = release(problem(trials=7, options={"design": "simplex"}))
    value, details = made.value, made.value.details
    exact = float(Part(DATA)(value.params).mean())
    assert value.score == pytest.approx(exact, abs=6 * value.deviation)
    assert (value.method, len(details["path"][0]), len(details["gradients"][0])) == ("gibo", 8, 7)
    assert len(details["bias_trace"][0]) == 7
    assert details["evaluations"] == 64 + 7 * (D + 1) + 1
    assert len(details["scan"]["places"]) == 64
    assert details["path"][0][0] == details["scan"]["places"][details["scan"]["chosen"][0]]
    assert details["claim"] == CLAIM
    assert "local optimum up to a privacy-dependent error" in CLAIM
    assert made.guarantee.notion == "none"  # simulated


def test_the_guarantee_is_unconditional_and_of_the_whole_budget() -> None:
    task = Task(Objective(Part(DATA), N, (0.0, 1.0)), SPACE, Budget.approximate(1.0, 1e-6), 3)
    made = release(GradientSearch(task, DescentSettings.of({}, (0, 1), SPACE)))
    assert made.guarantee.unconditional
    assert made.guarantee.epsilon(1e-6) == pytest.approx(1.0)
    assert made.guarantee.unit == "one validation record replaced"


def test_a_score_is_a_paid_release_of_its_own() -> None:
    made = release(problem(options={"score_budget": 0.25}))
    exact = Part(DATA)(made.value.params).mean()
    assert made.value.deviation == pytest.approx(1.0 / (N * math.sqrt(0.25)), rel=1e-6)
    assert made.value.score == pytest.approx(exact, abs=6 * made.value.deviation)
    assert made.value.score != exact


def test_the_best_of_several_starts_is_chosen_by_its_noisy_score() -> None:
    def two_wells(params):
        x = params["x"]
        return np.full(N, min((x - 0.1) ** 2 + 0.2, (x - 0.85) ** 2))

    space = Space({"x": Float(0.0, 1.0)})
    options = {"starts": 2, "start": [{"x": 0.1}, {"x": 0.8}]}
    made = release(problem(two_wells, space=space, options=options))
    assert made.value.details["chosen_start"] == 1
    assert made.value.params["x"] == pytest.approx(0.85, abs=0.05)
    assert [len(path) for path in made.value.details["path"]] == [11, 11]


def test_a_scan_begins_in_the_better_of_two_basins() -> None:
    def basins(params):
        x = np.array(list(params.values()))
        return np.full(N, min(0.2 + ((x - 0.6) ** 2).mean(), 4 * ((x - 0.15) ** 2).mean()))

    space = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
    from_scan, from_middle = (release(problem(basins, space=space, options=o)) for o in ({}, {"scan": 0}))
    np.testing.assert_allclose(found(from_scan), 0.15, atol=0.05)
    np.testing.assert_allclose(found(from_middle), 0.6, atol=0.05)


def test_a_first_point_is_drawn_only_where_its_noise_lets_it_be_better_than_chance() -> None:
    loud, quiet, asked = (
        problem(budget=Budget.gdp(mu), options=o) for mu, o in ((0.01, {}), (1.0, {}), (0.01, {"scan": 64}))
    )
    assert (loud.settings.scan, loud.choice, len(loud.places)) == (0, None, 1)
    assert loud.mechanism.scale == pytest.approx(problem(budget=Budget.gdp(0.01), options={"scan": 0}).mechanism.scale)
    assert quiet.settings.scan == asked.settings.scan == 64
    assert asked.choice.scale > 0.05 >= quiet.choice.scale


def test_half_of_the_places_at_most_lie_on_the_diagonal_and_none_twice() -> None:
    for scan in (1, 2, 5, 8, 64, 200):
        places = problem(options={"scan": scan}).places
        line = np.ptp(places, axis=1) == 0
        assert len(places) == scan == len({tuple(p) for p in places})
        assert 1 <= line.sum() <= max(1, min(15, scan / 2 + 1))
        np.testing.assert_allclose(sorted(places[line][:, 0]), 1 - np.array(sorted(places[line][:, 0]))[::-1])


def test_the_step_rate_follows_from_public_sizes() -> None:
    rates = {mu: problem(budget=Budget.gdp(mu)).settings.rate for mu in (0.05, 5.0)}
    assert rates == {0.05: 0.1, 5.0: 0.2}
    assert problem(budget=Budget.gdp(0.05), options={"rate": 0.3}).settings.rate == 0.3


def test_the_first_point_is_named_by_one_draw_with_the_odds_of_the_exponential_mechanism() -> None:
    """Losses 0 and 0.01 at two places: 200 draws within 5 standard deviations, false alarm below 1e-6."""
    space = Space({"x": Float(0.0, 1.0)})

    def losses(params):
        return np.full(N, 0.01 * (params["x"] != 0.5))

    options = {"scan": 2, "scan_budget": 0.01, "step": "plain", "rate": 1e-12, "score_budget": 0.0}
    made = [release(problem(losses, space=space, trials=1, noise=Simulation(s), options=options)) for s in range(200)]
    share = np.mean([m.value.details["scan"]["chosen"] == [0] for m in made])
    odds = math.exp(mu_range(0.1) * N * 0.01 / 2)
    expected = odds / (1 + odds)
    assert abs(share - expected) < 5 * math.sqrt(expected * (1 - expected) / 200)
    assert 0.6 < expected < 0.95  # the test can fail


def test_several_starts_are_different_places() -> None:
    details = release(problem(options={"starts": 3})).value.details
    assert len(set(details["scan"]["chosen"])) == 3
    assert [path[0] for path in details["path"]] == [details["scan"]["places"][i] for i in details["scan"]["chosen"]]


def test_a_scan_that_was_claimed_and_lost_begins_in_the_middle_and_is_not_drawn_again(tmp_path) -> None:
    file = tmp_path / "gibo.jsonl"
    release(problem(trials=2, file=file))
    kept = file.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(kept) if '"keep": "place"' in line)
    file.write_text("".join(kept[:at]))
    details = release(problem(trials=2, file=file)).value.details
    assert details["path"][0][0] == dict.fromkeys("abcd", 0.5)
    assert details["scan"]["chosen"] == [0]
    assert '"keep": "place"' not in file.read_text()


def test_a_journal_of_an_earlier_version_is_refused_before_any_evaluation(tmp_path) -> None:
    file = tmp_path / "gibo.jsonl"
    release(problem(trials=2, file=file))
    first = json.loads(file.read_text().splitlines()[0])
    for name in ("scan", "scan_budget"):  # settings that it did not have
        del first["terms"]["settings"][name]
    file.write_text(json.dumps(first) + "\n")

    def never(params):
        raise AssertionError("evaluated")

    with pytest.raises(BadInput, match=r"other terms: settings\.scan was null, now 64.*use another folder"):
        release(problem(never, trials=2, file=file))


def test_the_radius_shrinks_from_the_first_step_to_the_last() -> None:
    middle, settings = np.full(D, 0.5), DescentSettings.of({}, (0, 1), SPACE)
    designs = Designs(settings, SPACE, 6)
    reached = [np.abs(designs.at(middle, t).points - middle).max() for t in range(6)]
    np.testing.assert_allclose(reached, np.geomspace(0.3, 0.05, 6))
    fixed = Designs(DescentSettings.of({"radius": 0.2}, (0, 1), SPACE), SPACE, 6)
    np.testing.assert_allclose([np.abs(fixed.at(middle, t).points - middle).max() for t in (0, 5)], 0.2)


def test_maximising_is_minimising_the_negative() -> None:
    def negative(params):
        return 1 - Part(DATA)(params)

    up = release(problem(negative, direction="maximize"))
    np.testing.assert_allclose(found(up), found(release(problem())), atol=1e-12)


def test_whole_numbers_and_log_scales_go_through_the_space() -> None:
    space = Space({"depth": Int(1, 8), "rate": Float(1e-4, 1.0, log=True)})

    def losses(params):
        assert isinstance(params["depth"], int)
        return np.full(N, 0.01 * (params["depth"] - 6) ** 2 + 0.05 * (math.log10(params["rate"]) + 2) ** 2)

    made = release(problem(losses, space=space, trials=40))
    assert made.value.params["depth"] in (5, 6, 7)
    assert math.log10(made.value.params["rate"]) == pytest.approx(-2, abs=0.2)


def test_everything_but_the_noise_is_deterministic() -> None:
    for options in ({}, {"design": "optimised", "batch": 3}, {"starts": 2}):
        first, again = (release(problem(options=options, trials=8)).value.to_json() for _ in range(2))
        assert first == again


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_and_shards_give_the_same_path_to_the_last_bit(kind) -> None:
    alone = release(problem(trials=5)).value.to_json()
    with kind(2) as pool:
        assert release(problem(trials=5, executor=pool)).value.to_json() == alone
        shards = Shards([Part(part) for part in np.split(DATA, (17, 900))])
        assert release(problem(shards, trials=5, executor=pool)).value.to_json() == alone
        assert release(problem(shards, trials=5)).value.to_json() == alone


def test_designs_stay_in_the_cube_and_their_weights_sum_to_zero() -> None:
    rng = np.random.default_rng(0)
    for options in ({}, {"design": "simplex"}, {"design": "optimised"}, {"design": "optimised", "centring": "theta"}):
        designs = Designs(DescentSettings.of(options, (0, 1), SPACE), SPACE)
        for t in range(4):
            theta = rng.choice([0.0, 0.02, 0.5, 1.0], size=D)
            made = designs.at(theta, t)
            assert ((made.points >= 0) & (made.points <= 1)).all()
            np.testing.assert_allclose(made.weights.sum(axis=1), 0, atol=1e-6 * np.abs(made.weights).max())


def test_reuse_is_capped() -> None:
    designs = Designs(DescentSettings.of({"design": "optimised", "batch": 2, "reuse": 3}, (0, 1), SPACE), SPACE)
    sizes = [len(designs.at(np.full(D, 0.5 + 0.05 * t), t).points) for t in range(5)]
    assert max(sizes) <= 5
    fresh = Designs(DescentSettings.of({"design": "optimised", "batch": 2, "reuse": 0}, (0, 1), SPACE), SPACE)
    assert [len(fresh.at(np.full(D, 0.5), t).points) for t in range(3)] == [2, 2, 2]


def test_places_that_coincide_are_evaluated_once() -> None:
    space, seen = Space({"x": Int(0, 2)}), []

    def losses(params):
        seen.append(params["x"])
        return np.full(N, 0.1 * params["x"])

    release(problem(losses, space=space, trials=2, options={"design": "optimised", "batch": 4, "scan": 0}))
    assert len(seen) <= 3
    seen.clear()
    p = problem(losses, space=space, trials=1)
    assert len(p.places) == 3  # of 64 that were asked for
    release(p)
    assert sorted(seen[:3]) == [0, 1, 2]


def test_places_are_counted_beforehand_only_where_none_can_coincide() -> None:
    whole = Space({"x": Int(0, 2)})
    assert [problem(space=s, trials=1).starting_places for s in (SPACE, whole)] == [64, 3]
    assert problem(trials=1, options={"scan": 0}).starting_places == 1


def test_the_noise_that_is_judged_is_that_of_all_steps_in_all_dimensions() -> None:
    p = problem(trials=20, budget=Budget.gdp(0.5), options={"scan": 0, "score_budget": 0.0})
    assert p._loudness() == pytest.approx(2 * math.sqrt(20 * D) / (N * 0.5), rel=1e-9)


def test_the_mean_of_the_last_points_is_released() -> None:
    path = GradientPath([np.array([float(i)]) for i in range(9)], [], [], 0)
    assert [path.final(average).item() for average in (0.0, 0.1, 0.5, 1.0)] == [8.0, 8.0, 6.5, 4.5]


def test_how_far_other_records_may_differ_counts_the_noise_of_the_score() -> None:
    value = release(problem(options={"score_budget": 0.1})).value
    assert value.deviation > 0
    assert value.sampling == sampling_deviation(value.score, 1.96 * value.deviation, (0.0, 1.0), N)


@pytest.mark.parametrize("spoil", [math.nan, math.inf, -math.inf, 1e300])
def test_one_spoiled_record_breaks_nothing(spoil) -> None:
    def losses(params):
        out = Part(DATA)(params)
        out[0] = spoil * params["a"]
        return out

    made = release(problem(losses, trials=40))
    assert np.abs(found(made) - TARGET).max() < 0.06


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"options": {"start": {"a": 2.0, "b": 0.5, "c": 0.5, "d": 0.5}}}, "outside"),
        ({"options": {"start": {"a": 0.5}}}, "needs a value for 'b'"),
        ({"options": {"start": [dict.fromkeys("abcd", 0.5)] * 2}}, "starting points"),
        ({"options": {"clip": 0.0}}, "clip must be positive"),
        ({"options": {"clip": -1.0}}, "clip must be positive"),
        ({"options": {"clip": math.nan}}, "clip must be finite"),
        ({"options": {"design": "adaptive", "tolerance": 1.0, "batch": D + 2}}, r"at most d \+ 1 = 5"),
        ({"options": {"design": "adaptive"}}, "needs tolerance"),
        ({"options": {"design": "spiral"}}, "design must be one of"),
        ({"options": {"kernel": "polynomial"}}, "optimised"),
        ({"options": {"batch": 3}}, "own places"),
        ({"options": {"rate": 0.0}}, "rate must be positive"),
        ({"options": {"lengthscale": [1.0, 2.0]}}, "lengthscale must be one number or 4"),
        ({"options": {"starts": 2, "score_budget": 0.0}}, "several starts need score_budget"),
        ({"options": {"starts": 30}}, "30 starts need"),
        ({"options": {"starts": 4, "scan": 3}}, "3 places cannot give 4 starts"),
        ({"options": {"scan": 8, "start": dict.fromkeys("abcd", 0.5)}}, "start or scan, not both"),
        ({"options": {"scan": -1}}, "scan must be at least 0"),
        ({"options": {"scan_budget": 0.95, "score_budget": 0.05}}, "leave something to the steps"),
        ({"options": {"radius": (0.3, 0.2, 0.1)}}, "the first and the last radius"),
        ({"options": {"radius": (0.3, 0.0)}}, "radius must be positive"),
        ({"options": {"average": 2.0}}, "average"),
        ({"options": {"eta": 1.0}}, "takes no option eta"),
        ({"options": {"evaluation_noise": -1.0}}, "evaluation_noise"),
        ({"trials": 0}, "trials must be at least 1"),
        ({"budget": Budget("gdp", 0.0)}, "mu = 0 allows no release"),
        ({"accept_noise": False, "budget": Budget.gdp(0.001)}, "Nothing was spent"),
        ({"space": Space({"kind": Choice(["a", "b"]), "b": Float(0, 1)})}, "fix 'kind'.*method 'observed'"),
    ],
)
def test_bad_input_is_refused_before_any_evaluation(change, why) -> None:
    def never(params):
        raise AssertionError("evaluated")

    with pytest.raises(BadInput, match=why):
        release(problem(never, **change))


def test_a_budget_of_zero_or_without_gaussian_noise_is_refused() -> None:
    with pytest.raises(BadInput, match="mu must be positive"):
        Budget.gdp(0.0)
    with pytest.raises(GuaranteeError, match="not pure"):
        problem(budget=Budget.pure(1.0))
    with pytest.raises(BadInput, match=r"must be a tacit\.Budget"):
        problem(budget="much")


def test_a_clip_is_suggested_from_public_records() -> None:
    public = TARGET + 0.1 * np.random.default_rng(5).normal(size=(300, D))
    clip = suggest_clip(Part(public), SPACE)
    assert 0.1 < clip < 1.0  # the mean of squared distances has slopes of (x - t)/2 along each axis
    assert suggest_clip(Part(public), SPACE, quantile=0.9) > clip
    made = release(problem(options={"clip": clip}, trials=40))
    assert np.abs(found(made) - TARGET).max() < 0.06


def test_the_sum_of_all_records_stays_within_whole_numbers() -> None:
    p = problem(trials=1, noise=Silent(), options={"clip": 1e-6})
    gradient = np.array(release(p).value.details["gradients"][0][0])
    assert np.linalg.norm(gradient) <= 1e-6 * (1 + 1e-9)
    assert STEPS == 2**32


def test_a_ledger_refuses_before_anything_is_evaluated(tmp_path) -> None:
    def never(params):
        raise AssertionError("evaluated")

    ledger = tacit.Ledger.open(tmp_path / "l.db", "l", Budget.gdp(0.5))
    asked = Objective(never, N, (0.0, 1.0))
    with pytest.raises(BudgetRefused, match="Nothing was released"):
        release(
            GradientSearch(Task(asked, SPACE, Budget.gdp(1.0), 3, ledger=ledger), DescentSettings.of({}, (0, 1), SPACE))
        )
    with pytest.raises(BadInput, match="simulated noise"):
        problem(ledger=ledger)


def test_tune_keeps_a_folder_and_goes_on_from_it(tmp_path) -> None:
    arguments = {"records": N, "bounds": (0.0, 1.0), "budget": Budget.gdp(1.0), "trials": 5, "method": "gibo"}
    first = tacit.tune(Part(DATA), SPACE, **arguments, out=tmp_path / "out", clip=0.3, step="adagrad", progress=False)
    assert json.loads((tmp_path / "out" / "certificate.json").read_text()) == first.certificate()
    again = tacit.tune(Part(DATA), SPACE, **arguments, out=tmp_path / "out", clip=0.3, step="adagrad", progress=False)
    assert again.value.to_json() == first.value.to_json()
    with pytest.raises(BadInput, match=r"other terms: settings\.clip was 0\.3, now 0\.4"):
        tacit.tune(Part(DATA), SPACE, **arguments, out=tmp_path / "out", clip=0.4, progress=False)
    for extra in ({"storage": "sqlite://"}, {"candidates": 5}, {"at_once": 2}):
        with pytest.raises(BadInput, match="keeps its own journal"):
            tacit.tune(Part(DATA), SPACE, **arguments, **extra)
    with pytest.raises(BadInput, match="Nothing was spent"):
        tacit.tune(Part(DATA[:5]), SPACE, **{**arguments, "records": 5}, out=tmp_path / "never")
    assert not (tmp_path / "never").exists()


def test_the_command_tunes_by_gibo(tmp_path, monkeypatch) -> None:
    (tmp_path / "mine_by_gibo.py").write_text(
        "import numpy as np\ndef losses(p):\n    return np.full(3000, (p['x'] - 0.3) ** 2 + (p['y'] - 0.6) ** 2)\n"
    )
    (tmp_path / "space.toml").write_text("x = {low = 0.0, high = 1.0}\ny = {low = 0.0, high = 1.0}\n")
    monkeypatch.chdir(tmp_path)
    given = "--space space.toml --records 3000 --bounds 0 1 --method gibo --trials 15 --out release --json"
    options = "--option clip=0.5 --option score_budget=0.1"
    said = command("tune", "mine_by_gibo:losses", *given.split(), *options.split())
    assert said.code == 0, said.err
    document = said.json
    assert abs(document["params"]["x"] - 0.3) < 0.1
    assert document["value"]["details"]["settings"]["clip"] == 0.5
    assert document["score"] is not None
    assert (tmp_path / "release" / "report.html").exists()
