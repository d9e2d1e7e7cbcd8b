"""Which method, and why: what method="auto" chooses, unless the middle of the space is as good and costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.files import Json
from tacit.methods.auto import choose, expected_regret
from tacit.methods.forecast import PlanInput, Preview
from tacit.privacy.guarantee import LETTER, Budget

OUTDATED = "its loss was measured with earlier defaults, not with those of this version"
WORTH = 0.9  # of what the middle of the space loses: a search that expects to lose more is not worth its budget


@dataclass(frozen=True)
class Recommendation:
    """A method, the reason, and the lines of Python or the shell that run it ("": the advice is to spend nothing)."""

    method: str
    reason: str
    call: str = ""
    shell: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)  # of tacit.tune

    def to_json(self) -> Json:
        lines = {"call": self.call or None, "shell": self.shell or None}
        return {"method": self.method, "reason": self.reason, **lines}


def recommend(case: PlanInput, previews: Sequence[Preview]) -> Recommendation:
    """What method="auto" chooses for this case; if that is not expected to beat the middle of the space, nothing."""
    chosen = choose(case)
    middle = expected_regret("middle", 0, case.dimensions, 0.0)
    if chosen is None or chosen.regret >= WORTH * middle:
        best = f"the best, {chosen.method}, is expected to lose {chosen.regret:.2g}" if chosen else "no method can run"
        return Recommendation(
            "middle",
            f"no unconditional method is expected to beat the middle of the space, which loses {middle:.2g} of what a "
            f"typical setting does and looks at no record; {best}. Keep the budget, or come back with more records.",
        )
    row = next(o for o in previews if o.method == chosen.method)
    reasons = [chosen.reason, f"It releases {row.releases}"]
    if row.refused:
        reasons.append("tacit.tune asks you to accept so much noise")
    arguments = {"method": chosen.method, "trials": chosen.trials, **chosen.options}
    line = call(case, arguments)
    return Recommendation(chosen.method, ". ".join(reasons) + ".", line, shell(case, arguments), arguments)


def call(case: PlanInput, arguments: Mapping[str, Any]) -> str:
    """The line that runs a method of this plan."""
    low, high = case.bounds
    given = {"records": case.records, "bounds": f"({low:g}, {high:g})", "budget": _budget(case.budget)}
    given |= {"trials": case.trials} | {k: repr(v) for k, v in arguments.items()}
    return f"tacit.tune(losses, space, {', '.join(f'{k}={v}' for k, v in given.items())})".replace("'", '"')


def shell(case: PlanInput, arguments: Mapping[str, Any], table: str = "") -> str:
    """The same in the shell; what tacit tune has no option for is an --option of the method.

    ``table`` are the options that name a table, which knows its records and bounds.
    """
    low, high = case.bounds
    given: Json = {} if table else {"records": case.records, "bounds": f"{low:g} {high:g}"}
    given |= {LETTER[case.budget.notion]: f"{case.budget.amount:g}"}
    given |= {"delta": f"{case.budget.delta:g}"} if case.budget.notion == "approximate" else {}
    given |= {"trials": case.trials} | {k: v for k, v in arguments.items() if k in ("trials", "method", "candidates")}
    words = [f"--{k} {v}" for k, v in given.items()]
    words += [f"--option {k}={v}" for k, v in arguments.items() if k not in given]
    return " ".join([f"tacit tune {table or 'mymodel:losses --space space.toml'}", *words])


def _budget(b: Budget) -> str:
    inside = f"{b.amount:g}, {b.delta:g}" if b.notion == "approximate" else f"{b.amount:g}"
    return f"tacit.Budget.{b.notion}({inside})"
