"""The curator's page in a real browser."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from outsource_parts import hill, some_rows

from tacit.outsource.curator import Curator
from tacit.outsource.curator.app import create_app
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.modeler.client import Client
from tacit.outsource.protocol.terms import Refused
from tacit.privacy.noise import EXACT

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium browser on the PATH (apt install chromium)")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Any]:
    """A curator served on a free port by a thread: url, and the tokens by name."""
    import uvicorn

    rows = some_rows(40)
    tokens = Tokens(tmp_path, environment="")
    names = {name: tokens.grant(name) for name in ("curator", "alice")}
    with Curator(rows, hill(rows), epsilon=2.0, delta=1e-3, queries=30, noise=EXACT) as curator:
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(curator, tokens), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", names
        server.should_exit = True
        thread.join(10)


def test_the_page_shows_the_study_and_stops_it(service: Any) -> None:
    url, names = service
    with Client(url, token=names["alice"]) as client, sync_api.sync_playwright() as playwright:
        client.ask([7, 8], request="request-78")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        errors: list[str] = []

        def shows(where: str, text: str) -> None:
            sync_api.expect(page.locator(where)).to_contain_text(text, timeout=15_000)

        page.on("pageerror", lambda e: errors.append(str(e)))
        page.goto(f"{url}/curator#token={names['curator']}")
        shows("#parts", "2 of 30 queries answered")
        assert names["curator"] not in page.url
        kinds = page.locator("#parts .kind")
        assert [kinds.nth(k).inner_text() for k in range(2)] == ["unconditional", "conditional"]
        shown = page.inner_text("#parts")
        assert "epsilon = 2, delta = 0.001" in shown
        assert "not sensitive" in shown
        assert "no ledger counts this study" in shown
        asked = page.locator("#parts table").last.locator("tbody").inner_text().splitlines()
        assert [line.split()[-2:] for line in asked] == [["alice", "8"], ["alice", "7"]]
        assert "may ask" in shown
        page.click("#stop")
        shows("#parts", "Stopped since")
        with pytest.raises(Refused, match="stopped"):
            client.ask([9], request="request-9")
        page.click("#stop")
        sync_api.expect(page.locator("#parts")).not_to_contain_text("Stopped since", timeout=15_000)
        assert client.ask([9], request="request-9")[0].row == 9
        page.goto("about:blank")  # a change after # alone would not load the page again
        page.goto(f"{url}/curator")
        assert page.is_visible("#login")
        assert not page.is_visible("#main")
        page.fill("#token", names["alice"])  # a modeler's token opens nothing
        page.press("#token", "Enter")
        shows("#said", "not the curator")
        page.fill("#token", names["curator"])
        page.press("#token", "Enter")
        shows("#parts", "3 of 30 queries answered")
        page.set_viewport_size({"width": 390, "height": 780})  # a phone: a table scrolls in its box, not the page
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.closest('.wide'))")
        assert errors == []
        browser.close()


def test_the_page_asks_nobody_but_the_curator(service: Any) -> None:
    url, names = service
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        asked: list[str] = []
        said: list[str] = []
        page.on("request", lambda r: asked.append(r.url))
        page.on("console", lambda m: said.append(m.text))  # a policy that is broken is told here
        page.goto(f"{url}/curator#token={names['curator']}")
        sync_api.expect(page.locator("#parts")).to_contain_text("0 of 30", timeout=15_000)
        assert page.evaluate("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"
        assert {a.split("/")[2] for a in asked} == {url.split("/")[2]}
        assert said == []
        browser.close()
