"""The rows of a plan: what each method in the registry forecasts, with the losses that were measured; and no search."""

from __future__ import annotations

from dataclasses import replace

from tacit.errors import BadInput, GuaranteeError
from tacit.methods.forecast import Forecast, Measured, PlanInput, Preview
from tacit.methods.registry import METHODS, load
from tacit.planning import measured
from tacit.planning.measured import LANDSCAPES
from tacit.planning.recommend import OUTDATED
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.units import VALIDATION as UNIT


def _middle(case: PlanInput) -> Preview:
    guarantee = Guarantee.none("no record is looked at, so none needs protection", UNIT)
    note = "the middle of the space, without a look at any record: costs nothing, and is what others must beat"
    return Preview("middle", guarantee, 0, notes=(note,))


MIDDLE = Forecast("middle", _middle, "middle", level=None)


def forecasts() -> dict[str, Forecast]:
    """Every row by its name, the middle of the space last."""
    listed = [forecast for method in METHODS.values() for forecast in load(method.forecasts)]
    return {forecast.name: forecast for forecast in (*listed, MIDDLE)}


def name_releases() -> dict[str, str]:
    """What each row's method would release, by its name."""
    return {forecast.name: method.releases for method in METHODS.values() for forecast in load(method.forecasts)}


def expected_loss(forecast: Forecast, case: PlanInput, landscape: str) -> Measured:
    """The loss of quality that experience expects, in the units of the losses; raises if the budget cannot run it."""
    noise = forecast.level(case) if forecast.level is not None else 0.0
    at = {"dimensions": case.dimensions, "trials": case.trials}
    return measured.regret(forecast.curve, landscape, **at, noise=noise).times(case.spread)


def preview(forecast: Forecast, case: PlanInput) -> Preview:
    """What a method would give; one that this budget cannot run says why."""
    try:
        shown = forecast.preview(case)
        known = {l: expected_loss(forecast, case, l) for l in LANDSCAPES} if forecast.curve else {}
    except (BadInput, GuaranteeError) as refusal:
        why = str(refusal)
        return Preview(forecast.name, Guarantee.none(why, UNIT), 0, unavailable=why)
    outdated = forecast.defaults is not None and forecast.defaults() != measured.document()["gibo_defaults"]
    notes, released = (*shown.notes, *[OUTDATED] * outdated), name_releases().get(forecast.name, "")
    return replace(shown, measured=known, releases=released, notes=notes)
