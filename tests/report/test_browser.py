"""The pages in a real browser: they move, print, fit a phone, read in the dark, grow, and look as they did.

Screenshots are compared with references in screenshots/, both shrunk to 40 x 45 pixels: the mean difference of a
channel may be 3 of 255. Two runs differed by 0.2 at most, two pages by 5.5 at least. Another font breaks lines
elsewhere and moves it by up to 18, so where a line of letters is not as long as it was, only the other tests are run.
To make references anew after a change that was meant: TACIT_SCREENSHOTS=write pytest tests/report/test_browser.py
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from report_parts import (
    CHROMIUM,
    FLAGS,
    attacked,
    audits,
    charged,
    curator,
    descended,
    front,
    laid_out,
    observed,
    searching,
    trained,
)

from tacit.outsource.curator.page import StudyStatus, study_page
from tacit.page import Page
from tacit.report.choose import ledger_page
from tacit.report.dashboard import Dashboard, Runs
from tacit.report.pages import audit as audit_page
from tacit.report.pages import front as front_page
from tacit.report.pages import trained as trained_page
from tacit.report.pages import tuned as tuned_page
from tacit.report.pages.under_way import search_page

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium browser on the PATH (apt install chromium)")
SHOTS, TOLERANCE = Path(__file__).parent / "screenshots", 2.0
PHONE, DESK = {"width": 390, "height": 780}, {"width": 800, "height": 1500}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


class Sheet:
    """A page in the browser that remembers what it complained of."""

    def __init__(self, browser: Any, **about: Any) -> None:
        self.context = browser.new_context(viewport=DESK, reduced_motion="reduce", **about)
        self.page, self.said = self.context.new_page(), list[str]()
        self.page.on("pageerror", lambda e: self.said.append(str(e)))
        self.page.on("console", lambda m: self.said.append(m.text))
        self.page.on("request", lambda r: self._requested(r.url))
        self.requests: list[str] = []

    def _requested(self, url: str) -> None:
        self.requests.append(url)

    def show(self, made: Page, folder: Path) -> Any:
        self.page.goto(made.write(folder / "page.html").as_uri())
        return self.page


@pytest.fixture
def sheet(browser: Any) -> Iterator[Sheet]:
    made = Sheet(browser, permissions=["clipboard-read", "clipboard-write"])
    yield made
    made.context.close()
    assert made.said == []


def pages(folder: Path) -> dict[str, Page]:
    """One of each kind of page, of data that stay the same."""
    return {
        "release": tuned_page.page(observed()),
        "trained": trained_page.page(trained()),
        "front": front_page.page(front()),
        "descent": tuned_page.page(descended()),
        "fronts": front_page.page([front(), front("linear SVM", -0.03)]),
        "audits": audit_page.page(audits()),
        "attack": audit_page.attack_page(attacked()),
        "outsourced": study_page(StudyStatus.of_folder(curator(folder / "curator"))),
        "search": search_page(searching()),
        "ledger": ledger_page(charged(folder / "ledger.db")),
        "index": Runs([laid_out(folder / "runs")]).index(),
    }


def test_the_slider_moves_and_what_it_shows_is_in_the_csv(sheet: Sheet, tmp_path: Path) -> None:
    shown = front()
    page = sheet.show(front_page.page(shown), tmp_path)
    rows = list(csv.DictReader(shown.to_csv(tmp_path / "front.csv").open()))
    by_epsilon = {f"{float(r['epsilon']):.4g}": r for r in rows if r["on_front"] == "1"}
    seen = []
    for value in ("0", "250", "500", "750", "1000"):
        page.locator("#epsilon").fill(value)
        cells = dict(line.split("\t") for line in page.inner_text("#answer table").splitlines()[1:])
        if cells["epsilon"] == "none tested":
            continue
        row = by_epsilon[cells["epsilon"]]
        for name, column in (("utility", "utility"), ("rate", "rate")):
            assert float(cells[name]) == pytest.approx(float(row[column]), rel=1e-3)
        assert [float(v) for v in cells["runs"].split(" to ")] == pytest.approx(
            [float(row["worst"]), float(row["best"])], rel=1e-3
        )
        assert (cells["lot"], cells["loss"]) == (row["lot"], row["loss"])
        assert float(cells["epsilon"]) <= float(page.inner_text("#shown")) * 1.001
        here = page.inner_text("tr.here")
        assert here.split("\t")[0] == cells["epsilon"]
        seen.append(cells["epsilon"])
    assert len(set(seen)) >= 4
    assert "5 runs:" in page.inner_text("#answer")
    page.fill("#typed", "1.25")
    page.press("#typed", "Enter")
    assert page.inner_text("#shown") == "1.25"
    assert sheet.requests == [page.url]


def test_a_keyboard_is_enough(sheet: Sheet, tmp_path: Path) -> None:
    page = sheet.show(front_page.page([front(), front("linear SVM", -0.03)]), tmp_path)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "epsilon"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    before = page.inner_text("#shown")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    after = page.inner_text("#shown")
    assert float(after) > float(before)
    assert page.get_attribute("#epsilon", "aria-valuetext") == f"epsilon {after}"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # next point: exactly one that was tested
    epsilons = {f"{p.epsilon:.4g}" for p in front().points}
    assert page.inner_text("#shown") in epsilons
    assert page.locator("#drawing svg.broad g.now circle").count() == 2
    page.keyboard.press("Home")


def test_the_table_is_copied_with_who_may_see_it(sheet: Sheet, tmp_path: Path) -> None:
    page = sheet.show(front_page.page(front()), tmp_path)
    page.click("#copy")
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0].startswith("NOT PRIVATE")
    assert lines[1].startswith("Epsilon: fixed-size lots")
    assert lines[2].split("\t")[:3] == ["epsilon", "utility", "95% interval"]
    assert len(lines) == 3 + len(front().points)
    with page.expect_download() as download:
        page.click("#png")
    assert download.value.suggested_filename == "front.png"


def test_the_list_of_runs_shows_all_its_columns_on_a_desk(sheet: Sheet, tmp_path: Path) -> None:
    """A bar of a run under way, and what several ledgers have left, once pushed columns out of sight."""
    charged(laid_out(tmp_path / "runs") / "ledger.db")
    with chdir(tmp_path):
        made = Runs([Path("runs")]).index()
    bar = "180 of 6000 runs made on both data sets<progress max='6000' value='180'></progress>"
    made.parts["runs"] = str(made.parts["runs"]).replace("finished", bar, 1)
    sheet.page.set_viewport_size({"width": 1280, "height": 900})
    page = sheet.show(made, tmp_path)
    assert page.locator("#runs progress").bounding_box()["width"] < 200
    assert page.evaluate("[...document.querySelectorAll('.wide')].every(e => e.scrollWidth <= e.clientWidth)")


def test_every_page_fits_a_phone_in_the_dark_and_prints_in_black(sheet: Sheet, tmp_path: Path) -> None:
    page = sheet.page
    for name, made in pages(tmp_path).items():
        page.set_viewport_size(PHONE)
        page.emulate_media(media="screen", color_scheme="dark")
        sheet.show(made, tmp_path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        assert page.locator("svg.broad:visible").count() == 0
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator("button:visible, input:visible").count() == 0
        assert len(page.pdf(format="A4")) > 5000


def test_every_page_is_accessible(sheet: Sheet, tmp_path: Path) -> None:
    """axe-core finds nothing moderate or worse, on a desk and on a phone, in the light and in the dark."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    page, faults = sheet.page, set()
    for name, made in pages(tmp_path).items():
        for size, scheme in (({"width": 1280, "height": 900}, "light"), (PHONE, "dark")):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            sheet.show(made, tmp_path)
            found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
            faults |= {(name, v["id"], n["html"][:80]) for v in found if v["impact"] != "minor" for n in v["nodes"]}
    assert faults == set()


