"""What a run keeps until its release: as it was stored, or refused."""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import BadInput, TacitError
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


def test_a_fork_in_the_midst_of_a_run_does_not_go_on_with_it(tmp_path: Path) -> None:
    """It would store and release runs of its own beside those of its parent, for one payment."""
    for folder in (tmp_path / "private", None):
        state = PrivateState(folder)
        state.store("plan", 3)
        acts = (partial(state.store, "plan", 4), partial(state.load, "plan"), state.wipe)
        if (child := os.fork()) == 0:
            refused = 0
            for act in acts:
                try:
                    act()
                except TacitError:
                    refused += 1
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == len(acts)
        assert state.load("plan") == 3


class Bomb:
    """Whoever unpickles it runs a command."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.place}",)


def test_no_pickle_is_read_that_this_user_did_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither as a document, behind a digest that anybody can compute, nor as a model, sealed with another's key."""
    state, sign = PrivateState(tmp_path / "private"), tmp_path / "sign"
    content = pickle.dumps(Bomb(sign))
    for name in ("terms", "run-0", "model-0"):
        for seal in (hashlib.sha256(name.encode() + b"\0" + content).digest(), b"", b"\0" * 32):
            (tmp_path / "private" / name).write_bytes(seal + content)
            for read in (state.load, state.load_model):
                with pytest.raises(BadInput, match="is not what was written there"):
                    read(name)
    monkeypatch.setenv("TACIT_DATA_KEY", str(tmp_path / "other.key"))
    state.store_model("model-0", Bomb(sign))
    monkeypatch.undo()
    with pytest.raises(BadInput, match="by this user"):
        state.load_model("model-0")
    assert not sign.exists()
    state.store_model("model-0", Bomb(sign))  # one's own is read: the test can fail
    state.load_model("model-0")
    assert sign.exists()


def test_a_state_of_an_earlier_release_is_refused_in_words(tmp_path: Path) -> None:
    state, content = PrivateState(tmp_path / "private"), pickle.dumps({"records": 3})
    (tmp_path / "private" / "terms").write_bytes(hashlib.sha256(b"terms\0" + content).digest() + content)
    with pytest.raises(BadInput, match=r"earlier release wrote it as a pickle.*another folder"):
        state.load("terms")


def test_a_run_that_another_release_began_under_terms_of_its_own_is_refused_in_words(tmp_path: Path) -> None:
    PrivateState(tmp_path / "private").agree({"trainer": "logistic", "sizes": [3]})
    with pytest.raises(BadInput, match=r"terms \(task\), or by another release of tacit.*paid for anew"):
        PrivateState(tmp_path / "private").agree({"trainer": "logistic", "sizes": [3], "task": "learnt"})


def test_what_is_kept_is_its_owners_alone_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    state = store_all(tmp_path / "private")
    state.store_model("model-0", {"weights": [1.0]})
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "private").iterdir()}
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}
    assert set(modes) == {"README", "model-0", *VALUES}
    state.wipe()
    assert not list(tmp_path.iterdir())
