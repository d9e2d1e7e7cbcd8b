"""Private training audited end to end: by an adversary's trainer and score, and by canaries in one training."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.audit.games import find_game
from tacit.audit.games.one_run import OneRun
from tacit.audit.play import run_game
from tacit.privacy.profiles import GaussianProfile, tabulate
from tacit.training.search_cost import SearchCost
from tacit.training.trainer import Base


def test_a_whole_search_keeps_its_claim() -> None:
    audit = run_game("train", 60, confidence=1 - 1e-7, exact=True)
    assert (audit.verdict, audit.noise) == ("within the claim", "exact draws")


@pytest.mark.slow
def test_the_adversary_sees_much_of_the_claim_and_all_of_a_search_that_pays_for_one_run_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2,000 runs show 0.99 of the 2 that are claimed, on average, 0.75 or more 999 times in 1,000; above 2 is chance,
    once in 10,000."""
    honest = run_game("train", 2000, confidence=1 - 1e-4)
    assert honest.verdict == "within the claim"
    assert run_game("train", 2000).measured > 0.6
    whole = SearchCost.__dict__["base"].fget

    def unpaid(self: SearchCost) -> Base:
        mu = self.budget.mu()
        return replace(whole(self), mu=mu, table=tabulate(GaussianProfile(mu), floor=self.floor))

    monkeypatch.setattr(SearchCost, "base", property(unpaid))
    assert run_game("train", 2000).verdict == "BROKEN"


@pytest.mark.filterwarnings("ignore::tacit.errors.PrivacyWarning")  # a game of a large epsilon, to see something
def test_one_training_with_many_canaries_keeps_the_claim_and_sees_something() -> None:
    """It was 1.9 to 2.4 in four trials."""
    made = find_game("train-one-run")
    assert isinstance(made, OneRun)
    audit = made.audit(seed=1)
    assert 0.5 < audit.measured <= audit.claimed
    assert audit.runs == 1
