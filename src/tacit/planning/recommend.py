"""Which method, and why: the least expected loss among those whose guarantee holds whatever the data are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.methods.case import Case
from tacit.methods.outlook import Outlook
from tacit.planning.measured import LANDSCAPES
from tacit.privacy.guarantee import LETTER, Budget

OUTDATED = "its loss was measured with earlier defaults, not with those of this version"
ALIKE = 0.002  # of the spread: more evaluations than were asked for must gain more than this
LEAD = 0.05  # of the spread: what a method whose loss is outdated must be better by
WORTH = 0.9  # of what the middle of the space loses: a search that expects to lose more is not worth its budget


@dataclass(frozen=True)
class Recommendation:
    """A method, the reason, and the lines of Python or the shell that run it ("": the advice is to spend nothing)."""

    method: str
    reason: str
    call: str = ""
    shell: str = ""

    def to_json(self) -> dict[str, Any]:
        lines = {"call": self.call or None, "shell": self.shell or None}
        return {"method": self.method, "reason": self.reason, **lines}


def recommend(case: Case, outlooks: Sequence[Outlook]) -> Recommendation:
    """The least mean of both landscapes; if nothing beats the middle of the space, to spend nothing.

    A method whose loss was measured with earlier defaults is recommended only if it is clearly better; one that takes
    more evaluations than were asked for, only if it gains more than 0.002 of the spread by them.
    """
    middle = next(o for o in outlooks if o.method == "middle")
    able = [o for o in outlooks if o.guarantee.unconditional and o.measured and not o.unavailable]
    worth = [o for o in able if o.mean < WORTH * middle.mean]
    if not worth:
        return _advise_nothing(case, middle, able)
    expected = {o.method: o.mean + (LEAD * case.spread if OUTDATED in o.notes else 0.0) for o in worth}
    best = min(worth, key=lambda o: expected[o.method] + ALIKE * case.spread * (o.evaluations > case.trials))
    least = min(worth, key=lambda o: expected[o.method])
    place = "has the least expected loss"
    if least is not best:
        more = f"{least.method}, which takes {least.evaluations:,} evaluations,"
        place = f"loses no more than {ALIKE:g} of the spread against {more}"
    one, two = (best.measured[landscape].mean for landscape in LANDSCAPES)
    reasons = [
        f"{best.method} {place} among methods with an unconditional guarantee: {one:.2g} if the "
        f"scores have one valley, {two:.2g} if they have two (the middle of the space loses "
        f"{middle.measured[LANDSCAPES[0]].mean:.2g} and {middle.measured[LANDSCAPES[1]].mean:.2g})"
    ]
    for landscape in LANDSCAPES:
        other = min(worth, key=lambda o: o.measured[landscape].mean)
        if best.measured[landscape].mean - other.measured[landscape].mean > ALIKE * case.spread:
            reasons.append(
                f"If you know that there is {_valleys(landscape)}: {other.method}, {_loss(other, landscape)}"
            )
    reasons.append(f"It releases {best.releases}")
    if best.evaluations > case.trials:
        reasons.append(_cost_of_evaluations(case, best, worth))
    if best.refused:
        reasons.append("tacit.tune asks you to accept so much noise")
    return Recommendation(
        best.method, ". ".join(reasons) + ".", call(case, best.arguments), shell(case, best.arguments)
    )


def _advise_nothing(case: Case, middle: Outlook, able: Sequence[Outlook]) -> Recommendation:
    if not able:
        why = "no method whose quality we measured runs under a pure budget: their Gaussian noise needs a delta"
        why += "; kusner3 does, for a regularisation strength" * (case.dimensions == 1)
    else:
        best = min(able, key=lambda o: o.mean)
        why = (
            f"no unconditional method is expected to beat the middle of the space, which loses {middle.mean:.2g} and "
            f"looks at no record; the best, {best.method}, is expected to lose {best.mean:.2g}. Keep the budget, or "
            "come back with more records"
        )
    return Recommendation("middle", why + ".")


def _cost_of_evaluations(case: Case, best: Outlook, worth: Sequence[Outlook]) -> str:
    few = [o for o in worth if o.evaluations <= case.trials]
    taken = f"It takes {best.evaluations:,} evaluations"
    if not few:
        return f"{taken}; nothing worth its budget takes fewer"
    other = min(few, key=lambda o: o.mean)
    return (
        f"{taken}; where they are dear, {other.method} takes {other.evaluations:,}: {_loss(other, LANDSCAPES[0])} "
        f"with one valley, {_loss(other, LANDSCAPES[1])} with two"
    )


def _loss(o: Outlook, landscape: str) -> str:
    return f"{o.measured[landscape].mean:.2g}"


def _valleys(landscape: str) -> str:
    return "one valley" if landscape == LANDSCAPES[0] else "more than one"


def call(case: Case, arguments: Mapping[str, Any]) -> str:
    """The line that runs a method of this plan."""
    low, high = case.bounds
    given = {"records": case.records, "bounds": f"({low:g}, {high:g})", "budget": _budget(case.budget)}
    given |= {"trials": case.trials} | {k: repr(v) for k, v in arguments.items()}
    return f"tacit.tune(losses, space, {', '.join(f'{k}={v}' for k, v in given.items())})".replace("'", '"')


def shell(case: Case, arguments: Mapping[str, Any], table: str = "") -> str:
    """The same in the shell; what tacit tune has no option for is an --option of the method.

    ``table`` are the options that name a table, which knows its records and bounds.
    """
    low, high = case.bounds
    given: dict[str, Any] = {} if table else {"records": case.records, "bounds": f"{low:g} {high:g}"}
    given |= {LETTER[case.budget.notion]: f"{case.budget.amount:g}"}
    given |= {"delta": f"{case.budget.delta:g}"} if case.budget.notion == "approximate" else {}
    given |= {"trials": case.trials} | {k: v for k, v in arguments.items() if k in ("trials", "method", "candidates")}
    words = [f"--{k} {v}" for k, v in given.items()]
    words += [f"--option {k}={v}" for k, v in arguments.items() if k not in given]
    return " ".join([f"tacit tune {table or 'mymodel:losses --space space.toml'}", *words])


def _budget(b: Budget) -> str:
    inside = f"{b.amount:g}, {b.delta:g}" if b.notion == "approximate" else f"{b.amount:g}"
    return f"tacit.Budget.{b.notion}({inside})"
