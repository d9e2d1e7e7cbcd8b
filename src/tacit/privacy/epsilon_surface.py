"""Estimates of epsilon for thousands of settings in milliseconds: for choosing where to look, never for stating.

Log epsilon is smooth in the logarithms of noise, rate and steps: it is computed at some of the first settings asked for
and interpolated between them, to about half a hundredth.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.loss_distribution import compose
from tacit.privacy.lot_accounting import pair_name, pair_noise, setting_epsilon
from tacit.privacy.lot_calibration import spread_out
from tacit.privacy.step_losses import step_losses

Floats = NDArray[np.float64]

ANCHORS = 256  # settings whose epsilon is computed
SMALLEST = 1e-9  # epsilons below are learnt as this


class EpsilonSurface:
    """About the epsilon at ``delta`` of many settings: arrays of noise, rate and steps in, epsilons (n,) out.

    ``noise`` is that of `tacit.accounting.epsilon`, ``rate`` is lot / records.

    Edges. It learns from the first call with enough settings; smaller calls before that are computed one by one.

    >>> surface = EpsilonSurface(1e-6)
    >>> surface(np.array([1.0]), np.array([0.0032]), np.array([6_250.0])).round(2).tolist()
    [1.94]
    """

    def __init__(self, delta: float, *, sampling: str = "without_replacement", adjacency: str = "replace_one") -> None:
        self.delta, self.pair = delta, pair_name(sampling, adjacency)
        self._log_epsilon: Callable[[Floats], Floats] | None = None
        self._lock = threading.Lock()

    def __call__(self, noise: Floats, rate: Floats, steps: Floats) -> Floats:
        out = np.zeros(len(noise))
        smooth = (rate < 1) & (noise >= 0.05) & (steps > 0)
        for i in np.flatnonzero(~smooth):
            out[i] = setting_epsilon(self.pair, float(noise[i]), float(rate[i]), float(steps[i]), self.delta)
        at = np.flatnonzero(smooth)
        settings = noise[at], rate[at], steps[at]
        with self._lock:
            if self._log_epsilon is None and len(at) >= 2 * ANCHORS:
                self._log_epsilon = self._learn(*settings)
        if self._log_epsilon is None:
            out[at] = self._compute(*settings) if at.size else 0.0
        elif at.size:
            out[at] = np.exp(self._log_epsilon(np.log(np.stack(settings, axis=1))))
        return np.where(out > SMALLEST, out, 0.0)

    def _learn(self, *settings: Floats) -> Callable[[Floats], Floats]:
        from scipy.interpolate import RBFInterpolator

        places = np.log(np.stack(settings, axis=1))
        middle, scale = places.mean(axis=0), np.maximum(places.std(axis=0), 1e-9)
        low, high = places.min(axis=0), places.max(axis=0)
        i = spread_out((places - middle) / scale, ANCHORS)
        known = np.log(np.maximum(self._compute(*(part[i] for part in settings)), SMALLEST))
        model = RBFInterpolator((places[i] - middle) / scale, known, kernel="cubic", smoothing=1e-6)
        return lambda asked: np.asarray(model((np.clip(asked, low, high) - middle) / scale))

    def _compute(self, noise: Floats, rate: Floats, steps: Floats) -> Floats:
        """Upper bounds on a coarse grid, a few in 1,000 too large."""
        law = step_losses(self.pair, pair_noise(self.pair, noise), rate, fineness=2.0, fine=32)
        return np.array([p.epsilon(self.delta) for p in compose(law, steps, (self.delta,), longest=2**15)])
