"""Kusner et al.'s algorithms: optimise on private scores, then release one choice and one score.

Algorithm 1: GP-UCB on noisy scores. Algorithm 2: branch and bound on exact scores. Both release parameters by the
exponential mechanism on the posterior mean and a score by Laplace noise, and hold only under a Gaussian-process model.
Algorithm 3: any search over a regularisation strength; Laplace noise on the best score; pure epsilon. What is seen on
the way (scores, posterior, which candidates were tried) is private and never leaves. Formulas: constants.py. What is
proved and what is not: docs/proofs/kusner.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from tacit.errors import BadInput, choice, positive
from tacit.gp.exact import GaussianProcess
from tacit.methods.kusner import constants as k
from tacit.methods.kusner.branch import branch_and_bound
from tacit.methods.kusner.problem import (
    LOUD,
    FiniteSearch,
    FunctionPrior,
    NearlyUniform,
    Scores,
    assess,
    correlation,
    halve_budget,
    pay_if_refused,
    refuse_or_warn,
    release,
    state_conditional,
    state_guarantee,
)
from tacit.methods.kusner.regularised import RegularisedClassifier
from tacit.methods.optimiser import expected_improvement
from tacit.methods.task import Task
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget
from tacit.privacy.mechanisms import Exponential, Laplace
from tacit.privacy.noise import Source
from tacit.privacy.release import Release
from tacit.space import Array

__all__ = ["FiniteSearch", "NearlyUniform", "algorithm_1", "algorithm_2", "algorithm_3"]


def search_noisy(scores: Scores, gp: GaussianProcess, c: k.Constants, noise: Source) -> tuple[Array, float]:
    """Algorithm 1, lines 2 to 8 and 13: the posterior mean (n,) and the best noisy score. Private."""
    best = -math.inf  # line 2: the posterior is the prior
    for t in range(1, c.trials + 1):  # line 3
        beta = c.beta(t)  # line 4
        i = int(np.argmax(gp.mean + np.sqrt(beta * gp.variance)))  # line 5
        v = float(noise.gaussian(np.array([scores(i)]), c.sigma)[0])  # line 6
        gp.append_candidate(i, v)  # line 7
        best = max(best, v)  # line 13
    return gp.mean.copy(), best


def search_exact(scores: Scores, gp: GaussianProcess, c: k.Constants, points: Array) -> tuple[Array, float]:
    """Algorithm 2, line 2: the posterior mean (n,) and the score to release. Private.

    Differs. The published score is that of the last sample (icml) or the best after the first (workshop); "safe" takes
    the best of all, whose regret is no larger than the last one's, so the same sensitivity bound needs less.
    """
    samples = branch_and_bound(gp, points, scores, trials=c.trials, alpha=c.delta / 4)
    values = {"icml": samples.values[-1:], "workshop": samples.values[1:], "safe": samples.values}[c.version]
    return gp.mean.copy(), max(values)


def search_strengths(scores: Scores, gp: GaussianProcess, trials: int, acquisition: str) -> list[int]:
    """Algorithm 3, line 2: the candidates tried, by expected improvement or upper confidence bound. Private."""
    tried: list[int] = []
    for t in range(1, trials + 1):
        if acquisition == "ei":
            wanted = expected_improvement(gp.mean, gp.variance, max(map(scores, tried), default=0.0))
        else:
            wanted = gp.mean + np.sqrt(2 * math.log(len(gp.mean) * t * t * math.pi**2 / 0.6) * gp.variance)
        tried.append(int(np.argmax(wanted)))
        gp.append_candidate(tried[-1], scores(tried[-1]))
    return tried


def _run(method: str, algorithm: Callable[..., Release[Tuned]], task: Task) -> Release[Tuned]:
    """Everything seen on the way is private here, so the certificate is all that is ever written."""
    from tacit.run.folder import lock_folder

    with ExitStack() as stack:
        folder = stack.enter_context(lock_folder(task.out)) if task.out is not None else None
        tuned = algorithm(FiniteSearch(method, task, task.list_candidates(default=256) or []), **task.options)
        if folder is not None:
            folder.write_certificate(tuned)
    return tuned


def run_1(task: Task) -> Release[Tuned]:
    return _run("kusner1", algorithm_1, task)


def run_2(task: Task) -> Release[Tuned]:
    return _run("kusner2", algorithm_2, task)


def run_3(task: Task) -> Release[Tuned]:
    return _run("kusner3", algorithm_3, task)


def algorithm_1(
    p: FiniteSearch,
    *,
    constants: str = "safe",
    kernel: str = "matern52",
    lengthscale: Any = None,
    prior_mean: float | None = None,
    prior_scale: float | None = None,
    k1: float | None = None,
    observation_noise: float = 0.01,
) -> Release[Tuned]:
    """Algorithm 1: noisy observations. ``observation_noise`` is a variance in units of the prior's; it is added here.

    Guarantee. (epsilon, delta) for parameters and score together, conditional: only if the validation function is a
    draw from the Gaussian process that the options describe. Half the budget goes to each.
    Follows. Kusner et al. (2015), Algorithm 1, Corollaries 1 and 2.
    """
    epsilon, delta = halve_budget(p)
    prior = FunctionPrior.of(p, kernel, lengthscale, prior_mean, prior_scale)
    sigma = math.sqrt(positive("observation_noise", observation_noise))
    c = k.Constants(constants, len(p.candidates), p.task.trials, delta, correlation(p, prior, k1), sigma)
    gamma = k.information_gain(prior.kernel, p.points, p.task.trials, observation_noise)
    regret = c.regret(gamma)
    pick = Exponential(c.choice_sensitivity, budget=Budget.pure(epsilon), noise=p.task.noise)  # line 12
    blur = Laplace(regret + c.c + c.q, budget=Budget.pure(epsilon), noise=p.task.noise)  # lines 9 to 11 and 14
    details = assess(p, c, prior, pick, blur, 1) | {"gamma": gamma, "C1": c.c1}
    a, s = math.log(1 / k.MISS), prior.scale
    if constants == "workshop":
        missed, off = 2 * math.sqrt(c.beta(p.task.trials)) + c.q, math.sqrt(2 * math.log(2 * p.task.trials / delta))
        key, about = "Kusner2015w", "the posterior mean at the parameters is below the best score"
    else:
        missed, off = 0.0, c.q if constants == "safe" else sigma * math.sqrt(8 * math.log(1 / delta))
        key, about = "Kusner2015", "the posterior mean at the parameters is below its own maximum"
    missed, off = missed + pick.scale * (math.log(len(p.candidates)) + a), off + regret + a * blur.scale
    details["utility"] = [
        k.utility(f"{key} Theorem 2", about, s * missed, delta),
        k.utility(f"{key} Theorem 4", "the released score is off the best score", s * off, delta),
    ]
    added = f"Corollaries 1 and 2, with noise of variance {observation_noise:g} prior variances added to each score"
    guarantee = state_conditional(p, c, prior, added, 1)
    payment = pay_if_refused(p, guarantee)
    mean, best = search_noisy(Scores(p, prior), prior.process(p, observation_noise), c, p.task.noise)
    return release(p, guarantee, payment, prior, details, (blur, best), (pick, mean))


def algorithm_2(
    p: FiniteSearch,
    *,
    A: float | None = None,
    tau: float | None = None,
    constants: str = "safe",
    kernel: str = "matern52",
    lengthscale: Any = None,
    prior_mean: float | None = None,
    prior_scale: float | None = None,
    k1: float | None = None,
) -> Release[Tuned]:
    """Algorithm 2: exact observations. ``A`` (in prior sd) and ``tau`` bound the sampler's regret; see below.

    Guarantee. As Algorithm 1, and only if the regret of the sampler after t trials is at most
    A exp(-t tau / (log t)^(d/4)), for the functions of both neighbours, but for a chance of delta/4 in all.
    Follows. Kusner et al. (2015), Algorithm 2, Corollaries 1 and 3; de Freitas et al. (2012), Theorem 2.
    """
    if A is None or tau is None:
        raise BadInput(
            "Algorithm 2 needs A and tau, the constants of the function class in A exp(-T tau/(log T)^(d/4)): they "
            "bound the regret of the sampler, the noise rests on them, and no data may be asked for them. Nothing was "
            "spent. Without them use method 'kusner1' or 'observed'"
        )
    epsilon, delta = halve_budget(p)
    prior = FunctionPrior.of(p, kernel, lengthscale, prior_mean, prior_scale)
    c = k.Constants(constants, len(p.candidates), p.task.trials, delta, correlation(p, prior, k1))
    regret = k.vanishing_regret(
        constants, p.task.trials, p.task.space.dimensions, positive("A", A), positive("tau", tau)
    )
    change = c.change(2)  # line 3
    if not regret + change > 0:
        raise BadInput("A, tau and k1 leave no sensitivity at all, which no function class has; give k1 < 1")
    pick = Exponential(c.choice_sensitivity, budget=Budget.pure(epsilon), noise=p.task.noise)
    blur = Laplace(regret + change, budget=Budget.pure(epsilon), noise=p.task.noise)  # line 4
    details, a, s = assess(p, c, prior, pick, blur, 2), math.log(1 / k.MISS), prior.scale
    about, missed = "the posterior mean at the parameters is below its own maximum", math.log(len(p.candidates)) + a
    off = "the released score is off the best score"
    details["utility"] = [
        k.utility("Kusner2015 Theorem 2", about, s * pick.scale * missed, delta),
        k.utility("Kusner2015 Theorem 6", off, s * (regret + a * blur.scale), delta),
    ]
    rate = (
        f"the sampler's regret after t trials is at most A exp(-t tau/(log t)^(d/4)) with A = {A:g} prior sd and "
        f"tau = {tau:g}, for both neighbours, but for a chance of {delta / 2:.3g} in all"
    )
    guarantee = state_conditional(p, c, prior, "Corollaries 1 and 3", 2, rate)
    payment = pay_if_refused(p, guarantee)
    mean, value = search_exact(Scores(p, prior), prior.process(p), c, p.points)
    return release(p, guarantee, payment, prior, details, (blur, value), (pick, mean))


def algorithm_3(
    p: FiniteSearch,
    *,
    constants: str = "safe",
    lipschitz: float | None = None,
    tolerance: float = 0.0,
    parameters: bool = False,
    acquisition: str = "ei",
    kernel: str = "matern52",
    lengthscale: Any = None,
    prior_mean: float | None = None,
    prior_scale: float | None = None,
) -> Release[Tuned]:
    """Algorithm 3: the best score over a regularisation strength, the only parameter of the space.

    The published algorithm releases the score alone, and so does this by default. With ``parameters=True`` the
    strength is released as well, by the exponential mechanism, and each gets half the budget. The kernel and the prior
    steer the search only. ``lipschitz`` and ``tolerance`` describe an objective that is no RegularisedClassifier:
    the Lipschitz constant of a validation loss in the model, and how far a trained model may be from its minimiser.

    Guarantee. Pure epsilon for one validation record replaced: unconditional for a RegularisedClassifier, otherwise
    if the training loss is convex and 1-Lipschitz and the constants given are true.
    Follows. Kusner et al. (2015), Algorithm 3, Corollary 4.
    Differs. A larger record term than published (see LipschitzTerms). For the strength a candidate scores what the
    nearest one that was tried scored; any two such scores differ by at most the total global sensitivity.
    """
    choice("acquisition", acquisition, ("ei", "ucb"))
    prior = FunctionPrior.of(p, kernel, lengthscale, prior_mean, prior_scale)
    terms, assumptions = _sensitivity(p, constants, lipschitz, tolerance)
    share, width = Budget.pure(p.task.price.amount / (1 + parameters)), terms.largest
    blur = Laplace(terms.total / prior.scale, budget=share, noise=p.task.noise)  # lines 4 and 5
    pick = Exponential(terms.total / prior.scale, budget=share, noise=p.task.noise) if parameters else None
    scale = blur.scale * prior.scale
    sentence = (
        f"the score carries Laplace noise of sd {math.sqrt(2) * scale:.3g} on losses {width:g} wide, since strengths "
        f"between {terms.least:g} and {terms.most:g} can move it by {terms.total:.3g}; a narrower range helps"
    )
    refuse_or_warn(p, math.sqrt(2) * scale > LOUD * width, sentence)
    a, off = math.log(1 / k.MISS), "the released score is off the best score that was tried"
    details = {
        "constants": constants,
        "sensitivity": {"record": terms.record, "path": terms.path, "tolerance": terms.tolerance, "total": terms.total},
        "outlook": {"score_noise": math.sqrt(2) * scale, "sentence": sentence},
        "utility": [k.utility("Kusner2015 Theorem 8", off, a * scale, 0.0)],
        "released": ["params", "score"] if parameters else ["score"],
    }
    source = f"Kusner et al. 2015, Corollary 4; constants: {constants}"
    guarantee = state_guarantee(p, assumptions, source + "; composed with an exponential mechanism" * parameters)
    payment = pay_if_refused(p, guarantee)
    scores = Scores(p, prior)
    tried = search_strengths(scores, prior.process(p), p.task.trials, acquisition)  # line 2
    best = max(map(scores, tried))  # line 3
    chosen = (pick, _nearest_scores(p, scores, tried)) if pick else None
    return release(p, guarantee, payment, prior, details, (blur, best), chosen)


def _sensitivity(
    p: FiniteSearch, constants: str, lipschitz: float | None, tolerance: float
) -> tuple[k.LipschitzTerms, tuple[str, ...]]:
    """The sensitivity of Algorithm 3, and what it takes on trust: nothing if the library trains the model."""
    if p.task.space.dimensions != 1 or p.points.shape[1] != 1:
        raise BadInput(f"Algorithm 3 tunes one number, a regularisation strength; this space has {p.task.space.names}")
    strengths = [positive("a strength", float(next(iter(params.values())))) for params in p.candidates]
    ends, (low, high), known = (min(strengths), max(strengths)), p.task.objective.bounds, p.task.objective.function
    if isinstance(known, RegularisedClassifier):
        if lipschitz is not None or tolerance:
            raise BadInput("a RegularisedClassifier knows its own lipschitz and tolerance; leave them out")
        if (known.records, known.bounds, "minimize") != (
            p.task.objective.records,
            (low, high),
            p.task.objective.direction,
        ):
            raise BadInput(f"this classifier is tuned with records={known.records}, bounds={known.bounds}, minimize")
        known.weights(ends[0])  # the hardest to train: it fails here, if at all, where no private score has a say
        facts = (known.lipschitz, high - low, *ends, known.tolerance, known.sides)
        terms, trust = k.LipschitzTerms(constants, known.records, *facts), tuple[str, ...]()
    elif lipschitz is None:
        raise BadInput(
            "Algorithm 3 needs lipschitz, the Lipschitz constant of a validation loss in the model: the noise rests on "
            "it. A tacit.methods.kusner.regularised.RegularisedClassifier knows its own. Nothing was spent"
        )
    else:
        facts = (lipschitz, high - low, *ends, tolerance, math.inf)
        terms = k.LipschitzTerms(constants, p.task.objective.records, *facts)
        trust = (
            "at each strength s the objective scores the minimiser of s/2 |w|^2 plus the mean of a convex training "
            f"loss that is 1-Lipschitz in w, to within {tolerance:g} of it",
            f"each validation loss is {lipschitz:g}-Lipschitz in w",
        )
    if not terms.proven:
        trust += (
            "the record term as published, L/(m lambda_min), is large enough; it is not for every loss: replacing one "
            "record can move a mean by twice as much",
        )
    return terms, trust


def _nearest_scores(p: FiniteSearch, scores: Scores, tried: list[int]) -> Array:
    """What the nearest tried candidate scored, for each candidate (n,). Private."""
    spread = np.abs(p.points - p.points[tried].T)  # (n, tried)
    return np.array([scores(tried[j]) for j in spread.argmin(axis=1)])
