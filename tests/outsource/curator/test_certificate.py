"""A certificate of one's own: trusted by whoever was given it, for its names, and never written over another."""

from __future__ import annotations

import shutil
import socket
import ssl
import threading
from pathlib import Path

import pytest

from tacit.errors import BadInput, TacitError
from tacit.outsource.curator.certificate import expiry, fingerprint, host_name, is_expiring, make_certificate

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command")


def shake(certificate: Path, key: Path, name: str, authority: Path) -> bytes:
    """What a client that trusts ``authority`` alone sees of the service's certificate when it calls it ``name``."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    here, there = socket.socketpair()

    def serve() -> None:
        try:
            context.wrap_socket(there, server_side=True).close()
        except OSError:
            there.close()

    thread = threading.Thread(target=serve)
    thread.start()
    trust = ssl.create_default_context(cafile=str(authority))
    trust.verify_flags |= ssl.VERIFY_X509_STRICT  # the default from Python 3.13 on
    try:
        with trust.wrap_socket(here, server_hostname=name) as secure:
            return secure.getpeercert(binary_form=True) or b""
    finally:
        here.close()
        thread.join()


def test_whoever_was_given_it_trusts_it_for_its_names_alone(tmp_path: Path) -> None:
    pair, other = (tmp_path / "c.pem", tmp_path / "k.pem"), (tmp_path / "c2.pem", tmp_path / "k2.pem")
    make_certificate("curator.example", *pair)
    make_certificate("192.0.2.7", *other)
    for name in ("curator.example", "localhost", "127.0.0.1"):
        assert shake(*pair, name, pair[0]) == ssl.PEM_cert_to_DER_cert(pair[0].read_text())
    assert shake(*other, "192.0.2.7", other[0])
    for name, authority in (("elsewhere.example", pair[0]), ("curator.example", other[0])):
        with pytest.raises(ssl.SSLCertVerificationError):
            shake(*pair, name, authority)
    assert [path.stat().st_mode & 0o777 for path in (*pair, *other)] == [0o600] * 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.pem", "c2.pem", "k.pem", "k2.pem"]
    assert len(fingerprint(pair[0])) == 64
    assert fingerprint(pair[0]) != fingerprint(other[0])
    assert expiry(pair[0]).endswith("GMT")
    assert not is_expiring(pair[0])
    assert is_expiring(pair[0], days=400)


def test_neither_file_is_overwritten_and_half_a_pair_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "k.pem").write_text("mine")
    with pytest.raises(BadInput, match="left as it is"):
        make_certificate("localhost", tmp_path / "c.pem", tmp_path / "k.pem")
    assert [p.name for p in tmp_path.iterdir()] == ["k.pem"]
    assert (tmp_path / "k.pem").read_text() == "mine"
    with pytest.raises(BadInput, match="no certificate"):
        fingerprint(tmp_path / "k.pem")


@pytest.mark.parametrize(
    "name", ["https://x", "x:8733", "a/CN=b", "a,DNS:evil", "", "-a", "1.2.3", "x" * 65, "a b", "a\n"]
)
def test_a_name_that_cannot_stand_in_a_certificate_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="a machine is named like"):
        host_name(name)


def test_without_openssl_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TacitError, match=r"apt-get install openssl.*--tls-certificate FILE --tls-key FILE"):
        make_certificate("localhost", tmp_path / "c.pem", tmp_path / "k.pem")
    assert list(tmp_path.iterdir()) == []
