"""What is promised, measured: lower bounds on epsilon from outputs alone, attacks, and a recorder of sensitivities.

    tacit.audit.lower_bound(outputs, outputs_of_neighbour, delta=1e-5)      a bound from outputs that you drew
    tacit.audit.run_game("observed", 1000, executor=pool, out="audit")      a whole method on its worst neighbours
    tacit.audit.compared(run, data, neighbour)                              two runs, seen from within
    tacit.audit.check_objective(objective, records, space)                  whether each loss has a record of its own
    tacit.audit.known_rows(published, rows, 3)                              what a published table gives back

The bounds see nothing of how an output was made. Games, in ``tacit.audit.games``, run whole methods; ``run_game`` is
what `tacit audit` calls: in parts, in workers if an executor is given, and on from where an earlier call stopped.
"""

from typing import TYPE_CHECKING, Any

from tacit.audit.attacks import known_rows
from tacit.audit.bounds import counted, lower_bound, mu_bound
from tacit.audit.canaries import one_run_bound
from tacit.audit.game import Audit, Game
from tacit.audit.premises import check_objective
from tacit.audit.recorder import Recorder, compared

if TYPE_CHECKING:
    from tacit.audit.play import run_game

__all__ = [
    "Audit",
    "Game",
    "Recorder",
    "check_objective",
    "compared",
    "counted",
    "known_rows",
    "lower_bound",
    "mu_bound",
    "one_run_bound",
    "run_game",
]


def __getattr__(name: str) -> Any:
    if name == "run_game":  # loads every method
        from tacit.audit.play import run_game

        return run_game
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
