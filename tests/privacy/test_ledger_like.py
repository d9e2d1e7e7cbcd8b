"""A path or URL stands for a ledger wherever one is taken; none is made by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

import tacit
from tacit.errors import BadInput, LedgerError
from tacit.privacy.ledger_like import as_ledger

UNIT = "one validation record replaced"
BUDGET = tacit.Budget.gdp(1.0)
ASKED: dict[str, Any] = {"records": 500, "bounds": (0.0, 1.0), "trials": 3, "accept_noise": True}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    tacit.Ledger.open(tmp_path / "l.db", "icu", BUDGET).close()
    return tmp_path / "l.db"


def test_every_entry_point_charges_the_ledger_at_a_path(file: Path) -> None:
    def losses(params: Any) -> Any:
        return np.full(500, 0.5)

    def suggest(trial: Any) -> Any:
        trial.suggest_float("x", 0.0, 1.0)
        return losses(None)

    space, share = {"x": tacit.Float(0.0, 1.0)}, tacit.Budget.gdp(0.4)
    tuned = tacit.tune(losses, space, budget=share, method="random", ledger=str(file), progress=False, **ASKED)
    assert tuned.payment is not None
    assert tuned.payment.entry == 1
    wrapped = tacit.private(suggest, budget=share, ledger=file, **ASKED)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    study.optimize(wrapped, n_trials=3)
    assert wrapped.release(study).payment is not None
    mean = tacit.mechanisms.Gaussian(1.0, budget=share, unit=UNIT).release(0.5, ledger=f"sqlite:///{file}")
    assert mean.payment is not None
    with tacit.Ledger.open(file, "icu") as ledger:
        assert sum(e.kind == "charge" for e in ledger.entries()) == 3
        assert ledger.verify_certificate(mean.certificate()).paid


def test_one_of_several_is_named_and_none_is_made(file: Path, tmp_path: Path) -> None:
    tacit.Ledger.open(file, "er", BUDGET).close()
    with pytest.raises(LedgerError, match=r"2 ledgers at .*; name one: .*l\.db#er, .*l\.db#icu"):
        as_ledger(file)
    named = as_ledger(f"{file}#icu")
    assert named is not None
    assert named.name == "icu"
    with pytest.raises(LedgerError):
        as_ledger(tmp_path / "no.db")
    assert not (tmp_path / "no.db").exists()
    with pytest.raises(BadInput, match="got an int"):
        as_ledger(3)  # type: ignore[arg-type]
    assert as_ledger(None) is None


@pytest.mark.parametrize(
    ("budget", "told"),
    [(tacit.Budget.approximate(1.0, 0.01), "not below 1/n"), (tacit.Budget.gdp(4.0), "is above 10")],
)
def test_a_promise_that_is_hardly_worth_making_is_remarked_on(budget: tacit.Budget, told: str) -> None:
    def run(noise: Any) -> None:
        space, more = {"x": tacit.Float(0.0, 1.0)}, {**ASKED, "noise": noise}
        tacit.tune(lambda params: np.full(500, 0.5), space, budget=budget, method="random", progress=False, **more)

    with pytest.warns(tacit.errors.PrivacyWarning, match=told):
        run(tacit.privacy.noise.EXACT)
    with pytest.warns(tacit.errors.PrivacyWarning, match=told):
        tacit.private(lambda trial: np.full(500, 0.5), budget=budget, **ASKED)
