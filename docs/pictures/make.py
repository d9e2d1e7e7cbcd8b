"""Makes the README's pictures from real runs: ``python docs/pictures/make.py``. Needs tacit[test] and Chromium.

front.png    what epsilon buys: two classifiers that tell even digits from odd ones, 40 settings each, five runs each
release.png  the cover of the page of an SVM tuned on private digits: the demo's run, its noise drawn anew each time
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import tacit
from tacit.pareto.algorithms import load_algorithm
from tacit.report.pages.tuned import write

HERE = Path(__file__).parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def front() -> None:
    table = load_digits(as_frame=True).frame
    table["odd"] = table.pop("target") % 2
    fronts = [
        tacit.pareto.discover(
            load_algorithm(name).from_table(table, "odd", seed=0), delta=1e-5, trials=40, repeats=5
        ).value
        for name in ("logistic_sgd", "svm_sgd")
    ]
    tacit.pareto.Comparison(fronts).plot(show="utility").save(HERE / "front.png")


def release() -> None:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, private = order[:600], order[600:]

    def losses(params: dict) -> np.ndarray:
        return SVC(**params).fit(X[train], y[train]).predict(X[private]) != y[private]

    space = {"C": tacit.Float(1e-2, 1e3, log=True), "gamma": tacit.Float(1e-6, 1e-1, log=True)}
    budget = tacit.Budget.approximate(1.0, 1e-6)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        ledger = tacit.Ledger.open(f"{folder}/ledger.db", "digits", tacit.Budget.approximate(3.0, 1e-6))
        asked = {"records": len(private), "bounds": (0.0, 1.0), "trials": 25, "out": f"{folder}/out"}
        tacit.tune(losses, space, **asked, budget=budget, ledger=ledger, progress=False)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 940, "height": 860})
        page.goto(write(f"{folder}/out").as_uri())
        page.screenshot(path=HERE / "release.png")
        browser.close()


if __name__ == "__main__":
    release()
    front()
