"""Public trials in a private search: a study of public or synthetic data, last year's release, at no cost.

    z    public values, larger is better        m(x)    what a model of the public trials alone expects at x
    y    private observations at X              r       what a + b m(X) leaves of y

The losses of other data have another level and another spread. So y is regressed on m(X), and each public trial enters
the model of the search as an observation a + b z whose noise is the mean square of r: as large as the disagreement. If
the regression explains less than ``LEAST`` of y, they are left out: a bad beginning cannot hurt for long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.errors import BadInput, type_and_shape
from tacit.gp.fit import HyperPrior, fit
from tacit.gp.kernels import Matern52
from tacit.run.sampler import has_place
from tacit.space import Array, Params, Space

MOST = 200  # public trials that are modelled, the latest
ENOUGH = 3  # private observations from which on shift and scale can be fitted
LEAST = 0.3  # share of the variance of private observations that public trials must explain


class WarmStart:
    """Public trials of a space, by features (p, features) and values (p,), larger is better."""

    def __init__(self, space: Space, trials: Sequence[tuple[Params, float]], sign: float) -> None:
        self.params = [params for params, _ in trials]
        self.X, self.z = space.features(self.params), sign * np.array([value for _, value in trials], float)
        d = self.X.shape[1]
        prior = HyperPrior(lengthscale=0.25)
        self._model = fit(Matern52((0.25 * math.sqrt(d),) * d), self.X, self.z, prior=prior).condition(self.X, self.z)

    def best(self, place: int) -> Params:
        """The setting of this place among the public trials, the best first."""
        return self.params[int(np.argsort(-self.z, kind="stable")[place % len(self.z)])]

    def translate(self, X: Array, y: Array) -> tuple[Array, float] | None:
        """Public values (p,) in the units of y at X (n, features), and their noise; None if they do not help."""
        n = len(y)
        if n < ENOUGH:
            return None
        m = self._model.posterior(X)[0]
        about, spread = m - m.mean(), float(((y - y.mean()) ** 2).sum())
        b = float(about @ (y - y.mean())) / max(float(about @ about), 1e-300)
        left = float(((y - y.mean() - b * about) ** 2).sum())
        if b <= 0 or left > (1 - LEAST) * spread:
            return None
        share = max(1.0, len(self.z) / n)  # many public trials of the same error count as few
        return y.mean() + b * (self.z - m.mean()), share * left / max(1, n - 2)


def read_public(public: Any, space: Space) -> list[tuple[Params, float]]:
    """Public trials from pairs of parameters and value, from a study of Optuna, or from a released result.

    Those that have no place in the space, since a range is another one, are left out.
    """
    if hasattr(public, "get_trials"):
        public = [(t.params, t.value) for t in public.get_trials(deepcopy=False) if t.state.name == "COMPLETE"]
    elif hasattr(getattr(public, "value", None), "trials"):
        public = [(t["params"], t["value"]) for t in public.value.trials]
    try:
        pairs = [(dict(params), float(value)) for params, value in public]
    except (TypeError, ValueError):
        raise BadInput(
            "public must be pairs of parameters and value, [({'rate': 0.1}, 0.25), ...], a study of Optuna or a "
            f"release, got {type_and_shape(public)}. Nothing was spent"
        ) from None
    if not all(math.isfinite(value) for _, value in pairs):
        raise BadInput("the values of public trials must be finite. Nothing was spent")
    return [(params, value) for params, value in pairs if has_place(space, params)][-MOST:]
