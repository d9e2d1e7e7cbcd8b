"""A certificate of one's own for a curator's service, made by the openssl command: modelers are given it to trust."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
import ssl
import subprocess
import tempfile
from pathlib import Path

from tacit.errors import BadInput, TacitError
from tacit.files import write_private

DAYS = 365
END = "-----END CERTIFICATE-----"
NAME = re.compile(r"(?=.{1,64}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")


def host_name(host: str) -> str:
    """The name or address of a machine, if it can stand in a certificate.

    >>> host_name("curator.example"), host_name("::1")
    ('curator.example', '::1')
    """
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    if not NAME.fullmatch(host) or re.fullmatch(r"[0-9.]+", host):
        raise BadInput(f"a machine is named like curator.example or 192.0.2.7, without port or https://, got {host!r}")
    return host


def make_certificate(host: str, certificate: Path, key: Path, *, days: int = DAYS) -> None:
    """Write a key and a certificate of its own for this machine, both for their owner alone.

    Edges. Neither file is overwritten. A modeler's client that is given it trusts nothing else, and it trusts it for
    that client alone.
    """
    for path in (certificate, key):
        if path.exists():
            raise BadInput(f"{path} is there already and was left as it is")
    name = host_name(host)
    with tempfile.TemporaryDirectory(dir=certificate.parent) as folder:  # made 0700; the key never lies open
        drafts = Path(folder) / "certificate.pem", Path(folder) / "key.pem"
        _openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256"),
            *("-days", str(days), "-subj", f"/CN={name}", "-addext", f"subjectAltName={_alternative_names(name)}"),
            *("-addext", "keyUsage=critical,digitalSignature,keyCertSign", "-addext", "extendedKeyUsage=serverAuth"),
            *("-out", str(drafts[0]), "-keyout", str(drafts[1])),
        )
        for draft, path in zip(drafts, (certificate, key), strict=True):
            write_private(path, draft.read_bytes())


def fingerprint(certificate: Path) -> str:
    """SHA-256 of a certificate: two parties may compare it by telephone."""
    try:
        first = certificate.read_text()[: 1 << 20].partition(END)[0]  # of a chain: the service's own
        plain = ssl.PEM_cert_to_DER_cert(first + END + "\n")
    except (OSError, ValueError):
        raise BadInput(f"{certificate} holds no certificate in PEM") from None
    return hashlib.sha256(plain).hexdigest()


def expiry(certificate: Path) -> str:
    """Until when a certificate is good, in words of openssl."""
    return _openssl("x509", "-in", str(certificate), "-noout", "-enddate").strip().partition("=")[2]


def is_expiring(certificate: Path, *, days: int = 30) -> bool:
    """Whether a certificate ends within so many days, or has ended."""
    try:
        _openssl("x509", "-in", str(certificate), "-noout", "-checkend", str(days * 86_400))
    except TacitError:
        return True
    return False


def _alternative_names(name: str) -> str:
    """The name, and this machine itself, so that the curator can try it from here."""
    here = ["DNS:localhost", "IP:127.0.0.1", "IP:::1"]
    try:
        own = f"IP:{ipaddress.ip_address(name)}"
    except ValueError:
        own = f"DNS:{name}"
    return ",".join(dict.fromkeys([own, *here]))


def _openssl(*words: str) -> str:
    quiet = {**os.environ, "RANDFILE": os.devnull}
    try:
        done = subprocess.run(["openssl", *words], capture_output=True, text=True, timeout=60, env=quiet)
    except (FileNotFoundError, PermissionError):
        raise TacitError(
            "a certificate is made by the openssl command, which is not here: install it (Debian: apt-get install "
            "openssl), or give a certificate of your own (--tls-certificate FILE --tls-key FILE). Nothing was made"
        ) from None
    except subprocess.TimeoutExpired:
        raise TacitError("openssl did not end within a minute. Nothing was made") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise TacitError(f"openssl made no certificate: {last[:200]}")
    return done.stdout
