"""Two neighbours on which a claim is tight: what every registered thing names, and what its law plays.

``tests/laws/test_recorded_draws.py`` plays both with a source that records, computes from the records alone what was
spent, and holds it against the claim: no more than it, and just the share of it that the pair states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit.privacy.guarantee import Budget
from tacit.privacy.noise import Source


@dataclass(frozen=True)
class WorstPair:
    """A data set (side 0), its neighbour (side 1), and how to run on either.

    Args:
        about: What differs, in words.
        claim: What a run says that it costs.
        play: ``play(side, noise)`` runs on one side with noise from ``noise``.
        share: The share of the claim that this pair spends, to three digits. It is 1 where the claim is tight.
        inside: Kinds of draws that never leave the run ("gaussian"), and so cost nothing.
    """

    about: str
    claim: Budget
    play: Callable[[int, Source], object]
    share: float = 1.0
    inside: tuple[str, ...] = ()
