"""Small things to report on, the same every time; and a browser to look at them with."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from tacit import Budget, Curator, Guarantee, Ledger, Release
from tacit.audit.game import Audit
from tacit.methods.tuned import Tuned
from tacit.outsource.curator.tokens import Tokens
from tacit.pareto import Front, Point
from tacit.report.study_file import StudyFile, Trial

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--hide-scrollbars"]
SURE = Guarantee(Budget.gdp(0.25), unit="one validation record replaced", source="a theorem")
KIND = "fixed-size lots without replacement, one record replaced"


def observed() -> dict[str, Any]:
    """The certificate of twenty observations, the last four of the chosen parameters."""
    draws = np.random.default_rng(7)
    rates, depths = draws.uniform(size=20).tolist(), draws.integers(1, 9, 20).tolist()
    params = [{"rate": r, "depth": d} for r, d in zip(rates, depths, strict=True)]
    params[-4:] = [params[9]] * 4
    values = [0.1 + 0.3 * abs(p["rate"] - 0.5) + 0.01 * draws.normal() for p in params]
    trials = [{"params": p, "value": v} for p, v in zip(params, values, strict=True)]
    told = {"score": "the mean of 4 observations made after the choice"}
    value = Tuned(params[9], 0.1234, "observed", "minimize", 0.005, 0.01, trials, told)
    return Release(value, SURE).certificate()


def descended() -> dict[str, Any]:
    """The certificate of a path of fifteen steps over three parameters."""
    steps = np.arange(16)
    path = [{"a": 1 - 0.8 * 0.7**t, "b": 0.5 + 0.3 * 0.6**t * math.cos(t), "c": 0.02 * t} for t in steps.tolist()]
    details = {"path": [path], "bias_trace": [[0.5 * 0.8**t for t in range(15)]], "noise_scale": 0.003}
    return Release(Tuned(path[-1], None, "gibo", "maximize", details=details), SURE).certificate()


def trained() -> dict[str, Any]:
    """The certificate of a training whose model is not shown to be better than the most frequent class."""
    details = {"of": "rows", "records": 4000, "test": 500, "baseline": 0.2038, "baseline_deviation": 0.004}
    details |= {"baseline_of": "the most frequent class", "higher": False, "unit": True, "expected_runs": 40.0}
    details |= {"epsilons": {"composition": 8.2, "Rényi": 2.69}}
    value = {"params": {"rate": 0.5, "clip": 1.0}, "score": 0.2126, "metric": "error", "deviation": 0.004}
    value |= {"sampling": 0.018, "trainer": "logistic", "model_digest": "ab" * 32, "details": details}
    guarantee = Guarantee(Budget.approximate(1.0, 1e-6), unit="one record of the table replaced", source="a theorem")
    return Release(value, guarantee).certificate()


def front(name: str = "logistic regression", shift: float = 0.0, label: str = KIND, **about: Any) -> Front:
    draws = np.random.default_rng(3)
    points = []
    for e in np.geomspace(0.1, 8, 14).tolist():
        mean = 0.95 - 0.4 / (1 + 2 * e) + shift - (0.05 if len(points) % 4 == 3 else 0.0)
        runs = [float(np.clip(mean + 0.02 * z / (1 + e), 0, 1)) for z in draws.normal(size=5)]
        points.append(Point.of({"rate": round(0.01 * e, 4), "lot": 10 + len(points), "loss": "log"}, e, runs))
    return Front(tuple(points), label, 1e-6, name=name, **about)


def audits() -> list[dict[str, Any]]:
    numbers = [("laplace", 1.0, 0.94), ("observed", 4.4, 4.1), ("careless", 1.0, 2.3), ("projection", math.inf, 6.0)]
    made = [Audit(n, f"a game of {n}", c, m, 1e-5, 0.99, 4000, 1.5, "exact draws", "a claim") for n, c, m in numbers]
    return [a.to_json() for a in made]


def attacked() -> dict[str, Any]:
    """What tacit audit outsource --json tells of a table of 1,000 rows."""
    lines = [("projection", "none", k, share, 1e-14) for k, share in ((0, 0.0), (2, 0.001), (3, 1.0), (4, 1.0))]
    lines += [("noisy", "epsilon = 3, delta = 1e-05", k, 0.0, 0.18) for k in (0, 2, 3, 4)]
    names = ("transform", "guarantee", "known", "share", "median_error")
    return {"rows": 1000, "columns": 2, "attack": [dict(zip(names, line, strict=True)) for line in lines]}


def searching() -> StudyFile:
    """Nine of twenty observations, the tenth under way."""
    terms = {"records": 2000, "bounds": [0, 1], "trials": 20, "direction": "minimize"}
    terms["budget"] = Budget.approximate(1.0, 1e-6).to_json()
    done = [Trial(t["params"], [t["value"]], {"tacit:drawn": True}) for t in observed()["value"]["trials"][:9]]
    return StudyFile({"tacit:terms": json.dumps(terms)}, done, 9, 0, 1)


def charged(path: Path) -> str:
    with Ledger.open(path, "icu", Budget.approximate(2.0, 1e-6), description="ICU stays of 2024") as ledger:
        for mu, purpose in ((0.1, "mean length of stay"), (0.2, "tune 4711: 25 observations")):
            ledger.charge(Guarantee(Budget.gdp(mu)), purpose)
    return str(path)


def laid_out(root: Path) -> Path:
    """A folder of a release and a front."""
    for name in ("release", "front"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "release" / "certificate.json").write_text(json.dumps(observed()))
    front().save(root / "front" / "front.json")
    for path in root.glob("*/*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return root


def curator(folder: Path, **about: Any) -> Path:
    """The state folder of a study with seven exchanges. Exact answers are 0.4711 + row / 1000."""
    rows = np.random.default_rng(0).uniform(-9, 9, (40, 2))
    tokens = Tokens(folder, environment="")
    for name in ("alice", "bob"):
        tokens.grant(name)
    answers = 0.4711 + np.arange(40) / 1000
    with Curator(rows, answers, epsilon=2.0, delta=1e-3, queries=20, state=folder, **about) as held:
        for k in (3, 14, 15, 9, 26, 5, 35):
            held.ask([k], modeler="alice" if k % 3 else "bob")
    tokens.revoke("bob")
    tokens.close()
    return folder
