"""A certificate for names that lead to this machine, and what trusts it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a server shows, and ``authority``: the file by which a client believes it."""

    server: ssl.SSLContext
    authority: Path


def make_certificate(directory: Path) -> Certificate:
    """Return a certificate of this machine; it is its own authority."""
    serves, _ = certificate_for(directory, "localhost", "127.0.0.1")
    return Certificate(serves, directory / "chain.pem")


def certificate_for(directory: Path, *hosts: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return what serves the hosts, and what a client trusts them by; chain.pem is both."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(key, hosts).public_bytes(Encoding.PEM)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = directory / "chain.pem"
    chain.write_bytes(private + certificate)
    serves = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serves.load_cert_chain(chain)
    return serves, ssl.create_default_context(cadata=certificate.decode())


def _certificate(key: ec.EllipticCurvePrivateKey, hosts: tuple[str, ...]) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([_named(host) for host in hosts]), critical=False
        )
        .sign(key, hashes.SHA256())
    )


def _named(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
