"""diffprivlib's logistic regression, in an interpreter of its own: it needs an older scikit-learn than the rest.

TACIT_PEER_PYTHON names the interpreter (python -m venv peer; peer/bin/pip install diffprivlib 'scikit-learn<1.8'). Run
as a script it reads arrays X, y, X_new and numbers epsilon, norm from an .npz file and prints the predictions' file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "TACIT_PEER_PYTHON"


def predict(X: Any, y: Any, X_new: Any, *, epsilon: float, norm: float) -> Any:
    """Labels (0 or 1) for new rows by a regression that was fitted with privacy."""
    from benchmarks import Missing

    interpreter = os.environ.get(VARIABLE)
    if not interpreter:
        raise Missing(f"{VARIABLE} names no interpreter with diffprivlib")
    with tempfile.TemporaryDirectory() as folder:
        asked, said = Path(folder) / "asked.npz", Path(folder) / "said.npy"
        np.savez(asked, X=X, y=y, X_new=X_new, epsilon=epsilon, norm=norm)
        outcome = subprocess.run([interpreter, __file__, str(asked), str(said)], capture_output=True, text=True)
        if outcome.returncode:
            raise Missing(f"diffprivlib did not run: {outcome.stderr.strip().splitlines()[-1:]}")
        return np.load(said)


def main(asked: str, said: str) -> None:
    import warnings

    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("ignore")
    given = np.load(asked)
    model = LogisticRegression(epsilon=float(given["epsilon"]), data_norm=float(given["norm"]), max_iter=1000)
    np.save(said, model.fit(given["X"], given["y"]).predict(given["X_new"]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
