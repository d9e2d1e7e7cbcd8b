"""Random bits from a cryptographic generator: the system's own, or for arrays OpenSSL's, which the system's one seeds.

OpenSSL's generator (AES-256 in counter mode, NIST SP 800-90A) comes with Python, keeps one state a thread, and is some
thirty times faster than asking the system for every byte. Nothing is kept here between two calls, so that neither a
forked process nor another thread can be given the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import GeneratorFailed

Words = NDArray[np.uint64]
Bytes = Callable[[int], bytes]
SEED = 48  # bytes that a forked process adds: the length of the generator's own seed
FEW = 256  # bytes up to which asking the system is quicker than asking OpenSSL

_copied = False  # true in a process that was forked and has not added a seed of its own yet


def random_bytes(count: int, source: Bytes | None = None) -> bytes:
    """``count`` random bytes; ``source`` answers a number of bytes, for tests.

    Edges. A forked process first adds 48 bytes of the system's to OpenSSL's generator, besides what OpenSSL does
    itself. Where the generator fails, GeneratorFailed, and no byte is used. A Python without OpenSSL asks the system.
    """
    try:
        drawn = (source or (os.urandom if count <= FEW else _openssl()))(count)
    except (OSError, NotImplementedError) as error:  # ssl.SSLError is an OSError
        raise GeneratorFailed(
            f"noise needs a working random generator, and this one failed ({type(error).__name__}). Repair the "
            "system's generator or the configuration of OpenSSL. Nothing was drawn"
        ) from None
    if len(drawn) != count:
        raise GeneratorFailed(f"the random generator gave {len(drawn)} bytes of {count}. Nothing was drawn")
    return drawn


def random_words(count: int, source: Bytes | None = None) -> Words:
    """``count`` uniform 64-bit words, shape (count,)."""
    return np.frombuffer(random_bytes(8 * count, source), np.uint64)


def _openssl() -> Bytes:
    global _copied
    generator, add = _generator()
    if _copied:
        add(os.urandom(SEED))
        _copied = False
    return generator


@lru_cache(maxsize=1)
def _generator() -> tuple[Bytes, Callable[[bytes], None]]:
    try:
        import ssl
    except ImportError:
        return os.urandom, lambda seed: None
    return ssl.RAND_bytes, lambda seed: ssl.RAND_add(seed, float(len(seed)))


def _mark_copy() -> None:
    global _copied
    _copied = True


if hasattr(os, "register_at_fork"):  # here and not at the first draw: the parent may have used OpenSSL for other things
    os.register_at_fork(after_in_child=_mark_copy)
