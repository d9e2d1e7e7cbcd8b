"""The noise of many DP-SGD settings at once: covered by the base, and just so."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import BadInput, GuaranteeError
from tacit.privacy.guarantee import Budget
from tacit.privacy.lot_noise import lot_curve, noise_below
from tacit.privacy.profiles import GaussianProfile, TableProfile, epsilon_at, tabulate
from tacit.privacy.run_laws import geometric
from tacit.privacy.selection import select
from tacit.privacy.selection_budget import base_table
from tacit.privacy.subsampling import noise_for, sampled_gaussian_epsilon

SCHEMES = [("without_replacement", "replace_one"), ("poisson", "add_remove")]
EACH = pytest.mark.parametrize(("scheme", "relation"), SCHEMES)


@EACH
def test_the_epsilon_of_the_curve_is_that_of_the_accountant(scheme: str, relation: str) -> None:
    """But for Poisson's fractional orders, which the accountant has exactly, and orders above 63."""
    for noise, lot, steps in ((20.0, 128, 6_250), (3.0, 1024, 50), (8.0, 40_000, 10)):
        asked = {"noise": noise, "clip": 1.0, "records": 40_000, "lot": lot, "steps": steps}
        known = sampled_gaussian_epsilon(**asked, delta=1e-6, scheme=scheme, relation=relation)
        found = epsilon_at(lot_curve(**asked, scheme=scheme, relation=relation), 1e-6)  # type: ignore[arg-type]
        assert known * (1 - 1e-9) <= found <= known * 1.05


@EACH
def test_every_setting_is_covered_and_would_not_be_with_less_noise(scheme: str, relation: str) -> None:
    base = tabulate(GaussianProfile(0.3).curve(), floor=1e-9)
    rng = np.random.default_rng(0)
    lot = np.rint(2 ** rng.uniform(3, 12, 30))
    steps = np.rint(20_000 / lot * rng.uniform(1, 20, 30)) + 1
    noise = noise_below(base, clip=2.0, records=20_000, lot=lot, steps=steps, scheme=scheme, relation=relation)
    for at, size, many in zip(noise, lot, steps, strict=True):
        asked = {"clip": 2.0, "records": 20_000, "lot": float(size), "steps": int(many)}
        asked |= {"scheme": scheme, "relation": relation}
        assert base.covers(lot_curve(noise=float(at), **asked))  # type: ignore[arg-type]
        assert not base.covers(lot_curve(noise=float(at) * 0.999, **asked))  # type: ignore[arg-type]


def test_a_one_sided_base_is_kept_in_both_directions() -> None:
    both = tabulate(GaussianProfile(0.3).curve(), floor=1e-9)
    tight = tuple(0.8 * d for d in both.deltas)
    base = TableProfile(both.epsilons, both.deltas, tight)
    noise = noise_below(base, clip=1.0, records=1000, lot=10, steps=100)
    assert base.covers(lot_curve(noise=float(noise[0]), clip=1.0, records=1000, lot=10, steps=100))


def test_a_search_needs_less_noise_than_by_the_renyi_theorem() -> None:
    """Total (1, 1e-5), 40 expected runs: Papernot and Steinke 2022 leave a run epsilon 0.343."""
    law = geometric(40.0)
    base = base_table(Budget.approximate(1.0, 1e-5), law, renyi=True)
    assert float(select(base, law).delta(1.0)) <= 1e-5
    setting = {"clip": 1.0, "records": 24_000, "lot": 256, "steps": 940}
    by_theorem = noise_for(0.343, **setting, delta=1e-5)
    assert noise_below(base, **setting)[0] < 0.85 * by_theorem
    assert noise_below(base_table(Budget.approximate(1.0, 1e-5), law), **setting)[0] < by_theorem


def test_bad_input_is_refused_with_the_rule() -> None:
    base = tabulate(GaussianProfile(0.3), floor=1e-9)
    asked = {"clip": 1.0, "records": 1000, "lot": 10, "steps": 100}
    with pytest.raises(BadInput, match="lot must be at most records"):
        noise_below(base, **asked | {"lot": 2000})
    with pytest.raises(BadInput, match="must broadcast"):
        noise_below(base, **asked | {"lot": [1, 2], "steps": [1, 2, 3]})
    with pytest.raises(BadInput, match="steps must be whole and at least 1"):
        noise_below(base, **asked | {"steps": 0})
    with pytest.raises(GuaranteeError, match="larger floor"):
        noise_below(TableProfile((0.0, 1.0), (0.1, 0.0)), **asked)
