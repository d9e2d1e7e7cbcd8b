"""The table as bytes: whole, damaged, and hostile."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.outsource.protocol.frames import Digest, chunks, frame, pack, unframe
from tacit.outsource.protocol.terms import Published, Unreachable
from tacit.privacy.guarantee import Guarantee

NONE = Guarantee.none("a test")


def terms(rows: int, columns: int, chunk: int, dtype: str = "<f4") -> Published:
    return Published("s", rows, columns, "noisy", 1.0, 0.0, 10, NONE, NONE, "", dtype, chunk)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 50), st.integers(1, 5), st.integers(1, 20), st.sampled_from(["<f4", "<f8"]), st.integers(1, 300))
def test_a_table_comes_back_whatever_the_chunks_and_pieces(n: int, d: int, chunk: int, dtype: str, piece: int) -> None:
    table = np.random.default_rng(n).normal(size=(n, d)).astype(dtype)
    cut = list(chunks(np.array_split(table, 3), chunk, dtype))
    assert [len(c) for c in cut[:-1]] == [chunk] * (len(cut) - 1)
    stream = b"".join(frame(pack(c), len(c)) for c in cut)
    pieces = [stream[i : i + piece] for i in range(0, len(stream), piece)]
    back = list(unframe(pieces, terms(n, d, chunk, dtype)))
    np.testing.assert_array_equal(np.concatenate(back), table)
    whole, parts = Digest(), Digest()
    whole.add(table)
    for part in back:
        parts.add(part)
    assert whole.text() == parts.text()


def test_single_precision_noise_is_compressed_a_little() -> None:
    part = np.random.default_rng(0).normal(size=(4096, 10)).astype("<f4")
    assert len(pack(part)) < 0.93 * part.nbytes


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (struct.pack("<II", 2**31, 4), "larger than the terms"),
        (struct.pack("<II", 10, 5), "larger than the terms"),
        (struct.pack("<II", 4, 4) + b"abcd", "damaged"),
        (frame(pack(np.zeros((3, 2), "<f4")), 4), "another size"),
        (frame(zlib.compress(bytes(10**6)), 4), "another size"),  # a bomb: inflated no further than the terms allow
        (frame(pack(np.zeros((4, 2), "<f4")), 4)[:-1], "middle of a chunk"),
    ],
)
def test_damaged_and_hostile_streams_are_refused(stream: bytes, said: str) -> None:
    with pytest.raises(Unreachable, match=said):
        list(unframe([stream], terms(4, 2, 4)))


def test_terms_are_read_back_and_others_refused() -> None:
    made = terms(4, 2, 4)
    document = made.to_json()
    assert Published.from_json(document) == made
    with pytest.raises(Unreachable, match="speaks protocol 2, this modeler 1"):
        Published.from_json({**document, "protocol": 2})
    with pytest.raises(Unreachable, match="cannot be read"):
        Published.from_json({**document, "rows": "many"})
    with pytest.raises(Unreachable, match="no table"):
        Published.from_json({**document, "dtype": "object"})
    with pytest.raises(Unreachable, match="protocol list"):
        Published.from_json([])
