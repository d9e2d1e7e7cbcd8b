"""What released observations say of each parameter, by a model fitted to them: post-processing, which costs nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from tacit.charts.slices import Slice, slice_panels
from tacit.errors import TacitError
from tacit.files import Json
from tacit.page import render_parts
from tacit.space import Params

MOST, STEPS, WIDE = 8, 41, 50.0  # panels; places along one; a range over which a scale is logarithmic
LEAST = 5  # observations for a model


def slices_part(
    trials: Sequence[Json],
    noise: float,
    params: Params | None,
    read: Callable[[float], float],
    label: str,
    baseline: float | None = None,
) -> Markup:
    """Panels of the numeric parameters; empty if there are none. ``read`` turns a mean loss into the metric shown."""
    names = [n for n in trials[0]["params"] if _is_numeric(trials, n)][:MOST]
    if not names:
        return Markup()
    band = _fit(trials, noise, names)
    drawn = slice_panels([_slice(trials, n, params, read, band) for n in names], label, baseline)
    return render_parts(
        "slices.html", panels=Markup(drawn), band=band is not None and bool(params), params=params, baseline=baseline
    )["slices"]


def _is_numeric(trials: Sequence[Json], name: str) -> bool:
    held = [t["params"].get(name) for t in trials]
    return (
        all(isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in held)
        and len(set(held)) > 1
    )


def _is_wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > WIDE


def _fit(trials: Sequence[Json], noise: float, names: list[str]) -> tuple[Any, Any, dict[str, Any]] | None:
    """The model, and how parameters become its inputs, from 0 to 1 over what was observed."""
    from tacit.gp.fit import fit
    from tacit.gp.kernels import Matern52

    if len(trials) < LEAST:
        return None
    ends = {}
    for name in names:
        values = np.array([float(t["params"][name]) for t in trials])
        wide = _is_wide(values.tolist())
        shown = np.log(values) if wide else values
        ends[name] = (wide, float(shown.min()), float(np.ptp(shown)) or 1.0)
    X = np.array([[_place(t["params"][n], ends[n]) for n in names] for t in trials])
    y = np.array([float(t["value"]) for t in trials])
    try:
        model = fit(Matern52((0.5 * math.sqrt(len(names)),) * len(names)), X, y, noise=noise**2)
        return model.condition(X, y, noise=noise**2), names, ends
    except (TacitError, ValueError, np.linalg.LinAlgError):
        return None


def _place(value: Any, ends: tuple[bool, float, float]) -> float:
    wide, low, span = ends
    return ((math.log(value) if wide else float(value)) - low) / span


def _slice(
    trials: Sequence[Json],
    name: str,
    params: Params | None,
    read: Callable[[float], float],
    band: tuple[Any, Any, dict[str, Any]] | None,
) -> Slice:
    values = [float(t["params"][name]) for t in trials]
    scores = [read(float(t["value"])) for t in trials]
    chosen = float(params[name]) if params and name in params else None
    wide = _is_wide(values)
    if band is None or not params:
        return Slice(name, values, scores, chosen, wide)
    gp, names, ends = band
    here = np.array([_place(params[n], ends[n]) for n in names])
    X = np.repeat(here[None], STEPS, axis=0)
    X[:, names.index(name)] = np.linspace(0.0, 1.0, STEPS)
    _, low, span = ends[name]
    along = [math.exp(low + span * k) if wide else low + span * k for k in np.linspace(0.0, 1.0, STEPS).tolist()]
    mean, variance = gp.posterior(X)
    reach = 1.96 * np.sqrt(variance)
    edges = [sorted((read(float(a)), read(float(b)))) for a, b in zip(mean - reach, mean + reach, strict=True)]
    middle = [read(float(m)) for m in mean]
    return Slice(name, values, scores, chosen, wide, along, middle, [e[0] for e in edges], [e[1] for e in edges])
