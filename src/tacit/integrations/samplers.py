"""The optimiser of private observations as a sampler for any study of Optuna whose noise is known."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace

from tacit.errors import BadInput, count, real
from tacit.methods.sampler import ModelSampler
from tacit.space import Params, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


class KnownNoiseSampler(BaseSampler):
    """Gaussian-process search for one objective whose values carry Gaussian noise of known size.

    Args:
        noise: Standard deviation of the noise on each value, in the units of the objective; 0 if it has none. That of
            ``tacit.private`` is its ``noise_scale``.
        startup: Trials that are scattered before a model proposes.
        seed: Of its proposals; without one they differ from run to run.

    Parameters that all finished trials share are proposed together; others, and those of the first trial, are drawn at
    random. Trials that lie outside a range that was narrowed since are left out of the model.

    Follows. The optimiser of ``tacit.tune``: log expected improvement under known noise, with repeats merged.

    >>> import optuna
    >>> study = optuna.create_study(sampler=KnownNoiseSampler(0.0, startup=5, seed=0))
    >>> study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2, n_trials=15)
    >>> abs(study.best_params["x"] - 0.3) < 0.05
    True
    """

    def __init__(self, noise: float = 0.0, *, startup: int = 10, seed: int | None = None) -> None:
        if real("noise", noise) < 0:
            raise BadInput(f"noise is a standard deviation and must not be negative, got noise={noise!r}")
        self.noise, self.startup = float(noise), count("startup", startup)
        self._seed = count("seed", seed, least=0) if seed is not None else _fresh_seed()
        self._random = RandomSampler(self._seed)
        self._shared = IntersectionSearchSpace()
        self._inside: tuple[dict[str, BaseDistribution], ModelSampler] | None = None
        self._alone = threading.Lock()  # threads of one study share its sampler and its model

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        shared = self._shared.calculate(study)
        return {name: d for name, d in sorted(shared.items()) if not d.single()}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> Params:
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with self._alone:
            if self._inside is None or self._inside[0] != search_space:
                inside = ModelSampler(Space(search_space), self.noise**2, startup=self.startup, seed=self._seed)
                self._inside = dict(search_space), inside
            return self._inside[1].point(study, trial)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        self._raise_error_if_multi_objective(study)
        return self._random.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        self._seed, self._inside = _fresh_seed(), None
        self._random.reseed_rng()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_alone": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "_alone": threading.Lock()})


def _fresh_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1)[0])
