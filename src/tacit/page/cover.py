"""The cover of a release: what an officer reads before signing, on one screen and one printed sheet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.privacy.guarantee import Guarantee
from tacit.privacy.operating import ALARMS, at_most


@dataclass(frozen=True)
class Worth:
    """Whether a release is shown to be useful; ``good`` is None where there is nothing to compare it with."""

    good: bool | None
    headline: str
    reason: str = ""


UNKNOWN = Worth(None, "Not known: nothing to compare the score with.")


def compare_with_baseline(
    score: tuple[float, float], baseline: tuple[float, float], *, higher: bool, of: str = ""
) -> Worth:
    """The verdict from two values, each with the half-width of its 95% interval for new data.

    Args:
        score: The released score and its half-width.
        baseline: What is reached without a model, and its half-width.
        higher: Whether larger is better.
        of: What the baseline predicts.

    >>> compare_with_baseline((0.21, 0.01), (0.20, 0.005), higher=False, of="the most frequent class").good
    False
    """
    gain = (score[0] - baseline[0]) * (1 if higher else -1)
    margin = (score[1] ** 2 + baseline[1] ** 2) ** 0.5
    named = f"predicting {of}" if of else "a constant prediction"
    reason = f"{score[0]:.4g} against {baseline[0]:.4g} for {named}; the difference may be off by ± {margin:.2g} (95%)."
    if gain > margin:
        return Worth(True, f"Better than {named}.", reason)
    worse = "Worse than" if gain < -margin else "Not shown to be better than"
    return Worth(False, f"{worse} {named}.", reason)


def format_interval(value: float, interval: tuple[float, float] | None) -> str:
    """A score with the ends of its 95% interval for new data.

    >>> format_interval(0.986, (0.956, 1.0))
    '0.986 (95%: 0.956 to 1)'
    """
    if interval is None:
        return f"{value:.4g}"
    low, high = interval
    return f"{value:.4g} (95%: {low:.3g} to {high:.3g})"


@dataclass(frozen=True)
class Cover:
    """What is released, what it is worth, what is protected and what is not, what it cost and what is left.

    Attributes:
        title: Of the page.
        released: Names and values.
        verdict: Whether it is worth releasing.
        protected: Sentences; nothing is protected where there are none.
        exposed: What the guarantee does not cover.
        conditions: What the protection depends on.
        cost: Names and amounts.
        payer: Who paid, as a sentence.
        left: What is left, as a sentence.
        checks: What a person checks before signing.
        statement: The guarantee in one line, beside the signature.
        composes: Whether costs add up to less than their sum.
        paid: Whether a ledger paid, or nothing had to be paid.
        changes: What shows that the certificate was changed after it was written.
        digest: Of the released value.
        signer: The key that the certificate states to be signed with.
        note: A sentence below the released values.
    """

    title: str
    released: Sequence[tuple[str, Any]]
    verdict: Worth
    protected: Sequence[str]
    exposed: Sequence[str]
    cost: Sequence[tuple[str, Any]]
    payer: str
    left: str
    checks: Sequence[str]
    statement: str
    conditions: Sequence[str] = ()
    composes: bool = False
    paid: bool = True
    changes: Sequence[str] = ()
    digest: str = ""
    signer: str = ""
    note: str = ""


def cover_release(
    title: str,
    released: Sequence[tuple[str, Any]],
    verdict: Worth,
    guarantee: Guarantee,
    exposed: Sequence[str],
    certificate: Mapping[str, Any] | None = None,
    *,
    changes: Sequence[str] = (),
    note: str = "",
) -> Cover:
    """The cover of a release, from its guarantee and its certificate."""
    document = certificate or {}
    about, payment, signature = (_mapping(document.get(name)) for name in ("about", "payment", "signature"))
    left, quoted = _mapping(about.get("left")), guarantee.quoted()
    return Cover(
        title=title,
        released=released,
        verdict=verdict,
        protected=_protection(guarantee),
        exposed=exposed,
        conditions=guarantee.assumptions,
        cost=[] if quoted is None else [("epsilon", quoted[0]), ("delta", quoted[1] or "0")],
        payer=_payer(guarantee, payment),
        left=_left(payment, left),
        composes=bool(payment),
        paid=bool(payment) or guarantee.budget is None,
        checks=_checks(guarantee),
        statement=_statement(guarantee),
        changes=changes,
        digest=str(document.get("digest") or ""),
        signer=str(signature.get("key") or ""),
        note=note,
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _protection(guarantee: Guarantee) -> list[str]:
    if guarantee.budget is None:
        return []
    power = at_most(100 * guarantee.power(), 2)
    test = f"At a {ALARMS:.0%} false-positive rate, any membership test has power at most {power}%."
    return [f"{name_unit(guarantee.unit)}.", test]


def _payer(guarantee: Guarantee, payment: Mapping[str, Any]) -> str:
    if payment:
        return f"Paid by entry {payment['entry']} of ledger ‘{payment['name']}’, for {guarantee.unit}."
    return "No ledger paid." if guarantee.budget is not None else f"No guarantee: {guarantee.source}."


def _left(payment: Mapping[str, Any], left: Mapping[str, Any]) -> str:
    if left.get("words"):
        return f"{left['words']} in ledger ‘{left.get('ledger', '')}’, when this was made."
    return f"See ledger ‘{payment['name']}’." if payment else "Not known: no ledger counts releases of these data."


def _statement(guarantee: Guarantee) -> str:
    quoted = guarantee.quoted()
    if quoted is None:
        return "No privacy guarantee."
    delta = f", delta = {at_most(quoted[1], 3)}" if quoted[1] else ""
    return f"epsilon = {at_most(quoted[0], 3)}{delta}, for {guarantee.unit}."


def _checks(guarantee: Guarantee) -> list[str]:
    known = "What is listed as not protected may become known."
    if guarantee.budget is None:
        return ["Everybody who will see this may see the data themselves.", known]
    one = "person" if "person" in guarantee.unit else "record"
    unit = f"The unit is right: nobody stands behind more than one {one}."
    code = ["The code meets the assumptions that the next pages list."] if guarantee.premises else []
    return [unit, known, *code, "All releases of these data are charged to one ledger."]


def name_unit(unit: str) -> str:
    """What a privacy unit protects, as the subject of a sentence.

    >>> name_unit("one validation record replaced"), name_unit("one row moved by norm 1")
    ('Every validation record', 'This change of the data: one row moved by norm 1')
    """
    match = re.fullmatch(r"one (.+?) replaced(.*)", unit)
    return f"Every {match[1]}{match[2]}" if match else f"This change of the data: {unit}"
