"""The laws of claims, for every place where a run may be kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from claims_laws import ClaimsLaws
from claims_stores import KINDS, STEPS, Kind

SERVED = [name for name in KINDS if "PostgreSQL" in name]


class TestClaims(ClaimsLaws):
    @pytest.fixture(params=[name for name in KINDS if name not in SERVED])
    def kind(self, request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
        (tmp_path / "run").mkdir()
        return KINDS[request.param](tmp_path / "run")


@pytest.mark.postgres
class TestClaimsOnAServer(ClaimsLaws):
    """The run and its ledger in PostgreSQL."""

    @pytest.fixture(params=SERVED)
    def kind(self, request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Kind:
        (tmp_path / "run").mkdir()
        return KINDS[request.param](tmp_path / "run", postgres_url)

    @pytest.mark.slow
    @pytest.mark.parametrize("step", STEPS)
    def test_a_killed_run_goes_on_without_paying_or_drawing_twice(self, step: str, kind: Kind) -> None:
        super().test_a_killed_run_goes_on_without_paying_or_drawing_twice(step, kind)
