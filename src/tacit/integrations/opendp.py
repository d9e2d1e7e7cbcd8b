"""Noise by OpenDP's samplers, for those who want a third party's: ``noise=tacit.OpenDPNoise()``.

OpenDP's noise is discrete: on the lattice of all floats, or on whole numbers. Discrete Gaussian noise is not quite
mu-GDP: mu is larger by one part in 24 squares of the scale in steps. So it is drawn on 2^26 steps a scale or more, and
its scale is made larger by WIDER.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadInput, extra
from tacit.privacy.noise import LARGEST_OF_ARRAY, check_scale

Array = NDArray[np.float64]
WIDER = 1 + 1e-9  # of a scale: a million times what a lattice of 2^26 steps lacks
FINE = 26


class OpenDPNoise:
    """A source of exact noise from OpenDP (``pip install 'tacit[opendp]'``), hundreds of times slower than the default.

    Guarantee. Gaussian noise is mu-GDP with mu = sensitivity / scale, drawn with a scale larger by one part in 1e9;
    Laplace noise and choices have the epsilon that the mechanisms state.
    Differs. Noise on floats lies on the lattice of all floats, and so needs no rounding of values.
    Edges. How long a draw takes depends on the noise; that nobody is shown it is a premise.
    """

    simulated = False

    def gaussian(self, values: Array, scale: float) -> Array:
        return _add("gaussian", values, check_scale(scale) * WIDER)

    def laplace(self, values: Array, scale: float) -> Array:
        return _add("laplace", values, check_scale(scale))

    def gaussian_whole(self, value: int, scale: float) -> int:
        if scale > LARGEST_OF_ARRAY:
            raise BadInput(f"scale must be at most 2^58 for whole numbers by OpenDP, got scale={scale:g}")
        fine = max(0, FINE - math.frexp(check_scale(scale))[1] + 1)  # noise in steps of 2^-fine, which divide 1
        drawn = _whole(math.ldexp(scale * WIDER, fine))(0)
        return int(value) + round(Fraction(int(drawn), 1 << fine))

    def gaussian_whole_array(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        drawn = [self.gaussian_whole(int(v), scale) for v in np.ravel(values)]
        return np.array(drawn, np.int64).reshape(np.shape(values))

    def gumbel_argmax(self, scores: Array, scale: float) -> int:
        return int(_choice(scale)(np.asarray(scores, float)))

    def __repr__(self) -> str:
        return "OpenDPNoise()"


def _add(kind: str, values: Array, scale: float) -> Array:
    array = np.asarray(values, float)
    return np.asarray(_float(kind, array.size, scale)(array.ravel()), float).reshape(array.shape)


@lru_cache(maxsize=256)
def _float(kind: str, size: int, scale: float) -> Any:
    dp = _opendp()
    norm, noise = (dp.l2_distance, dp.m.then_gaussian) if kind == "gaussian" else (dp.l1_distance, dp.m.then_laplace)
    return (dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size), norm(T=float)) >> noise(scale=scale)


@lru_cache(maxsize=256)
def _whole(scale: float) -> Any:
    dp = _opendp()
    return (dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")) >> dp.m.then_gaussian(scale=scale)


@lru_cache(maxsize=256)
def _choice(scale: float) -> Any:
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    return domain >> dp.m.then_noisy_max(dp.zero_concentrated_divergence(), scale=scale)


@lru_cache(maxsize=1)
def _opendp() -> Any:
    """The parts of OpenDP that are used here; its prelude loads scikit-learn and more where they are installed."""
    modules = [extra(f"opendp.{part}", "opendp", "OpenDP's noise") for part in ("domains", "metrics", "measures")]
    extra("opendp.mod", "opendp", "OpenDP's noise").enable_features("contrib")
    names = {name: value for module in modules for name, value in vars(module).items()}
    return SimpleNamespace(**names | {"m": extra("opendp.measurements", "opendp", "OpenDP's noise")})
