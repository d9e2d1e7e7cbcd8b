"""The modeler's side of the service: the same source, at a distance. Retries with the same request."""

from __future__ import annotations

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
from tacit.outsource.protocol.frames import Digest, unframed
from tacit.outsource.protocol.terms import PROTOCOL, Answer, Published, Refused, Table, Unreachable

LATER = (202, 429, 500, 502, 503, 504)


class Client:
    """A curator's service as a source for a modeler.

    ``authority`` is a file of certificates to trust instead of the usual ones. ``patience`` is how many seconds to go
    on trying while the service does not answer. ``transport`` is httpx's: it runs a client against an application
    without a network.

    Edges. A service that dies and comes back is waited for; the request is then repeated under its old name, so that it
    is answered and charged once. With ``file`` the table is kept there and not in memory.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        authority: str | Path | None = None,
        patience: float = 60.0,
        file: str | Path | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise BadInput(f"a curator's address begins with https:// or http://, got {url!r}")
        headers = {wire.HEADER: str(PROTOCOL), **({"Authorization": f"Bearer {token}"} if token else {})}
        trust: Any = ssl.create_default_context(cafile=str(authority)) if authority else True
        self._http = httpx.Client(
            base_url=url, headers=headers, verify=trust, timeout=30.0, transport=transport, follow_redirects=False
        )
        self.patience, self._file, self._sleep = positive("patience", patience), file, sleep
        self._terms: Published | None = None

    def published(self) -> Published:
        if self._terms is None:
            self._terms = Published.from_json(self._read("GET", "/v1/study").json())
        return self._terms

    def table(self) -> Table:
        """The published table, checked against the digest in the terms; goes on after a broken connection."""
        terms = self.published()
        shape, dtype = (terms.rows, terms.columns), np.dtype(terms.dtype)
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
                    for part in unframed(response.iter_bytes(), terms):
                        table[have : have + len(part)] = part
                        summary.add(part)
                        have += len(part)
                        limit = time.monotonic() + self.patience
            except (httpx.TransportError, _Later) as error:
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
        told = self._answers(self._read("POST", "/v1/queries", json=query.model_dump()))
        if [a.row for a in told] != list(query.rows):
            raise Unreachable("the curator answered for other rows than it was asked for")
        return told

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read(self, method: str, path: str, **content: Any) -> httpx.Response:
        limit, pause = time.monotonic() + self.patience, 0.05
        while True:
            try:
                response = self._http.request(method, path, **content)
                self._accept(response)
                return response
            except (httpx.TransportError, _Later) as error:
                pending = isinstance(error, _Later) and error.status == 202
                limit = time.monotonic() + self.patience if pending else limit  # somebody is at it
                self._wait(limit, max(pause, getattr(error, "wait", 0.0)), error)
                pause = min(2 * pause, 2.0)

    def _wait(self, limit: float, pause: float, error: Exception) -> None:
        if time.monotonic() + pause > limit:
            raise Unreachable(
                f"the curator at {self._http.base_url} did not answer for {self.patience:g} seconds "
                f"({error if isinstance(error, _Later) else type(error).__name__}). Run again to go on"
            ) from None
        self._sleep(pause)

    def _accept(self, response: httpx.Response) -> None:
        if response.status_code == 200:
            return
        if response.status_code in LATER:
            wait = response.headers.get("retry-after", "")
            raise _Later(response.status_code, float(wait) if wait.isdigit() else 0.0)
        if response.status_code == 401:
            raise Refused("token", "the curator does not accept this token: it is wrong or was revoked")
        response.read()
        try:
            said = wire.Refusal.model_validate_json(response.content)
        except ValidationError:
            raise Unreachable(f"no curator of this protocol answers there (status {response.status_code})") from None
        if response.status_code == 426:
            raise Unreachable(said.message)
        raise Refused(said.error, said.message)

    def _answers(self, response: httpx.Response) -> list[Answer]:
        try:
            return wire.Answers.model_validate_json(response.content).plain()
        except ValidationError:
            raise Unreachable("the curator's answer cannot be read; do both sides have the same tacit?") from None


class _Later(Exception):
    """The service asks to come back."""

    def __init__(self, status: int, wait: float) -> None:
        super().__init__(f"status {status}")
        self.status, self.wait = status, wait
