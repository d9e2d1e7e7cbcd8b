"""What stands before every request: who is it, how much, how often; and a note in the audit log after it."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from collections import Counter
from collections.abc import Callable, MutableMapping
from typing import Any

from tacit.errors import TacitError
from tacit.files import Json
from tacit.outsource.curator.audit import AuditLog
from tacit.outsource.curator.connections import group_address
from tacit.outsource.curator.tokens import CURATOR, Tokens
from tacit.outsource.protocol.terms import PROTOCOL
from tacit.outsource.protocol.wire import HEADER

Scope = MutableMapping[str, Any]
OPEN_PATHS = ("/healthz", "/readyz", "/openapi.json", "/curator")
FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via")
SECONDS = 10.0  # to send the body of a request
AT_ONCE = 64  # requests of one modeler that are being answered: none may hold all connections
DRAINED = 4  # times the limit: what a body that is too large is read, and dropped, before it is refused
Response = tuple[int, list[tuple[bytes, bytes]], bytes]


class Bucket:
    """So many requests a second, after a burst. Keeps the busiest names only, so that it cannot be filled up."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._level: dict[str, tuple[float, float]] = {}

    def wait(self, name: str) -> float:
        """Zero if the request may pass, otherwise the seconds until one may."""
        at = self.clock()
        level, last = self._level.pop(name, (float(self.burst), at))
        level = min(self.burst, level + (at - last) * self.rate)
        passes = level >= 1
        self._level[name] = (level - 1 if passes else level, at)
        if len(self._level) > 10_000:
            self._level.pop(next(iter(self._level)))
        return 0.0 if passes else (1 - level) / self.rate

    def empty(self, name: str) -> bool:
        """Whether a request would have to wait; takes nothing."""
        level, last = self._level.get(name, (float(self.burst), self.clock()))
        return level + (self.clock() - last) * self.rate < 1


class Admission:
    """ASGI middleware. Checks, in this order: role, token, rate, protocol, size of the body; then lets in.

    A token that is wrong or revoked gets 401 and an empty body. What only the curator may see is not there (404) for
    anybody who is not on this machine, unless ``remote`` allows it.
    """

    def __init__(
        self,
        app: Any,
        *,
        tokens: Tokens,
        audit: AuditLog,
        rate: float,
        burst: int,
        most: int,
        remote: bool,
        page_port: int | None = None,
    ) -> None:
        self.app, self.tokens, self.audit, self.most, self.remote = app, tokens, audit, most, remote
        self.page_port = page_port
        self._rate, self._failures = Bucket(rate, burst), Bucket(1.0, 20)
        self._busy: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, seen = time.perf_counter(), {"status": 500}
        about: Json = {}
        scope.setdefault("state", {})["audit"] = about

        async def watch(message: Any) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
            await send(message)

        try:
            refusal = await self._refusal(scope)
            who = scope["state"].get("who", "")
            if refusal is None and who and self._busy[who] >= AT_ONCE:
                refusal = _slow(1.0)
            if refusal is not None:
                await _send(watch, *refusal)
                return
            self._busy[who] += 1
            try:
                refusal, body = await self._body(scope, receive)
                if refusal is not None:
                    await _send(watch, *refusal)
                else:
                    await self.app(scope, _replay(body, receive), watch)
            finally:
                self._busy[who] -= 1
        finally:
            spent = round(1e3 * (time.perf_counter() - start), 1)
            what = (scope["state"].get("who"), scope["method"], scope["path"], seen["status"])
            self.audit.note(*what, milliseconds=spent, **about)

    async def _refusal(self, scope: Scope) -> Response | None:
        path, headers = scope["path"], dict(scope["headers"])
        client = (scope.get("client") or ("", 0))[0]
        for_curator = path == "/curator" or path.startswith("/v1/curator")
        if for_curator and not self._at_curators(scope, client):
            return _response(404, "not found", "there is nothing here")
        client = group_address(client)
        if path in OPEN_PATHS:
            wait = self._rate.wait(f"open {client}")
            return _slow(wait) if wait else None
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        try:
            who = await self._who(token.strip(), client) if scheme.lower() == "bearer" else None
        except TacitError:
            return _response(503, "state", "the curator cannot answer now; try again")
        if who is None or (who == CURATOR) != for_curator:
            wait = self._failures.wait(client)
            return _slow(wait) if wait else (401, [(b"www-authenticate", b"Bearer")], b"")
        scope["state"]["who"] = who
        wait = self._rate.wait(who)
        if wait:
            return _slow(wait)
        spoken = headers.get(HEADER.lower().encode())
        if spoken is not None and spoken != str(PROTOCOL).encode():
            return _response(426, "protocol", f"this curator speaks protocol {PROTOCOL}; use a tacit that does too")
        return None

    async def _who(self, token: str, client: str) -> str | None:
        """The holder of a token. One that is not known may have been granted just now: who guesses is not asked for."""
        if not self.tokens.fresh():
            await asyncio.to_thread(self.tokens.refresh)
        who = self.tokens.find(token)
        if who is None and not self._failures.empty(client):
            await asyncio.to_thread(self.tokens.refresh)
            who = self.tokens.find(token)
        return who

    def _at_curators(self, scope: Scope, client: str) -> bool:
        """Whether a request comes from where the curator sits. An address says little: a proxy here is here too."""
        if self.remote:
            return True
        if self.page_port is not None:
            return (scope.get("server") or ("", 0))[1] == self.page_port
        return _loopback(client) and not any(name in FORWARDED for name, _ in scope["headers"])

    async def _body(self, scope: Scope, receive: Any) -> tuple[Response | None, bytes]:
        """The whole body, or a refusal; a body that was cut short is never used.

        What is somewhat too large is read to its end and dropped before it is refused: a connection closed on a sender
        that is still sending is reset, and the refusal can be lost on its way.
        """
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if b"transfer-encoding" in headers and b"content-length" in headers:  # where two readers may disagree
            return _response(400, "framing", "a body has a length or comes in chunks, not both", close=True), b""
        large = _response(413, "size", f"a request has at most {self.most} bytes", close=True)
        if not length.isdigit() or int(length) > DRAINED * self.most:
            return large, b""
        body, size = bytearray(), 0
        try:
            async with asyncio.timeout(SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return _response(
                            400, "cut", "the request was cut short. Nothing was evaluated", close=True
                        ), b""
                    chunk = bytes(message.get("body", b""))
                    size += len(chunk)
                    if size <= self.most:
                        body += chunk
                    if size > DRAINED * self.most:
                        return large, b""
                    if not message.get("more_body"):
                        return (large, b"") if size > self.most else (None, bytes(body))
        except TimeoutError:
            return _response(408, "late", f"the request took more than {SECONDS:g} seconds to send", close=True), b""


def _replay(body: bytes, receive: Any) -> Any:
    replayed = False

    async def again() -> Any:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _loopback(client: str) -> bool:
    try:
        return ipaddress.ip_address(client).is_loopback
    except ValueError:
        return False


def _response(status: int, error: str, message: str, *, close: bool = False) -> Response:
    body = json.dumps({"error": error, "message": message}).encode()
    return status, [(b"content-type", b"application/json"), *([(b"connection", b"close")] if close else [])], body


def _slow(wait: float) -> Response:
    status, headers, body = _response(429, "rate", "too many requests; wait as Retry-After says")
    return status, [*headers, (b"retry-after", str(max(1, round(wait + 0.5))).encode())], body


async def _send(send: Any, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    sized = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": sized})
    await send({"type": "http.response.body", "body": body})
