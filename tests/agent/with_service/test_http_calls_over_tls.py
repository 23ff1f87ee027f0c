"""The handler `http` against a certificate of ours."""

from __future__ import annotations

import ssl

from forewarn.agent.handlers import find
from tests.agent.receiver import receiving
from tests.agent.tasks import attempt
from tests.sign_in.certificates import make_certificate

HTTP = find("http")


def test_a_certificate_is_verified_unless_told_otherwise(tmp_path):
    authority = make_certificate(tmp_path / "tls")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "tls/server.pem", tmp_path / "tls/server.key")
    with receiving(tls=context) as receiver:
        unknown = HTTP.run(attempt(tmp_path, {"url": receiver.url}))
        vouched = HTTP.run(attempt(tmp_path, {"url": receiver.url, "ca_file": str(authority)}))
        blind = HTTP.run(attempt(tmp_path, {"url": receiver.url, "verify_tls": False}))

    assert "CERTIFICATE_VERIFY_FAILED" in unknown.note
    assert (unknown.is_done, vouched.is_done, blind.is_done) == (False, True, True)
