"""What is promised, measured: lower bounds on epsilon from outputs alone, attacks, and a recorder of sensitivities.

Nothing here sees how an output was made. Games that run whole methods are in ``tacit.audit.games``.
"""

from tacit.audit.attacks import known_rows
from tacit.audit.bounds import counted, lower_bound, mu_bound
from tacit.audit.canaries import one_run_bound
from tacit.audit.gaussian_pairs import gaussian_delta, gaussian_epsilon
from tacit.audit.recorder import Recorder, compared

__all__ = [
    "Recorder",
    "compared",
    "counted",
    "gaussian_delta",
    "gaussian_epsilon",
    "known_rows",
    "lower_bound",
    "mu_bound",
    "one_run_bound",
]
