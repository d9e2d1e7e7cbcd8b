"""The public namespace, listed; and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import tacit

PUBLIC = {
    "Budget",
    "Choice",
    "Curator",
    "Float",
    "Guarantee",
    "Int",
    "Ledger",
    "Modeler",
    "OpenDPNoise",
    "Plan",
    "Private",
    "PrivateClassifier",
    "PrivateRegressor",
    "PrivateSearchCV",
    "RegularisedClassifier",
    "Release",
    "Schema",
    "Shards",
    "Simulation",
    "Site",
    "SiteKey",
    "Space",
    "TacitError",
    "__version__",
    "accounting",
    "audit",
    "compose",
    "mechanisms",
    "metrics",
    "pareto",
    "plan",
    "private",
    "samplers",
    "select",
    "train",
    "tune",
}


def test_the_public_names_are_these() -> None:
    assert set(tacit.__all__) == PUBLIC


def test_every_public_name_loads() -> None:
    assert all(getattr(tacit, name) is not None for name in PUBLIC)


def test_importing_tacit_or_its_command_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'scipy', 'optuna', 'opendp', 'dp_accounting', 'sklearn', 'sqlalchemy', 'pandas', 'plotly'}"
    for module in ("tacit", "tacit.cli"):
        code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"
