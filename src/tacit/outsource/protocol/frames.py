"""A table as bytes: chunks of rows, each compressed and framed; no code is ever loaded from it.

    frame   length of the body (4 bytes, little-endian), number of rows (4 bytes), body
    body    the chunk's numbers, column by column, their bytes shuffled (first bytes together, then second ones, ...),
            deflated: signs and exponents repeat, the rest is noise

A reader knows the width, the type and the chunk size from the terms, so it never allocates what a frame claims.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tacit.outsource.protocol.terms import Published, Table, Unreachable

HEAD = struct.Struct("<II")


def pack(part: Table) -> bytes:
    """One chunk as the body of a frame."""
    flat = np.ascontiguousarray(part.T)
    shuffled = flat.view(np.uint8).reshape(-1, flat.itemsize).T
    return zlib.compress(np.ascontiguousarray(shuffled).tobytes(), 1)


def unpack(body: bytes, rows: int, columns: int, dtype: str) -> Table:
    """The chunk of a body: exactly rows x columns numbers, or Unreachable."""
    kind = np.dtype(dtype)
    size = rows * columns * kind.itemsize
    machine = zlib.decompressobj()
    try:
        raw = machine.decompress(body, size + 1)
    except zlib.error:
        raise Unreachable("a chunk of the table is damaged") from None
    if len(raw) != size or not machine.eof:
        raise Unreachable("a chunk of the table has another size than it says")
    shuffled = np.frombuffer(raw, np.uint8).reshape(kind.itemsize, -1)
    return np.ascontiguousarray(shuffled.T).view(kind).reshape(columns, rows).T


def frame(body: bytes, rows: int) -> bytes:
    return HEAD.pack(len(body), rows) + body


def unframe(pieces: Iterable[bytes], terms: Published) -> Iterator[Table]:
    """Chunks of rows from bytes that arrive in pieces of any size; keeps one chunk in memory."""
    most = terms.chunk * terms.columns * np.dtype(terms.dtype).itemsize
    most += most // 100 + 1024  # what deflating adds at worst
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        while len(buffer) >= HEAD.size:
            length, rows = HEAD.unpack_from(buffer)
            if length > most or not 1 <= rows <= terms.chunk:
                raise Unreachable("a chunk of the table is larger than the terms allow")
            if len(buffer) < HEAD.size + length:
                break
            body = bytes(buffer[HEAD.size : HEAD.size + length])
            del buffer[: HEAD.size + length]
            yield unpack(body, rows, terms.columns, terms.dtype)
    if buffer:
        raise Unreachable("the table ends in the middle of a chunk")


class Digest:
    """SHA-256 of a table's numbers, row by row, whatever the chunks."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, part: Table) -> None:
        self._hash.update(np.ascontiguousarray(part).tobytes())

    def text(self) -> str:
        return self._hash.hexdigest()


def chunks(blocks: Iterable[Any], size: int, dtype: str) -> Iterator[Table]:
    """Blocks of rows, of any length, as chunks of ``size`` rows but for the last."""
    rest: list[Any] = []
    have = 0
    for block in blocks:
        rest.append(np.asarray(block, dtype=dtype))
        have += len(block)
        if have < size:
            continue
        joined = np.concatenate(rest)
        cut = have - have % size
        for start in range(0, cut, size):
            yield joined[start : start + size]
        rest, have = [joined[cut:]], have - cut
    if have:
        yield np.concatenate(rest)
