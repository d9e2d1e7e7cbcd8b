"""The messages of the service, checked field by field on both sides. Versioned: every one names its protocol."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt

from tacit.files import Json
from tacit.outsource.protocol.terms import MOST_ROWS, PROTOCOL, Answer

HEADER = "Tacit-Protocol"
REQUEST = r"^[A-Za-z0-9-]{8,64}$"
LARGEST = 2**53


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 3.0 is as whole as 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Row = Annotated[StrictInt, Field(ge=0, le=LARGEST), BeforeValidator(_whole)]


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Query(Message):
    """Asks for rows. The same request again, with the same rows, gives the same answers and costs nothing."""

    protocol: Literal[1] = PROTOCOL  # type: ignore[assignment]
    request: Annotated[str, Field(pattern=REQUEST, description="named by the modeler, anew for each question")]
    rows: Annotated[list[Row], Field(min_length=1, max_length=MOST_ROWS)]


class Told(Message):
    row: Annotated[int, Field(ge=0, le=LARGEST)]
    value: Annotated[float, Field(allow_inf_nan=False)] | None


class Answers(Message):
    """What rows gave. A value is null for a row that could not be evaluated."""

    protocol: Literal[1] = PROTOCOL  # type: ignore[assignment]
    request: str | None = None
    answers: list[Told]

    @classmethod
    def of(cls, answers: list[Answer], request: str | None = None) -> Answers:
        return cls(request=request, answers=[Told(row=a.row, value=a.value) for a in answers])

    def plain(self) -> list[Answer]:
        return [Answer(a.row, a.value) for a in self.answers]


class Refusal(Message):
    """Why not: a word for programs and a sentence for people. Nothing was evaluated, nothing charged."""

    error: str
    message: str


class Pending(Message):
    """The answer takes longer: ask again with the same request."""

    status: Literal["pending"] = "pending"


class Health(Message):
    """Whether the service can answer, and by name what keeps it from that."""

    status: Literal["ok", "failing"] = "ok"
    failing: list[str] = []


class Stop(Message):
    """Stop answering, or with false answer again."""

    stopped: StrictBool = True


class Terms(BaseModel):
    """The terms of the study; see the documentation of each field in tacit.outsource.protocol.terms.Published."""

    model_config = ConfigDict(extra="allow")

    protocol: int
    study: str
    rows: int
    columns: int
    transform: str
    noise: float
    answer_noise: float
    queries: int
    digest: str
    dtype: str
    chunk: int
    guarantee: Json
    whole: Json
    about: Json
