"""BoTorch's log expected hypervolume improvement as a sampler, for comparison. Needs the extra ``botorch``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import count, extra
from tacit.pareto.sampler import DParetoSampler
from tacit.pareto.surrogate import Scale
from tacit.space import Params, Space

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

PURPOSE = "the BoTorch search"


class BoTorchSampler(DParetoSampler):
    """Proposals of largest qLogEHVI under two of BoTorch's Gaussian processes, for ``discover(..., sampler=...)``.

    ``restarts``, ``raw`` and ``draws`` are those of BoTorch's tutorial: starts of the optimiser, points they are chosen
    from, draws from the models.

    Follows. Ament et al. (2023), as BoTorch does it, with its default models.
    Differs. The models are of log epsilon and logit error, as ours; the improvement is taken on the front's own scale,
    so that all searches want the same thing. Startup points are ours.
    Edges. MissingExtra without botorch. Epsilon is modelled although it is known. Failed trials are left out; running
    ones are pending points. Torch's own setting decides how many threads are used.
    """

    def __init__(
        self,
        space: Space,
        *,
        reference: tuple[float, float] = (10.0, 1.0),
        startup: int = 16,
        scales: tuple[str, str] = ("log", "logit"),
        restarts: int = 10,
        raw: int = 512,
        draws: int = 128,
        seed: int = 0,
    ) -> None:
        for module in ("torch", "botorch"):
            extra(module, "botorch", PURPOSE)
        super().__init__(
            space, None, startup=startup, reference=reference, privacy_model="gp", scales=scales, seed=seed
        )
        self.scales = scales
        self.restarts, self.raw, self.draws = count("restarts", restarts), count("raw", raw), count("draws", draws)

    def propose(
        self, done: Sequence[FrozenTrial], failed: Sequence[FrozenTrial], running: Sequence[FrozenTrial], salt: int
    ) -> Params:
        import torch
        from botorch.optim.optimize import optimize_acqf

        box = torch.tensor([[0.0] * self.space.dimensions, [1.0] * self.space.dimensions], dtype=torch.float64)
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            torch.manual_seed(int(np.random.SeedSequence((self.seed, salt)).generate_state(1)[0]))
            acquisition = self._acquisition(done, running, salt)
            found, _ = optimize_acqf(acquisition, box, q=1, num_restarts=self.restarts, raw_samples=self.raw)
        return self.space.params(found.numpy())[0]

    def _acquisition(self, done: Sequence[FrozenTrial], running: Sequence[FrozenTrial], salt: int) -> Any:
        import torch
        from botorch.acquisition.multi_objective.logei import qLogExpectedHypervolumeImprovement
        from botorch.acquisition.multi_objective.objective import GenericMCMultiOutputObjective
        from botorch.fit import fit_gpytorch_mll
        from botorch.models.gp_regression import SingleTaskGP
        from botorch.models.model_list_gp_regression import ModelListGP
        from botorch.sampling.normal import SobolQMCNormalSampler
        from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
        from gpytorch.mlls import SumMarginalLogLikelihood

        back = {"log": torch.exp, "logit": torch.sigmoid, "linear": lambda z: z}

        def negate(Z: Any, X: Any = None) -> Any:
            """Minus the objectives, from the models' scales: BoTorch makes large."""
            return -torch.stack([back[s](Z[..., i]) for i, s in enumerate(self.scales)], dim=-1)

        X, pending = (
            torch.tensor(self.space.cube([t.params for t in ts]), dtype=torch.float64) for ts in (done, running)
        )
        values = [Scale(s).forward(np.array([t.values[i] for t in done])) for i, s in enumerate(self.scales)]
        Z = torch.tensor(np.column_stack(values), dtype=torch.float64)
        model = ModelListGP(*(SingleTaskGP(X, Z[:, i : i + 1]) for i in range(2)))
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        corner = -torch.tensor(self.reference, dtype=torch.float64)
        boxes: Any = FastNondominatedPartitioning(corner, negate(Z))
        return qLogExpectedHypervolumeImprovement(
            model,
            corner,
            boxes,
            SobolQMCNormalSampler(torch.Size([self.draws]), seed=salt),
            objective=GenericMCMultiOutputObjective(negate),
            X_pending=pending if running else None,
        )
