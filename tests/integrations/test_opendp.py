"""Noise by OpenDP, as a source like any other; its laws are in tests/laws/test_noise_laws.py."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput
from tacit.integrations.opendp import FINE, WIDER, _float, _whole
from tacit.privacy.guarantee import Budget


@pytest.mark.parametrize("size", [1, 33])
@pytest.mark.parametrize("ratio", [1e-3, 1.0, 40.0])
def test_its_own_map_says_no_more_than_the_mechanisms_state(size: int, ratio: float) -> None:
    for scale in (1e-9, 0.37, 5e8):
        rho = _float("gaussian", size, scale * WIDER).map(d_in=ratio * scale)
        assert (
            math.sqrt(2 * rho) * (1 + 1e-10)
            <= tacit.mechanisms.Gaussian(ratio * scale, scale=scale).guarantee.budget.amount
        )
        epsilon = _float("laplace", size, scale).map(d_in=ratio * scale)
        assert epsilon <= tacit.mechanisms.Laplace(ratio * scale, scale=scale).guarantee.epsilon() * (1 + 1e-15)
    assert math.sqrt(2 * _whole(2.0**32 * WIDER).map(d_in=2**30)) < 0.25


def test_whole_numbers_are_drawn_on_many_steps_however_small_the_scale() -> None:
    for scale in (0.01, 0.7, 3.0, 2.0**25, 2.0**40):
        fine = max(0, FINE - math.frexp(scale)[1] + 1)
        assert scale * 2**fine >= 2**FINE


def test_a_release_and_a_search_draw_from_it() -> None:
    noise = tacit.OpenDPNoise()
    release = tacit.mechanisms.Laplace(1.0, scale=2.0, noise=noise).release(3.0)
    assert release.guarantee.unconditional
    tuned = tacit.tune(
        lambda params: np.full(400, (params["x"] - 0.3) ** 2),
        {"x": tacit.Float(0, 1)},
        records=400,
        bounds=(0.0, 1.0),
        budget=Budget.approximate(2.0, 1e-3),
        trials=3,
        noise=noise,
        accept_noise=True,
        progress=False,
    )
    assert tuned.guarantee.unconditional


def test_a_scale_beyond_64_bits_is_refused() -> None:
    with pytest.raises(BadInput, match="at most 2"):
        tacit.OpenDPNoise().gaussian_whole(1, 2.0**59)


def test_without_opendp_it_names_the_line_that_installs_it_and_nothing_else_needs_it() -> None:
    code = (
        "import sys; sys.modules['opendp'] = None; sys.modules['opendp.domains'] = None\n"
        "import tacit; print(tacit.mechanisms.Gaussian(1.0, scale=2.0).release(1.0).guarantee.kind)\n"
        "try: tacit.OpenDPNoise().gaussian_whole(1, 3.0)\nexcept tacit.TacitError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["unconditional", "OpenDP's noise needs opendp: pip install 'tacit[opendp]'"]
