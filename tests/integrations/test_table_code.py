"""The script that rebuilds a model gives the same predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit.data.files import read_table
from tacit.integrations.table import table_objective
from tacit.integrations.table_code import write_script


@pytest.mark.parametrize("declared", [False, True])
def test_the_script_rebuilds_the_fitted_model(declared: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=200), "ward": rng.choice(["n", "w"], 200), "who": np.arange(200) // 2})
    table["sick"] = np.where(table["age"] > 0, "yes", "no")
    path, schema = tmp_path / "t.csv", tmp_path / "schema.toml"
    table.to_csv(path, index=False)
    schema.write_text('[columns]\nage = "number"\n\n[target]\nname = "sick"\nlabels = ["no", "yes"]\n')
    about: dict[str, Any] = {"task": "classification", "validation": 0.4, "seed": 3, "person": "who", "drop": ["ward"]}
    script = write_script(str(path), "sick", "linear", about, {"C": 2.0}, schema if declared else None)
    held: dict[str, Any] = {}
    exec(compile(script, "script", "exec"), held)
    rows = read_table(path)
    again = held["model"]
    assert again.predict(rows).shape == (200,)
    assert np.allclose(again.predict_proba(rows).sum(axis=1), 1)
    if not declared:
        made = table_objective(read_table(path, spelled=["who"]), "sick", "linear", **about).fit({"C": 2.0})
        assert np.array_equal(made.predict_proba(rows), again.predict_proba(rows))
