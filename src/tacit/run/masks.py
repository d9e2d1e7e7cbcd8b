"""Sums of several organisations that only all of them together tell: pairwise masks modulo 2^64.

Sums are whole numbers, so a mask that one site adds and another takes away leaves no trace in the total. Every pair of
sites has a secret of its own (X25519). For each question both stretch it into the same numbers, one adds them to its
sums and the other subtracts them, modulo 2^64. What a site sends is then uniformly distributed whatever its records
are, and the total of all sites is exact.

Masks are made of the bytes of the question, with a fresh random word in it. Asked the same question again, a site gives
the same answer; asked another one, it uses other masks; and where two sites were asked different questions, or one of
them does not answer, nothing adds away and the round is refused. So there is no round of some of the sites.

What the collector learns: the total of all sites, which it holds to add noise to, as without masks; and each site's
number of records. A site learns the questions and nothing of the others. The collector together with all sites but one
learns the sums of that one; together with fewer, the total of those that remain. Masks hide sums on the way, they do
not make the collector's code harmless: as with every engine, a site runs what it is sent.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import BadInput, ObjectiveError, extra
from tacit.files import open_private
from tacit.run.engine import Reducer

WORD = 1 << 64
ABOUT = b"tacit masks 1"


@dataclass(frozen=True, repr=False)
class SiteKey:
    """The secret of one site. ``public`` goes to the other sites, by a way on which nobody can exchange it."""

    secret: bytes

    @classmethod
    def create(cls, path: str | Path | None = None) -> SiteKey:
        """A new key; with a path also a file that only its owner may read."""
        key = cls(_curve().X25519PrivateKey.generate().private_bytes_raw())
        if path is not None:
            try:
                descriptor = open_private(Path(path), os.O_WRONLY | os.O_EXCL)
            except OSError as error:
                raise BadInput(f"no key can be written at {path}: {error.strerror}") from None
            with os.fdopen(descriptor, "w") as file:
                file.write(key.secret.hex())
        return key

    @classmethod
    def read(cls, path: str | Path) -> SiteKey:
        """The key that ``create`` wrote."""
        try:
            secret = bytes.fromhex(Path(path).read_text().strip())
        except (OSError, ValueError) as error:
            raise BadInput(f"no key of a site can be read at {path}: {type(error).__name__}") from None
        if len(secret) != 32:
            raise BadInput(f"no key of a site can be read at {path}: it has {len(secret)} bytes, not 32")
        return cls(secret)

    @property
    def public(self) -> str:
        raw: bytes = _curve().X25519PrivateKey.from_private_bytes(self.secret).public_key().public_bytes_raw()
        return raw.hex()

    def agree(self, other: str) -> bytes:
        """The secret that this site and another share."""
        curve = _curve()
        mine = curve.X25519PrivateKey.from_private_bytes(self.secret)
        shared: bytes = mine.exchange(curve.X25519PublicKey.from_public_bytes(bytes.fromhex(other)))
        return shared

    def __repr__(self) -> str:
        return f"<SiteKey {self.public[:8]}>"


class Site:
    """The records of one organisation, which answers with masked sums. Make it where the records are.

    ``roster`` are the public keys of all sites, this one's among them, the same for each: it decides whose masks add
    away, so it is agreed between the sites and not taken from the collector.
    """

    def __init__(self, part: Any, key: SiteKey, roster: Sequence[str]) -> None:
        self.part, self.key, self.roster = part, key, tuple(sorted(roster))
        if len(set(self.roster)) < len(self.roster) or len(self.roster) < 2 or key.public not in self.roster:
            raise BadInput("a roster must name the public keys of at least two sites, each once, and this one's too")
        self._shared = {other: key.agree(other) for other in self.roster if other != key.public}

    def mask(self, sums: Sequence[int], question: bytes) -> list[int]:
        """Sums with the masks of this question, modulo 2^64."""
        mine, masked = self.key.public, np.array([s % WORD for s in sums], np.uint64)
        for other, shared in self._shared.items():
            words = stretch(shared, question, min(mine, other) + max(mine, other), len(sums))
            masked = masked + words if mine < other else masked - words  # wraps around, as it should
        return [int(m) for m in masked]

    def __repr__(self) -> str:
        return f"<Site {self.key.public[:8]} of {len(self.roster)}>"


def stretch(shared: bytes, question: bytes, pair: str, size: int) -> Any:
    """``size`` words of 64 bits that every holder of the secret and the question computes too."""
    ciphers = extra("cryptography.hazmat.primitives.ciphers", "sites", "masks between sites")
    kdf = extra("cryptography.hazmat.primitives.kdf.hkdf", "sites", "masks between sites")
    hashes = extra("cryptography.hazmat.primitives.hashes", "sites", "masks between sites")
    salt, info = hashlib.sha256(question).digest(), ABOUT + pair.encode()
    key = kdf.HKDF(algorithm=hashes.SHA256(), length=32, salt=salt, info=info).derive(shared)
    stream = ciphers.Cipher(ciphers.algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * size)), "<u8").astype(np.uint64)


@dataclass(frozen=True)
class MaskedReducer(Reducer):
    """A question to sites, as the bytes of which all of them make their masks."""

    question: bytes = b""

    @classmethod
    def of(cls, models: Sequence[Any], inner: Reducer) -> MaskedReducer:
        try:
            from cloudpickle import dumps  # comes with Dask and Ray, for functions that cannot be imported
        except ImportError:
            dumps = pickle.dumps
        return cls(inner.summing, None, dumps((os.urandom(32), list(models), inner)))

    def __call__(self, part: Any, models: Sequence[Any]) -> tuple[list[int], int]:
        if not isinstance(part, Site):
            raise ObjectiveError("with masks every part must be a tacit.Site: one without would tell its sum")
        _, asked, inner = pickle.loads(self.question)  # from the collector, whose code every engine runs
        sums, records = inner(part.part, asked)
        return part.mask([*sums, 0], self.question), records


def unmask(sums: Sequence[int]) -> list[int]:
    """The totals of all sites, between -2^63 and 2^63, from sums of masked words, the last of which is of zeros."""
    *totals, check = [(s + WORD // 2) % WORD - WORD // 2 for s in sums]
    if check:  # else by chance, once in 2^64 times
        raise ObjectiveError("the masks of the sites do not add away: their rosters differ. Nothing was released")
    return totals


def _curve() -> Any:
    return extra("cryptography.hazmat.primitives.asymmetric.x25519", "sites", "masks between sites")
