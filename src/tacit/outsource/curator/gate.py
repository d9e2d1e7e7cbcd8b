"""What stands before every request: who is it, how much, how often; and the line in the audit log after it."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import time
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

from tacit.files import open_private
from tacit.outsource.curator.state import now
from tacit.outsource.curator.tokens import CURATOR, Tokens
from tacit.outsource.protocol.terms import PROTOCOL
from tacit.outsource.protocol.wire import HEADER

Scope = MutableMapping[str, Any]
OPEN_PATHS = ("/healthz", "/openapi.json", "/curator")


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


class Audit:
    """One JSON object a line: who asked for what, and what became of it. Never an answer, never a token."""

    def __init__(self, path: Path | None) -> None:
        self._file = os.fdopen(open_private(path, os.O_WRONLY | os.O_APPEND), "a", buffering=1) if path else None
        self._log = logging.getLogger("tacit.curator")

    def write(self, line: dict[str, Any]) -> None:
        text = json.dumps({"time": now(), **line})
        self._log.info(text)
        if self._file:
            self._file.write(text + "\n")


class Gate:
    """ASGI middleware. Checks, in this order: role, token, rate, protocol, size of the body; then lets in.

    A token that is wrong or revoked gets 401 and an empty body. What only the curator may see is not there (404) for
    anybody who is not on this machine, unless ``remote`` allows it.
    """

    def __init__(
        self, app: Any, *, tokens: Tokens, audit: Audit, rate: float, burst: int, most: int, remote: bool
    ) -> None:
        self.app, self.tokens, self.audit, self.most, self.remote = app, tokens, audit, most, remote
        self._rate, self._failures = Bucket(rate, burst), Bucket(1.0, 20)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, seen = time.perf_counter(), {"status": 500}
        about: dict[str, Any] = {}
        scope.setdefault("state", {})["audit"] = about

        async def watched(message: Any) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
            await send(message)

        try:
            refusal = self._refusal(scope)
            body = None if refusal else await self._body(scope, receive)
            if refusal is None and body is None:
                refusal = _response(413, "size", f"a request has at most {self.most} bytes")
            if refusal is not None:
                await _send(watched, *refusal)
            else:
                await self.app(scope, _replay(body or b"", receive), watched)
        finally:
            who = scope["state"].get("who")
            spent = round(1e3 * (time.perf_counter() - start), 1)
            what = {"who": who, "method": scope["method"], "path": scope["path"][:200], "status": seen["status"]}
            self.audit.write({**what, "milliseconds": spent, **about})

    def _refusal(self, scope: Scope) -> tuple[int, list[tuple[bytes, bytes]], bytes] | None:
        path, headers = scope["path"], dict(scope["headers"])
        client = (scope.get("client") or ("", 0))[0]
        for_curator = path == "/curator" or path.startswith("/v1/curator")
        if for_curator and not self.remote and not _loopback(client):
            return _response(404, "not found", "there is nothing here")
        if path in OPEN_PATHS:
            wait = self._rate.wait(f"open {client}")
            return _slow(wait) if wait else None
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        who = self.tokens.who(token.strip()) if scheme.lower() == "bearer" else None
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

    async def _body(self, scope: Scope, receive: Any) -> bytes | None:
        """The whole body, or None if it is too large: read no further than the limit."""
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if not said.isdigit() or int(said) > self.most:
            return None
        body: bytes = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return body
            body += bytes(message.get("body", b""))
            if len(body) > self.most:
                return None
            if not message.get("more_body"):
                return body


def _replay(body: bytes, receive: Any) -> Any:
    told = False

    async def again() -> Any:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _loopback(client: str) -> bool:
    try:
        return ipaddress.ip_address(client).is_loopback
    except ValueError:
        return False


def _response(status: int, error: str, message: str) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    body = json.dumps({"error": error, "message": message}).encode()
    return status, [(b"content-type", b"application/json")], body


def _slow(wait: float) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    status, headers, body = _response(429, "rate", "too many requests; wait as Retry-After says")
    return status, [*headers, (b"retry-after", str(max(1, round(wait + 0.5))).encode())], body


async def _send(send: Any, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    sized = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": sized})
    await send({"type": "http.response.body", "body": body})