COVERED = ("release", "trained", "front", "outsourced", "audits", "ledger")


@pytest.mark.parametrize("name", COVERED)
def test_the_first_screen_of_a_release_answers_six_questions_and_prints_on_one_sheet(
    sheet: Sheet, tmp_path: Path, name: str
) -> None:
    page = sheet.page
    page.set_viewport_size({"width": 1280, "height": 1000})
    sheet.show(pages(tmp_path)[name], tmp_path)
    boxes = page.locator("#cover .cover > .box")
    assert boxes.count() == 6
    lowest = max(boxes.nth(k).bounding_box()["y"] + boxes.nth(k).bounding_box()["height"] for k in range(6))
    assert lowest <= 1000
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 1000})  # A4 less its margins, in CSS pixels
    assert page.locator(".sign").first.is_visible()
    box = page.locator(".sign").first.bounding_box()
    assert box["y"] + box["height"] <= 1000


def looked(picture: Any) -> Any:
    from PIL import Image

    return Image.open(picture).convert("RGB").resize((40, 45), Image.Resampling.BOX)


def apart(one: Any, other: Any) -> float:
    import numpy as np

    return float(np.abs(np.asarray(one, float) - np.asarray(other, float)).mean())


LENGTH = """() => { const pen = document.createElement("canvas").getContext("2d");
  pen.font = "100px system-ui, sans-serif"; return pen.measureText("Whoever sees the release and knows all").width; }
"""


