"""tacit: tune on data you cannot show.

Names load on first use, so that importing tacit is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit import accounting as accounting
    from tacit import audit as audit
    from tacit import metrics as metrics
    from tacit import pareto as pareto
    from tacit import samplers as samplers
    from tacit.data.schema import Schema as Schema
    from tacit.errors import TacitError as TacitError
    from tacit.integrations.opendp import OpenDPNoise as OpenDPNoise
    from tacit.integrations.optuna import private as private
    from tacit.integrations.sklearn import PrivateSearchCV as PrivateSearchCV
    from tacit.integrations.sklearn_trained import PrivateClassifier as PrivateClassifier
    from tacit.integrations.sklearn_trained import PrivateRegressor as PrivateRegressor
    from tacit.methods.kusner.regularised import RegularisedClassifier as RegularisedClassifier
    from tacit.methods.tune import tune as tune
    from tacit.outsource.curator import Curator as Curator
    from tacit.outsource.modeler import Modeler as Modeler
    from tacit.planning.plan import Plan as Plan
    from tacit.planning.plan import plan as plan
    from tacit.privacy import mechanisms as mechanisms
    from tacit.privacy.accounting import compose as compose
    from tacit.privacy.guarantee import Budget as Budget
    from tacit.privacy.guarantee import Guarantee as Guarantee
    from tacit.privacy.ledger import Ledger as Ledger
    from tacit.privacy.noise import Simulation as Simulation
    from tacit.privacy.private import Private as Private
    from tacit.privacy.release import Release as Release
    from tacit.run.masks import Site as Site
    from tacit.run.masks import SiteKey as SiteKey
    from tacit.run.shards import Shards as Shards
    from tacit.space import Choice as Choice
    from tacit.space import Float as Float
    from tacit.space import Int as Int
    from tacit.space import Space as Space
    from tacit.training.select import select as select
    from tacit.training.train import train as train

__version__ = "0.2.0"

_HOMES = {
    "Budget": "tacit.privacy.guarantee",
    "Choice": "tacit.space",
    "Curator": "tacit.outsource.curator",
    "Float": "tacit.space",
    "Guarantee": "tacit.privacy.guarantee",
    "Int": "tacit.space",
    "Ledger": "tacit.privacy.ledger",
    "Modeler": "tacit.outsource.modeler",
    "OpenDPNoise": "tacit.integrations.opendp",
    "Plan": "tacit.planning.plan",
    "Private": "tacit.privacy.private",
    "PrivateClassifier": "tacit.integrations.sklearn_trained",
    "PrivateRegressor": "tacit.integrations.sklearn_trained",
    "PrivateSearchCV": "tacit.integrations.sklearn",
    "RegularisedClassifier": "tacit.methods.kusner.regularised",
    "Release": "tacit.privacy.release",
    "Schema": "tacit.data.schema",
    "Shards": "tacit.run.shards",
    "Site": "tacit.run.masks",
    "SiteKey": "tacit.run.masks",
    "Simulation": "tacit.privacy.noise",
    "Space": "tacit.space",
    "TacitError": "tacit.errors",
    "accounting": "tacit",
    "audit": "tacit",
    "compose": "tacit.privacy.accounting",
    "mechanisms": "tacit.privacy",
    "metrics": "tacit",
    "pareto": "tacit",
    "plan": "tacit.planning.plan",
    "samplers": "tacit",
    "private": "tacit.integrations.optuna",
    "select": "tacit.training.select",
    "train": "tacit.training.train",
    "tune": "tacit.methods.tune",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    value = vars(home).get(name) or importlib.import_module(f"{_HOMES[name]}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
