"""`tacit dashboard`: the pages of runs while they run. Read-only, on this machine alone by default.

    GET /                the runs that are there          GET /index.json       the same, for the page to follow
    GET /run/ID          the page of one                  GET /run/ID.json

Nothing else is served and no other method is answered. A request must name this machine in its Host header, so that a
web page elsewhere cannot reach in under a name of its own. Exact values leave only if the dashboard was started to show
them; then it listens on this machine alone, below an address that cannot be guessed.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET6, SHUT_RDWR
from typing import Any
from urllib.parse import parse_qs, urlsplit

from markupsafe import Markup, escape

from tacit.errors import BadInput, TacitError
from tacit.methods.tuned import Tuned
from tacit.page import Page, asset, policy, render_parts
from tacit.report.choose import page_of, progress_words, unfinished_page
from tacit.report.subjects import UNFINISHED, Subject, find_subjects

MOST, SECONDS = 64, 30.0  # connections at once, and how long one may take altogether
HERE = ("127.0.0.1", "::1", "localhost")
WORDS = {
    "release": "release",
    "front": "front",
    "audit": "audit",
    "attack": "known-row attack",
    "curator": "outsourced study",
    "ledger": "ledger",
    "search": "search under way",
    "discovery": "front under way",
    "descent": "descent under way",
    "auditing": "audit under way",
    "study": "study",
}


@dataclass(frozen=True)
class ShownRun:
    """A run on the dashboard: a name that stays, what it is, and when it last changed."""

    id: str
    subject: Subject
    changed: float


class Runs:
    """What is in some folders, looked at anew each time somebody asks; a page is made again only if files changed."""

    def __init__(self, places: Sequence[str | Path], *, private: bool = False, ledger: str | None = None) -> None:
        self.places, self.private, self.ledger = [Path(p) for p in places], private, ledger
        self._made: dict[str, tuple[Any, Page]] = {}
        self._alone = threading.Lock()

    def list_runs(self) -> list[ShownRun]:
        seen: dict[str, ShownRun] = {}
        for place in self.places:
            for subject in find_subjects(place):
                name = hashlib.sha256(str(subject.home.resolve()).encode()).hexdigest()[:12]
                seen.setdefault(name, ShownRun(name, subject, _last_change(subject)))
        if self.ledger is not None:  # may be in a database elsewhere: looked at anew each time
            file = ledger_file(self.ledger)
            seen = {name: run for name, run in seen.items() if not _is_ledger(run.subject, file)}
            seen["ledger"] = ShownRun("ledger", Subject("ledger", Path("ledger"), self.ledger), time.time())
        return list(seen.values())

    def page(self, run: str) -> Page | None:
        """The page of a run, or None. What cannot be read now is named on the page and tried again."""
        one = next((r for r in self.list_runs() if r.id == run), None)
        if one is None:
            return None
        subject, state = one.subject, (one.subject.kind, one.changed)
        with self._alone:
            if run not in self._made or self._made[run][0] != state:
                try:
                    fresh = self._page(subject)
                except Exception as error:  # one bad file is its own page's matter
                    odd = f"its files hold what is none of ours ({type(error).__name__})"
                    return _notice("Not readable now", str(error) if isinstance(error, TacitError) else odd)
                self._made[run] = (state, fresh)
            return self._made[run][1]

    def _page(self, subject: Subject) -> Page:
        if subject.kind == "front" and not subject.document.get("private") and not self.private:
            from tacit.report.pages.under_way import HIDDEN

            tested = f"{len(subject.document['tested'])} points were tested. It is finished."
            return _notice("A front of exact utilities", tested, who=HIDDEN)
        if subject.kind in UNFINISHED:
            return unfinished_page(subject, private=self.private, ledger=self.ledger)
        return page_of(subject, private=self.private, ledger=self.ledger)

    def _how_far(self, run: ShownRun) -> str:
        if run.subject.kind not in (*UNFINISHED, "curator"):
            return "" if run.subject.kind == "ledger" else "finished"
        shown = self.page(run.id)
        if shown is None or "progress" not in shown.parts:
            return ""
        bar = re.search("<progress.*?</progress>", shown.parts["progress"])
        words = escape(progress_words(shown.parts["progress"]))
        return words + Markup(bar[0].replace(' id="bar"', f' aria-label="{words}"')) if bar else words

    def _row(self, run: ShownRun) -> list[Any]:
        link = Markup('<a href="run/{}">{}</a>').format(run.id, run.subject.home)
        try:
            when = "" if run.id == "ledger" else datetime.fromtimestamp(run.changed).strftime("%Y-%m-%d %H:%M:%S")
            columns = [self._how_far(run), _show_score(run.subject), when, _show_left(run.subject)]
        except Exception:  # whatever a file holds, the others are shown
            columns = ["not readable now", "", "", ""]
        return [link, WORDS[run.subject.kind], *columns]

    def index(self) -> Page:
        rows = [self._row(run) for run in sorted(self.list_runs(), key=lambda r: -r.changed)]
        heads = ["where", "what", "how far", "score", "last changed", "budget left"]
        places = ", ".join(str(p) for p in self.places)
        text = "" if rows else f"Nothing that tacit wrote is in {places} yet."
        parts = render_parts("dashboard.html", title="Runs", who="", text=text, heads=heads, rows=rows)
        return Page("tacit dashboard", parts, over="tacit · dashboard")


def _notice(title: str, text: str, *, who: str = "") -> Page:
    parts = render_parts("dashboard.html", title=title, who=who, text=text, heads=(), rows=())
    return Page(f"tacit: {title.lower()}", parts, over="tacit · dashboard")


def _show_score(subject: Subject) -> str:
    """The score that a release holds, in its metric; "" where nothing is released yet, or no score."""
    value = subject.document.get("value") if subject.kind == "release" and isinstance(subject.document, dict) else None
    if not isinstance(value, dict):
        return ""
    try:
        if "trainer" in value:
            return f"{value['metric']} {value['score']:.4g}"
        tuned = Tuned.from_json(value)
    except (TypeError, KeyError, ValueError):
        return ""
    if tuned.score is None:
        return ""
    wide = tuned.intervals()
    return f"{tuned.metric} {tuned.score:.4g}" + (f" ± {wide[0][1]:.2g}" if wide else "")


def _show_left(subject: Subject) -> str:
    """What the ledger has left: now, of a ledger; when it was made, of a release."""
    if subject.kind == "ledger":
        return _left_now(subject.document or str(subject.path))
    about = subject.document.get("about") if isinstance(subject.document, dict) else None
    left: Any = about.get("left") if isinstance(about, dict) else None
    return str(left.get("words", "")) if isinstance(left, dict) else ""


def _left_now(where: str) -> str:
    from tacit.privacy.ledger import Ledger

    lines = []
    try:
        for name in Ledger.names(where):
            with Ledger.open(where, name) as ledger:
                lines.append(f"{name}: {ledger.remaining()} of {ledger.budget}")
    except TacitError:  # its own page says why
        return ""
    return "; ".join(lines)


def ledger_file(url: str) -> Path | None:
    """The file that a path or URL of a ledger names; None if it is in a database elsewhere.

    >>> ledger_file("sqlite:///budgets/ledger.db") == Path("budgets/ledger.db").resolve()
    True
    """
    if "://" in url and not url.startswith("sqlite:///"):
        return None
    return Path(url.removeprefix("sqlite:///")).resolve()


def _is_ledger(subject: Subject, file: Path | None) -> bool:
    return subject.kind == "ledger" and file is not None and subject.path.resolve() == file


def _last_change(subject: Subject) -> float:
    """When the newest file of a run was written. SQLite writes beside its file before it writes into it."""
    if subject.kind == "ledger":
        files = [subject.path, *subject.path.parent.glob(subject.path.name + "-*")]
    else:
        files = [*subject.folder.glob("*"), *subject.folder.glob("runs/*.npy")]
        files = [f for f in files if f.suffix not in (".html", ".svg", ".png")]
    times = []
    for file in files:
        try:
            times.append(file.stat().st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)


class Handler(BaseHTTPRequestHandler):
    """Answers GET, and only to names of this machine."""

    server: Dashboard
    server_version, sys_version = "tacit", ""

    def setup(self) -> None:
        super().setup()
        self._late = threading.Timer(SECONDS, self._drop)  # one that sends its head byte by byte never times out
        self._late.daemon = True
        self._late.start()

    def finish(self) -> None:
        self._late.cancel()
        with suppress(OSError):
            super().finish()

    def _drop(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(SHUT_RDWR)

    def do_GET(self) -> None:
        if not self.server.knows_host(self.headers.get("Host", "")):
            return self._answer(421, "text/plain", b"this dashboard is not known by that name\n")
        asked = urlsplit(self.path)
        path = asked.path
        if not path.startswith(self.server.prefix + "/"):
            return self._answer(404, "text/plain", b"nothing is here\n")
        path = path[len(self.server.prefix) :]
        as_json = path.endswith(".json")
        name = path.removesuffix(".json")
        page = self.server.runs.index() if name in ("/", "/index") else None
        if page is None and name.startswith("/run/"):
            page = self.server.runs.page(name.removeprefix("/run/"))
        if page is None:
            return self._answer(404, "text/plain", b"nothing is here\n")
        if not as_json:
            live = "index.json" if name in ("/", "/index") else f"{name.removeprefix('/run/')}.json"
            rules = policy([s for s in (page.script, asset("live.js")) if s], connect=True)
            home = "" if live == "index.json" else "../"
            return self._answer(200, "text/html; charset=utf-8", page.html(live=live, home=home).encode(), rules)
        document = page.to_json()
        if parse_qs(asked.query).get("have") == [document["mark"]]:
            return self._answer(204, "application/json", b"")
        self._answer(200, "application/json", json.dumps(document).encode())

    def _refuse(self) -> None:
        self.close_connection = True
        self._answer(405, "text/plain", b"this dashboard only shows; it answers GET\n")

    def __getattr__(self, name: str) -> Any:
        """Every method that is not GET."""
        if name.startswith("do_"):
            return self._refuse
        raise AttributeError(name)

    def _answer(self, status: int, kind: str, body: bytes, rules: str = "default-src 'none'") -> None:
        self.send_response(status)
        about = {"Content-Type": kind, "Content-Length": str(len(body)), "Content-Security-Policy": rules}
        about |= {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}
        about |= {"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY"}
        about |= {"Allow": "GET"} if status == 405 else {}
        for name, value in about.items():
            self.send_header(name, value)
        with suppress(ConnectionError):  # the browser has left
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: addresses may hold what opens the page."""


