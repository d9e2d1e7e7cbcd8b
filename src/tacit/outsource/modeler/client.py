"""The modeler's side of the service: the same source, at a distance. Retries with the same request."""

from __future__ import annotations

import json
import math
import ssl
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import numpy as np
from pydantic import ValidationError

from tacit.errors import BadInput, positive
from tacit.outsource.protocol import wire
from tacit.outsource.protocol.frames import Digest, unframe
from tacit.outsource.protocol.terms import PROTOCOL, Answer, Published, Refused, Table, Unreachable, clean

LATER = (202, 429, 500, 502, 503, 504)
MESSAGE = 1 << 26  # bytes of a message that is not the table


class Client:
    """A curator's service as a source for a modeler.

    ``authority`` is a file of certificates to trust instead of the usual ones. ``patience`` is how many seconds to go
    on trying while the service does not answer, ``wait`` how many while it says that it is evaluating. ``most`` bounds
    the bytes of a table. ``remark`` hears, once each time it begins, that nobody answers and why. ``transport`` is
    httpx's: it runs a client against an application without a network.

    Edges. A service that dies and comes back is waited for; the request is then repeated under its old name, so that it
    is answered and charged once. With ``file`` the table is kept there and not in memory. Whatever the other side sends
    is taken for what it is: no message is larger than agreed, no text commands a terminal, no row is one that the table
    does not have.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        authority: str | Path | None = None,
        patience: float = 60.0,
        wait: float = 3600.0,
        most: int = 1 << 33,
        file: str | Path | None = None,
        remark: Callable[[str], None] | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise BadInput(f"a curator's address begins with https:// or http://, got {url!r}")
        headers = {wire.HEADER: str(PROTOCOL), **({"Authorization": f"Bearer {token}"} if token else {})}
        try:
            trust: Any = ssl.create_default_context(cafile=str(authority)) if authority else True
            self._http = httpx.Client(
                base_url=url, headers=headers, verify=trust, timeout=30.0, transport=transport, follow_redirects=False
            )
        except OSError as error:
            why = error.strerror if isinstance(error, FileNotFoundError) else "it holds no certificate"
            raise BadInput(f"the authority {authority} cannot be used: {why}") from None
        except (httpx.InvalidURL, ValueError):
            raise BadInput("that is no address of a curator; write https://host:port") from None
        self.patience, self._file, self._sleep = positive("patience", patience), file, sleep
        self.wait, self.most = positive("wait", wait), most
        self._remark, self._silent = remark, False
        self._terms: Published | None = None

    def published(self) -> Published:
        if self._terms is None:
            try:
                document = json.loads(self._read("GET", "/v1/study"))
            except (ValueError, RecursionError):
                raise Unreachable("what answers there speaks no JSON, so it is no curator; check the address") from None
            self._terms = Published.from_json(document)
        return self._terms

    def table(self) -> Table:
        """The published table, checked against the digest in the terms; goes on after a broken connection."""
        terms = self.published()
        shape, dtype = (terms.rows, terms.columns), np.dtype(terms.dtype)
        if (size := terms.rows * terms.columns * dtype.itemsize) > self.most:
            raise Unreachable(
                f"the curator's table would have {size / 1e9:.4g} GB, and this modeler takes {self.most / 1e9:.4g} "
                "(most=...). Nothing was fetched"
            )
        table = (
            np.empty(shape, dtype)
            if self._file is None
            else np.lib.format.open_memmap(self._file, "w+", dtype=dtype, shape=shape)
        )
        limit, have, summary = time.monotonic() + self.patience, 0, Digest()
        while have < terms.rows:
            try:
                with self._http.stream("GET", "/v1/table", params={"start": have // terms.chunk}) as response:
                    self._accept(response)
                    for part in unframe(response.iter_bytes(), terms):
                        table[have : have + len(part)] = part
                        summary.add(part)
                        have += len(part)
                        limit = time.monotonic() + self.patience
            except (httpx.TransportError, httpx.StreamError, _Later) as error:
                self._wait(limit, 0.5, error)
                continue
            if have < terms.rows:
                raise Unreachable(f"the table ends after {have} of {terms.rows} rows")
        if summary.text() != terms.digest:
            raise Unreachable("the table is not the one that the terms describe")
        return table

    def answers(self) -> list[Answer]:
        return self._answers(self._read("GET", "/v1/answers"))

    def ask(self, rows: Sequence[int], *, request: str) -> list[Answer]:
        query = wire.Query(request=request, rows=[int(row) for row in rows])
        answers = self._answers(self._read("POST", "/v1/queries", json=query.model_dump()))
        if [a.row for a in answers] != list(query.rows):
            raise Unreachable("the curator answered for other rows than it was asked for")
        return answers

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read(self, method: str, path: str, **content: Any) -> bytes:
        start, pause = time.monotonic(), 0.05
        heard = start  # when the other side was last known to be at it
        while True:
            try:
                return self._message(method, path, **content)
            except (httpx.TransportError, _Later) as error:
                pending = isinstance(error, _Later) and error.status == 202
                if pending and time.monotonic() - start > self.wait:
                    raise Unreachable(
                        f"the curator has been evaluating for {self.wait:g} seconds (wait=..., --wait). Run again to "
                        "go on: the answer comes when it is there"
                    ) from None
                heard = time.monotonic() if pending else heard
                self._wait(
                    math.inf if pending else heard + self.patience, max(pause, getattr(error, "wait", 0.0)), error
                )
                pause = min(2 * pause, 2.0)

    def _message(self, method: str, path: str, **content: Any) -> bytes:
        """One exchange: the body of the answer, which may neither be endless nor take for ever to come."""
        body, limit = bytearray(), time.monotonic() + max(60.0, self.patience)
        with self._http.stream(method, path, **content) as response:
            self._silent = False
            self._accept(response)
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MESSAGE or time.monotonic() > limit:
                    raise Unreachable("the curator sends a message without end")
        return bytes(body)

    def _wait(self, limit: float, pause: float, error: Exception) -> None:
        if (trouble := _certificate_trouble(error)) is not None:
            raise Unreachable(
                f"the certificate of {self._http.base_url} is not trusted: {trouble}. Give the curator's own in "
                "authority=... (--authority FILE). Nothing was sent"
            ) from None
        plain = "; if it speaks TLS, its address begins with https://" if self._http.base_url.scheme == "http" else ""
        why = str(error) if isinstance(error, _Later) else _words(error)
        if time.monotonic() + pause > limit:
            raise Unreachable(
                f"the curator at {self._http.base_url} did not answer for {self.patience:g} seconds ({why}). Run again "
                f"to go on{plain}"
            ) from None
        if self._remark and not self._silent and not isinstance(error, _Later):
            self._silent = True
            self._remark(
                f"the curator at {self._http.base_url} does not answer ({why}); trying for {self.patience:g} "
                f"seconds{plain}"
            )
        self._sleep(pause)

    def _accept(self, response: httpx.Response) -> None:
        if response.status_code == 200:
            return
        if response.status_code in LATER:
            wait = response.headers.get("retry-after", "")
            raise _Later(response.status_code, float(wait) if wait.isdigit() else 0.0)
        if response.status_code == 401:
            raise Refused("token", "the curator does not accept this token: it is wrong, has expired or was revoked")
        content = b""
        for piece in response.iter_bytes():
            content += piece
            if len(content) > 1 << 16:
                break
        try:
            refusal = wire.Refusal.model_validate_json(content)
        except ValidationError:
            raise Unreachable(f"no curator of this protocol answers there (status {response.status_code})") from None
        if response.status_code == 426:
            raise Unreachable(clean(refusal.message))
        raise Refused(clean(refusal.error), clean(refusal.message))

    def _answers(self, content: bytes) -> list[Answer]:
        try:
            answers = wire.Answers.model_validate_json(content).plain()
        except ValidationError:
            raise Unreachable("the curator's answer cannot be read; do both sides have the same tacit?") from None
        rows = self.published().rows
        if any(answer.row >= rows for answer in answers):
            raise Unreachable(f"the curator answered for a row that its table does not have: there are {rows}")
        return answers


def _words(error: Exception) -> str:
    """The kind of an error and, if this machine says why it reaches nobody, its words."""
    text = clean(str(error))[:100] if isinstance(error, httpx.ConnectError) else ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _certificate_trouble(error: BaseException | None) -> str | None:
    """Why the other side's certificate is not trusted, if that is what an error is about."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return str(clean(str(error.verify_message or "it cannot be verified")))[:200]
        error = error.__cause__ or error.__context__
    return None


class _Later(Exception):
    """The service asks to come back."""

    def __init__(self, status: int, wait: float) -> None:
        super().__init__(f"status {status}")
        self.status, self.wait = status, wait
