"""The data of the DPareto paper, from the folder that TACIT_DATA names."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # X, y, X_test, y_test


def adult() -> Split:
    """Adult, 123 binary features: LIBSVM's a1a.t to train on (30,956) and a1a to test on (1,605).

    This is what the authors' code downloads; their paper counts 40k.
    """
    z = np.load(_file("adult_libsvm.npz"))
    X, y, X_test, y_test = (z[f"dpareto_{part}"] for part in ("X_train", "y_train", "X_test", "y_test"))
    return X, y, X_test, y_test


def mnist(records: int = 60_000) -> Split:
    """MNIST, pixels divided by 255; the first ``records`` images to train on."""
    z = np.load(_file("mnist.npz"))
    X, X_test = (z[part].reshape(-1, 784) / np.float32(255) for part in ("x_train", "x_test"))
    return X[:records], z["y_train"][:records], X_test, z["y_test"]


def there(name: str) -> bool:
    """Whether the folder holds this file."""
    folder = os.environ.get("TACIT_DATA")
    return bool(folder) and (Path(str(folder)) / name).exists()


def _file(name: str) -> Path:
    if not there(name):
        raise SystemExit(
            f"{name} is not in TACIT_DATA. Adult: LIBSVM's a1a and a1a.t as 0/1 arrays; MNIST: the usual mnist.npz. "
            "Set TACIT_DATA to a folder that holds them."
        )
    return Path(os.environ["TACIT_DATA"]) / name