def test_pages_look_as_they_did(sheet: Sheet, tmp_path: Path, monkeypatch: Any) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs tacit[plot]")
    page, far, writing = sheet.page, {}, os.environ.get("TACIT_SCREENSHOTS") == "write"
    length, kept = page.evaluate(LENGTH), SHOTS / "length.txt"
    if writing:
        SHOTS.mkdir(exist_ok=True)
        kept.write_text(f"{length:.1f}\n")
    elif abs(length / float(kept.read_text()) - 1) > 0.01:
        pytest.skip("the letters of this machine are not those of the references")
    monkeypatch.chdir(tmp_path)  # paths that are shown have no more than their names
    for name, made in pages(Path()).items():
        for kind, size, scheme in (("desk", DESK, "light"), ("phone", PHONE, "dark")):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            sheet.show(made, tmp_path)
            if kind == "phone":  # the top of two pages may be the same there
                page.evaluate("scrollTo(0, 700)")
            file, reference = tmp_path / f"{name}-{kind}.png", SHOTS / f"{name}-{kind}.png"
            page.screenshot(path=file)
            if writing:
                image.open(file).convert("RGB").quantize(48).save(reference, optimize=True)
            far[f"{name}-{kind}"] = apart(looked(file), looked(reference))
    assert {name: f for name, f in far.items() if f > TOLERANCE} == {}


def test_the_tolerance_tells_pages_apart() -> None:
    pytest.importorskip("PIL.Image", reason="needs tacit[plot]")
    kept = {p.name: looked(p) for p in sorted(SHOTS.glob("*.png"))}
    assert len(kept) == 22
    assert max(p.stat().st_size for p in SHOTS.glob("*.png")) < 60_000
    pairs = [(a, b) for a in kept for b in kept if a < b]
    assert [(a, b) for a, b in pairs if apart(kept[a], kept[b]) <= TOLERANCE] == []


STEPS = """
import time
from pathlib import Path
from pareto_toys import Noisy

class Steps(Noisy):
    runs = 0

    def utility(self, params, seed):
        self.runs += 1
        while self.runs > 4 and not Path(f"go-{self.runs // 4}").exists():  # waits to be looked at
            time.sleep(0.05)
        return super().utility(params, seed)
"""


@pytest.mark.slow
def test_a_front_is_seen_to_grow_while_a_process_writes_it(sheet: Sheet, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(STEPS)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(Path(__file__).parents[1]), *sys.path)),
        "OMP_NUM_THREADS": "1",
    }
    words = ["pareto", "steps:Steps", "--delta", "0", "--trials", "14", "--startup", "6", "--out", "front"]
    command = [sys.executable, "-c", "from tacit.cli import main; main()", *words]
    page, patient = sheet.page, {"timeout": 60_000}
    with Dashboard(Runs([tmp_path], private=True), port=0) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        running = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
        try:
            page.goto(server.url)
            page.click("#runs a", **patient)
            page.locator("#epsilon").focus(**patient)
            dots = page.locator("#drawing svg.broad > circle[r='2']")
            for step, tested in enumerate((4, 7, 11)):
                sync_api.expect(page.locator("#progress label")).to_have_text(
                    f"{tested} of 14 points tested", **patient
                )
                sync_api.expect(dots).to_have_count(tested, **patient)
                assert page.evaluate("document.activeElement.id") == "epsilon"  # nothing was loaded anew
                (tmp_path / f"go-{step + 1}").touch()
            assert running.wait(120) == 0
            sync_api.expect(page.locator("#progress")).to_have_count(0, **patient)  # now the finished front
            rows = list(csv.DictReader((tmp_path / "front" / "front.csv").open()))
            assert page.locator("#all tbody tr").count() == sum(r["on_front"] == "1" for r in rows)
        finally:
            page.goto("about:blank")
            running.kill()
            running.wait(120)
            server.shutdown()
