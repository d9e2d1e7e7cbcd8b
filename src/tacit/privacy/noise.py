"""Where noise comes from: exact samplers for releases, a seeded generator for simulations that say so.

Exact draws are discrete Gaussian noise, from OpenDP, and discrete Laplace noise, in a time that does not depend on it,
on a lattice far finer than the scale, so that no rounding of floating-point numbers leaks. A choice among scores is one
draw by whole-number weights. Arrays that a guarantee with a delta covers can be drawn in bulk, from tables, faster by
far; their law is within a proved distance of the exact one, which the guarantee carries. None can be seeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput
from tacit.privacy.branchless import flush
from tacit.privacy.bulk_noise import BLOCK, DISTANCE, gaussian_integers, laplace_integers
from tacit.privacy.steady_laplace import add_laplace
from tacit.privacy.weighted_choice import draw_index

if TYPE_CHECKING:
    from tacit.privacy.guarantee import Budget

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
FINENESS = 40  # the lattice is 2^-40 of the scale, or finer
BULK_FINENESS = 26  # in bulk: the finest on which a number takes three tables
SMALLEST = -1074  # exponent of the smallest float
LARGEST_EPSILON = 20.0  # of what noise in bulk is used for
REACH = 2.0**61  # steps; what lies beyond is cut before noise in bulk is added, so that 64 bits hold the sum


class Source(Protocol):
    """Adds noise to values, or picks the largest of noisy scores.

    ``distance`` bounds the total variation between one number of an array that is drawn here and one of the exact law.
    """

    simulated: bool
    distance: float

    def gaussian(self, values: Array, scale: float) -> Array: ...
    def gaussian_whole(self, value: int, scale: float) -> int: ...
    def gaussian_whole_array(self, values: Integers, scale: float) -> Integers: ...
    def laplace(self, values: Array, scale: float) -> Array: ...
    def gumbel_argmax(self, scores: Array, scale: float) -> int: ...


class Exact:
    """For everything that is released: OpenDP's Gaussian noise, Laplace noise by coins, and one draw by weights."""

    simulated = False
    distance = 0.0

    def gaussian(self, values: Array, scale: float) -> Array:
        return np.asarray(float_noise("gaussian", values.size, scale)(values.ravel()), float).reshape(values.shape)

    def gaussian_whole(self, value: int, scale: float) -> int:
        return int(value) + int(whole_gaussian(scale)(_zero()))  # added here, where no sum is too long

    def gaussian_whole_array(self, values: Integers, scale: float) -> Integers:
        drawn = whole_gaussians(values.size, scale)(np.ascontiguousarray(values, np.int64).ravel())
        return np.asarray(drawn, np.int64).reshape(values.shape)

    def laplace(self, values: Array, scale: float) -> Array:
        return add_laplace(values, scale, fit_lattice(scale, self))

    def gumbel_argmax(self, scores: Array, scale: float) -> int:
        return draw_index(scores, scale)

    def __repr__(self) -> str:
        return "Exact()"


class Bulk(Exact):
    """Arrays from tables, within ``distance`` a number of the exact law; single whole numbers and choices as in Exact.

    Edges. Values beyond 2^61 steps of the lattice, which are 2^34 scales or more, are cut to that: a public bound, and
    cutting moves two values no further apart.
    """

    distance = DISTANCE

    def gaussian(self, values: Array, scale: float) -> Array:
        return on_lattice(values, scale, gaussian_integers)

    def gaussian_whole_array(self, values: Integers, scale: float) -> Integers:
        return np.clip(values, -int(REACH), int(REACH)) + gaussian_integers(scale, values.shape)

    def laplace(self, values: Array, scale: float) -> Array:
        return on_lattice(values, scale, laplace_integers)

    def __repr__(self) -> str:
        return "Bulk()"


class Simulation:
    """Seeded NumPy noise for tests and experiments. Whatever it touches is stamped *simulated, no guarantee*."""

    simulated = True
    distance = 0.0

    def __init__(self, seed: int | np.random.Generator) -> None:
        self.generator = np.random.default_rng(seed)

    def gaussian(self, values: Array, scale: float) -> Array:
        return values + self.generator.normal(0.0, scale, values.shape)

    def gaussian_whole(self, value: int, scale: float) -> int:
        return int(value) + round(self.generator.normal(0.0, scale))

    def gaussian_whole_array(self, values: Integers, scale: float) -> Integers:
        return values + np.rint(self.generator.normal(0.0, scale, values.shape)).astype(np.int64)

    def laplace(self, values: Array, scale: float) -> Array:
        return values + self.generator.laplace(0.0, scale, values.shape)

    def gumbel_argmax(self, scores: Array, scale: float) -> int:
        return int(np.argmax(scores + self.generator.gumbel(0.0, scale, scores.shape)))

    def __repr__(self) -> str:
        return "Simulation()"


