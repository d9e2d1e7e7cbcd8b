"""Tight epsilons, profiles and noise of training by noisy sums over random batches ("lots" in Abadi et al. 2016).

``noise`` has one meaning everywhere: the standard deviation of the Gaussian noise on the *sum* of a batch's clipped
gradients, over the sensitivity of that sum, the most that one unit of privacy moves it: 2 x clip if one record is
replaced, clip if one is added or removed. It is DPareto's sigma with adjacency="replace_one", and Opacus's
noise_multiplier with adjacency="add_remove".
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import BadInput, GuaranteeError, choice
from tacit.privacy.conversions import gdp_epsilon
from tacit.privacy.dominating_pairs import POISSON_REPLACE
from tacit.privacy.loss_distribution import LEVELS, compose
from tacit.privacy.profiles import GaussianProfile, Profile
from tacit.privacy.step_losses import step_losses

Floats = NDArray[np.float64]

FINE = 16.0  # knots for each standard deviation of a step's loss
SAMPLINGS, ADJACENCIES = ("without_replacement", "poisson"), ("replace_one", "add_remove")
LABELS = {  # of axes: epsilons of different pairs are different quantities
    "without_replacement/replace_one": "fixed-size lots without replacement, one record replaced",
    "poisson/add_remove": "Poisson-sampled lots, one record added or removed",
    "poisson/replace_one": "Poisson-sampled lots, one record replaced",
}


def pair_name(sampling: str, adjacency: str) -> str:
    """The dominating pair of a way to draw batches under a neighbour relation."""
    choice("sampling", sampling, SAMPLINGS)
    choice("adjacency", adjacency, ADJACENCIES)
    if (sampling, adjacency) == ("without_replacement", "add_remove"):
        raise GuaranteeError(
            "batches of a fixed size are accounted for one record replaced: use adjacency='replace_one', or "
            "sampling='poisson' if that is how batches are drawn. No epsilon was computed."
        )
    return f"{sampling}/{adjacency}"


def epsilon(
    *,
    noise: ArrayLike,
    records: ArrayLike,
    lot: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    sampling: str = "without_replacement",
    adjacency: str = "replace_one",
) -> float | Floats:
    """Epsilon at delta of ``steps`` noisy sums over random batches, as small as is known; the arguments broadcast.

    ``noise``: standard deviation of the noise on the sum, over the sensitivity of the sum (2 x clip if one record is
    replaced, clip if one is added or removed). ``lot``: its size; with Poisson batches its expected size.

    Guarantee: (epsilon, delta) for the whole sequence of sums, any data; never below the true value. Batches are drawn
        afresh, in secret, at each step; the number of records is public.
    Follows: the dominating pair of one step (Balle, Barthe, Gaboardi 2018; Zhu, Dong, Wang 2022), composed as a privacy
        loss distribution (docs/proofs/subsampled-gaussian.md); plain Gaussian composition where that is less.
    Edges: lot = records is the exact Gaussian; steps = 0 gives 0; noise = 0 gives inf.

    >>> asked = dict(records=40_000, lot=128, steps=6_250, delta=1e-6)
    >>> epsilon(noise=[0.5, 1.0], **asked).round(2).tolist()
    [14.34, 1.93]
    """
    pair = pair_name(sampling, adjacency)
    asked = broadcast_setting(
        noise=noise, records=records, lot=lot, steps=steps, delta=delta, whole=sampling != "poisson"
    )
    out = np.array([setting_epsilon(pair, *row) for row in zip(*(x.ravel().tolist() for x in asked), strict=True)])
    return float(out[0]) if asked[0].ndim == 0 else out.reshape(asked[0].shape)


@lru_cache(maxsize=8192)
def setting_epsilon(pair: str, noise: float, rate: float, steps: float, delta: float, fineness: float = FINE) -> float:
    if steps == 0:
        return 0.0
    if noise < 1e-9:
        return math.inf
    # sampling never hurts: a step is a mixture of pairs that are each at most the Gaussian's (joint convexity)
    plain = gdp_epsilon(math.sqrt(steps) / noise, delta) if steps < 1e12 * noise * noise else math.inf
    if rate == 1 or noise < 0.02:
        return plain
    law = step_losses(pair, pair_noise(pair, np.array([noise])), np.array([rate]), fineness=fineness)
    return min(plain, compose(law, [steps], (delta,))[0].epsilon(delta))


def pair_noise(pair: str, noise: Floats) -> Floats:
    """Noise in the units of the dominating pair: of poisson/replace_one the Gaussians lie one clip from the middle."""
    return 2.0 * noise if pair == POISSON_REPLACE else noise


def sampled_profile(
    *,
    noise: float,
    records: int,
    lot: float,
    steps: int,
    sampling: str = "without_replacement",
    adjacency: str = "replace_one",
    smallest: float = 1e-14,
) -> Profile:
    """Delta at every epsilon of ``steps`` noisy sums over random batches; exact to a few in 1,000 down to ``smallest``.

    >>> training = sampled_profile(noise=1.0, records=40_000, lot=128, steps=6_250)
    >>> training.delta([0.0, 1.0, 2.0]).round(4).tolist()
    [0.17, 0.0024, 0.0]
    """
    pair = pair_name(sampling, adjacency)
    asked = broadcast_setting(
        noise=noise, records=records, lot=lot, steps=steps, delta=0.5, whole=sampling != "poisson"
    )
    s, rate, many = (float(x) for x in asked[:3])
    if rate == 1 or many == 0 or s < 0.02:
        if many > 0 and s < 1e-3 * math.sqrt(many):
            raise BadInput(f"noise must be at least 0.001 x sqrt(steps) for a profile, got noise={s:g}")
        return GaussianProfile(math.sqrt(many) / s if many else 1e-12)
    law = step_losses(pair, pair_noise(pair, np.array([s])), np.array([rate]))
    levels = (*(level for level in LEVELS if level > smallest), smallest)
    return compose(law, [int(many)], levels, longest=2**16)[0]


def broadcast_setting(
    *, noise: ArrayLike, records: ArrayLike, lot: ArrayLike, steps: ArrayLike, delta: ArrayLike, whole: bool
) -> list[Floats]:
    """Noise, rate, steps and delta, checked, of one shape."""
    given = (
        check_numbers("noise", noise, least=0.0),
        check_numbers("records", records, least=1, whole=True),
        check_numbers("lot", lot, above=0.0, whole=whole),
        check_numbers("steps", steps, least=0, whole=True),
        check_numbers("delta", delta, above=0.0, below=1.0),
    )
    try:
        s, n, m, T, dlt = np.broadcast_arrays(*given)
    except ValueError:
        shapes = [x.shape for x in given]
        raise BadInput(f"noise, records, lot, steps and delta must broadcast, got shapes {shapes}") from None
    if np.any(m > n):
        raise BadInput(f"lot must be at most records, got lot / records up to {(m / n).max():g}")
    return [s, m / n, T, dlt]


def check_numbers(
    name: str,
    value: ArrayLike,
    *,
    least: float = -np.inf,
    above: float = -np.inf,
    below: float = np.inf,
    whole: bool = False,
) -> Floats:
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise BadInput(f"{name} must be a number or an array of numbers, got dtype {array.dtype}")
    array = array.astype(np.float64)
    good = np.isfinite(array) & (array >= least) & (array > above) & (array < below)
    if whole:
        good &= array == np.rint(array)
    if not good.all():
        kind = "whole and " if whole else ""
        rule = f"at least {least:g}" if least > -np.inf else f"in ({above:g}, {below:g})"
        raise BadInput(f"{name} must be {kind}{rule}, got {name}={array[~good].flat[0]:g}")
    return array
