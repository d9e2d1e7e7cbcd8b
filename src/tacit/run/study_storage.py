"""Optuna's storage in a database, with a quick first read of a study.

Optuna makes an object for every parameter, value and attribute of every trial, and parses every distribution twice.
Here those are plain rows, and a distribution is parsed once for all trials that share it.
"""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Container, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import Any

from optuna.distributions import json_to_distribution
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

SCHEMA = "v3.2.0.a"  # of the tables that are read here; Optuna reads all others
ENDLESS = {"INF_POS": math.inf, "INF_NEG": -math.inf, "NAN": math.nan}
parse_distribution = lru_cache(maxsize=1024)(json_to_distribution)


class QuickStorage(RDBStorage):
    """A storage that reads a whole study quickly; Optuna keeps what is finished, and asks for the rest alone."""

    @cached_property
    def _is_known(self) -> bool:
        return self.get_current_version() == SCHEMA

    def _get_trials(
        self,
        study_id: int,
        states: Container[TrialState] | None,
        included_trial_ids: set[int],
        trial_id_greater_than: int,
    ) -> list[FrozenTrial]:
        trials = []
        if states is None and trial_id_greater_than < 0 and self._is_known:
            with without_collector():
                trials = self._read_study(study_id)
        return trials or super()._get_trials(study_id, states, included_trial_ids, trial_id_greater_than)

    def _read_study(self, study_id: int) -> list[FrozenTrial]:
        """All trials. They are read before their parts: of a trial that is finished by then all parts are there."""
        import sqlalchemy as sa
        from optuna.storages._rdb.models import TrialModel
        from sqlalchemy.orm import Session

        mine = TrialModel.study_id == study_id
        with Session(self.engine) as session:
            models = session.scalars(sa.select(TrialModel).where(mine).order_by(TrialModel.trial_id))
            trials = {trial.trial_id: _freeze(trial) for trial in models}

            def parts(name: str, *columns: str, order: str) -> Iterator[Any]:
                """The rows of a table, each with its trial; those of a trial in order."""
                table = sa.table(f"trial_{name}", *map(sa.column, {"trial_id", order, *columns}))
                query = sa.select(*(table.c[column] for column in ("trial_id", *columns))).order_by(table.c[order])
                query = query.where(table.c.trial_id.in_(sa.select(TrialModel.trial_id).where(mine)))
                rows = session.connection().execute(query)
                return ((trials[number], *row) for number, *row in rows if number in trials)

            for trial, name, value, text in parts(
                "params", "param_name", "param_value", "distribution_json", order="param_id"
            ):
                distribution = trial.distributions[name] = parse_distribution(text)
                trial.params[name] = distribution.to_external_repr(value)
            for trial, *number in parts("values", "value", "value_type", order="objective"):
                trial.values = [*(trial.values or ()), _read_number(*number)]
            for trial, key, text in parts("user_attributes", "key", "value_json", order="key"):
                trial.user_attrs[key] = json.loads(text)
            for trial, key, text in parts("system_attributes", "key", "value_json", order="key"):
                trial.system_attrs[key] = json.loads(text)
            for trial, step, *number in parts(
                "intermediate_values", "step", "intermediate_value", "intermediate_value_type", order="step"
            ):
                trial.intermediate_values[step] = _read_number(*number)
        return list(trials.values())


@contextmanager
def without_collector() -> Iterator[None]:
    """Python looks through all objects again and again while many are made; none of these is to be collected."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _freeze(trial: Any) -> FrozenTrial:
    """A trial as Optuna's own object has it, without its parts."""
    times = {"datetime_start": trial.datetime_start, "datetime_complete": trial.datetime_complete}
    empty: dict[str, Any] = {"params": {}, "distributions": {}, "user_attrs": {}, "system_attrs": {}}
    about = {"number": trial.number, "trial_id": trial.trial_id, "state": trial.state, "value": None}
    return FrozenTrial(**about, **times, **empty, intermediate_values={})


def _read_number(value: float | None, kind: str) -> float:
    """A number as Optuna stores it: those that some databases lack have names."""
    if (value is None) == (kind == "FINITE"):
        raise ValueError("a stored number is not what was written")
    return ENDLESS[kind] if value is None else float(value)
