"""tacit.tune: one call from an objective to a release."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import BadInput, LedgerError, TacitError, choice, count
from tacit.methods.observed import CHOSEN, Observations, Terms, confirm, confirmations, run
from tacit.methods.tuned import Tuned
from tacit.objective import Objective
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import Release, digest
from tacit.space import Params, Space

if TYPE_CHECKING:
    import optuna

    from tacit.privacy.ledger import Ledger

METHODS = ("observed", "random", "grid", "nonprivate", "gibo", "kusner1", "kusner2", "kusner3")
MOST_TRIALS = 100_000  # no search of more would end, and its noise would drown it
LOUD = 0.1  # noise above this share of the bounds' width is refused unless accepted


def tune(
    objective: Callable[[dict[str, Any]], Any],
    space: Mapping[str, Any] | Space,
    *,
    records: int,
    bounds: tuple[float, float],
    budget: Budget | None,
    trials: int,
    direction: str = "minimize",
    method: str = "observed",
    candidates: Sequence[Params] | int | None = None,
    ledger: Ledger | None = None,
    storage: Any = None,
    study_name: str = "tacit",
    executor: Executor | None = None,
    at_once: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    accept_noise: bool = False,
    seed: int = 0,
    noise: Source = EXACT,
    **options: Any,
) -> Release[Tuned]:
    """Tune on private records and release the best parameters and their score.

    ``objective(params)`` returns one loss (or score, with direction="maximize") per validation record; ``bounds`` and
    ``records`` are public. ``trials`` is fixed in advance. ``out`` is a folder for the released study, the certificate
    and what is needed to go on after a crash; ``executor`` runs evaluations elsewhere, ``at_once`` of them together.

    Guarantee. method="observed" (default), "random", "grid" and "gibo": mu-GDP for one validation record replaced,
    unconditional, for everything that is released or written, the whole study included. "kusner1" and "kusner2" are
    conditional on a Gaussian-process model; "kusner3" is pure epsilon, given true Lipschitz constants; "nonprivate" has
    none. What the model was trained on is not protected by any of them.
    Follows. Section "private observations" of the documentation; Kusner et al. (2015), Algorithms 1 to 3; Sopa et al.
    (2025), Algorithms 1 and 2 ("gibo", for many parameters: ``trials`` are its steps, of several evaluations each).
    Edges. Losses outside the bounds are clipped, missing ones count as the worse bound, and how many is private.
    Noise above a tenth of the bounds' width is refused unless ``accept_noise=True``. Interrupted runs go on from
    ``out`` or ``storage`` without paying twice.

    >>> import numpy as np, tacit
    >>> def losses(params):
    ...     return np.full(5000, (params["x"] - 0.3) ** 2)
    >>> release = tacit.tune(losses, {"x": tacit.Float(0.0, 1.0)}, records=5000, bounds=(0.0, 1.0),
    ...                      budget=tacit.Budget.approximate(1.0, 1e-6), trials=15, progress=False)
    >>> abs(release.value.params["x"] - 0.3) < 0.25, release.guarantee.unconditional
    (True, True)
    """
    choice("method", method, METHODS)
    asked, space = Objective(objective, records, bounds, direction), Space(space)
    if count("trials", trials) > MOST_TRIALS:
        raise BadInput(
            f"trials must be at most {MOST_TRIALS}, got trials={trials}: the search would not end, and the noise of "
            "each trial grows with the root of their number. Nothing was spent"
        )
    count("seed", seed, least=0)
    if method.startswith("kusner"):
        settings = {"ledger": ledger, "noise": noise, "accepted": accept_noise}
        refused = {"storage": storage, "executor": executor, "at_once": at_once}
        known = _listed(space, 256 if candidates is None else candidates, seed)
        return _kusner((method, asked, space, known, trials, budget), settings, refused, out, options)
    if method == "gibo":
        who = {"ledger": ledger, "noise": noise, "executor": executor, "accepted": accept_noise, "seed": seed}
        refused = {"storage": storage, "candidates": candidates, "at_once": at_once}
        return _gibo((asked, space, trials, budget), who, refused, out, options, progress)
    if options:
        raise BadInput(f"method {method!r} takes no option {', '.join(sorted(options))}")
    if method == "nonprivate":
        return _nonprivate(asked, space, budget, trials, candidates, seed, out, storage, ledger)
    if budget is None:
        raise BadInput(f"method {method!r} needs a budget, such as tacit.Budget.approximate(1.0, 1e-6)")
    if method == "grid":
        candidates = space.grid_within(trials - confirmations(trials))
    terms = Terms(asked.records, asked.bounds, budget, trials, direction)
    bearable(terms, accept_noise)
    from tacit.run.study import SEARCH, begun_alike, kept, opened, progress_bar  # loads Optuna

    with ExitStack() as stack:
        folder = stack.enter_context(kept(out)) if out is not None else None
        study = opened(storage, study_name, folder, direction)
        listed = _listed(space, candidates, seed)
        sampler = _sampler(method, space, terms.mechanism().scale ** 2, trials, listed, seed)
        study.sampler = sampler
        search = begun_alike(study, space, method)
        observations = Observations(study, terms, ledger=ledger, noise=noise)
        study.set_user_attr(SEARCH, search)
        tell = stack.enter_context(progress_bar(study, observations, progress))
        width = count("at_once", at_once or getattr(executor, "_max_workers", None) or 1) if executor else 1
        keep = trials - len(listed or []) if method == "grid" else confirmations(trials)
        if CHOSEN not in study.user_attrs:
            run(observations, asked, space.distributions, executor=executor, at_once=width, keep=keep, done=tell)
        params, answer = _chosen(study, sampler)
        confirm(observations, asked, space.distributions, params, executor=executor, done=tell)
        release = _released(study, params, answer, observations, method)
        if folder is not None:
            folder.write(release, study)
    return release


def _chosen(study: optuna.Study, sampler: Any) -> tuple[Params, Any]:
    """The parameters to answer with, chosen once and before they are confirmed, and what the model expects of them."""
    from tacit.run.study import observed_trials

    if not observed_trials(study):
        raise TacitError(
            "all paid observations were lost in interrupted runs, so there is nothing to answer with. "
            "Start a new study with its own budget"
        )
    params, answer = sampler.answer(study)
    return study.user_attrs.get(CHOSEN, params), answer


def _released(
    study: optuna.Study, params: Params, answer: Any, observations: Observations, method: str
) -> Release[Tuned]:
    """The answer with every observation: post-processing of what was already released."""
    from tacit.run.study import confirmed_values, observed_trials

    if (given := observations.answer()) is not None:  # called again: the same answer, to the last digit
        observations.give(given, digest(Tuned.from_json(given)))
        return Release(Tuned.from_json(given), observations.guarantee, observations.payment)
    score, deviation, told = answer.value, answer.deviation, "the model of all observations"
    fresh = confirmed_values(study, params)
    if fresh:
        score, deviation = sum(fresh) / len(fresh), observations.mechanism.scale / math.sqrt(len(fresh))
        told = f"the mean of {len(fresh)} observations made after the choice"
    low, high = observations.terms.bounds
    value = Tuned(
        params,
        min(max(score, low), high),
        method,
        observations.terms.direction,
        deviation=deviation,
        noise=observations.mechanism.scale,
        trials=observed_trials(study),
        details={"score": told},
    )
    try:
        observations.give(value.to_json(), digest(value))
    except LedgerError:  # a process beside this one was quicker, and its answer is the one of all
        if (given := observations.answer()) is None:
            raise
        value = Tuned.from_json(given)
    return Release(value, observations.guarantee, observations.payment)


def _sampler(method: str, space: Space, variance: float, trials: int, listed: list[Params] | None, seed: int) -> Any:
    from tacit.methods.sampler import KnownNoiseSampler, ListSampler, ScatterSampler

    if method == "grid":
        return ListSampler(space, variance, listed or [], seed=seed)
    if method == "random":
        return ScatterSampler(space, variance, candidates=listed, seed=seed)
    startup = min(trials, max(4, min(10, trials // 4)))
    return KnownNoiseSampler(space, variance, startup=startup, candidates=listed, seed=seed)


def _listed(space: Space, candidates: Sequence[Params] | int | None, seed: int) -> list[Params] | None:
    if candidates is None:
        return None
    listed = space.sobol(candidates, seed) if isinstance(candidates, int) else [dict(p) for p in candidates]
    if not listed:
        raise BadInput("candidates must not be an empty list")
    space.cube(listed)  # refuses what does not fit the space
    return listed


def bearable(terms: Terms, accepted: bool) -> None:
    """Refuse noise that drowns the differences between parameters, unless it was accepted."""
    noise, (low, high) = terms.mechanism().scale, terms.bounds
    if noise > LOUD * (high - low) and not accepted:
        raise BadInput(
            f"each of {terms.trials} evaluations over {terms.records} records would carry noise of standard deviation "
            f"{noise:.3g}, on losses between {low:g} and {high:g}: little better than a random choice. Use more "
            "records, a larger budget or fewer trials; or accept it with accept_noise=True (--yes). Nothing was spent"
        )


def _nonprivate(
    objective: Objective, space: Space, budget: Any, trials: int, candidates: Any, seed: int, *kept: Any
) -> Release[Tuned]:
    """The same search on exact means, to measure what privacy costs. Nothing is stored, since nothing is protected."""
    if budget is not None or any(k is not None for k in kept):
        raise BadInput("method 'nonprivate' protects nothing: it takes budget=None and no ledger, storage or out")
    from tacit.privacy.mean import BoundedMean
    from tacit.run.study import exact_trials, opened

    study = opened(None, "nonprivate", None, objective.direction)
    sampler = _sampler("observed", space, 0.0, trials, _listed(space, candidates, seed), seed)
    study.sampler = sampler
    mean = BoundedMean(objective.records, objective.bounds, scale=1e-3 * (objective.bounds[1] - objective.bounds[0]))
    exact_trials(study, space, trials, lambda params: mean.mean_of(mean.total(objective.losses(params))))
    params, answer = sampler.answer(study)
    why = "the search saw exact scores of the validation records"
    return Release(Tuned(params, answer.value, "nonprivate", objective.direction), Guarantee.none(why))


def _kusner(
    problem: tuple[Any, ...],
    settings: dict[str, Any],
    refused: dict[str, Any],
    out: str | Path | None,
    options: dict[str, Any],
) -> Release[Tuned]:
    """Everything seen on the way is private here, so the certificate is all that is ever written."""
    from tacit.methods.kusner import Problem, release
    from tacit.run.study import kept

    given = [name for name, value in refused.items() if value is not None]
    if given:
        raise BadInput(f"method {problem[0]!r} keeps its trials to itself, one after another: no {', '.join(given)}")
    asked = Problem(*problem, **settings)
    with ExitStack() as stack:
        folder = stack.enter_context(kept(out)) if out is not None else None
        made = release(asked, options)
        if folder is not None:
            (folder.path / "certificate.json").write_text(json.dumps(made.certificate(), indent=1) + "\n")
    return made


def _gibo(
    problem: tuple[Objective, Space, int, Any],
    who: dict[str, Any],
    refused: dict[str, Any],
    out: str | Path | None,
    options: dict[str, Any],
    progress: bool,
) -> Release[Tuned]:
    """The folder holds the certificate, and the journal of released gradients from which an interrupted run goes on."""
    from tacit.methods.gibo import FILE, Problem, release
    from tacit.methods.gibo.design import Settings
    from tacit.run.progress import steps_bar
    from tacit.run.study import kept

    given = [name for name, value in refused.items() if value is not None]
    if given:
        raise BadInput(f"method 'gibo' follows gradients and keeps its own journal in out: no {', '.join(given)}")
    asked = Problem(*problem, Settings.of(options, problem[0].bounds, problem[1]), **who)
    with ExitStack() as stack:
        folder = stack.enter_context(kept(out)) if out is not None else None
        tell = stack.enter_context(steps_bar(asked.trials, progress))
        made = release(replace(asked, file=folder.path / FILE) if folder is not None else asked, tell)
        if folder is not None:
            (folder.path / "certificate.json").write_text(json.dumps(made.certificate(), indent=1) + "\n")
    return made


def read_release(folder: str | Path) -> dict[str, Any]:
    """The certificate that a run left in its output folder."""
    path = Path(folder) / "certificate.json"
    try:
        document: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"no certificate can be read at {path}: {type(error).__name__}") from None
    return document
