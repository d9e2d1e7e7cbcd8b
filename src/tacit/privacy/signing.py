"""Certificates signed by a curator's key, so that somebody without the ledger can check them. Needs ``tacit[sign]``.

Ed25519. What is signed is the whole certificate but the signature itself, in canonical JSON: value, guarantee, payment,
and what it says of data, date and command. A verifier trusts a public key that was handed over beforehand, never the
one that a certificate names.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tacit.errors import BadInput, extra
from tacit.files import Json, write_file, write_private
from tacit.privacy.release import plain

ALGORITHM, PURPOSE = "Ed25519", "signing certificates"
CONTEXT = b"tacit certificate, signature 1\n"


def make_key(path: str | Path) -> tuple[Path, Path]:
    """A new private key in PEM, for its owner alone, and beside it the public key, with the ending .pub.

    Edges. A file that is there is not overwritten.
    """
    serialization = extra("cryptography.hazmat.primitives.serialization", "sign", PURPOSE)
    ed25519 = extra("cryptography.hazmat.primitives.asymmetric.ed25519", "sign", PURPOSE)
    secret = Path(path)
    public = secret.with_name(f"{secret.stem}.pub")
    for file in (secret, public):
        if file.exists():
            raise BadInput(f"{file} is there already and was left as it is; choose another name")
    key = ed25519.Ed25519PrivateKey.generate()
    pem = serialization.Encoding.PEM
    hidden = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        write_private(secret, hidden)
    except OSError as error:
        raise BadInput(f"{secret} cannot be written: {error.strerror}") from None
    shown = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    return secret, write_file(public, shown)


def sign(certificate: Json, key: str | Path) -> Json:
    """The certificate with a signature; one that it had is replaced.

    >>> import tempfile, tacit
    >>> release = tacit.Release(0.25, tacit.Guarantee(tacit.Budget.pure(1.0)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     secret, public = make_key(f"{folder}/curator.key")
    ...     signed = sign(release.certificate(), secret)
    ...     find_fault(signed, public), find_fault({**signed, "value": 0.26}, public)[:11]
    ('', 'it was chan')
    """
    loaded = _load(key, "load_pem_private_key", "Ed25519PrivateKey", password=None)
    body = {name: part for name, part in certificate.items() if name != "signature"}
    value = base64.b64encode(loaded.sign(_message(body))).decode()
    return {**body, "signature": {"algorithm": ALGORITHM, "key": key_mark(loaded.public_key()), "value": value}}


def find_fault(certificate: Json, key: str | Path) -> str:
    """Why a certificate is not one that the holder of this public key signed, or "" if it is."""
    loaded = _load(key, "load_pem_public_key", "Ed25519PublicKey")
    invalid = extra("cryptography.exceptions", "sign", PURPOSE).InvalidSignature
    signature = certificate.get("signature")
    if not isinstance(signature, dict):
        return "it is not signed"
    if signature.get("algorithm") != ALGORITHM:
        return f"its signature is of another kind, {signature.get('algorithm')!r}"
    if signature.get("key") != key_mark(loaded):
        return f"it was signed with another key, {signature.get('key')}; this one is {key_mark(loaded)}"
    body = {name: part for name, part in certificate.items() if name != "signature"}
    try:
        loaded.verify(base64.b64decode(str(signature.get("value")), validate=True), _message(body))
    except (invalid, ValueError):
        return "it was changed after it was signed, or another key signed it"
    return ""


def key_mark(public: Any) -> str:
    """By which people tell keys apart: the first half of the key's digest."""
    import hashlib

    return hashlib.sha256(public.public_bytes_raw()).hexdigest()[:32]


def _message(body: Json) -> bytes:
    text = json.dumps(plain(body), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return CONTEXT + text.encode()


def _load(path: str | Path, loader: str, kind: str, **how: Any) -> Any:
    serialization = extra("cryptography.hazmat.primitives.serialization", "sign", PURPOSE)
    ed25519 = extra("cryptography.hazmat.primitives.asymmetric.ed25519", "sign", PURPOSE)
    wanted = "a private" if "Private" in kind else "a public"
    try:
        key = getattr(serialization, loader)(Path(path).read_bytes(), **how)
    except OSError as error:
        raise BadInput(
            f"the key {path} cannot be read: {error.strerror}. To make one: tacit sign --new-key curator.key"
        ) from None
    except (ValueError, TypeError):
        raise BadInput(f"{path} is not {wanted} key in PEM") from None
    if not isinstance(key, getattr(ed25519, kind)):
        raise BadInput(f"{path} is not {wanted} Ed25519 key")
    return key
