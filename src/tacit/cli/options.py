"""Options that several verbs share, in groups: what they are called, what Tab completes, what they mean together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from tacit.cli.shell import processes, remark
from tacit.errors import BadInput, DataRefused, GuaranteeError, count, did_you_mean
from tacit.files import Json
from tacit.pareto.algorithms import algorithm_names

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from tacit.data.identity import DataIdentity
    from tacit.data.metrics.metric import Metric
    from tacit.data.schema import Schema
    from tacit.privacy.guarantee import Budget
    from tacit.privacy.ledger import Ledger

ALGORITHMS = algorithm_names()
SEARCHES = ("dpareto", "random", "grid", "sweep", "nsga2", "tpe", "botorch")  # tacit.pareto.baselines
METRICS = (  # tacit.metrics.NAMES, which load NumPy; a test compares them
    *("error", "accuracy", "balanced", "balanced_accuracy", "log_loss", "brier", "auc"),
    *("absolute", "squared", "rmse", "quantile"),
)
UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def complete(*known: str) -> Callable[[str], list[str]]:
    """Those of the words that begin as what was typed."""

    return lambda incomplete: [word for word in known if word.startswith(incomplete)]


def metric_names(incomplete: str = "") -> list[str]:
    """The metrics by name."""
    return complete(*METRICS)(incomplete)


def model_names(incomplete: str = "") -> list[str]:
    """The shipped models of a table, from theirs."""
    from tacit.integrations.table_models import MODELS

    return complete(*MODELS)(incomplete)


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
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.", rich_help_panel="Output")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no remarks; errors stay.", rich_help_panel="Output")
]
DataName = Annotated[
    str | None, typer.Option("--data-name", help="What the data are called, in place of a keyed digest of them.")
]


@dataclass(frozen=True)
class BudgetOptions:
    """One budget of the whole call; epsilon = 1 if nobody says."""

    TITLE: ClassVar = "Privacy budget"

    epsilon: Annotated[float | None, typer.Option(help="Epsilon of everything; 1 if no budget is given.")] = None
    delta: Annotated[float | None, typer.Option(help="Its delta; min(1e-6, 1/(10 n)) for n records if left out.")] = (
        None
    )
    rho: Annotated[float | None, typer.Option(help="Rho instead, for zCDP.")] = None
    mu: Annotated[float | None, typer.Option(help="Mu instead, for GDP.")] = None
    pure: Annotated[bool, typer.Option("--pure", help="Epsilon without a delta.")] = False

    def budget(self, records: int = 0) -> Budget:
        """The budget, its delta by the number of records if it was left out; 0 records: not known."""
        named = self.pure or (self.epsilon, self.rho, self.mu) != (None, None, None)
        budget = (self if named else replace(self, epsilon=1.0)).optional_budget(records)
        assert budget is not None
        return budget

    def optional_budget(self, records: int = 0) -> Budget | None:
        """The budget that the options describe; None if they describe none."""
        from tacit.privacy.guarantee import Budget, default_delta

        kinds = [name for name in ("epsilon", "rho", "mu") if getattr(self, name) is not None]
        if self.pure and (self.delta is not None or kinds != ["epsilon"]):
            raise BadInput("--pure goes with --epsilon alone")
        if len(kinds) > 1 or (self.delta is not None and kinds != ["epsilon"]):
            raise BadInput("give one budget: --epsilon, --epsilon with --delta, --rho or --mu")
        if self.delta == 0:
            raise BadInput("delta must be in (0, 1), got delta=0. For a budget without a delta: --epsilon with --pure")
        if self.rho is not None:
            return Budget.zcdp(self.rho)
        if self.mu is not None:
            return Budget.gdp(self.mu)
        if self.epsilon is None or self.pure:
            return None if self.epsilon is None else Budget.pure(self.epsilon)
        return Budget.approximate(self.epsilon, default_delta(records) if self.delta is None else self.delta)


@dataclass(frozen=True)
class LedgerOptions:
    """The ledger that pays, if one does."""

    TITLE: ClassVar = "Ledger"

    ledger: Annotated[str | None, typer.Option(envvar="TACIT_LEDGER", help="Path or URL of the ledger's database.")] = (
        None
    )
    ledger_name: Annotated[str, typer.Option(help="Name of the ledger in it.", autocompletion=ledger_names)] = "default"

    @contextmanager
    def open(self) -> Iterator[Ledger | None]:
        """The ledger, open, or None."""
        if self.ledger is None:
            yield None
        else:
            from tacit.privacy.ledger import Ledger

            with Ledger.open(self.ledger, self.ledger_name) as opened:
                yield opened


@dataclass(frozen=True)
class TableOptions:
    """A private table: where it is, which column is predicted, what else is known of its columns."""

    TITLE: ClassVar = "Table"

    table: Annotated[Path | None, typer.Option(help="A CSV, Excel or Parquet table.")] = None
    target: Annotated[str | None, typer.Option(help="Column to predict.")] = None
    schema: Annotated[Path | None, typer.Option(help="Public facts about the columns, in TOML or JSON.")] = None
    person: Annotated[str | None, typer.Option(help="Column that says whose row it is: protects persons.")] = None
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be given again.")] = None

    @property
    def file(self) -> Path:
        """Where the table is."""
        if self.table is None:
            raise BadInput("give a table with --table FILE and the column to predict with --target COLUMN")
        return self.table

    @property
    def column(self) -> str:
        """The column to predict."""
        if self.target is None:
            raise BadInput("a table needs --target COLUMN")
        return self.target

    def read_schema(self) -> Schema | None:
        """The public facts about the columns, if a file has them."""
        from tacit.data.schema import Schema

        return Schema.read(self.schema) if self.schema is not None else None

    def refuse_missing(self, columns: Sequence[str]) -> None:
        """Refuse names that the table has not."""
        missing = [name for name in (*(self.drop or ()), self.person, self.column) if name and name not in columns]
        if missing:
            near = did_you_mean(missing[0], columns)
            named = ", ".join(map(repr, missing))
            raise DataRefused(f"the table has no column {named} among its {len(columns)} columns{near}")


@dataclass(frozen=True)
class MetricOptions:
    """What is measured on the table, and within which public numbers."""

    TITLE: ClassVar = "Metric"

    metric: Annotated[
        str | None,
        typer.Option(
            help="What is measured: {metrics}; auc:LABEL and quantile:LEVEL too.", autocompletion=metric_names
        ),
    ] = None
    class_rate: Annotated[
        list[str] | None, typer.Option(metavar="LABEL=SHARE", help="Public share of a class: for balanced and auc.")
    ] = None
    bounds: Annotated[tuple[float, float] | None, typer.Option(help="Public bounds of a loss, such as 0 1.")] = None

    def find(self) -> Metric | None:
        """The metric that is named, if one is."""
        from tacit.data.metrics import find

        if self.metric is None:
            if self.class_rate:
                raise BadInput("--class-rate is for a metric that needs it: --metric balanced or auc")
            return None
        return find(self.metric, bounds=self.bounds, rates=read_rates(self.class_rate))


@dataclass(frozen=True)
class StudyOptions:
    """A study that several machines share."""

    TITLE: ClassVar = "Computing"

    storage: Annotated[str | None, typer.Option(help="URL of a study that several machines may share.")] = None
    study: Annotated[str | None, typer.Option(help="Name of the study in --storage; else tacit or pareto.")] = None


@dataclass(frozen=True)
class EngineOptions:
    """How much is computed at once, and what is seeded."""

    TITLE: ClassVar = "Computing"

    workers: Annotated[int, typer.Option(help="Evaluations at once, in processes.")] = 1
    seed: Annotated[int, typer.Option(help="Of splits and searches; released noise has none.")] = 0

    @contextmanager
    def pool(self) -> Iterator[ProcessPoolExecutor | None]:
        """Processes, if more than one is wanted."""
        if count("workers", self.workers) == 1:
            yield None
        else:
            with processes(self.workers) as pool:
                yield pool


@dataclass(frozen=True)
class OutputOptions:
    """Where results go, and how much is said."""

    TITLE: ClassVar = "Output"

    out: Annotated[Path | None, typer.Option(help="Folder for results, certificate and report.")] = None
    quiet: Quiet = False
    as_json: AsJson = False

    @property
    def progress(self) -> bool:
        """Whether a bar may be shown."""
        return not (self.quiet or self.as_json)

    def remark(self, *texts: str) -> None:
        """Lines for a person on standard error, unless they are unwanted."""
        for text in texts:
            remark(text, self.quiet)


def given_values(group: Any) -> Json:
    """The options of a group that were given, by their names on the command line: those that are not left out.

    >>> given_values(BudgetOptions(epsilon=1.0))
    {'epsilon': 1.0}
    """
    values = {field.name: getattr(group, field.name) for field in fields(group)}
    return {f.name.replace("_", "-"): values[f.name] for f in fields(group) if values[f.name] != f.default}


def name_data(made: Any, given: str | None, spec: str | None = None) -> DataIdentity | None:
    """What an objective or algorithm is about: as it says, else by the name it was asked for, or as the user says."""
    from tacit.data.identity import DataIdentity, data_of, identify

    known = data_of(made) or (DataIdentity(spec) if spec else None)
    return known.rename(given) if known is not None else identify(given)


def refuse_no_delta(budget: Budget) -> None:
    """A training is accounted for at one delta; say which epsilon another budget is there."""
    if budget.notion == "approximate":
        return
    remedy = "Leave --pure out: Gaussian noise is never without a delta"
    if budget.notion != "pure":
        remedy = f"At delta 1e-6 that is --epsilon {budget.epsilon(1e-6):.3g}"
    rule = f"a training is accounted for as (epsilon, delta), got {budget}. Nothing was spent."
    raise GuaranteeError(rule, remedy=remedy)


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
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", text.strip())
    if match is None:
        raise BadInput(f"a span of time is a number and m, h or d, such as 30d, got {text!r}")
    return timedelta(**{UNITS[match[2]]: int(match[1])})


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
            raise BadInput(f"--class-rate takes label=share, such as yes=0.1, got {pair!r}")
    return rates or None
