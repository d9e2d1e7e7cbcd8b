"""What the shell may complete: words of an option, names of ledgers. Asked for by Tab alone, so it may import.

And the options that several verbs share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

METHODS = ("observed", "random", "grid", "nonprivate", "gibo", "kusner1", "kusner2", "kusner3")
ALGORITHMS = (  # those that need no more than a table
    "logistic_sgd",
    "logistic_adam",
    "svm_sgd",
    "output_perturbation",
    "mlp_1000",
    "mlp_128_64",
    "sparse_vector",
)
SEARCHES = ("dpareto", "random", "grid", "sweep", "nsga2", "tpe", "botorch")  # tacit.pareto.baselines
MODELS = ("linear", "boosting", "forest", "svm", "neighbours")


def words(*known: str) -> Callable[[str], list[str]]:
    """Those of the words that begin as what was typed."""

    def completed(incomplete: str) -> list[str]:
        return [word for word in known if word.startswith(incomplete)]

    return completed


def algorithms(incomplete: str) -> list[str]:
    """The shipped algorithms of `tacit pareto`."""
    from tacit.trainers import SHIPPED

    return words(*SHIPPED)(incomplete)


def games(incomplete: str) -> list[str]:
    """The methods that `tacit audit` knows."""
    from tacit.audit.games import GAMES

    return words(*GAMES, "outsource")(incomplete)


def ledger_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The ledgers in the database that --ledger names; none if it cannot be read."""
    from tacit.privacy.ledger import Ledger

    try:
        return words(*Ledger.names(ctx.params.get("ledger") or "ledger.db"))(incomplete)
    except Exception:  # Tab says nothing
        return []


MaybeLedger = Annotated[str | None, typer.Option(envvar="TACIT_LEDGER", help="Path or URL of the ledger's database.")]
LedgerName = Annotated[str, typer.Option(help="Name of the ledger in it.", autocompletion=ledger_names)]
