"""A study that tacit wrote opens in optuna-dashboard, in a real browser, and shows what was released."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import numpy as np
import pytest
from report_parts import CHROMIUM, FLAGS

import tacit
from tacit import Choice, Float, Simulation

optuna_dashboard = pytest.importorskip(
    "optuna_dashboard", reason="needs optuna-dashboard: pip install optuna-dashboard"
)
sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium browser on the PATH (apt install chromium)")


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[str]:
    tacit.tune(
        lambda p: np.full(500, (p["rate"] - 0.3) ** 2),
        {"rate": Float(0, 1), "kernel": Choice(["round", "flat"])},
        records=500,
        bounds=(0, 1),
        trials=6,
        method="observed",
        budget=tacit.Budget.approximate(1, 1e-6),
        noise=Simulation(3),
        out=tmp_path / "release",
    )
    app = optuna_dashboard.wsgi(f"sqlite:///{tmp_path / 'release' / 'study.db'}")
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/dashboard/studies/1"
        server.shutdown()


def test_optuna_dashboard_shows_every_trial_and_the_best(dashboard: str) -> None:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page, errors = browser.new_page(), list[str]()
        page.set_default_timeout(240_000)  # it only ends a run that hangs
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{dashboard}/trials")
        page.get_by_text("6 Trials").wait_for()
        text = page.inner_text("body")
        page.goto(dashboard)
        page.get_by_text("Best Trial (number=").wait_for()
        history = page.inner_text("body")
        browser.close()
    assert errors == []
    assert all(f"Trial {number}" in text for number in range(6))
    assert "rate" in text
    assert "kernel" in text
    assert "tacit:terms" in history
