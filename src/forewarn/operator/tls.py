"""TLS on the operators' listener: a certificate and its key, or a sentence about why they cannot be used."""

from __future__ import annotations

import ssl
from pathlib import Path

from forewarn.errors import ConfigError

_HINT = "forewarn tls init makes both, and an authority that vouches for them."


def server_context(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """What the listener needs to speak TLS; None: it is not to."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        given, missing = ("--tls-key", "--tls-cert") if certificate is None else ("--tls-cert", "--tls-key")
        raise ConfigError(f"{given} is given, and {missing} is not.", f"Give both or none. {_HINT}")
    for file in (certificate, key):
        try:
            file.read_bytes()
        except OSError as problem:
            raise ConfigError(f"{file} cannot be read: {problem.strerror}.", _HINT) from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except _Encrypted:
        raise ConfigError(f"The key {key} asks for a password, and nobody is here to give one.", _HINT) from None
    except ssl.SSLError as problem:
        if problem.reason == "KEY_VALUES_MISMATCH":
            raise ConfigError(f"The key {key} is not that of the certificate {certificate}.", _HINT) from None
        raise ConfigError(f"{certificate} and {key} are no certificate and key in PEM.", _HINT) from None
    return context


class _Encrypted(Exception):
    """A key that cannot be read without a password."""


def _no_password() -> str:
    raise _Encrypted