class Dashboard(ThreadingHTTPServer):
    """The server. ``url`` is where it shows itself; with private values it has a part that cannot be guessed."""

    daemon_threads = True

    def __init__(self, runs: Runs, *, host: str = "127.0.0.1", port: int = 8734) -> None:
        if runs.private and host not in HERE:
            raise BadInput(
                f"private values are shown on this machine only, not on {host}: leave out --host or --show-private"
            )
        if ":" in host:
            self.address_family = AF_INET6
        self.runs, self.host = runs, host
        self.prefix = f"/{secrets.token_urlsafe(16)}" if runs.private else ""
        self._room = threading.Semaphore(MOST)
        try:
            super().__init__((host, port), Handler)
        except OverflowError:
            raise BadInput(f"port must be 0 to 65535, got port={port}") from None
        except OSError as error:
            raise BadInput(f"cannot serve on {host}:{port}: {error.strerror or type(error).__name__}") from None

    def process_request(self, request: Any, client_address: Any) -> None:
        """As many at once as there is room for; one more is closed without a word."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: the browser has left, or was too slow."""

    @property
    def url(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.server_address[1]}{self.prefix}/"

    def knows_host(self, header: str) -> bool:
        """Whether a Host header names this machine: an address, localhost, or the host that was given."""
        try:
            name = urlsplit(f"//{header}").hostname or ""
            ipaddress.ip_address(name)
        except ValueError:
            return name in ("localhost", self.host.lower()) if header else False
        return True
