"""Published bounds on private selection, as cross-checks of ours, and where they are less the bound itself.

Papernot2022  Papernot, Steinke: Hyperparameter tuning with Renyi differential privacy, arXiv:2110.03620
Koskela2024   Koskela, Redberg, Wang: Privacy profiles for private selection, arXiv:2402.06701
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import GuaranteeError
from tacit.privacy.profiles import Profile, RenyiProfile
from tacit.privacy.run_laws import NegativeBinomial, PoissonRuns, RunLaw

Floats = NDArray[np.float64]


def renyi_selection(profile: RenyiProfile, law: RunLaw) -> RenyiProfile:
    """Renyi divergences of the best of K runs from those of one: Papernot2022 Theorems 2 and 6, both directions.

    Edges: for negative binomial and Poisson laws without a cap; others raise GuaranteeError.

    >>> from tacit.privacy.run_laws import geometric
    >>> orders = (2.0, 8.0, 32.0)
    >>> [round(v, 3) for v in renyi_selection(RenyiProfile(orders, (0.1, 0.4, 1.6)), geometric(10.0)).values]
    [3.678, 2.005, 2.95]
    """
    orders = np.array(profile.orders)
    values = np.array(profile.values)
    both = values if profile.backward is None else np.maximum(values, profile.backward)
    match law:
        case NegativeBinomial(eta=eta, gamma=gamma):
            extra = (1 + eta) * np.min((1 - 1 / orders) * both - math.log(gamma) / orders)
        case PoissonRuns(mean=mean):
            # needs (epsilon, delta) of one run with e^epsilon <= 1 + 1/(order - 1), which the profile gives
            symmetric = RenyiProfile(profile.orders, tuple(both.tolist()))
            extra = mean * symmetric.delta(np.log1p(1 / (orders - 1)))
        case _:
            raise GuaranteeError(f"the Renyi bound is for negative binomial and Poisson laws, got {type(law).__name__}")
    total = both + extra + max(0.0, math.log(law.mean)) / (orders - 1)
    return RenyiProfile(profile.orders, tuple((total * (1 + 1e-12)).tolist()))


def koskela_selection(profile: Profile, law: NegativeBinomial, epsilon: ArrayLike) -> Floats:
    """Delta at epsilon of the best of K runs: Koskela2024's bound for negative binomial laws, least over its free e1.

    >>> from tacit.privacy.profiles import GaussianProfile
    >>> from tacit.privacy.run_laws import geometric
    >>> bool(koskela_selection(GaussianProfile(0.26805), geometric(40.0), [2.42])[0] < 1e-5)
    True
    """
    free = np.concatenate([[0.0], np.geomspace(1e-4, 30.0, 2000)])
    odds = (1 - law.gamma) / law.gamma
    worst = np.maximum(profile.delta(free), profile.reversed.delta(free))
    shift = np.min((1 + law.eta) * np.log(np.exp(free) + odds * worst))
    return np.minimum(law.mean * profile.delta(np.asarray(epsilon, dtype=np.float64) - shift), 1.0)
