"""The curator's service over HTTP: FastAPI, one worker that evaluates and commits, many that wait.

Run one process only: it holds the state. ``serve`` ends on SIGINT and SIGTERM; killed at any moment, it restarts where
it was.
"""

from __future__ import annotations

import asyncio
import queue
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException

from tacit.errors import BadInput, BudgetRefused, ObjectiveError
from tacit.outsource.curator import Curator, Result, page
from tacit.outsource.curator.gate import Audit, Gate
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.protocol import wire
from tacit.outsource.protocol.terms import Answer, Refused

ABOUT = "A curator publishes a table that stands for private rows, and answers for single rows of it."
STATUS = {"unknown row": 404, "limit": 403, "stopped": 403, "reused": 409, "rows": 422}
TOGETHER = 256  # requests in one commit
Key = tuple[str, str, tuple[int, ...]]
"""A modeler, the name of its request, its rows."""


class Desk:
    """One thread takes requests in order, many to a commit; whoever repeats one that is waiting waits with it."""

    def __init__(self, curator: Curator) -> None:
        self.curator = curator
        self._queue: queue.Queue[tuple[Key, Future[list[Answer]]] | None] = queue.Queue()
        self._waiting: dict[Key, Future[list[Answer]]] = {}
        self._alone = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="tacit-curator", daemon=True)
        self._thread.start()

    def submit(self, modeler: str, request: str, rows: list[int]) -> Future[list[Answer]]:
        key = (modeler, request, tuple(rows))
        with self._alone:
            if key not in self._waiting:
                self._waiting[key] = Future()
                self._queue.put((key, self._waiting[key]))
            return self._waiting[key]

    def _work(self) -> None:
        while True:
            taken = [self._queue.get()]
            while len(taken) < TOGETHER:
                try:
                    taken.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            todo = [t for t in taken if t is not None]
            try:
                self.curator.ask_all([(m, q, list(rows)) for (m, q, rows), _ in todo], partial(self._tell, todo))
            except Exception as error:  # what was told before stays told
                for place in range(len(todo)):
                    self._tell(todo, place, error)
            if len(todo) < len(taken):
                return

    def _tell(self, todo: list[tuple[Key, Future[list[Answer]]]], place: int, result: Result) -> None:
        key, future = todo[place]
        with self._alone:
            self._waiting.pop(key, None)
        if future.done():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join(timeout=10)


def create_app(
    curator: Curator,
    tokens: Tokens,
    *,
    rate: float = 50.0,
    burst: int = 100,
    most: int = 1 << 16,
    patience: float = 20.0,
    audit: Path | None = None,
    remote: bool = False,
) -> FastAPI:
    """The service as an ASGI application.

    ``rate`` and ``burst`` bound each modeler's requests a second, ``most`` the bytes of a request, ``patience`` the
    seconds a query waits before the modeler is told to come back. ``remote`` shows the curator's page elsewhere than on
    this machine, to whoever has the curator's token.
    """
    app = FastAPI(title="tacit curator", version="1", description=ABOUT, docs_url=None, redoc_url=None)
    desk = Desk(curator)
    app.state.desk = desk
    app.add_middleware(Gate, tokens=tokens, audit=Audit(audit), rate=rate, burst=burst, most=most, remote=remote)
    refusals: dict[int | str, dict[str, Any]] = {
        **{code: {"model": wire.Refusal} for code in (400, 403, 404, 409, 413, 422, 426, 429, 503)},
        401: {"description": "no token, a wrong one or a revoked one; the body is empty"},
    }

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        fields = sorted({".".join(str(part) for part in e["loc"]) for e in error.errors()})
        return _refusal(422, "invalid", f"not a message of this protocol: {', '.join(fields)[:500]}")

    @app.exception_handler(HTTPException)
    async def unusual(_: Request, error: HTTPException) -> JSONResponse:
        return _refusal(error.status_code, "http", str(error.detail))

    @app.get("/healthz")
    def health() -> wire.Health:
        return wire.Health()

    @app.get("/v1/study", response_model=wire.Terms, responses=refusals)
    def study() -> Any:
        return curator.published().to_json()

    @app.get("/v1/table", response_class=StreamingResponse, responses=refusals)
    def table(start: Annotated[int, Query(ge=0, le=2**31 - 1, description="chunk to begin with")] = 0) -> Any:
        """The published table in frames (see tacit.outsource.protocol.frames)."""
        return StreamingResponse(curator.frames(start), media_type="application/octet-stream")

    @app.get("/v1/answers", responses=refusals)
    def answers(request: Request) -> wire.Answers:
        """All that this modeler was told, oldest first."""
        return wire.Answers.of(curator.answers(modeler=request.state.who))

    @app.post("/v1/queries", response_model=wire.Answers, responses={**refusals, 202: {"model": wire.Pending}})
    async def queries(query: wire.Query, request: Request) -> Any:
        request.state.audit.update(request=query.request, rows=query.rows[:20], count=len(query.rows))
        waiting = asyncio.wrap_future(desk.submit(request.state.who, query.request, query.rows))
        try:
            told = await asyncio.wait_for(asyncio.shield(waiting), patience)
        except TimeoutError:
            waiting.add_done_callback(lambda f: f.cancelled() or f.exception())
            return JSONResponse(wire.Pending().model_dump(), 202)
        except Refused as error:
            return _refusal(STATUS[error.code], error.code, str(error))
        except BudgetRefused:
            return _refusal(403, "budget", "the privacy budget is used up. Nothing was evaluated for you")
        except BadInput as error:
            return _refusal(422, "invalid", str(error))
        except ObjectiveError as error:
            return _refusal(409, "evaluation", str(error))
        except Exception:
            return _refusal(503, "state", "the curator cannot answer now; try again")
        return wire.Answers.of(told, query.request)

    @app.get("/curator", response_class=HTMLResponse)
    def curator_page() -> HTMLResponse:
        return HTMLResponse(page.HTML, headers=page.HEADERS)

    @app.get("/v1/curator/status", responses=refusals)
    def status() -> dict[str, Any]:
        granted = [{"name": g.name, "revoked": g.revoked} for g in tokens.grants()]
        return {**curator.status(), "tokens": granted}

    @app.get("/v1/curator/page", responses=refusals)
    def study_parts() -> dict[str, Any]:
        """The parts of the curator's page, as HTML, and whether the study is stopped."""
        standing = page.Standing.of_service(curator.status(), {g.name: g.revoked for g in tokens.grants()})
        shown = page.study_page(standing)
        return {"stopped": bool(standing.stopped), "html": "".join(shown.parts.values())}

    @app.post("/v1/curator/stop", responses=refusals)
    def stop(wanted: wire.Stop) -> wire.Stop:
        curator.stop(wanted.stopped)
        return wanted

    return app


