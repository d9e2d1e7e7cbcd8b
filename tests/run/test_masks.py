"""Masks between sites: they add away exactly, hide every site's sum, and let no round of some of the sites through."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_laws import MEAN, SPACE, USUAL, N, score, train
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.errors import BadInput, ObjectiveError
from tacit.privacy.gradient_mean import Clipped
from tacit.privacy.noise import Simulation
from tacit.run.engine import Reducer
from tacit.run.masks import WORD, MaskedReducer, Site, SiteKey, unmask
from tacit.run.shards import Shards

pytest.importorskip("cryptography")
KEYS = [SiteKey.create() for _ in range(3)]
ROSTER = [key.public for key in KEYS]
ROWS = np.random.default_rng(5).random((N, 2))
SPLIT = np.split(ROWS, [100, 1900])
COUNTS = [len(part) for part in SPLIT]


def sites(rows: Any = SPLIT) -> list[Site]:
    return [Site(part, key, ROSTER) for part, key in zip(rows, KEYS, strict=True)]


def totals(shards: Shards, models: list[Any], summing: Any = MEAN) -> list[int]:
    return shards.with_score(score, None).add_up(models, summing, N, None)


def test_masked_sums_are_the_sums_to_the_last_bit() -> None:
    points = [np.array([0.1, 0.9]), np.array([0.5, 0.2])]
    for summing in (MEAN, Clipped(np.array([[1.0, -1.0], [0.5, 0.0]]), 0.2)):
        plain = totals(Shards(SPLIT, counts=COUNTS), points, summing)
        assert totals(Shards(sites(), counts=COUNTS, masked=True), points, summing) == plain


@pytest.mark.parametrize("method", ["observed", "gibo"])
def test_a_release_over_sites_is_that_of_one_process(method: str) -> None:
    usual = {**USUAL, "train": train, "method": method, "trials": 2, **({"scan": 0} if method == "gibo" else {})}
    with ThreadPoolExecutor(3) as pool:
        found = [
            tacit.tune(score, SPACE, records=records, noise=Simulation(2), **usual).value.to_json()
            for records in (
                Shards([ROWS], counts=[N]),
                Shards(sites(), counts=COUNTS, masked=True),
                Shards(sites(), counts=COUNTS, masked=True, cluster=pool),
            )
        ]
    assert found[0] == found[1] == found[2]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-(2**60), 2**60), min_size=3, max_size=3), st.binary(min_size=32, max_size=32))
def test_masks_of_all_sites_add_away_and_of_fewer_do_not(sums: list[int], question: bytes) -> None:
    masked = [site.mask([s, 0], question) for site, s in zip(sites(), sums, strict=True)]
    assert unmask([sum(column) for column in zip(*masked, strict=True)]) == [sum(sums)]
    for left_out in range(3):
        some = [m for i, m in enumerate(masked) if i != left_out]
        with pytest.raises(ObjectiveError, match="do not add away"):
            unmask([sum(column) for column in zip(*some, strict=True)])


def test_what_a_site_sends_is_spread_over_all_words_whatever_its_sum_is() -> None:
    """False alarm: below 1e-6 (8,000 bits that are each one with probability a half, five standard errors)."""
    site = sites()[0]
    for sums in ([0] * 125, [2**62] * 125):
        words = site.mask(sums, b"some question")
        ones = sum(word.bit_count() for word in words)
        assert abs(ones - 4000) < 5 * np.sqrt(8000) / 2
    assert site.mask([7], b"one") != site.mask([7], b"two")
    assert site.mask([7], b"one") == site.mask([7], b"one")


def test_all_sites_but_one_together_with_the_collector_learn_its_sum() -> None:
    """What the page says of collusion: the others' keys undo the masks, since they made them."""
    question, hidden = b"asked", 123456789
    sent = sites()[0].mask([hidden], question)[0]
    of_others = [Site(np.zeros((1, 1)), key, ROSTER).mask([0], question)[0] for key in KEYS[1:]]
    assert (sent + sum(of_others)) % WORD == hidden
    assert (sent + of_others[0]) % WORD != hidden


def test_a_site_that_drops_out_means_no_round() -> None:
    class Out:
        def __call__(self, model: Any) -> Any:
            raise OSError("gone")

    parts = sites()
    parts[1].part = Out()
    with pytest.raises(ObjectiveError):
        totals(Shards(parts, counts=COUNTS, masked=True), [np.zeros(2)])
    shards = Shards(sites()[:2], counts=COUNTS[:2], masked=True).with_score(score, None)  # a roster of three
    with pytest.raises(ObjectiveError, match="do not add away"):
        shards.add_up([np.zeros(2)], MEAN, sum(COUNTS[:2]), None)


def test_parts_that_are_no_sites_and_sums_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ObjectiveError, match="every part must be a"):
        totals(Shards([*sites()[:2], SPLIT[2]], counts=COUNTS, masked=True), [np.zeros(2)])
    big = Shards(sites(), masked=True).with_score(score, None)
    with pytest.raises(BadInput, match="64 bits hold"):
        big.add_up([np.zeros(2)], MEAN, 2**31, None)


def test_questions_are_never_the_same_bytes_twice() -> None:
    made = [MaskedReducer.of([np.zeros(2)], Reducer(MEAN, score)).question for _ in range(2)]
    assert made[0] != made[1]


def test_keys_are_kept_in_files_of_their_owner(tmp_path: Path) -> None:
    key = SiteKey.create(tmp_path / "key")
    assert SiteKey.read(tmp_path / "key") == key
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert key.secret.hex() not in repr(key) + repr(Site(SPLIT[0], key, [key.public, ROSTER[0]]))
    with pytest.raises(BadInput, match="no key can be written"):
        SiteKey.create(tmp_path / "key")
    for text in ("", "zz", "00"):
        (tmp_path / "bad").write_text(text)
        with pytest.raises(BadInput, match="no key of a site"):
            SiteKey.read(tmp_path / "bad")
    for roster in ([key.public], ROSTER, [key.public, key.public, ROSTER[0]]):
        with pytest.raises(BadInput, match="roster"):
            Site(SPLIT[0], key, roster)
    assert pickle.loads(pickle.dumps(KEYS[0].agree(ROSTER[1]))) == KEYS[1].agree(ROSTER[0])
