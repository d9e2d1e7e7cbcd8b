"""Thirty-two parameters at once: how much to stretch each feature of a classifier, tuned on private records.

The breast cancer data bundled with scikit-learn stand in for records that may not be shown. A hundred rows train the
model (and are not protected); the others are the private validation set. B is chosen from the training rows, which are
public here.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

import tacit
from tacit.methods.gibo import suggest_clip

X, y = load_breast_cancer(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
train, private = order[:100], order[100:]
X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
sign = 2.0 * y - 1.0
names = [f"stretch_{j}" for j in range(30)]


def fitted_losses(params: dict, rows: np.ndarray) -> np.ndarray:
    """Logistic losses of a kernel classifier, one for each row; a row is never judged by itself."""
    S = X * np.array([params[name] for name in names])
    squares = (S**2).mean(axis=1)
    away = squares[rows][:, None] + squares[train] - 2 / len(names) * S[rows] @ S[train].T
    near = np.exp(-away / params["width"] ** 2) * (rows[:, None] != train[None])
    score = params["trust"] * (near @ sign[train]) / (near.sum(axis=1) + 1e-9)
    return np.minimum(np.log1p(np.exp(-sign[rows] * score)), 3.0)


def losses(params: dict) -> np.ndarray:
    return fitted_losses(params, private)


def main() -> None:
    space = {name: tacit.Float(0.2, 5.0, log=True) for name in names}
    space |= {"width": tacit.Float(0.1, 3.0, log=True), "trust": tacit.Float(1.0, 10.0, log=True)}
    clip = suggest_clip(lambda params: fitted_losses(params, train), space)
    print(
        f"B = {clip:.2g}, from {len(train)} public rows. Tuning {len(space)} parameters on {len(private)} private ones."
    )
    release = tacit.tune(
        losses,
        space,
        records=len(private),
        bounds=(0.0, 3.0),
        budget=tacit.Budget.approximate(epsilon=4.0, delta=1e-6),
        trials=12,
        method="gibo",
        design="simplex",
        clip=clip,
        progress=False,
    )
    value = release.value
    print(f"Released mean loss {value.score:.3f} ± {1.96 * value.deviation:.3f} (95%)")
    print(f"after {value.details['evaluations']} evaluations; {value.details['claim']}.")
    print(release.guarantee)


if __name__ == "__main__":
    main()
