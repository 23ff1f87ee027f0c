"""Certificates as `forewarn tls init` makes them."""

from __future__ import annotations

import ssl
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from tests.cli.command import forewarn


def make_certificate(directory: Path, *arguments: str) -> Path:
    """An authority and a certificate for this machine; the authority's file."""
    outcome = forewarn("tls", "init", "--dir", str(directory), *arguments)
    assert outcome.code == 0, outcome
    return directory / "ca.pem"


def trusting(authority: Path) -> ssl.SSLContext:
    """Trust in this authority, as strict as OpenSSL can be."""
    context = ssl.create_default_context(cafile=authority)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def lock_key(key: Path, locked: Path) -> None:
    """The same key behind a password."""
    loaded = serialization.load_pem_private_key(key.read_bytes(), None)
    locked.write_bytes(
        loaded.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"password"),
        )
    )
