"""Any torch model, trained by DP-SGD through Opacus, as an algorithm for a front. Needs the extra ``torch``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import BadInput, choice, extra
from tacit.space import Params, Space
from tacit.training.by_lots import ByLots
from tacit.training.examples import Unreleased
from tacit.training.lots import LotSettings, Steps
from tacit.training.measured import Right

PURPOSE = "Opacus training"


class OpacusModel(ByLots):
    """A torch classifier by Opacus: ``make()`` gives a fresh module from features (m, d) to scores (m, classes).

    Hyperparameters are those of DP-SGD: epochs, lot, rate, variance, clip. ``space`` may replace the paper's domain
    for mnist, and may have others: ``make(params)``, if it takes an argument, is given all of them, so that a width can
    be tuned; ``optimiser(parameters, params)`` makes the optimiser, plain SGD at the rate if left out. ``mode`` is
    Opacus's way to per-example norms, "hooks" or "ghost".

    Guarantee. ``epsilons`` is (epsilon, delta) for one record added or removed under Poisson sampling, the scheme that
    Opacus draws by: another quantity than that of lots without replacement, and labelled so. Models are trained with
    torch's own generators, seeded; none is released.
    Follows. Abadi et al. 2016, as Opacus does it: noise of standard deviation clip x sqrt(variance) on the sum.
    Differs. Opacus samples at rate 1 / ceil(n / lot), slightly under lot / n; so does our epsilon. It is computed by
    ``tacit.accounting`` from the privacy loss distribution, as Opacus's "prv" accountant is, with all errors in delta.
    Edges. MissingExtra without torch and Opacus. Empty lots happen with Poisson sampling and are steps of pure noise.
    """

    name = "torch model, Opacus"
    kind = "mnist"
    linear = False
    most_classes = 1000
    sampling: ClassVar[dict[str, str]] = {"sampling": "poisson", "adjacency": "add_remove"}

    def __init__(
        self,
        make: Callable[..., Any],
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        mode: str = "hooks",
        optimiser: Callable[[Any, Params], Any] | None = None,
        space: Space | Mapping[str, Any] | None = None,
        classes: Sequence[Any] | None = None,
        seed: int = 0,
    ) -> None:
        extra("torch", "torch", PURPOSE)
        extra("opacus", "torch", PURPOSE)
        self.make, self.mode = make, choice("mode", mode, ("hooks", "ghost"))
        self.optimiser, self._asks = optimiser, _takes_argument(make)
        super().__init__(X, y, X_test, y_test, classes=classes, seed=seed)
        if space is not None:
            self.space = Space(space)

    @classmethod
    def from_table(cls, table: Any, target: str, seed: int = 0, schema: Any = None) -> Self:
        """Refused: a table does not say which torch model to train."""
        raise BadInput("the Opacus adapter needs a torch model; make it in Python: OpacusModel(make, X, y)")

    def _steps(self, params: Sequence[Params]) -> Steps:
        """Opacus draws every record with probability 1 / ceil(n / lot), that many times in an epoch."""
        asked = Steps.of(params, self.examples.records)
        lots = np.ceil(asked.records / asked.lot)
        epochs = np.array([float(p["epochs"]) for p in params])
        return asked._replace(lot=asked.records / lots, steps=epochs * lots)

    def train(self, params: Params, seeds: Sequence[int]) -> Unreleased:
        """One torch module for each seed."""
        s = LotSettings.of(params, self.examples.records)
        return Unreleased([self._train_one(s, dict(params), seed) for seed in seeds])

    def _make_optimiser(self, module: Any, rate: float, params: Params) -> Any:
        if self.optimiser is not None:
            return self.optimiser(module.parameters(), params)
        return extra("torch", "torch", PURPOSE).optim.SGD(module.parameters(), lr=rate)

    def _train_one(self, s: LotSettings, params: Params, seed: int) -> Any:
        torch, opacus = extra("torch", "torch", PURPOSE), extra("opacus", "torch", PURPOSE)
        data = torch.utils.data
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module, criterion = self.make(params) if self._asks else self.make(), torch.nn.CrossEntropyLoss()
            coins = (torch.Generator().manual_seed(word) for word in _words(seed))
            X = torch.as_tensor(self.examples.X, dtype=torch.float32)
            loader = data.DataLoader(
                data.TensorDataset(X, torch.as_tensor(self.examples.y)), batch_size=s.lot, generator=next(coins)
            )
            private = opacus.PrivacyEngine().make_private(
                module=module,
                optimizer=self._make_optimiser(module, s.rate, params),
                data_loader=loader,
                noise_multiplier=s.variance**0.5,
                max_grad_norm=s.clip,
                poisson_sampling=True,
                noise_generator=next(coins),
                grad_sample_mode=self.mode,
                **({"criterion": criterion} if self.mode == "ghost" else {}),
            )
            wrapped, optimiser, loader = private[0], private[1], private[-1]
            criterion = private[2] if self.mode == "ghost" else criterion
            for _ in range(s.epochs):
                for x, y in loader:
                    optimiser.zero_grad()
                    criterion(wrapped(x), y).backward()
                    optimiser.step()
        return module.eval()

    def correct(self, params: Params, seeds: Sequence[int]) -> Right:
        torch = extra("torch", "torch", PURPOSE)
        X = torch.as_tensor(self.examples.X_test, dtype=torch.float32)
        modules = self.train(params, seeds).reveal()
        with torch.no_grad():
            found = [module(X).argmax(dim=1).numpy() for module in modules]
        return np.array([f == self.examples.y_test for f in found])


def _words(seed: int) -> list[int]:
    return [int(w) for w in np.random.SeedSequence(seed).generate_state(2)]


def _takes_argument(make: Callable[..., Any]) -> bool:
    """Whether a maker wants the hyperparameters: it has a place for one argument that must be filled."""
    try:
        places = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(p.kind in needed and p.default is inspect.Parameter.empty for p in places)
