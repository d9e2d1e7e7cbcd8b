"""tacit.tune: one call from an objective to a release."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data.identity import DataIdentity, data_of, identify
from tacit.errors import BadInput, TacitError, choice, is_storage_error
from tacit.files import Json
from tacit.methods.auto import resolve
from tacit.methods.branching import METHODS as BRANCHING
from tacit.methods.branching import TrialSpace
from tacit.methods.constraint import Constraint
from tacit.methods.privacy_unit import make_objective
from tacit.methods.registry import AUTO, METHODS
from tacit.methods.task import Task
from tacit.methods.tuned import Tuned
from tacit.privacy.guarantee import Budget, warn_of_weakness
from tacit.privacy.ledger_like import as_ledger
from tacit.privacy.noise import EXACT, Source
from tacit.privacy.release import Release
from tacit.space import Params, Space

if TYPE_CHECKING:
    from tacit.privacy.ledger_like import LedgerLike


def tune(
    objective: Callable[..., Any],
    space: Mapping[str, Any] | Space | Callable[[Any], Any],
    *,
    budget: Budget | None,
    trials: int,
    records: Any = None,
    train: Callable[[Params], Any] | None = None,
    bounds: tuple[float, float] | None = None,
    groups: Any = None,
    direction: str = "minimize",
    method: str = AUTO,
    candidates: Sequence[Params] | int | None = None,
    ledger: LedgerLike = None,
    storage: Any = None,
    study_name: str = "tacit",
    executor: Executor | None = None,
    cluster: Any = None,
    at_once: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    accept_noise: bool = False,
    seed: int = 0,
    noise: Source = EXACT,
    data: str | DataIdentity | None = None,
    public: Any = None,
    constraint: Any = None,
    **options: Any,
) -> Release[Tuned]:
    """Tune on private records and release the best parameters and their score.

    Args:
        objective: ``objective(params)`` returns one loss (or score, with direction="maximize") per validation record. A
            metric's own objective (``tacit.metrics``) needs no records and bounds.
        space: Parameters by name; or a function of a trial that suggests them (method "observed" or "random").
        budget: Of the whole call; None for a search without privacy.
        trials: Evaluations, fixed in advance; with "auto" the most that are allowed.
        records: The public number of records; or where they are, see below.
        train: Makes a model of parameters, where records stay where they are.
        bounds: Public bounds of one loss.
        groups: Whose each row is, where persons have several: each then has one loss, the mean of theirs, and
            ``records`` counts rows or is left out.
        direction: "minimize" or "maximize".
        method: "auto", or the name of a method.
        candidates: A finite set to search, or how many to scatter.
        ledger: The ledger that pays, or its path or URL.
        storage: URL of an Optuna study that several machines share, under ``study_name``.
        study_name: Of the study in ``storage``.
        executor: Runs evaluations elsewhere, ``at_once`` of them together.
        cluster: Where the parts of the records are asked, see below.
        at_once: Evaluations together.
        out: A folder for the released study, the certificate and what is needed to go on after a crash.
        progress: Whether a bar is shown.
        accept_noise: Whether noise above a tenth of the bounds' width is accepted.
        seed: Of the search; noise has none.
        noise: Exact, or a ``tacit.Simulation``, which has no guarantee.
        data: What the losses are of: a study that was begun on other data is then refused.
        public: Trials that cost nothing, see below.
        constraint: A second private metric, see below.
        options: Those of the method.

    Returns:
        Parameters, score, its interval and what else was released, with the guarantee and who paid.

    Raises:
        BadInput: An argument breaks a rule; nothing was spent. ExcessiveNoise is one of these.
        BudgetRefused: The ledger does not cover it; nothing was drawn.
        ObjectiveError: The objective raised, or its answer is unusable.

    ``public`` are trials of public or synthetic data, or of an earlier release, which method "observed" begins with, at
    no cost: pairs of parameters and value, a study of Optuna, or a release. Their level and spread may be others.

    ``constraint``, ("recall", ">=", 0.8) or ("cost", "<=", 3.0, (0.0, 10.0)) with public bounds of one record's value,
    names a second private metric: the objective returns two columns, losses and this metric's values, shape (records,
    2), and the answer is the best setting whose mean of the second column is likely to keep to it. Methods "observed"
    and "pool"; what the answer reaches, with its noise, is in ``details["constraint"]``. The budget is for both.

    Where the records are too many for one machine, or must stay where they are: ``train(params)`` makes a model here,
    once a trial, ``objective(model, frame)`` gives one loss for each record of a frame, and ``records`` says where they
    are: a pattern of Parquet files, a Dask DataFrame, a Ray Dataset or ``tacit.Shards``. ``cluster`` is a Dask client,
    an address, "ray" or an executor. The release is the same, to the last bit. ``train`` may hand its work to the
    cluster, and return the future of a model.

    ``method="auto"``, the default, takes ``trials`` as the most evaluations that are allowed, and chooses among
    "observed", "pool", "staged" and "gibo", and how many evaluations, by regrets that were measured. ``tacit.plan``
    names the same choice with its reason. It depends on public numbers alone, and the guarantee is that of the method
    chosen, which the release names.

    Guarantee. method="observed", "random", "grid", "staged" and "gibo": mu-GDP for one validation record replaced,
    unconditional, for everything that is released or written, the whole study included; "pool" too, pure epsilon where
    the budget is an epsilon. "kusner1" and "kusner2" are
    conditional on a Gaussian-process model; "kusner3" is pure epsilon, given true Lipschitz constants; "nonprivate" has
    none. With ``groups`` the unit is one person replaced, with all their rows. What the model was trained on is not
    protected by any of them.
    Follows. Private observations (docs/proofs/private-observations.md); Kusner et al. (2015), Algorithms 1 to 3; Sopa
    et al. (2025), Algorithms 1 and 2 ("gibo", for many parameters: ``trials`` are its steps, of several evaluations
    each). All proofs: docs/proofs/index.md.
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
    choice("method", method, (AUTO, *METHODS))
    limit = Constraint.read(constraint)
    columns = 1 if limit is None else 2
    task = Task(
        make_objective(objective, records, bounds, direction, groups, train=train, cluster=cluster, columns=columns),
        as_space(space, method, candidates),
        budget,
        trials,
        candidates=candidates,
        ledger=as_ledger(ledger),
        storage=storage,
        study_name=study_name,
        executor=executor,
        at_once=at_once,
        out=None if out is None else Path(out),
        progress=progress,
        accept_noise=accept_noise,
        seed=seed,
        noise=noise,
        options=options,
        data=identify(data) or data_of(objective),
        public=public,
        constraint=limit,
    )
    if method == AUTO:
        method, task = resolve(task)
    chosen = METHODS[method]
    chosen.check(task)
    if not noise.simulated:
        warn_of_weakness(budget, task.objective.records)
    try:
        return chosen.run(task)
    except Exception as error:
        if isinstance(error, TacitError) or not is_storage_error(error):
            raise
        raise TacitError(
            f"the study's storage failed ({type(error).__name__}): no room, no permission, or a database that is gone "
            "or was changed. What was stored before is kept: call again when it works, and nothing is paid twice"
        ) from None


def as_space(space: Mapping[str, Any] | Space | Callable[[Any], Any], method: str, candidates: Any) -> Space:
    """Named parameters, or a function of a trial for the methods that can follow one."""
    if not callable(space):
        return Space(space)
    if method not in (AUTO, *BRANCHING):
        raise BadInput(
            f"a function of a trial as space works with method {' or '.join(BRANCHING)}, got method={method!r}: it "
            "needs named parameters, {'rate': tacit.Float(1e-3, 1.0, log=True), ...}. Nothing was spent"
        )
    if candidates is not None:
        raise BadInput("candidates are members of a space of named parameters, not of a function. Nothing was spent")
    return TrialSpace(space)


def read_release(folder: str | Path) -> Json:
    """The certificate that a run left in its output folder."""
    path = Path(folder) / "certificate.json"
    try:
        document: Json = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"no certificate can be read at {path}: {type(error).__name__}") from None
    return document
