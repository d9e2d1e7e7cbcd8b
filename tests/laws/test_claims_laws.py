"""The laws of claims, for every place where a run may be kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from claims_laws import ClaimsLaws
from claims_stores import KINDS, Kind

SERVED = [pytest.param(name, marks=pytest.mark.postgres) if "PostgreSQL" in name else name for name in KINDS]


class TestClaims(ClaimsLaws):
    @pytest.fixture(params=SERVED)
    def kind(self, request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
        url = request.getfixturevalue("postgres_url") if "PostgreSQL" in request.param else ""
        (tmp_path / "run").mkdir()
        return KINDS[request.param](tmp_path / "run", url)
