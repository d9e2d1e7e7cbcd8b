"""Options that the verbs of a curator share: what is published, how answers are protected, where it is served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from tacit.cli.options import complete, split_numbers
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.outsource.curator.rows import PrivateAnswers


@dataclass(frozen=True)
class PublishOptions:
    """What is published of the rows."""

    TITLE: ClassVar = "Published table"

    delta: Annotated[float | None, typer.Option(help="Delta; min(1e-6, 1/(10 n)) for n rows if left out.")] = None
    columns: Annotated[str | None, typer.Option(help="Input columns, with commas between; all if left out.")] = None
    scale: Annotated[
        str | None, typer.Option(help="For each column the change that counts as 1: public, commas between.")
    ] = None
    distance: Annotated[float, typer.Option(help="How far a row may move and still be protected.")] = 1.0
    dimensions: Annotated[int | None, typer.Option(help="Columns of the published table.")] = None

    @property
    def names(self) -> list[str] | None:
        """The columns that are named."""
        return [name.strip() for name in self.columns.split(",")] if self.columns and self.columns != "-" else None

    @property
    def divisors(self) -> Any:
        """One number, or one for each column."""
        numbers = split_numbers(self.scale)
        return numbers[0] if numbers and len(numbers) == 1 else numbers

    def terms(self, epsilon: float, rows: int) -> dict[str, Any]:
        """As a curator takes them."""
        from tacit.privacy.guarantee import default_delta

        delta = default_delta(rows) if self.delta is None else self.delta
        moved = {"distance": self.distance, "dimensions": self.dimensions}
        return {"epsilon": epsilon, "delta": delta, "scale": self.divisors, **moved}


@dataclass(frozen=True)
class AnswerOptions:
    """How answers are protected; without bounds they are given as they are."""

    TITLE: ClassVar = "Answers"

    bounds: Annotated[tuple[float, float] | None, typer.Option(help="Public bounds: makes answers private.")] = None
    answer_mu: Annotated[float | None, typer.Option(help="Private answers: mu of one; its noise is width/mu.")] = None
    charged: Annotated[
        str, typer.Option(help="Private answers: pay for each, or once.", autocompletion=complete("each", "once"))
    ] = "each"

    def private(self) -> PrivateAnswers | None:
        """The protection of answers, if there is any."""
        from tacit.outsource.curator.preview import private_answers

        return private_answers(self.bounds, self.answer_mu, self.charged)


@dataclass(frozen=True)
class NetworkOptions:
    """Where the service listens, and what makes the connection secret."""

    TITLE: ClassVar = "Network"

    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for any free one.")] = 8733
    tls_certificate: Annotated[Path | None, typer.Option(help="Certificate in PEM.")] = None
    tls_key: Annotated[Path | None, typer.Option(help="Its key in PEM.")] = None
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="No TLS here, though on a network: a proxy has it.")
    ] = False

    def __post_init__(self) -> None:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise BadInput("TLS needs a certificate and its key, got only one of them")
