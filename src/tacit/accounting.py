"""How private training by noisy batches is, and how much noise it needs: epsilons as small as is known.

- `epsilon`: of a training, at delta
- `noise_for`: the least noise within an epsilon
- `sampled_profile`: delta at every epsilon
- `noise_below`: the least noise whose profile lies below another

One convention for all: ``noise`` is the standard deviation of the noise on the sum of a batch's clipped gradients, over
the sensitivity of that sum: 2 x clip if one record is replaced, clip if one is added or removed.
"""

from tacit.privacy.lot_accounting import epsilon, sampled_profile
from tacit.privacy.lot_calibration import noise_below, noise_for

__all__ = ["epsilon", "noise_below", "noise_for", "sampled_profile"]
