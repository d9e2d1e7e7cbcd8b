"""The curator's service as an application: routes and what they answer. FastAPI; ``admission`` decides who gets in."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from tacit.errors import BadInput, BudgetRefused, ObjectiveError, TacitError
from tacit.files import Json
from tacit.outsource.curator import Curator, page
from tacit.outsource.curator.admission import Admission
from tacit.outsource.curator.audit import AuditLog
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.curator.worker import Worker
from tacit.outsource.protocol import wire
from tacit.outsource.protocol.terms import Refused

ABOUT = "A curator publishes a table that stands for private rows, and answers for single rows of it."
STATUS = {"unknown row": 404, "limit": 403, "stopped": 403, "reused": 409, "rows": 422, "rate": 429}
PATHS: tuple[str, ...] = (
    "/v1/study",
    "/v1/table",
    "/v1/answers",
    "/v1/queries",
    "/healthz",
    "/readyz",
    "/openapi.json",
)
PATHS += ("/curator", "/v1/curator/status", "/v1/curator/page", "/v1/curator/stop")
LATE = 5.0  # seconds after which a look at state and ledger that has not come back counts as failing
NOT_NOW = "the curator cannot answer now; try again"


class HealthCheck:
    """Whether state, ledger and worker can be used, asked of them at most once a second, by one thread at a time.

    A request meanwhile gets the last result, and that it is late if so: a database that hangs does not take
    every thread of the service with it.
    """

    def __init__(self, curator: Curator, worker: Worker) -> None:
        self._curator, self._worker = curator, worker
        self._asked, self._parts = float("-inf"), dict[str, bool]()
        self._turn, self._began = threading.Lock(), 0.0

    def parts(self) -> dict[str, bool]:
        """By name what is well; "open" too: that the curator has not stopped the study."""
        if not self._turn.acquire(timeout=0 if self._parts else LATE):
            return {**self._parts, "late": time.monotonic() - self._began < LATE}
        try:
            self._began = time.monotonic()
            if self._began - self._asked >= 1.0:
                reachable = self._curator.reachable()
                worker = self._worker.works() and not self._worker.fault
                is_open = reachable["state"] and self._curator.stop_time() is None
                self._parts, self._asked = {**reachable, "worker": worker, "open": is_open}, time.monotonic()
            return self._parts
        finally:
            self._turn.release()


def create_app(
    curator: Curator,
    tokens: Tokens,
    *,
    rate: float = 50.0,
    burst: int = 100,
    most: int = 1 << 16,
    patience: float = 20.0,
    remote: bool = False,
    page_port: int | None = None,
) -> FastAPI:
    """The service as an ASGI application.

    ``rate`` and ``burst`` bound each modeler's requests a second, ``most`` the bytes of a request, ``patience`` the
    seconds a query waits before the modeler is asked to come back. What only the curator may see is shown on
    ``page_port`` alone, which nobody forwards; without one, to clients on this machine that came through no proxy.
    ``remote`` shows it everywhere, to every holder of the curator's token.
    """
    app = FastAPI(
        title="tacit curator", version="1", description=ABOUT, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    worker = Worker(curator)
    health = HealthCheck(curator, worker)
    audit = AuditLog(curator.append_audit, PATHS)
    app.state.worker, app.state.health, app.state.audit = worker, health, audit
    app.add_middleware(
        Admission, tokens=tokens, audit=audit, rate=rate, burst=burst, most=most, remote=remote, page_port=page_port
    )
    refusals: dict[int | str, Json] = {
        **{code: {"model": wire.Refusal} for code in (400, 403, 404, 409, 413, 422, 426, 429, 503)},
        401: {"description": "no token, a wrong one or a revoked one; the body is empty"},
    }

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        fields = sorted({".".join(str(part) for part in e["loc"]) for e in error.errors()})
        return _refusal(422, "invalid", f"not a message of this protocol: {', '.join(fields)[:500]}")

    @app.exception_handler(HTTPException)
    async def unusual(_: Request, error: HTTPException) -> JSONResponse:
        return _refusal(error.status_code, "http", str(error.detail), error.headers)

    @app.exception_handler(TacitError)
    async def failing(_: Request, error: TacitError) -> JSONResponse:
        return _refusal(503, "state", NOT_NOW)

    @app.get("/healthz", response_model=wire.Health, responses={503: {"model": wire.Health}})
    def healthy() -> Any:
        """Whether state, ledger and worker can be used. If not for long, start the service again."""
        return _health({name: well for name, well in health.parts().items() if name != "open"})

    @app.get("/readyz", response_model=wire.Health, responses={503: {"model": wire.Health}})
    def ready() -> Any:
        """Whether a query would be answered now: all is well and the curator has not stopped the study."""
        return _health(health.parts())

    @app.get("/v1/study", response_model=wire.Terms, responses=refusals)
    def study() -> Any:
        return curator.published().to_json()

    @app.get("/v1/table", response_class=StreamingResponse, responses=refusals)
    def table(
        request: Request, start: Annotated[int, Query(ge=0, le=2**31 - 1, description="chunk to begin with")] = 0
    ) -> Any:
        """The published table in frames (see tacit.outsource.protocol.frames)."""
        if len(request.query_params.multi_items()) > 1:  # of several, others may take the first
            return _refusal(422, "invalid", "this takes one parameter, start, once")
        return StreamingResponse(curator.frames(start), media_type="application/octet-stream")

    @app.get("/v1/answers", responses=refusals)
    def answers(request: Request) -> wire.Answers:
        """All answers to this modeler, oldest first."""
        return wire.Answers.of(curator.answers(modeler=request.state.who))

    @app.post("/v1/queries", response_model=wire.Answers, responses={**refusals, 202: {"model": wire.Pending}})
    async def queries(query: wire.Query, request: Request) -> Any:
        request.state.audit.update(request=query.request, rows=query.rows[:20], count=len(query.rows))
        try:
            waiting = asyncio.wrap_future(worker.submit(request.state.who, query.request, query.rows))
            answered = await asyncio.wait_for(asyncio.shield(waiting), patience)
        except TimeoutError:
            waiting.add_done_callback(lambda f: f.cancelled() or f.exception())
            return JSONResponse(wire.Pending().model_dump(), 202)
        except Refused as error:
            if error.code == "token":
                return Response(status_code=401, headers={"WWW-Authenticate": "Bearer"})
            return _refusal(STATUS[error.code], error.code, str(error))
        except BudgetRefused:
            return _refusal(403, "budget", "the privacy budget is used up. Nothing was evaluated for you")
        except BadInput as error:
            return _refusal(422, "invalid", str(error))
        except ObjectiveError as error:
            return _refusal(409, "evaluation", str(error))
        except Exception:
            return _refusal(503, "state", NOT_NOW)
        return wire.Answers.of(answered, query.request)

    @app.get("/curator", response_class=HTMLResponse, responses=refusals)
    def curator_page() -> HTMLResponse:
        return HTMLResponse(page.HTML, headers=page.HEADERS)

    @app.get("/v1/curator/status", responses=refusals)
    def status() -> Json:
        granted = [{"name": g.name, "revoked": g.revoked, "expires": g.expires} for g in tokens.grants()]
        return {**curator.status(), "tokens": granted}

    @app.get("/v1/curator/page", responses=refusals)
    def study_parts() -> Json:
        """The parts of the curator's page, as HTML, and whether the study is stopped."""
        study = page.StudyStatus.of_service(curator.status(), {g.name: g.standing for g in tokens.grants()})
        shown = page.study_page(study)
        return {"stopped": bool(study.stopped), "html": "".join(shown.parts.values())}

    @app.post("/v1/curator/stop", responses=refusals)
    def stop(wanted: wire.Stop) -> wire.Stop:
        curator.stop(wanted.stopped)
        return wanted

    return app


def _refusal(status: int, error: str, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse(wire.Refusal(error=error, message=message).model_dump(), status, headers)


def _health(parts: dict[str, bool]) -> JSONResponse:
    well = all(parts.values())
    health = wire.Health(status="ok" if well else "failing", failing=sorted(p for p, ok in parts.items() if not ok))
    return JSONResponse(health.model_dump(), 200 if well else 503)