EXACT, BULK = Exact(), Bulk()


def array_source(epsilon: float, ledger: Budget | None = None) -> Source:
    """Where the arrays of a release come from: in bulk if its distance can be stated and charged, else exactly.

    It is multiplied by e^epsilon, so the release's epsilon and that of the ledger's budget must be at most 20 (then a
    number adds less than 2e-17 to delta), and the ledger's budget must have a delta.
    """
    chargeable = ledger is None or (ledger.delta > 0 and ledger.amount <= LARGEST_EPSILON)
    return BULK if epsilon <= LARGEST_EPSILON and chargeable else EXACT


def lattice(scale: float, noise: Source | None = None) -> int:
    """The exponent k of the lattice on which a source draws: of spacing 2^k, at most 2^-40 of the scale, or 2^-26."""
    return max(SMALLEST, math.frexp(scale)[1] - 1 - (BULK_FINENESS if isinstance(noise, Bulk) else FINENESS))


def fit_lattice(scale: float, noise: Source) -> int:
    """The lattice's exponent, or BadInput where the floats do not hold all of the lattice."""
    if not 1e-290 <= scale <= 1e290:
        raise BadInput(f"scale must be between 1e-290 and 1e290, got scale={scale:g}; change the unit of the values")
    return lattice(scale, noise)


def on_lattice(values: Array, scale: float, draw: Callable[[float, int], Integers]) -> Array:
    """Values rounded to the nearest point of the lattice, plus noise on it: the law that OpenDP's map is about."""
    k = fit_lattice(scale, BULK)
    most = math.ldexp(REACH, k)
    noisy = np.array(values, float, order="C").ravel()
    for start in range(0, noisy.size, BLOCK):  # a part at a time, which stays in the cache
        part = noisy[start : start + BLOCK]
        np.minimum(part, most, out=part)
        np.maximum(part, -most, out=part)
        steps = flush(part, 2.0 ** (k - 2))
        steps *= 2.0**-k  # a power of two: exact
        np.rint(steps, out=steps)
        whole = steps.astype(np.int64)
        whole += draw(math.ldexp(scale, -k), steps.size)
        np.multiply(whole, 2.0**k, out=part)
    return noisy.reshape(np.shape(values))


@lru_cache(maxsize=256)
def float_noise(kind: str, size: int, scale: float, k: int | None = None) -> Any:
    """OpenDP's measurement for a vector of floats; its privacy map includes the rounding to the lattice 2^k."""
    dp, k = _opendp(), lattice(scale) if k is None else k
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size)
    if kind == "gaussian":
        return (domain, dp.l2_distance(T=float)) >> dp.m.then_gaussian(scale=scale, k=k)
    return (domain, dp.l1_distance(T=float)) >> dp.m.then_laplace(scale=scale, k=k)


@lru_cache(maxsize=256)
def whole_gaussian(scale: float) -> Any:
    """OpenDP's discrete Gaussian on the integers."""
    dp = _opendp()
    return (dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")) >> dp.m.then_gaussian(scale=scale)


@lru_cache(maxsize=256)
def whole_gaussians(size: int, scale: float) -> Any:
    """OpenDP's discrete Gaussian on vectors of integers."""
    dp = _opendp()
    return (dp.vector_domain(dp.atom_domain(T="i64"), size=size), dp.l2_distance(T=float)) >> dp.m.then_gaussian(
        scale=scale
    )


def load_samplers() -> None:
    """Load the exact samplers. It takes a moment, and so is done before a draw is claimed."""
    _opendp()
    _zero()


@lru_cache(maxsize=1)
def _zero() -> Any:
    """The number 0 as OpenDP's library holds it, made once: making it anew takes a third of a draw."""
    try:
        from opendp._convert import py_to_c
        from opendp._lib import AnyObjectPtr
    except ImportError:
        return 0
    return py_to_c(0, c_type=AnyObjectPtr, type_name="i64")


@lru_cache(maxsize=1)
def _opendp() -> Any:
    """The parts of OpenDP that are used here; its prelude loads scikit-learn and more where they are installed."""
    from opendp import domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    return SimpleNamespace(m=measurements, **vars(domains) | vars(metrics) | vars(measures))
