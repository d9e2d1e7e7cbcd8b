"""Published bounds on private selection, as cross-checks of ours, and where they are less the bound itself.

Papernot2022  Papernot, Steinke: Hyperparameter tuning with Rényi differential privacy, arXiv:2110.03620
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.errors import GuaranteeError
from tacit.privacy.profiles import RenyiProfile
from tacit.privacy.run_laws import NegativeBinomial, PoissonRuns, RunLaw

Floats = NDArray[np.float64]


def renyi_selection(profile: RenyiProfile, law: RunLaw) -> RenyiProfile:
    """Rényi divergences of the best of K runs from those of one: Papernot2022 Theorems 2 and 6, both directions.

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
            raise GuaranteeError(f"the Rényi bound is for negative binomial and Poisson laws, got {type(law).__name__}")
    total = both + extra + max(0.0, math.log(law.mean)) / (orders - 1)
    return RenyiProfile(profile.orders, tuple((total * (1 + 1e-12)).tolist()))
