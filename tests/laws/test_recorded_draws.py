"""What is really spent: every registered thing, played on its worst neighbours with a source that records its draws.

From the records alone follows the privacy loss, by formulas of its own (tests/recorded_draws.py). It never exceeds the
claim, and is the share of the claim that the entry states: a claim with twice the noise that it needs fails as well.
Exact: nothing here is a matter of chance. What was found stands in docs/recorded-draws.md, which
`PYTHONPATH=tests python -m spent_table` writes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from recorded_draws import losses_of, record, stopping_loss
from registered import BASE, BUDGETS, Entry, entries, of_front_algorithm, of_method, of_trainer, play_game
from spent_table import read_page, rows_of

from tacit.audit.games import GAMES
from tacit.audit.recorder import Recorder
from tacit.methods.registry import METHODS, load
from tacit.pareto.algorithms import OTHERS
from tacit.privacy.worst_pair import WorstPair
from tacit.training.descent import DescentTrainer
from tacit.training.registry import TRAINERS, TrainerEntry

NEAR = 0.002  # how exactly a share is stated
ENTRIES = list(entries())
REMEDY = "write docs/recorded-draws.md anew: PYTHONPATH=tests python -m spent_table"


def hold(entry: Entry) -> None:
    """The law itself."""
    for row in rows_of(entry):
        if row.claimed:
            about = f"{entry}: {row.about}"
            assert row.spent <= row.claimed * (1 + 1e-9), f"{about}: {row.spent} was spent, and {row.claimed} claimed"
            assert row.share == pytest.approx(row.stated, abs=NEAR), f"{about}: another share of the claim than stated"


@pytest.mark.parametrize("entry", [pytest.param(e, marks=e.marks) for e in ENTRIES], ids=str)
def test_what_is_spent_is_what_is_claimed_and_what_the_page_says(entry: Entry) -> None:
    hold(entry)
    said = [line for line in read_page() if line[:2] == (entry.kind, entry.name)]
    rows = rows_of(entry)
    assert [line[:4] for line in said] == [row.words[:4] for row in rows], REMEDY
    for line, row in zip(said, rows, strict=True):
        assert not row.claimed or float(line[4]) == pytest.approx(row.spent, rel=5e-3), REMEDY


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.notions])
def test_a_method_keeps_a_budget_of_every_notion_that_it_takes(name: str) -> None:
    data = load(METHODS[name].neighbours)()
    for notion in METHODS[name].notions:
        pair = WorstPair(
            data.about, BUDGETS[notion], partial(data.tune, name, budget=BUDGETS[notion]), 1.0, data.inside
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spent, claimed = losses_of(pair).spent(pair.claim)
        # a choice in a sum of Gaussians is counted by mu, which is more than its part of rho
        assert 0.9 * data.share * bool(not data.conditional) <= spent / claimed <= 1 + 1e-9, notion


def test_the_page_names_everything_that_is_registered_and_nothing_else() -> None:
    assert list(dict.fromkeys(line[:2] for line in read_page())) == [(e.kind, e.name) for e in ENTRIES], REMEDY


# The law fails where it should


@dataclass(frozen=True)
class Quiet(DescentTrainer):
    """States the noise that it was calibrated to, and draws a hundredth less."""

    times = 0.99

    def train(self, rows: Any, settings: Any, facts: Any, noise: Any) -> Any:
        return super().train(rows, replace(settings, multiplier=settings.multiplier * self.times), facts, noise)


@dataclass(frozen=True)
class Loud(Quiet):
    """Draws a hundredth more: its claim is larger than what it spends."""

    times = 1.01


def entry_of(pair: WorstPair) -> Entry:
    return Entry("trainer", "another one", lambda: [pair])


@pytest.mark.parametrize(("kind", "words"), [(Quiet, "another share"), (Loud, "another share")])
def test_a_hundredth_of_the_noise_is_missed(kind: type[DescentTrainer], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        hold(entry_of(kind("logistic").worst_pairs(BASE)[0]))


def test_a_loss_that_the_source_does_not_see_is_missed() -> None:
    def leak(side: int, noise: Any) -> Any:
        return side

    with pytest.raises(AssertionError, match="nothing was drawn"):
        hold(entry_of(replace(DescentTrainer().worst_pairs(BASE)[0], play=leak)))


@pytest.mark.parametrize(
    ("registry", "entry", "of", "words"),
    [
        (METHODS, replace(METHODS["random"], neighbours=""), of_method, "worst neighbours"),
        (TRAINERS, TrainerEntry("new", "", "trainer:Facts", ("", "")), of_trainer, "worst_pairs"),
        (OTHERS, "trainer:Facts", of_front_algorithm, "worst_pairs"),
    ],
)
def test_an_entry_without_a_worst_pair_is_told_what_to_add(
    monkeypatch: pytest.MonkeyPatch, registry: Any, entry: Any, of: Any, words: str
) -> None:
    monkeypatch.setitem(registry, "new", entry)
    assert "new" in {e.name for e in entries()}
    with pytest.raises(AssertionError, match=words):
        of("new")


# What is not a sum of losses


def test_sparse_vector_stops_where_its_epsilon_allows() -> None:
    game = GAMES["sparse-vector"]()
    pair = WorstPair(game.about, game.claim, partial(play_game, game))  # type: ignore[arg-type]
    tapes = [record(pair, side, Recorder(3))[0] for side in (0, 1)]
    assert game.claim is not None
    assert 0.9 * game.claim.amount < stopping_loss(*tapes) <= game.claim.amount
