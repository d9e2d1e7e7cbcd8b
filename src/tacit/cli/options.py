"""Options that several verbs share: what they are called, what the shell may complete, what they mean together."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.identity import DataIdentity
    from tacit.privacy.guarantee import Budget

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
METRICS = ("error", "accuracy", "balanced", "log_loss", "brier", "auc", "absolute", "squared", "rmse", "quantile")
METRIC = "What is measured: " + ", ".join(METRICS) + "; auc:LABEL and quantile:LEVEL too."
UNITS = {"m": "minutes", "h": "hours", "d": "days"}
MODELS = ("linear", "boosting", "forest", "svm", "neighbours")


def complete(*known: str) -> Callable[[str], list[str]]:
    """Those of the words that begin as what was typed."""

    return lambda incomplete: [word for word in known if word.startswith(incomplete)]


def algorithm_names(incomplete: str) -> list[str]:
    """The shipped algorithms of `tacit pareto`."""
    from tacit.trainers import SHIPPED

    return complete(*SHIPPED)(incomplete)


def game_names(incomplete: str) -> list[str]:
    """The methods that `tacit audit` knows."""
    from tacit.audit.games import GAMES

    return complete(*GAMES, "outsource")(incomplete)


def ledger_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The ledgers in the database that --ledger names; none if it cannot be read."""
    from tacit.privacy.ledger import Ledger

    try:
        return complete(*Ledger.names(ctx.params.get("ledger") or "ledger.db"))(incomplete)
    except Exception:  # Tab says nothing
        return []


LedgerUrl = Annotated[
    str, typer.Option("--ledger", envvar="TACIT_LEDGER", help="Path or URL of the ledger's database.")
]
MaybeLedger = Annotated[str | None, typer.Option(envvar="TACIT_LEDGER", help="Path or URL of the ledger's database.")]
DataName = Annotated[
    str | None, typer.Option("--data-name", help="What the data are called, in place of a keyed digest of them.")
]
LedgerName = Annotated[str, typer.Option(help="Name of the ledger in it.", autocompletion=ledger_names)]


def name_data(made: Any, given: str | None, spec: str | None = None) -> DataIdentity | None:
    """What an objective or algorithm is about: as it says, else by the name it was asked for, or as the user says."""
    from tacit.identity import DataIdentity, data_of, identify

    known = data_of(made) or (DataIdentity(spec) if spec else None)
    return known.rename(given) if known is not None else identify(given)


def one_budget(epsilon: float | None, delta: float | None, rho: float | None, mu: float | None) -> Budget | None:
    """The one budget that the options describe; None if they describe none."""
    from tacit.privacy.guarantee import Budget

    given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(given) > 1 or (delta is not None and epsilon is None):
        raise BadInput("give one budget: --epsilon, --epsilon with --delta, --rho or --mu")
    if epsilon is not None:
        return Budget.pure(epsilon) if delta is None else Budget.approximate(epsilon, delta)
    return Budget.zcdp(rho) if rho is not None else Budget.gdp(mu) if mu is not None else None


def search_budget(
    epsilon: float | None, delta: float | None, rho: float | None, mu: float | None, pure: bool
) -> Budget:
    """The budget of a whole search: of one kind; epsilon = 1 with delta = 1e-6 if nobody says."""
    if pure and (delta is not None or epsilon is None):
        raise BadInput("--pure goes with --epsilon alone")
    if epsilon is None and rho is None and mu is None:
        epsilon = 1.0
    if epsilon is not None and delta is None and not pure:
        delta = 1e-6
    if delta == 0:
        raise BadInput("delta must be in (0, 1), got delta=0. For a budget without a delta: --epsilon with --pure")
    budget = one_budget(epsilon, delta, rho, mu)
    assert budget is not None
    return budget


def split_numbers(text: str | None) -> list[float] | None:
    """Numbers with commas between."""
    try:
        return [float(part) for part in text.split(",")] if text else None
    except ValueError:
        raise BadInput(f"numbers with commas between, such as 1,2.5, got {text!r}") from None


def parse_duration(text: str) -> timedelta:
    """ "30d", "12h" or "90m" as a span of time.

    >>> parse_duration("36h").days
    1
    """
    found = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", text.strip())
    if found is None:
        raise BadInput(f"a span of time is a number and m, h or d, such as 30d, got {text!r}")
    return timedelta(**{UNITS[found[2]]: int(found[1])})


def read_rates(given: list[str] | None) -> dict[str, float] | None:
    """label=share pairs."""
    rates: dict[str, float] = {}
    for pair in given or []:
        label, equals, text = pair.rpartition("=")
        try:
            rates[label] = float(text)
        except ValueError:
            equals = ""
        if not equals:
            raise BadInput(f"--rate takes label=share, such as yes=0.1, got {pair!r}")
    return rates or None
