"""Data are known again by those who hold the key, and by nobody else."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.data.identity import KEY_FILE, DataIdentity, agree_on_data, data_of, identify, key_path
from tacit.errors import BadInput
from tacit.pareto.baselines import tpe
from tacit.training.dp_sgd import LogisticSGD
from tacit.training.sparse_vector import SparseVector

TABLE = pd.DataFrame({"rooms": [3, 4, 5], "garden": ["yes", "no", None], "price": [1.5, 2.0, 2.5]})


def of(table: pd.DataFrame = TABLE, **about: Any) -> DataIdentity:
    return DataIdentity.of_table(table, **{"name": "king.csv", "target": "price", **about})


@pytest.fixture(autouse=True)
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "keys" / "data.key"))
    return key_path()


def test_the_same_data_agree_under_another_name() -> None:
    stored = json.loads(json.dumps(of().seal()))
    assert agree_on_data(stored, of(TABLE.copy(), name="copy.csv")) == stored


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (of(TABLE.iloc[:2]), "its rows were 3, now 2"),
        (of(TABLE.rename(columns={"rooms": "floors"})), "the columns have other names"),
        (of(TABLE.assign(x=1)), "its columns were 3, now 4"),
        (of(TABLE.replace(2.0, 2.01)), "the cells differ"),
        (of(TABLE.iloc[::-1]), "the cells differ"),
        (of(target="rooms"), "the target was 'price', now 'rooms'"),
        (of(use="seed 1"), "it was used with None, now with seed 1"),
        (DataIdentity("king.csv"), "its rows were 3, now None"),
        (None, "nothing is said of the data"),
    ],
)
def test_other_data_are_refused_with_the_difference_in_words(other: DataIdentity | None, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        agree_on_data(of().seal(), other)


def test_a_digest_is_salted_and_keyed(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two documents of the same data have nothing in common but public facts; without the key none can be made."""
    first, second = of().seal(), of().seal()
    assert first["digest"] != second["digest"]
    assert first["salt"] != second["salt"]
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32
    assert key.read_bytes().hex() not in json.dumps(first)
    monkeypatch.setenv(KEY_FILE, str(key.with_name("another")))
    assert of().seal()["key"] != first["key"]
    assert agree_on_data(first, of(TABLE.replace(2.0, 2.01))) == first  # another key: public facts decide
    with pytest.raises(BadInput, match=r"the name was 'king.csv', now 'bank.csv'"):
        agree_on_data(first, of(name="bank.csv"))


def test_a_name_of_the_users_stands_for_the_content() -> None:
    named = of().rename("houses 2024")
    assert "digest" not in named.seal()
    assert agree_on_data(named.seal(), of(TABLE.replace(2.0, 9.0)).rename("houses 2024"))
    with pytest.raises(BadInput, match="the name was 'houses 2024'"):
        agree_on_data(named.seal(), named.rename("houses 2025"))


def test_the_content_is_in_no_pickle_and_no_repr() -> None:
    made = of()
    assert made.content is not None
    assert made.content not in pickle.dumps(made)
    assert "king.csv" in repr(made)
    assert pickle.loads(pickle.dumps(made)).content is None


def test_the_number_of_rows_of_persons_is_not_told() -> None:
    assert "rows" not in of(persons=True).seal()


def test_a_key_that_is_none_is_refused(key: Path) -> None:
    key.parent.mkdir()
    key.write_bytes(b"short")
    with pytest.raises(BadInput, match="is no key"):
        of().seal()


def test_an_attribute_that_is_no_identity_is_left_alone() -> None:
    class Holder:
        data = TABLE

    assert data_of(Holder()) is None
    assert identify("houses") == DataIdentity("houses")
    with pytest.raises(BadInput, match="must be a name"):
        identify(3)  # type: ignore[arg-type]


def test_processes_that_make_the_key_at_once_have_one(key: Path) -> None:
    code = "from tacit.data.identity import read_key; print(read_key().hex())"
    many = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(4)]
    assert {p.communicate()[0].strip() for p in many} == {key.read_bytes().hex().encode()}


def test_a_front_is_bound_to_its_arrays_and_its_search(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    where: dict[str, Any] = {"delta": 1e-3, "trials": 2, "storage": f"sqlite:///{tmp_path}/front.db"}
    tacit.pareto.discover(LogisticSGD(X, y), **where)
    tacit.pareto.discover(LogisticSGD(X, y), **where)
    with pytest.raises(BadInput, match="the cells differ"):
        tacit.pareto.discover(LogisticSGD(X + 1e-9, y), **where)
    with pytest.raises(BadInput, match='search was "dpareto, gp privacy", now "TPESampler"'):
        tacit.pareto.discover(LogisticSGD(X, y), **where, sampler=tpe())
    with pytest.raises(BadInput, match=r"nothing is said of the data|name was"):
        tacit.pareto.discover(SparseVector(), **where)


@pytest.mark.parametrize("method", ["observed", "pool", "gibo"])
def test_a_tuned_folder_is_bound_to_its_data(tmp_path: Path, method: str) -> None:
    def losses(params: dict[str, Any]) -> Any:
        if stop:
            raise KeyboardInterrupt
        return np.full(4000, params["x"] ** 2)

    budget, stop = tacit.Budget.approximate(2.0, 1e-6), method == "pool"
    about: dict[str, Any] = {"records": 4000, "bounds": (0.0, 1.0), "budget": budget, "trials": 3, "method": method}
    about |= {"out": tmp_path / "out", "progress": False, "accept_noise": True}
    try:
        tacit.tune(losses, {"x": tacit.Float(0.0, 1.0)}, **about, data="ward 3")
    except KeyboardInterrupt:
        stop = False
    tacit.tune(losses, {"x": tacit.Float(0.0, 1.0)}, **about, data="ward 3")
    with pytest.raises(BadInput, match="the name was 'ward 3', now 'ward 4'"):
        tacit.tune(losses, {"x": tacit.Float(0.0, 1.0)}, **about, data="ward 4")


@pytest.mark.parametrize("change", [{"seed": 1}, {"y": "flip"}])
def test_a_training_that_was_cut_short_goes_on_with_the_same_parts_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """By another seed a record of the training part would be scored as well, and pay for one of the two."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 2))
    y = (X[:, 0] > 0).astype(int)
    how: dict[str, Any] = {"budget": tacit.Budget.approximate(2.0, 1e-6), "runs": 2, "progress": False}

    def cut(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tacit.training.secret_search.SecretSearch.find_best", cut)
        with pytest.raises(KeyboardInterrupt):
            tacit.train("logistic", X, y, **how, out=tmp_path / "out")
    labels = 1 - y if "y" in change else y
    with pytest.raises(BadInput, match=r"now with parts .* seed 1|the cells differ"):
        tacit.train("logistic", X, labels, **how, out=tmp_path / "out", seed=change.get("seed", 0))
    assert tacit.train("logistic", X, y, **how, out=tmp_path / "out").value.score is not None