def serve(
    curator: Curator,
    tokens: Tokens,
    *,
    host: str = "127.0.0.1",
    port: int = 8733,
    certificate: str | None = None,
    key: str | None = None,
    insecure: bool = False,
    listening: socket.socket | None = None,
    ready: Callable[[str], None] | None = None,
    **settings: Any,
) -> None:
    """Serve until told to end. ``ready`` is called with the URL. Without a certificate only on this machine.

    ``listening`` is what ``bound`` gave for the same address, asked before a curator publishes and pays.
    """
    listening = listening or bound(host, port, certificate=certificate, key=key, insecure=insecure)
    try:
        app = create_app(curator, tokens, **settings)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            ssl_certfile=certificate,
            ssl_keyfile=key,
            timeout_graceful_shutdown=5,
        )
        server = uvicorn.Server(config)
        shown = f"[{host}]" if ":" in host else host
        scheme = "https" if certificate else "http"
        config.load()
        if ready:
            ready(f"{scheme}://{shown}:{listening.getsockname()[1]}")
        with _quiet_end():
            server.run(sockets=[listening])
        app.state.desk.close()
    except OSError as error:
        raise BadInput(f"cannot serve on {host}:{port}: {error.strerror or type(error).__name__}") from None
    finally:
        listening.close()


def bound(host: str, port: int, *, certificate: str | None, key: str | None, insecure: bool = False) -> socket.socket:
    """A socket that holds the address; refuses what could not be served, before anything is published or paid."""
    if certificate is None and host not in ("127.0.0.1", "::1", "localhost") and not insecure:
        raise BadInput(
            f"serving on {host} without TLS would show tokens and answers to the network: give a certificate and "
            "its key, or insecure=True (--insecure) behind a proxy that has them"
        )
    if (certificate is None) != (key is None):
        raise BadInput("TLS needs a certificate and its key, got only one of them")
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        if certificate is not None:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or type(error).__name__
        raise BadInput(f"cannot serve on {host}:{port}: {why}. Nothing was published") from None
    return listening


@contextmanager
def _quiet_end() -> Iterator[None]:
    """uvicorn ends in order on SIGINT and SIGTERM, then raises the signal again; there it shall end nothing more."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {s: signal.signal(s, lambda *_: None) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)


def _refusal(status: int, error: str, message: str) -> JSONResponse:
    return JSONResponse(wire.Refusal(error=error, message=message).model_dump(), status)
