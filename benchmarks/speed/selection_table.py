"""What a search costs: the best of a secret number of runs, by every accountant, and what an attack reaches."""

from __future__ import annotations

import math

import numpy as np

from benchmarks import Figure, timed
from benchmarks.speed._search_budget import base_for, choose_law
from benchmarks.speed._selection_peers import adversarial_epsilon, koskela_selection
from tacit.accounting import noise_below
from tacit.privacy.guarantee import Budget
from tacit.privacy.profiles import GaussianProfile, epsilon_at, tabulate
from tacit.privacy.run_laws import NegativeBinomial, PoissonRuns, RunLaw, geometric
from tacit.privacy.selection import select

TITLE = "Epsilon of a whole search: the best of a secret number of runs"
LONG = False
DELTA = 1e-5
BASE = Budget.approximate(1.0, DELTA)
GOALS = {10: 1.56, 40: 1.88, 100: 2.08}
SETTINGS = 1000


def renyi_epsilon(law: NegativeBinomial) -> float:
    """dp-accounting's RepeatAndSelect, with its own orders."""
    from dp_accounting import GaussianDpEvent, dp_event, rdp

    accountant = rdp.RdpAccountant()
    accountant.compose(dp_event.RepeatAndSelectDpEvent(GaussianDpEvent(1 / BASE.mu()), law.mean, law.eta))
    return float(accountant.get_epsilon(DELTA))


def koskela_epsilon(law: NegativeBinomial) -> float:
    grid = np.linspace(0.0, 6.0, 6001)
    return float(grid[np.argmax(koskela_selection(GaussianProfile(BASE.mu()), law, grid) <= DELTA)])


def settings(seed: int = 0) -> dict[str, np.ndarray]:
    """Lots of 16 to 2,048 of 24,000 records, 1 to 40 epochs."""
    rng = np.random.default_rng(seed)
    lot = np.rint(2 ** rng.uniform(4, 11, SETTINGS))
    return {"lot": lot, "steps": np.rint(24_000 / lot * rng.uniform(1, 40, SETTINGS))}


def totals() -> list[Figure]:
    mu, figures = BASE.mu(), []
    for runs, goal in GOALS.items():
        law = geometric(float(runs))
        ours = epsilon_at(select(GaussianProfile(mu), law), DELTA)
        peer = renyi_epsilon(law)
        base = Budget.gdp(base_for(BASE, law)).epsilon(DELTA)
        about = f"{runs} expected runs"
        figures += [
            Figure(f"{about}: epsilon of the search", ours, "", against=f"dp-accounting {peer:.3g}, goal {goal}",
                   note="geometric number of runs, each (1, 1e-5), delta 1e-5", peer=peer, goal=goal, better="less"),
            Figure(f"{about}: by an adversarial score", adversarial_epsilon(mu, law, DELTA), "",
                   against=f"at most {ours:.4g}", note="a lower bound: what is really lost"),
            Figure(f"{about}: by dp-accounting's RepeatAndSelect", peer, ""),
            Figure(f"{about}: by Koskela, Redberg and Wang", koskela_epsilon(law), ""),
            Figure(f"{about}: by composition", Budget.gdp(mu * math.sqrt(runs)).epsilon(DELTA), "",
                   note="of exactly so many runs, all released"),
            Figure(f"{about}: base epsilon that a total of 1 leaves", base, "", note="at delta 1e-5"),
        ]  # fmt: skip
    return figures


def laws() -> list[Figure]:
    """The same chance of a top-5% model by different laws."""
    figures = []
    laws: dict[str, RunLaw] = {
        "geometric, mean 76": geometric(76.0),
        "eta = 2, mean 49": NegativeBinomial.with_mean(49.3, 2.0),
        "Poisson, mean 32": PoissonRuns(32.2),
    }
    for name, law in laws.items():
        ours = epsilon_at(select(GaussianProfile(BASE.mu()), law), DELTA)
        figures.append(Figure(f"chance 0.8 of the top 5%: {name}", ours, "", note="epsilon of the search"))
    best = choose_law(BASE, runs=40)
    note = f"mean {best.mean:.0f}, at most {best.largest} runs, mu of a run {best.keep:.2f} of a single one's"
    return [*figures, Figure("chance of the top 5% chosen for 40 runs, total (1, 1e-5)", best.chance, "", note=note)]


def run(repeats: int) -> list[Figure]:
    law, mu = geometric(40.0), BASE.mu()
    grid = np.linspace(0.0, 4.0, 100)
    profile = timed(lambda: select(GaussianProfile(mu), law).delta(grid), repeats)
    table = tabulate(GaussianProfile(base_for(BASE, law)), floor=0.01 * DELTA / law.mean)
    asked = settings()
    calibrated = timed(lambda: noise_below(table, records=24_000, **asked), repeats)
    return [
        *totals(),
        *laws(),
        Figure("a profile from nothing, at 100 epsilons", profile[0], "s", profile[1], profile[2], "goal 0.05 s",
               goal=0.05, better="less"),
        Figure(f"{SETTINGS:,} settings of DP-SGD calibrated to one base", calibrated[0], "s", calibrated[1],
               calibrated[2], "goal 2 s", "lots without replacement, by loss distributions", goal=2.0, better="less"),
    ]  # fmt: skip
