"""One run of a method of ours, or of a rival, on a BBOB surface at a level of noise: its regret.

    noise    of one look with the whole budget, w / (n mu), as a share of the spread of the surface: what a random point
             loses against the optimum. T observations have the root of T times as much each: the budget is the same.

Runs of ours are runs of ``tacit.tune`` with simulated noise on 200 records that differ, at the budget that gives this
noise. A pool is not run: the expectation over the coins of its choice is exact, at Gumbel noise of 0.55 times the same,
which is what epsilon 0.5 to 3 at delta 1e-6 give. Rivals see values with Gaussian noise of the same size; each answers
by its best noisy value, and by our model of all its observations.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import optuna

import tacit
from benchmarks import Missing
from benchmarks.harness.parts import keep_piece
from benchmarks.papers._bbob import CHOOSING, CONFIRMING, FLOOR, SCALES, Surface
from tacit.methods.auto import STARTING, STEPS
from tacit.methods.optimiser import Optimiser
from tacit.privacy.noise import Simulation

RECORDS, DIMENSIONS, NOISE, GUMBEL = 200, (2, 5, 10, 20), (0.0005, 0.008, 0.08), 0.55
OURS = (("observed", 50), ("observed", 200), ("pool", 50), ("pool", 200), ("pool", 1000))
OURS += (("staged", 50), ("staged", 250), ("gibo", 500), ("gibo", 2000), ("middle", 0))
RIVALS = ("random", "TPE", "TPE, one by one", "CMA-ES")  # TPE is multivariate by default, from Optuna 5 on
SLOW = ("GPSampler", "qLogNEI")


def surface(kind: str, d: int, seed: int) -> Surface:
    """Functions in turn, each raw and log-scaled in turn, each seed with another instance."""
    functions = CHOOSING if kind == "choosing" else CONFIRMING
    rounds, place = divmod(seed, len(functions))
    return Surface(functions[place], d, SCALES[(place + rounds + DIMENSIONS.index(d)) % 2], seed + 1)


def measure(kind: str, d: int, seed: int, name: str, evaluations: int, noise: float) -> dict[str, float]:
    """Regret, of a rival also that of our model's answer, and seconds of processor time for each trial; kept."""
    key = {"kind": kind, "d": d, "seed": seed, "name": name, "evaluations": evaluations, "noise": noise}

    def work() -> dict[str, float]:
        s, start = surface(kind, d, seed), time.process_time()
        run = _search if name in dict(OURS) else _rival
        regrets = run(s, name, evaluations, noise, seed)
        return {**regrets, "seconds": (time.process_time() - start) / max(1, evaluations)}

    measured: dict[str, float] = keep_piece("plan_choice", key, work)
    return measured


def _spread(s: Surface) -> float:
    return (1 - 2 * FLOOR) * s.typical


def _search(s: Surface, method: str, evaluations: int, noise: float, seed: int) -> dict[str, float]:
    if method == "middle":
        return {"regret": s.regret(np.full(s.d, 0.5))}
    if method == "pool":
        lost = np.array([s.regret(s.point(p)) for p in s.space.sobol(evaluations, seed)])
        weights = np.exp(-(lost - lost.min()) / (GUMBEL * noise))
        return {"regret": float(weights @ lost / weights.sum())}
    trials, options = evaluations, dict[str, Any]()
    if method == "gibo":
        trials = max(1, min(STEPS, (evaluations - STARTING) // (2 * s.d)))
    if method == "staged":
        trials = max(evaluations // 5, min(50, evaluations // 2))
        options = {"pool": evaluations - trials}
    asked: dict[str, Any] = {"records": RECORDS, "bounds": (0.0, 1.0), "trials": trials, "method": method, **options}
    asked |= {"budget": tacit.Budget.gdp(1 / (RECORDS * noise * _spread(s))), "noise": Simulation(seed), "seed": seed}
    release = tacit.tune(s.losses(RECORDS), s.space, **asked, progress=False, accept_noise=True)
    return {"regret": s.regret(s.point(release.value.params))}


def _rival(s: Surface, name: str, trials: int, noise: float, seed: int) -> dict[str, float]:
    rng, scale = np.random.default_rng((seed, 5)), noise * math.sqrt(trials) * _spread(s)

    def observe(u: np.ndarray) -> float:
        return FLOOR + (1 - 2 * FLOOR) * s.loss(u) + scale * float(rng.normal())

    if name == "qLogNEI":
        X, y = _botorch(s, observe, trials, scale, seed)
    else:
        study = optuna.create_study(sampler=make_sampler(name, seed))
        for _ in range(trials):
            trial = study.ask(fixed_distributions=s.space.distributions)
            study.tell(trial, observe(s.point(trial.params)))
        X, y = np.array([s.point(t.params) for t in study.trials]), np.array([t.value for t in study.trials], float)
    model = Optimiser(s.space, scale**2).answer(X, -y).index
    return {"regret": s.regret(X[int(y.argmin())]), "model": s.regret(X[model])}


def make_sampler(name: str, seed: int) -> optuna.samplers.BaseSampler:
    samplers = optuna.samplers
    makers: dict[str, Any] = {
        "random": lambda: samplers.RandomSampler(seed),
        "TPE": lambda: samplers.TPESampler(seed=seed, multivariate=True),
        "TPE, one by one": lambda: samplers.TPESampler(seed=seed, multivariate=False),
        "CMA-ES": lambda: samplers.CmaEsSampler(seed=seed),
        "GPSampler": lambda: samplers.GPSampler(seed=seed, deterministic_objective=False),
    }
    return makers[name]()


def _botorch(s: Surface, observe: Any, trials: int, scale: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """BoTorch's noisy log expected improvement with its own defaults, told the noise."""
    try:
        import torch
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood
    except ImportError:
        raise Missing("qLogNEI needs BoTorch: pip install 'tacit[botorch]'") from None
    from scipy.stats import qmc

    torch.manual_seed(seed)
    X = torch.tensor(qmc.Sobol(s.d, seed=seed).random_base2(4)[:10], dtype=torch.double)
    y = torch.tensor([[-observe(u)] for u in X.numpy()], dtype=torch.double)
    box = torch.tensor([[0.0] * s.d, [1.0] * s.d], dtype=torch.double)
    for _ in range(trials - len(X)):
        model = SingleTaskGP(X, y, torch.full_like(y, scale**2), outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = qLogNoisyExpectedImprovement(model, X, prune_baseline=True)
        x, _ = optimize_acqf(acquisition, box, q=1, num_restarts=4, raw_samples=128)
        X, y = torch.cat([X, x]), torch.cat([y, torch.tensor([[-observe(x[0].numpy())]], dtype=torch.double)])
    return X.numpy(), -y.numpy()[:, 0]
