"""Games of what fronts are drawn for (sparse vector, output perturbation, perceptrons), and of a private front."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from tacit.audit.game import Game, Outputs
from tacit.errors import BadInput
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Simulation, Source
from tacit.space import Array, Float, Params


def sparse_vector(queries: int = 9) -> Game:
    """The sparse vector technique that stops at its first "yes": where it stopped, which is all that it tells."""
    from tacit.training.sparse_vector import SparseVector

    svt = SparseVector(queries, yes=1)
    params = {"b": float(svt.epsilons([{"b": 1.0, "C": 1}], 0.0)[0]) / 2.0, "C": 1}
    last = np.arange(queries) == queries - 1

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        answers = sparse_vector_answers(np.tile(last == (side == 0), (runs, 1)), params, noise)
        return np.where(answers.any(axis=1), answers.argmax(axis=1), queries)

    about = (
        f"sparse vector over {queries} queries until the first yes; on the data set the last query is true, on its "
        "neighbour all others are; where it stopped"
    )
    claim, apart = Budget.pure(float(svt.epsilons([params], 0.0)[0])), "all that it tells is where it stopped"
    return Game("sparse-vector", about, claim, draw, runs=400_000, apart=apart)


def sparse_vector_answers(truth: Any, params: Params, noise: Source) -> Any:
    """The answers (runs, queries) as ``SparseVector.utility`` draws them, in the same order; a test compares them."""
    from tacit.training import sparse_vector as shipped

    b1, b2 = shipped._split(params)
    rho = noise.laplace(np.zeros((len(truth), 1)), b1)
    answers = noise.laplace(truth.astype(float), b2) >= 0.5 + rho
    return answers & (np.cumsum(answers, axis=1) <= params["C"])


def output_perturbation(records: int = 200) -> Game:
    """Weights published with noise: one record pulls them to the one side, then to the other.

    The others make the weights long in the first direction. Ours lies against it, so its residual is near 1 whatever
    its second coordinate; that one turns, and its whole pull with it.
    """
    from tacit.training.output_perturbation import OutputPerturbation
    from tacit.training.perturbed_output import OUTPUT_SGD, PlainDescent
    from tacit.training.trainer import CLASSES, EncodedRows, Facts
    from tacit.training.worst_pairs import FAR

    params = {"gamma": 0.02, "sigma": 0.5}
    y = np.r_[np.ones(records - 1), 0]  # a second class must occur; it says the same as the others
    X = np.tile([[1.0, 0.0]], (2, records, 1))
    X[:, -1], X[0, 0], X[1, 0] = (-1.0, 0.0), (-0.5, 0.75**0.5), (-0.5, -(0.75**0.5))
    sides = [OutputPerturbation(x, y, x, y, classes=(0, 1)) for x in X]
    claim = Budget.gdp(sides[0].sensitivity(params["gamma"]) / params["sigma"])
    settings = PlainDescent(records, 3, 1, params["gamma"], sides[0].epochs, claim.amount, passes=True)

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        if isinstance(noise, Simulation):  # many models in one pass, with fast noise
            seeds = noise.generator.integers(2**31, size=runs).tolist()
            return np.asarray(sides[side].train(params, seeds).reveal(), float)
        rows, facts = EncodedRows(FAR * X[side], y), Facts(records, 2, CLASSES, 2)
        return np.array([OUTPUT_SGD.train(rows, settings, facts, noise).weights[0] for _ in range(runs)])

    about = (
        f"noisy weights of a logistic regression over {records} records; one record that the others class wrong turns "
        "its second coordinate"
    )
    more: dict[str, Any] = {"runs": 20_000, "chunk": 4000, "share": 0.339}
    return Game("output-perturbation", about, claim, draw, **more)


def dp_mlp() -> Game:
    """A perceptron by DP-SGD with all records in every lot: the label of one record with a long gradient is turned."""
    from tacit.training.dp_mlp import Network
    from tacit.training.linear_losses import LOSSES
    from tacit.training.perceptron import PerceptronTrainer, first_weights, put_out, whole_inputs, whole_sums

    # With two classes, turning the label turns the gradient of the record round. It is clipped from both sides. The
    # others cancel out, in pairs. The start is public, so the attacker knows which way the record pulls.
    params = {"epochs": 2, "lot": 9, "rate": 1.0, "variance": 2.0, "clip": 1e-3}
    X = np.r_[1.0, np.zeros(8)][:, None]
    labels = [np.r_[side, np.arange(8) % 2].astype(int) for side in (0, 1)]
    networks = [Network(X, y, X, y, hidden=(3,), classes=(0, 1)) for y in labels]
    budget = Budget.approximate(float(networks[0].epsilons([params], 0.1)[0]), 0.1)  # a large delta needs few runs
    settings, single = PerceptronTrainer(hidden=(3,), published=True).settle(params, 9), np.dtype(np.float32)

    def once(side: int, seed: int) -> float:
        theta, layers = first_weights(networks[side].sizes, Simulation(seed), single, top=True)
        outputs = put_out(whole_inputs(X[:1], single), layers)
        residual = LOSSES["logistic"](outputs[-1] @ layers[-1] / 256, np.zeros(1))
        pull = whole_sums(outputs, layers, residual, settings) * settings.unit
        (model,) = networks[side].train(params, [seed]).reveal()
        moved = np.concatenate([weights.ravel() for weights in model.layers]) - theta
        return float(moved @ pull) / params["clip"]

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        if not isinstance(noise, Simulation):
            raise BadInput("this game knows the first weights, which are secret where noise is exact")
        return np.array([once(side, int(seed)) for seed in noise.generator.integers(2**31, size=runs)])

    about = (
        "2 steps of DP-SGD on a perceptron with all 9 records in every lot; the label of one record with a clipped "
        "gradient is turned; how far the weights went its way"
    )
    apart = "its trainer is played by itself, with exact noise"
    return Game("dp-mlp", about, budget, draw, runs=10_000, chunk=1000, apart=apart)


def private_front(trials: int = 3, repeats: int = 2, records: int = 10) -> Game:
    """A front over a private test set: every noisy utility of every trial, without the search around them."""
    import optuna

    from tacit.pareto.algorithm import Oracles
    from tacit.pareto.private_front import ObservedTest, PrivateTest, totals_of

    budget = Budget.gdp(2.0)

    def oracles(side: int) -> Oracles:
        def each(params: Params, seed: int) -> Array:
            return np.array([(np.nan, 7.0)[side], *[0.5] * (records - 1)])  # NaN counts as 0, 7 is clipped to 1

        about = {"label": "one record replaced", "space": {"x": Float(0.0, 1.0)}, "records": records}
        return Oracles(SimpleNamespace(**about, epsilon=lambda params, delta: 1.0, each_utility=each), 1e-5)

    def once(asked: Oracles, noise: Source) -> list[float]:
        study = optuna.create_study(directions=["minimize", "maximize"])
        observed = ObservedTest(study, asked, PrivateTest(budget, noise=noise), trials, repeats)
        seen: list[float] = []
        for _ in range(trials):
            trial = study.ask()
            seen += observed.observe(trial, totals_of(asked, observed.mechanism, {"x": 0.5}, range(repeats)))
        return seen

    def draw(side: int, runs: int, noise: Source) -> Outputs:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        asked = oracles(side)
        return np.array([once(asked, noise) for _ in range(runs)])

    about = (
        f"{trials} trials of {repeats} runs over {records} private test records, every noisy utility; one record's "
        "goes from NaN, which counts as 0, to above 1"
    )
    return Game("private-front", about, budget, draw, runs=2000)
