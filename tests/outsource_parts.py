"""Small things that several tests here use."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

from tacit.outsource.curator import Curator
from tacit.outsource.curator.app import create_app
from tacit.outsource.curator.connections import Limits, protocol
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.protocol.terms import Answer, Published
from tacit.privacy.guarantee import Guarantee


def some_rows(n: int = 200, d: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-15, 15, (n, d))


def hill(rows: np.ndarray) -> np.ndarray:
    """A smooth answer per row, best near (5, -5)."""
    return np.exp(-0.5 * ((rows - np.array([5.0, -5.0])) ** 2).sum(axis=1) / 8.0**2)


class Given:
    """A source without a curator: a table, answers, and a record of what was asked."""

    def __init__(self, table: np.ndarray, values: np.ndarray, *, noise: float = 0.0, answer_noise: float = 0.0) -> None:
        self.values, self.Z, self.asked, self.history = values, table, [], []  # type: ignore[var-annotated]
        none = Guarantee.none("a test")
        n, r = table.shape
        self.terms = Published("s", n, r, "noisy", noise, answer_noise, 1000, none, none, "")

    def published(self) -> Published:
        return self.terms

    def table(self) -> Any:
        return self.Z

    def answers(self) -> list[Answer]:
        return list(self.history)

    def ask(self, rows: Sequence[int], *, request: str) -> list[Answer]:
        self.asked.append(list(rows))
        return [Answer(r, None if np.isnan(self.values[r]) else float(self.values[r])) for r in rows]


class Served:
    """A curator behind a real socket, in a thread."""

    def __init__(self, rows: np.ndarray, folder: Path, limits: Limits, **settings: Any) -> None:
        self.curator = Curator(rows, hill(rows), epsilon=2.0, delta=1e-5)
        tokens = Tokens(folder, environment="")
        self.token, self.own_token = tokens.grant("alice"), tokens.grant("curator")
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)  # else the kernel may hold a whole table
        listening.bind(("127.0.0.1", 0))
        self.address = listening.getsockname()
        app = create_app(self.curator, tokens, **settings)
        config = uvicorn.Config(app, http=protocol(limits), log_level="critical", ws="none")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listening]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def connect(self, sent: bytes = b"") -> socket.socket:
        opened = socket.create_connection(self.address, timeout=60)
        opened.sendall(sent)
        return opened

    def raw(self, request: str, **headers: str) -> bytes:
        """A request with a token, as bytes on the wire."""
        told = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        lines = [request, "Host: x", *(f"{k}: {v}" for k, v in told.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def status(self, opened: socket.socket) -> int:
        response = http.client.HTTPResponse(opened)
        response.begin()
        response.read()
        return response.status

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(30)
        self.curator.close()
