"""Multi-layer perceptrons by DP-SGD: every example's gradient is clipped, none is ever formed.

    l   layer, 1 ... top                                  a   (m, in + 1)  a layer's inputs, with a constant 1
    W   (in + 1, out)  weights; the last row is the bias  e   (m, out)     derivatives of each example's loss by outputs

One example's gradient in a layer is the outer product of its rows of a and e, so its squared norm is |a|^2 |e|^2 and
the whole gradient's is the sum over layers. Scaling the example's rows of e by min(1, L / norm) clips it, and a' e sums
over the lot: the work of plain SGD, and two row norms a layer ("ghost clipping": Goodfellow 2015, Li et al. 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput, count
from tacit.gp.threads import one_thread
from tacit.space import Params
from tacit.training.by_lots import ByLots
from tacit.training.examples import Unreleased
from tacit.training.fast_noise import FastNormals
from tacit.training.inputs import Floats, Inputs, squares
from tacit.training.lots import LotSettings, distinct_lots
from tacit.training.measured import Right


class Perceptron:
    """Layers of weights that share one vector ``theta``, and gradients that share another of the same layout."""

    def __init__(self, sizes: Sequence[int], dtype: Any = np.float32) -> None:
        self.sizes = tuple(sizes)
        shapes = [(i + 1, o) for i, o in zip(self.sizes[:-1], self.sizes[1:], strict=True)]
        self.theta, self.gradient = (np.zeros(sum(i * o for i, o in shapes), dtype) for _ in range(2))
        self.layers, self.sums = _views(self.theta, shapes), _views(self.gradient, shapes)
        self._kept: tuple[list[Floats], list[Floats]] | None = None

    def initialise(self, rng: np.random.Generator) -> None:
        """Weights N(0, 2 / in), He et al. 2015; biases 0. Zero throughout would never leave zero."""
        for W in self.layers:
            W[:-1] = rng.standard_normal(W[:-1].shape, dtype=W.dtype.type)
            W[:-1] *= (2 / (len(W) - 1)) ** 0.5
            W[-1] = 0

    def scores(self, x: Floats | Inputs, out: Sequence[Floats | None] | None = None) -> list[Floats]:
        """The outputs of every layer, the last of them the scores (m, classes), in ``out`` if given."""
        outputs: list[Floats] = []
        for W, room in zip(self.layers, out or [None] * len(self.layers), strict=True):
            below = outputs[-1] if outputs else x
            z = below.times(W[:-1], room) if isinstance(below, Inputs) else np.matmul(below, W[:-1], out=room)
            z += W[-1]
            if W is not self.layers[-1]:
                np.maximum(z, 0, out=z)
            outputs.append(z)
        return outputs

    def clipped_sums(self, x: Floats | Inputs, y: NDArray[np.int64], clip: float, *, times: float = 1.0) -> Floats:
        """The sum over examples of clipped gradients of cross-entropy, ``times`` a factor, laid out as theta.

        Overwritten by the next call.
        """
        x = x if isinstance(x, Inputs) else Inputs.whole(x)
        values, errors = self._room(len(y))
        *hidden, e = self.scores(x, values)
        e -= e.max(axis=1, keepdims=True)
        np.exp(e, out=e)
        e /= e.sum(axis=1, keepdims=True)
        e[np.arange(len(y)), y] -= 1
        sizes = [x.squares, *map(squares, hidden)]
        square = squares(e) * (sizes[-1] + 1)
        for below in range(len(errors) - 1, -1, -1):
            e = np.matmul(e, self.layers[below + 1][:-1].T, out=errors[below])
            e *= hidden[below] > 0
            square += squares(e) * (sizes[below] + 1)
        kept = np.minimum(1, clip / np.sqrt(np.maximum(square, np.finfo(e.dtype).tiny)))
        kept *= times
        below_each: list[Inputs | Floats] = [x, *hidden]
        for a, e, out in zip(below_each, [*errors, values[-1]], self.sums, strict=True):
            e *= kept[:, None]
            np.sum(e, axis=0, out=out[-1])
            if isinstance(a, Inputs):
                a.transposed_times(e, out[:-1])
            else:
                np.matmul(a.T, e, out=out[:-1])
        return self.gradient

    def _room(self, m: int) -> tuple[list[Floats], list[Floats]]:
        """Arrays for the outputs of every layer, and for the errors of all but the last; kept while lots are alike."""
        if self._kept is None or len(self._kept[0][0]) != m:
            made = [np.empty((m, width), self.theta.dtype) for width in self.sizes[1:]]
            self._kept = made, [np.empty_like(z) for z in made[:-1]]
        return self._kept


class Network(ByLots):
    """A ReLU network with ``hidden`` layers, softmax and cross-entropy, by DP-SGD.

    Guarantee. ``epsilons`` is (epsilon, delta) for one training record replaced, fixed-size lots drawn afresh without
    replacement. Models are trained with fast, seeded noise to be measured; none is released.
    Follows. Avent2020 Algorithm 3, with its domain for mnist (Table 1) and random baseline (Table 3).
    Differs. Weights start random, not at 0, where ReLU networks stay; the seed decides, the data have no part in it.
    T floor(n / m) steps. Single precision. Zeros of inputs that are seldom anything else are left out of the products.
    Edges. Seeds are trained one after the other, on one thread: several workers use a machine better than several
    threads do (two threads on two busy cores were four times slower than one).

    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    >>> net = Network(X, y, X, y, hidden=(5,))
    >>> net.train({"epochs": 1, "lot": 20, "rate": 0.1, "variance": 1.0, "clip": 1.0}, seeds=[7])
    <not released, no guarantee: a list>
    """

    name = "perceptron, DP-SGD"
    kind = "mnist"
    linear = False
    most_classes = 1000
    hidden: ClassVar[tuple[int, ...]] = (128, 64)

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        hidden: Sequence[int] | None = None,
        classes: Sequence[Any] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(X, y, X_test, y_test, classes=classes, seed=seed)
        if hidden is not None:
            if not len(hidden):
                raise BadInput("hidden must name at least one layer, such as (128, 64)")
            self._hidden = tuple(count("hidden", h) for h in hidden)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Width of every layer, inputs and classes included."""
        return (self.examples.X.shape[1], *getattr(self, "_hidden", self.hidden), len(self.examples.classes))

    def train(self, params: Params, seeds: Sequence[int]) -> Unreleased:
        """One ``Perceptron`` for each seed."""
        s = LotSettings.of(params, self.examples.records)
        return Unreleased([self._train_one(s, seed) for seed in seeds])

    def _train_one(self, s: LotSettings, seed: int) -> Perceptron:
        rng, net, step = np.random.default_rng(seed), Perceptron(self.sizes), s.rate / s.lot
        net.initialise(rng)
        X, order = self._inputs
        first = net.layers[0]
        first[:-1] = first[order]
        rows = np.empty((s.lot, X.full.shape[1]), np.float32)
        noise, normals, block = np.empty_like(net.theta), FastNormals(rng, step * s.noise), s.block(1)
        with one_thread(), np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, s.steps, block):
                for lot in distinct_lots(rng, s.records, s.lot, min(block, s.steps - start)):
                    normals.fill(noise)
                    noise += net.clipped_sums(X.lot(lot, rows), self.examples.y[lot], s.clip, times=step)
                    net.theta -= noise
        first[order] = first[:-1].copy()
        return net

    @cached_property
    def _inputs(self) -> tuple[Inputs, NDArray[np.intp]]:
        """The inputs in single precision, and the order of their columns while training."""
        return Inputs.of(self.examples.X.astype(np.float32, copy=False))

    def correct(self, params: Params, seeds: Sequence[int]) -> Right:
        X = self.examples.X_test.astype(np.float32, copy=False)
        nets = self.train(params, seeds).reveal()
        return np.array([net.scores(X)[-1].argmax(axis=1) == self.examples.y_test for net in nets])


class Network1000(Network):
    """784-1000-10 on mnist: the paper's MLP1."""

    name = "perceptron of 1000, DP-SGD"
    hidden = (1000,)


class Network128x64(Network):
    """784-128-64-10 on mnist: the paper's MLP2."""

    name = "perceptron of 128 and 64, DP-SGD"
    hidden = (128, 64)


def _views(vector: Floats, shapes: list[tuple[int, int]]) -> list[Floats]:
    ends = np.cumsum([i * o for i, o in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(vector, ends[:-1]), shapes, strict=True)]
