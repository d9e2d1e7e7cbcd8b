"""What a run keeps until its release: as it was stored, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import BadInput
from tacit.run.private_state import PrivateState

VALUES = {"runs": 7, "loss": 0.25, "id": "a" * 32, "winner": {"x": [1.5, 2.5]}}


def store_all(folder: Path) -> PrivateState:
    state = PrivateState(folder)
    for name, value in VALUES.items():
        state.store(name, value)
    return state


def test_values_come_back_as_they_were_stored(tmp_path: Path) -> None:
    state = store_all(tmp_path / "private")
    assert {name: state.load(name) for name in VALUES} == VALUES
    assert state.load("absent") is None


def test_every_changed_bit_and_every_cut_is_refused(tmp_path: Path) -> None:
    state = store_all(tmp_path / "private")
    for name in VALUES:
        path = tmp_path / "private" / name
        whole = path.read_bytes()
        damaged = [whole[:length] for length in range(len(whole))]
        for at in range(len(whole)):
            for bit in range(8):
                changed = bytearray(whole)
                changed[at] ^= 1 << bit
                damaged.append(bytes(changed))
        for content in damaged:
            path.write_bytes(content)
            with pytest.raises(BadInput, match="is not what was written there"):
                state.load(name)
        path.write_bytes(whole)


def test_a_value_under_another_name_is_refused(tmp_path: Path) -> None:
    state = store_all(tmp_path / "private")
    (tmp_path / "private" / "runs").write_bytes((tmp_path / "private" / "loss").read_bytes())
    with pytest.raises(BadInput):
        state.load("runs")
