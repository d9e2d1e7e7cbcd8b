"""Connections, before any of them is a request: how many, how many from one address, how long a head may take.

A client that sends nothing, or a request's head byte by byte, needs no token and spends nothing; so such a connection
may not cost the service much either. A connection *waits* while no request of it is being answered. Of those that
wait there are only so many, in all and from one address: the one that has waited longest makes room for a new one,
first those that never asked for anything. None waits longer than a few seconds.
"""

from __future__ import annotations

import asyncio
import ipaddress
import resource
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def group_address(client: str) -> str:
    """Whom limits of an address apply to: one address of IPv4, but of IPv6 the 2^64 that one customer gets.

    >>> group_address("::ffff:192.0.2.7"), group_address("2001:db8::7"), group_address("192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv4Address):
        return client
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


@dataclass(frozen=True)
class Limits:
    """How many connections a service holds, and for how long they may wait."""

    connections: int = 1000
    waiting: int = 400
    waiting_of_address: int = 200
    seconds: float = 10.0  # to send the head of a request, or its body; to agree on TLS
    stalled: float = 60.0  # to take in the 48 kB that make room for more of an answer
    proxies: Collection[str] = ()  # addresses of which many connections are as good as from many addresses

    @classmethod
    def here(cls, proxies: Collection[str] = ()) -> Limits:
        """Limits that fit the descriptors that this process may open, after asking for as many as it can get."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        room = 4096 if soft == resource.RLIM_INFINITY else soft
        return cls(min(1000, room // 2), min(400, room // 4), min(200, room // 5), proxies=proxies)


class Connections:
    """The connections of one service, those that wait in the order in which they began to."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._there: set[Guarded] = set()
        self._waiting: dict[Guarded, None] = {}  # never asked for anything
        self._idle: dict[Guarded, None] = {}  # asked before, and may again

    def enter(self, connection: Guarded) -> None:
        """A new connection: it waits. Others make room for it, or it is closed at once."""
        self._there.add(connection)
        self.wait(connection)
        if len(self._there) > self.limits.connections and not self._close_oldest():
            connection.drop()

    def wait(self, connection: Guarded) -> None:
        """A connection waits from now on, for the first time or again."""
        self.serve(connection)
        (self._idle if connection.asked else self._waiting)[connection] = None
        same = [c for c in (*self._waiting, *self._idle) if c.address == connection.address]
        if len(same) > self.limits.waiting_of_address and connection.address not in self.limits.proxies:
            same[0].drop()
        elif len(self._waiting) + len(self._idle) > self.limits.waiting:
            self._close_oldest()

    def serve(self, connection: Guarded) -> None:
        """A connection no longer waits: it has asked for something."""
        self._waiting.pop(connection, None)
        self._idle.pop(connection, None)

    def leave(self, connection: Guarded) -> None:
        self.serve(connection)
        self._there.discard(connection)

    def _close_oldest(self) -> bool:
        oldest = next(iter(self._waiting), None) or next(iter(self._idle), None)
        if oldest is not None:
            oldest.drop()
        return oldest is not None


class Guarded(H11Protocol):
    """uvicorn's connection, counted with the others."""

    pool: Connections
    asked = False
    address = ""
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self.address = host if host in self.pool.limits.proxies else group_address(host)
        self._watch()
        self.pool.enter(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self.asked = True
            self._unwatch()
            self.pool.serve(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and self._is_waiting():
            self._watch(self.pool.limits.stalled if self.flow.write_paused else None)
            self.pool.wait(self)

    def pause_writing(self) -> None:
        """A client that asks for the table and does not read it holds a connection; not for ever."""
        super().pause_writing()
        self._watch(self.pool.limits.stalled)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch() if self._is_waiting() else self._unwatch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self.pool.leave(self)
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close without a word: the client sent no request, or does not read."""
        self._unwatch()
        self.pool.leave(self)
        self.transport.abort()

    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _watch(self, seconds: float | None = None) -> None:
        self._unwatch()
        self._late = self.loop.call_later(seconds or self.pool.limits.seconds, self.drop)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def protocol(limits: Limits) -> type[Any]:
    """uvicorn's protocol class with connections of its own."""
    return type("GuardedHere", (Guarded,), {"pool": Connections(limits)})
