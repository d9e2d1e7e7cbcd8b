"""The curator's service on a network: addresses, TLS, limits of connections, and an end in order.

Run one process only: it holds the state. ``serve`` ends on SIGINT and SIGTERM; killed at any moment, it restarts where
it was.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from tacit.errors import BadInput
from tacit.outsource.curator import Curator
from tacit.outsource.curator.app import create_app
from tacit.outsource.curator.connections import Limits, protocol
from tacit.outsource.curator.tokens import Tokens

PAGE = "127.0.0.1"
"""Where the curator's page is: on an address of this machine alone, and a port of its own, which no proxy forwards."""

AT_ONCE = 8  # connections that are accepted before those accepted earlier are read: none is closed unread by a flood


def serve(
    curator: Curator,
    tokens: Tokens,
    *,
    host: str = "127.0.0.1",
    port: int = 8733,
    page_port: int = 0,
    certificate: str | None = None,
    key: str | None = None,
    behind_proxy: bool = False,
    proxies: Collection[str] = (),
    listening: socket.socket | None = None,
    ready: Callable[[str, str], None] | None = None,
    **settings: Any,
) -> None:
    """Serve until SIGINT or SIGTERM. ``ready`` is called with the URL and that of the curator's page.

    Without a certificate only on this machine. ``listening`` is what ``bind`` gave for the same address, asked before a
    curator publishes and pays. ``proxies`` are addresses whose word on where a request comes from is believed.
    ``settings`` are those of ``create_app``.
    """
    listening = listening or bind(host, port, certificate=certificate, key=key, behind_proxy=behind_proxy)
    try:
        with bind(PAGE, page_port, certificate=None, key=None) as page:
            app = create_app(curator, tokens, page_port=page.getsockname()[1], **settings)
            limits = Limits.here(proxies)
            config = uvicorn.Config(
                app,
                http=protocol(limits),
                ws="none",
                loop="asyncio",
                log_level="error",
                access_log=False,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=list(proxies),
                server_header=False,
                ssl_certfile=certificate,
                ssl_keyfile=key,
                timeout_graceful_shutdown=5,
            )
            server = _Server(config, page, limits.seconds)
            config.load()
            for open_socket in (listening, page):
                open_socket.listen(config.backlog)  # a client that learns the address may connect at once
            if ready:
                shown = f"[{host}]" if ":" in host else host
                where = f"{'https' if certificate else 'http'}://{shown}:{listening.getsockname()[1]}"
                ready(where, f"http://{PAGE}:{page.getsockname()[1]}/curator")
            with _quiet_end(server):
                server.run(sockets=[listening, page])
            app.state.worker.close()
            app.state.audit.close()
    except OSError as error:
        raise BadInput(f"cannot serve on {host}:{port}: {error.strerror or type(error).__name__}") from None
    finally:
        listening.close()


class _Server(uvicorn.Server):
    """Two sockets: TLS, if there is any, is for the network's; its handshake has a time limit."""

    def __init__(self, config: uvicorn.Config, page: socket.socket, seconds: float) -> None:
        super().__init__(config)
        self._page, self._seconds = page, seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        create = loop.create_server

        async def create_server(*given: Any, sock: socket.socket, ssl: Any, backlog: int) -> Any:
            plain = sock is self._page or ssl is None
            tls = {} if plain else {"ssl": ssl, "ssl_handshake_timeout": self._seconds}
            server = await create(*given, sock=sock, backlog=AT_ONCE, **tls)
            sock.listen(backlog)
            return server

        loop.create_server = create_server  # type: ignore[method-assign, assignment]
        try:
            await super().startup(sockets)
        finally:
            loop.create_server = create  # type: ignore[method-assign]


def bind(
    host: str, port: int, *, certificate: str | None, key: str | None, behind_proxy: bool = False
) -> socket.socket:
    """A socket that holds the address; refuses what could not be served, before anything is published or paid."""
    if certificate is None and host not in ("127.0.0.1", "::1", "localhost") and not behind_proxy:
        raise BadInput(
            f"serving on {host} without TLS would show tokens and answers to the network: give a certificate and "
            "its key, or behind_proxy=True (--behind-proxy) behind a proxy that has them"
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
def _quiet_end(server: uvicorn.Server) -> Iterator[None]:
    """uvicorn ends in order on SIGINT and SIGTERM, then raises the signal again; there it shall end nothing more.

    A signal that comes before uvicorn listens for it ends the service too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: Any) -> None:
        server.should_exit = True

    before = {s: signal.signal(s, end) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
