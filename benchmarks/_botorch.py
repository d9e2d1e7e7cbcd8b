"""BoTorch's log expected hypervolume improvement as an Optuna sampler, for comparison.

Two Gaussian processes with BoTorch's defaults, on the scales of ours (log epsilon and logit error, or as they are). The
acquisition is taken on the scale of the front, by BoTorch's own objective, so that all searches want the same thing.
"""

from __future__ import annotations

import warnings
from typing import Any

from benchmarks import threads
from tacit.pareto.sampler import DParetoSampler
from tacit.pareto.surrogate import Scale
from tacit.space import Params, Space


def botorch_sampler(
    space: Space,
    *,
    reference: tuple[float, float],
    startup: int,
    scales: tuple[str, str] = ("log", "logit"),
    restarts: int = 10,
    raw: int = 512,
    draws: int = 128,
    seed: int = 0,
) -> Any:
    """The settings of BoTorch's tutorial unless told otherwise; startup points as ours."""
    import torch
    from botorch.acquisition.multi_objective.logei import qLogExpectedHypervolumeImprovement
    from botorch.acquisition.multi_objective.objective import GenericMCMultiOutputObjective
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch.sampling.normal import SobolQMCNormalSampler
    from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
    from gpytorch.mlls import SumMarginalLogLikelihood

    torch.manual_seed(seed)
    torch.set_num_threads(threads())
    corner = -torch.tensor(reference, dtype=torch.float64)
    box = torch.tensor([[0.0] * space.dimensions, [1.0] * space.dimensions], dtype=torch.float64)
    back = {"log": torch.exp, "logit": torch.sigmoid, "linear": lambda z: z}

    def raised(Z: Any, X: Any = None) -> Any:
        """Minus the objectives, from the models' scales: BoTorch makes large."""
        return -torch.stack([back[s](Z[..., i]) for i, s in enumerate(scales)], dim=-1)

    class BoTorchSampler(DParetoSampler):
        def propose(self, done: Any, failed: Any, running: Any, salt: int) -> Params:
            X = torch.tensor(self.space.cube([t.params for t in done]), dtype=torch.float64)
            values = [Scale(s).forward([t.values[i] for t in done]) for i, s in enumerate(scales)]
            Z = torch.stack([torch.tensor(v, dtype=torch.float64) for v in values], dim=-1)
            model = ModelListGP(*(SingleTaskGP(X, Z[:, i : i + 1]) for i in range(2)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
                acquisition = qLogExpectedHypervolumeImprovement(
                    model,
                    corner,
                    FastNondominatedPartitioning(corner, raised(Z)),
                    SobolQMCNormalSampler(torch.Size([draws]), seed=salt),
                    objective=GenericMCMultiOutputObjective(raised),
                )
                found, _ = optimize_acqf(acquisition, box, q=1, num_restarts=restarts, raw_samples=raw)
            return self.space.params(found.numpy())[0]

    return BoTorchSampler(space, None, startup=startup, reference=reference, privacy_model="gp", seed=seed)
