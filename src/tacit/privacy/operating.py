"""What an attacker can reach: how often one who accepts some false alarms is right.

The attacker knows every record but one, has two candidates for it, and decides between them by the release. A false
alarm names the candidate that is not there. Whatever the attacker does, the chance to name the one that is there is at
most ``power`` (Wasserman and Zhou 2010; Dong, Roth and Su 2022, Propositions 1 and 2): for mu-GDP Phi(Phi^-1(a) + mu),
which the best test of a Gaussian reaches, and for (epsilon, delta) the smaller of e^epsilon a + delta and
1 - e^-epsilon (1 - delta - a).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from tacit.errors import probability
from tacit.privacy.conversions import zcdp_epsilon

ALARMS = 0.05  # the share of false alarms at which a guarantee is quoted
DELTAS = np.geomspace(1e-12, 0.5, 80)  # at which a zCDP guarantee is read


def power(notion: str, amount: float, delta: float, alarms: float) -> float:
    """The largest chance to be right for a chance ``alarms`` of a false alarm.

    >>> round(power("gdp", 0.2367, 0.0, 0.05), 4)
    0.0795
    """
    accepted = probability("alarms", alarms, zero=True)
    if notion == "gdp":
        return float(ndtr(ndtri(accepted) + amount))
    if notion == "zcdp":
        return min(approximate_power(zcdp_epsilon(amount, float(d)), float(d), accepted) for d in DELTAS)
    return approximate_power(amount, delta, accepted)


def at_most(value: float, digits: int) -> str:
    """A number in print that is not smaller than the value.

    >>> at_most(2.71828, 4), at_most(5.0, 3), at_most(0.0, 3)
    ('2.719', '5', '0')
    """
    shown = float(f"{value:.{digits}g}")
    if shown < value:
        shown += 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return f"{shown:.{digits}g}"


def approximate_power(epsilon: float, delta: float, alarms: float) -> float:
    """Of (epsilon, delta)-DP: the smaller of its two statements, for the outcome and for its opposite."""
    grown = math.exp(min(epsilon, 700.0))
    return min(1.0, grown * alarms + delta, 1 - (1 - delta - alarms) / grown)
