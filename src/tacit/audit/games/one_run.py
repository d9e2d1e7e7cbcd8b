"""One run, many canaries: the membership-style audits of whole runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.canaries import best_one_run, codes
from tacit.audit.game import DELTA, EXACTLY, SIMULATED, Audit
from tacit.audit.games.others import train_once
from tacit.files import Json
from tacit.methods.observed import confirmations
from tacit.methods.tune import tune
from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import EXACT, Simulation, Source
from tacit.space import Float, Params

UNIT = {"x": Float(0.0, 1.0)}


@dataclass(frozen=True)
class OneRun:
    """A whole run with many canaries: ``play(noise, coins)`` gives the attacker's scores of the coins, (m,) each.

    ``share`` is the share of the claim that the draws of one run spend if one coin is turned, to three digits;
    ``apart`` says why draws one by one do not tell it.
    """

    name: str
    about: str
    claim: Budget
    canaries: int
    play: Callable[[Source, Any], Any]
    exact: bool = True
    share: float = 1.0
    apart: str = ""

    def audit(self, *, confidence: float = 0.99, exact: bool | None = None, seed: int = 0) -> Audit:
        real = self.exact if exact is None else exact
        start = time.perf_counter()
        coins = np.random.default_rng((seed, 1)).integers(0, 2, self.canaries)
        scores = self.play(EXACT if real else Simulation(seed), coins)
        delta = self.claim.delta or DELTA
        bound = best_one_run(scores, coins, delta=delta, confidence=confidence)
        seconds, noise = time.perf_counter() - start, EXACTLY if real else SIMULATED
        head = (self.name, self.about, self.claim.epsilon(delta), bound["epsilon"], delta, confidence, 1)
        return Audit(*head, seconds, noise, str(self.claim), event=bound)


def observed_canaries(canaries: int = 128, mu: float = 4.0) -> OneRun:
    """One grid search whose records are all canaries, each writing its coin over the grid in a code of its own."""
    signs, trials = codes(canaries), canaries + canaries // 9
    assert trials - confirmations(trials) == canaries
    budget = Budget.gdp(mu)

    def play(noise: Source, coins: Any) -> Any:
        written = 0.5 + 0.5 * signs * (2 * coins - 1)[:, None]  # (records, places)

        def losses(params: Params) -> Any:
            return written[:, round(params["x"] * (canaries - 1))]

        about: Json = {"records": canaries, "bounds": (0.0, 1.0), "budget": budget, "trials": trials}
        release = tune(losses, UNIT, **about, method="grid", noise=noise, accept_noise=True, progress=False)
        seen = np.zeros(canaries)
        for trial in release.value.trials[:canaries]:
            seen[round(trial["params"]["x"] * (canaries - 1))] = trial["value"]
        return signs @ (seen - 0.5)

    about = f"one grid search over {canaries} records, each a canary whose losses spell its coin in an orthogonal code"
    return OneRun("observed-one-run", about, budget, canaries, play)


def dp_sgd_canaries(canaries: int = 256) -> OneRun:
    """One model whose training records are all canaries, each with a feature of its own and a label by its coin."""
    from tacit.training.dp_sgd import LogisticSGD

    params, delta = {"epochs": 8, "lot": canaries // 4, "rate": 1e-3, "variance": 0.5, "clip": 1.0}, DELTA
    X = 100.0 * np.eye(canaries)

    half = LogisticSGD(X, np.arange(canaries) % 2, X[:2], np.array([0, 1]), classes=(0, 1))
    budget = Budget.approximate(float(half.epsilons([params], delta)[0]), delta)

    def play(noise: Source, coins: Any) -> Any:
        return train_once(params, X, coins, noise)[:-1]

    about = f"one training run over {canaries} records, each a canary with its own feature and a label by its coin"
    return OneRun("dp-sgd-one-run", about, budget, canaries, play, exact=False, share=0.796)
