"""The paper's two examples drawn: both oracles and the exact front, then what models of 250 random points believe.

As in the paper's Figures 1 to 4: 250 pairs of hyper-parameters are drawn at random, and a Gaussian process is fitted to
log epsilon, another to logit error, each the mean of 50 draws. On top, what the paper does not have: the deviations of
the two models, and what a point is worth where epsilon is computed and only the error is modelled. The next point is
the largest of either on a mesh of the space; what it would gain is judged exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import Figure
from benchmarks.harness.panels import save
from benchmarks.papers import pareto_output_perturbation as output
from benchmarks.papers import pareto_sparse_vector as sparse
from benchmarks.papers._front_panels import cloud, front
from tacit.pareto import discover, hypervolume, nondominated
from tacit.pareto.acquisition import Staircase, exact_privacy, hvpoi
from tacit.pareto.surrogate import ObjectiveModel
from tacit.space import Array, Params, Space

TITLE = "The paper's two examples: oracles, models after 250 points, acquisition"
LONG = True
REPEATS = 1

POINTS, MESH = 250, 32
SIGMA, GAMMA = {"label": "sigma, noise"}, {"label": "gamma, penalty"}
NOISE, BOUND = {"label": "b, noise"}, {"label": "C, bound on the answers"}
Corner = tuple[float, float]  # epsilon and error beyond which nothing counts


@dataclass(frozen=True)
class Example:
    """One of the two: its mesh over (x, y), exact values (n, 2) there and elsewhere, and points that were tested."""

    name: str
    space: Space
    axes: tuple[dict[str, Any], dict[str, Any]]
    values: tuple[Array, Array]  # of the mesh, along x and along y
    judged: Callable[[list[Params]], Array]  # epsilon and exact error
    fine: list[Params]  # whose front is the exact one
    drawn: list[Params]  # the 250
    observed: Array  # their epsilon and the mean error of 50 draws, (250, 2)
    reference: Corner
    ours: dict[Corner, list[Params]]  # what DPareto tested, from the start, for each reference
    front: tuple[dict[str, Any], dict[str, Any]]  # axes of a front

    def mesh(self) -> list[Params]:
        x, y = self.space.names
        whole = {n for n, d in self.space.distributions.items() if type(d).__name__ == "IntDistribution"}
        pairs = [(float(a), int(b) if y in whole else float(b)) for b in self.values[1] for a in self.values[0]]
        return [{x: a, y: b} for a, b in pairs]

    def table(self, values: Array) -> list[list[float]]:
        """Values of the mesh as rows from the lowest y."""
        return [[float(v) for v in row] for row in values.reshape(len(self.values[1]), -1)]


def output_perturbation() -> Example:
    made = output.algorithm()
    drawn = made.space.params(np.random.default_rng(11).random((POINTS, 2)))
    gammas = np.unique([p["gamma"] for p in drawn])
    weights = np.concatenate([output._weights(tuple(part)) for part in np.array_split(gammas, 4)])
    at = np.searchsorted(gammas, [p["gamma"] for p in drawn])
    errors = [output.observed(weights[k], p["sigma"], i) for i, (k, p) in enumerate(zip(at, drawn, strict=True))]
    axes = {**GAMMA, "low": 1e-4, "high": 1.0, "log": True}, {**SIGMA, "low": 0.1, "high": 10.0, "log": True}
    searches = output.searched(output.SEEDS)
    return Example(
        "output perturbation", made.space, axes,
        (np.geomspace(1e-4, 1.0, output.GRID[0]), np.geomspace(0.1, 10.0, MESH)),
        output.judged, output.grid(), drawn, np.column_stack([made.epsilons(drawn, output.DELTA), errors]),
        output.REFERENCES[0], {r: searches[f"0 {r}"] for r in output.REFERENCES},
        ({"label": "epsilon", "low": 1e-3, "high": 10.0, "log": True}, {"label": "error", "low": 0.15, "high": 0.55}),
    )  # fmt: skip


def sparse_vector() -> Example:
    drawn = sparse.SPACE.params(np.random.default_rng(11).random((POINTS, 2)))
    errors = [1 - sparse.SVT.utility(p, seed=i) for i, p in enumerate(drawn)]
    axes = {**NOISE, "low": 1e-2, "high": 1e2, "log": True}, {**BOUND, "low": 1, "high": 30}
    asked: dict[str, Any] = {"delta": 0.0, "trials": 64, "startup": sparse.STARTUP}
    searches = {r: discover(sparse.SVT, reference=r, **asked).value.tested for r in sparse.REFERENCES}
    fine = [{"b": float(b), "C": C} for b in np.geomspace(1e-2, 1e2, sparse.NOISES) for C in range(1, 31)]
    return Example(
        "sparse vector", sparse.SPACE, axes, (np.geomspace(1e-2, 1e2, MESH), np.arange(1.0, 31.0)),
        lambda points: np.array([sparse.judged(p["b"], p["C"]) for p in points]), fine, drawn,
        np.column_stack([sparse.known(drawn), errors]),
        sparse.REFERENCES[1], {r: [p.params for p in tested] for r, tested in searches.items()},
        ({"label": "epsilon", "low": 0.1, "high": 100.0, "log": True}, {"label": "1 - F1", "low": 0.0, "high": 1.0}),
    )  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """What is true on the mesh, and what the models of the 250 points believe there."""

    truth: Array  # epsilon and exact error, (n, 2)
    exact: Array  # the same of the fine grid
    ours: dict[Corner, Array]  # the same of what DPareto tested
    means: list[Array]  # of epsilon and error, (n,) each
    deviations: list[Array]  # of log epsilon and logit error
    worths: dict[str, Array]


def seen(example: Example) -> Seen:
    mesh, features = example.mesh(), example.space.features(example.drawn)
    truth, models = example.judged(mesh), (ObjectiveModel("log"), ObjectiveModel("logit"))
    fitted = [m.posterior(features, example.observed[:, k], final=True) for k, m in enumerate(models)]
    beliefs = [(m, np.sqrt(v)) for m, v in (gp.posterior(example.space.features(mesh)) for gp in fitted)]
    scales, stairs = (models[0].scale, models[1].scale), Staircase.of(example.observed, example.reference)
    endless = Staircase.of(example.observed, (np.inf, np.inf))
    worths = {
        "HVPoI, equation 1": hvpoi(stairs, beliefs[0], beliefs[1], scales, region=endless),
        "HVPoI before the anti-ideal point": hvpoi(stairs, beliefs[0], beliefs[1], scales),
        "gain expected, epsilon computed": exact_privacy(stairs, truth[:, 0], *beliefs[1], scales[1]),
    }
    ours = {reference: example.judged(points) for reference, points in example.ours.items()}
    means = [scale.inverse(mean) for scale, (mean, _) in zip(scales, beliefs, strict=True)]
    return Seen(truth, example.judged(example.fine), ours, means, [b[1] for b in beliefs], worths)


def told(example: Example, found: Seen) -> list[Figure]:
    """How near models and fronts are to the exact ones, and what the next point would gain."""
    name, truth, random = example.name, found.truth, example.judged(example.drawn)
    off = np.abs(np.log(truth[:, 0] / found.means[0])), np.abs(truth[:, 1] - found.means[1])
    note = f"over {len(truth):,} points of a mesh"
    figures = [
        Figure(f"{name}: model of epsilon, median off", 100 * float(np.expm1(np.median(off[0]))), "%", note=note),
        Figure(f"{name}: model of the error, median off", 100 * float(np.median(off[1])), "% points", note=note),
    ]
    for reference, values in found.ours.items():
        best = hypervolume(found.exact, reference)
        for what, tested in ((f"{POINTS} random points", random), (f"{len(values)} points of DPareto", values)):
            share, title = hypervolume(tested, reference) / best, f"{name}: {what}, {where(reference)}"
            figures.append(Figure(title, share, "of the exact front", note="judged exactly"))
    gains = Staircase.of(random, example.reference).gain(truth[:, 0], truth[:, 1])
    note = f"{where(example.reference)}, judged exactly; the most on the mesh {gains.max():.3g}"
    for what, worth in found.worths.items():
        title = f"{name}: gained by the next point, {what}"
        figures.append(Figure(title, float(gains[np.argmax(worth)]), "hypervolume", note=note))
    return figures


def where(reference: Corner) -> str:
    return f"reference ({reference[0]:g}, {reference[1]:g})"


def draw(example: Example, found: Seen) -> None:
    """The paper's Figure 1 or 2, and its Figure 3 or 4."""
    (x, y), (privacy, loss), names = example.axes, example.front, example.space.names
    file, error = example.name.replace(" ", "-"), loss["label"]
    ends = np.floor(np.log10(found.truth[:, 0].min())), np.ceil(np.log10(found.truth[:, 0].max()))
    colours = [
        {"low": float(10.0 ** ends[0]), "high": float(10.0 ** ends[1]), "log": True, "unit": "epsilon"},
        {"low": loss["low"], "high": loss["high"], "log": False, "unit": error},
    ]

    def surface(title: str, values: Array, colour: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        shown = colour or {"low": 0.0, "high": float(values.max()), "log": False, "unit": "deviation"}
        return {"title": title, "x": x, "y": y, "z": example.table(values), **shown, **more}

    def at(points: list[Params]) -> list[list[float]]:
        return [[p[n] for n in names] for p in points]

    def worth(what: str, values: Array) -> dict[str, Any]:
        most, star = float(values.max()), example.mesh()[int(np.argmax(values))]
        colour = {"low": most / 1e4, "high": most, "log": True, "unit": "worth"}
        return surface(f"{what}; star: the next", values, colour, star=at([star])[0])

    fronts = {"x": privacy, "y": loss}
    exact = front(f"exact front, {len(example.fine):,} points", found.exact, privacy, 0)
    inputs = at([p for p, best in zip(example.fine, nondominated(found.exact), strict=True) if best])
    lies = {"name": "hyper-parameters of the front", "style": "dots", "points": inputs}
    oracles = [surface("epsilon", found.truth[:, 0], colours[0])]
    oracles += [surface(f"{error}, exact mean", found.truth[:, 1], colours[1])]
    oracles += [{"title": "the exact front", **fronts, "series": [exact]}]
    oracles += [{"title": "where the front lies", "x": x, "y": y, "series": [lies]}]
    save("pareto_surfaces", f"{file}-oracles", f"{example.name.capitalize()}: the oracles", oracles)

    points, values = at(example.drawn), example.observed
    before = cloud("the 250 points, as observed", values, example.front, 4)
    first = front("front of the 250, as observed", values, privacy, 1)
    searched = [
        front(f"front of {len(v)} points of DPareto, {where(r)}", v, privacy, k)
        for k, (r, v) in enumerate(found.ours.items(), 1)
    ]
    models = [surface("epsilon, the model's mean", found.means[0], colours[0], points=points)]
    models += [surface(f"{error}, the model's mean", found.means[1], colours[1], points=points)]
    models += [surface("deviation of log epsilon", found.deviations[0])]
    models += [surface(f"deviation of logit {error}", found.deviations[1])]
    models += [{"title": "fronts before the search", **fronts, "series": [before, exact, first]}]
    models += [{"title": "fronts of searches from the start, exact", **fronts, "series": [exact, *searched]}]
    models += [worth(what, values) for what, values in found.worths.items()]
    title = f"{example.name.capitalize()}: models of 250 random points, {where(example.reference)}"
    save("pareto_surfaces", file, title, models)


def run(repeats: int) -> list[Figure]:
    figures = []
    for example in (output_perturbation(), sparse_vector()):
        found = seen(example)
        draw(example, found)
        figures += told(example, found)
    return figures
