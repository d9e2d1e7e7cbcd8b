"""The games of grid, search, private answers and fronts: sound as they are, and caught with too little noise.

Simulated noise of fixed seeds: no test fails by chance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tacit.audit.game import Audit, Game
from tacit.audit.games import find_game
from tacit.audit.games.fronts import sparse_vector_answers
from tacit.audit.play import run_game
from tacit.errors import BadInput
from tacit.privacy.noise import EXACT, Simulation
from tacit.training.output_perturbation import OutputPerturbation
from tacit.training.perceptron import PerceptronSettings
from tacit.training.sparse_vector import SparseVector

# Runs of the sound game and of the broken one, and how much of the claim the sound one must show.
BY_SOURCE = {
    "grid": (50, 120, 0.0),
    "search-cv": (40, 150, 0.0),
    "private-answers": (500, 600, 0.3),
    "sparse-vector": (100_000, 100_000, 0.8),
    "private-front": (300, 300, 0.5),
}
WHOLE_SEARCHES = ("grid", "search-cv")


class Half(Simulation):
    """Half the noise that is asked for."""

    def gaussian(self, values: Any, scale: float) -> Any:
        return super().gaussian(values, scale / 2)

    def gaussian_whole(self, value: int, scale: float) -> int:
        return super().gaussian_whole(value, scale / 2)

    def gaussian_whole_array(self, values: Any, scale: float) -> Any:
        return super().gaussian_whole_array(values, scale / 2)

    def laplace(self, values: Any, scale: float) -> Any:
        return super().laplace(values, scale / 2)


def audited(name: str, runs: int, *, half: bool = False) -> Audit:
    made = find_game(name)
    assert isinstance(made, Game)
    if half:
        made = replace(made, draw=lambda side, n, noise: find_game(name).draw(side, n, Half(noise.generator)))  # type: ignore
    return run_game(made, runs, exact=False)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in WHOLE_SEARCHES else []) for n in BY_SOURCE]
)
def test_a_game_is_within_its_claim_and_catches_half_the_noise(name: str) -> None:
    sound_runs, broken_runs, share = BY_SOURCE[name]
    sound = audited(name, sound_runs)
    assert sound.verdict == "within the claim"
    assert sound.measured >= share * sound.claimed
    assert audited(name, broken_runs, half=True).verdict == "BROKEN"


def test_a_perceptron_is_within_its_claim_and_half_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    made = find_game("dp-mlp")  # its claim is made here, with the noise as it should be
    assert isinstance(made, Game)
    sound = run_game(made, 800)
    assert sound.verdict == "within the claim"
    assert sound.measured > 0
    monkeypatch.setattr(PerceptronSettings, "scale", property(lambda s: s.clip * s.multiplier / s.unit))
    assert run_game(made, 1500).verdict == "BROKEN"


def test_a_perceptron_has_no_exact_draws() -> None:
    with pytest.raises(BadInput, match="first weights, which are secret"):
        find_game("dp-mlp").draw(0, 40, EXACT)  # type: ignore[union-attr]


def test_output_perturbation_is_within_its_claim_and_a_quarter_of_the_noise_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The published sensitivity is twice what a record can do: the penalty's pull is the same on both data sets.

    So half the noise would still keep the claim, and no audit can catch it.
    """
    sound = audited("output-perturbation", 2000)
    assert sound.verdict == "within the claim"
    assert sound.measured > 0.1 * sound.claimed
    train = OutputPerturbation.train

    def quarter(self: Any, params: Any, seeds: Any) -> Any:
        return train(self, {**params, "sigma": params["sigma"] / 4}, seeds)

    monkeypatch.setattr(OutputPerturbation, "train", quarter)
    assert audited("output-perturbation", 2000).verdict == "BROKEN"


def test_output_perturbation_moves_by_at_most_half_of_the_sensitivity_that_it_pays_for() -> None:
    """The same orders on both data sets, without noise: the coupling by which the sensitivity is proved."""
    made = find_game("output-perturbation").draw.__closure__  # type: ignore[union-attr]
    pair = next(c.cell_contents for c in made or () if isinstance(c.cell_contents, list))
    orders = np.array([np.random.default_rng(i).permutation(200) for i in range(50)])
    here, there = (one._fit(0.02, orders) for one in pair)
    share = np.linalg.norm(here - there, axis=1) / pair[0].sensitivity(0.02)
    assert 0.3 < share.max() <= 0.5


def test_the_audited_sparse_vector_is_the_shipped_one() -> None:
    """The same seed, the same answers: the F1 that ``utility`` gives, to the last digit."""
    svt, params = SparseVector(), {"b": 3.0, "C": 4}
    generator = np.random.default_rng(5)
    truth = generator.permuted(np.tile(np.arange(100) < 10, (50, 1)), axis=1)
    told = sparse_vector_answers(truth, params, Simulation(generator))
    f1 = (2 * (told & truth).sum(axis=1) / (told.sum(axis=1) + 10)).mean()
    assert f1 == svt.utility(params, seed=5)


def test_exact_draws_keep_the_claim_too() -> None:
    for name in ("sparse-vector", "private-answers"):
        made = find_game(name)
        assert isinstance(made, Game)
        audit = run_game(made, 40, exact=True, confidence=1 - 1e-7)
        assert (audit.verdict, audit.noise) == ("within the claim", "exact draws")
