"""TLS on the operators' listener, with the files that `forewarn tls init` makes."""

from __future__ import annotations

import json
import socket
import ssl
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from tests.cli.command import forewarn, shown
from tests.fleets import SMALL
from tests.running import RunningService, free_port, running
from tests.sign_in.certificates import make_certificate, trusting
from tests.sign_in.people import Book, as_, base, jwt_for


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with an authority and a certificate."""
    return make_certificate(
        tmp_path_factory.mktemp("tls"), "--name", "forewarn.example", "--name", "10.0.0.5"
    ).parent


@pytest.fixture(scope="module")
def secured(files: Path) -> Iterator[RunningService]:
    """An open service with TLS."""
    with running(SMALL, tls_cert=files / "server.pem", tls_key=files / "server.key") as service:
        service.trust = trusting(files / "ca.pem")
        yield service


def url(service: RunningService, host: str = "localhost") -> str:
    return f"https://{host}:{service.service.operator[1]}"


# The listener.


def test_who_trusts_the_authority_is_answered_however_strict_openssl_is(secured: RunningService):
    assert secured.get("/healthz") == {"status": "ok"}


@pytest.mark.parametrize("name", ["localhost", "forewarn.example", "10.0.0.5", "::1"])
def test_the_certificate_is_good_for_every_name_that_was_given(secured: RunningService, files: Path, name: str):
    with (
        socket.create_connection(("127.0.0.1", secured.service.operator[1])) as raw,
        trusting(files / "ca.pem").wrap_socket(raw, server_hostname=name) as wrapped,
    ):
        assert wrapped.version() in {"TLSv1.2", "TLSv1.3"}


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
def test_nothing_older_than_tls_1_2_is_spoken(secured: RunningService):
    def speaks(version: ssl.TLSVersion) -> bool:
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        client.set_ciphers("ALL:@SECLEVEL=0")
        client.minimum_version = client.maximum_version = version
        try:
            with socket.create_connection(("127.0.0.1", secured.service.operator[1])) as raw:
                client.wrap_socket(raw).close()
        except (ssl.SSLError, ConnectionResetError):
            return False
        return True

    versions = (ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    assert [speaks(version) for version in versions] == [False, True, True]
    assert secured.service._tls is not None
    assert secured.service._tls.minimum_version is ssl.TLSVersion.TLSv1_2


def test_who_signs_in_over_tls_is_given_tokens_for_the_https_address(files: Path, tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with Book(store) as book:
        client, secret = book.principal("az")
    tls = {"tls_cert": files / "server.pem", "tls_key": files / "server.key"}

    with running(SMALL, store=store, **tls) as service:
        service.trust = trusting(files / "ca.pem")
        found = service.get("/metadata/endpoints")
        token = jwt_for(service, client, secret)

        assert found["resourceManager"] == f"{base(service)}/"
        assert found["resourceManager"].startswith("https://127.0.0.1:")
        assert as_(service, token, "GET", "/v1/vms").status == 200


def test_garbage_on_the_port_does_no_harm(secured: RunningService):
    with socket.create_connection(("127.0.0.1", secured.service.operator[1])) as raw:
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        raw.settimeout(20)
        answer = raw.recv(1000)

    assert b"200" not in answer
    assert secured.get("/healthz") == {"status": "ok"}


# The command line.


def test_a_command_trusts_the_authority_that_it_is_given(secured: RunningService, files: Path):
    by_flag = forewarn("vm", "list", "--url", url(secured), "--ca-file", str(files / "ca.pem"))
    by_variable = forewarn("vm", "list", FOREWARN_URL=url(secured), FOREWARN_CA_FILE=str(files / "ca.pem"))
    by_system = forewarn("vm", "list", "--url", url(secured), SSL_CERT_FILE=str(files / "ca.pem"))

    assert by_flag == by_variable == by_system
    assert (by_flag.code, "web-0" in by_flag.out) == (0, True)


def test_a_command_does_not_trust_a_certificate_that_nobody_vouches_for(secured: RunningService):
    outcome = forewarn("vm", "list", "--url", url(secured))

    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err == shown(
        f"error: The certificate of {url(secured)} cannot be trusted: unable to get local issuer certificate.",
        "hint:  Name the authority that vouches for it with --ca-file or FOREWARN_CA_FILE "
        "(ca.pem of forewarn tls init).",
    )


def test_a_command_does_not_trust_a_certificate_of_another_name(files: Path):
    tls = {"tls_cert": files / "server.pem", "tls_key": files / "server.key"}
    with running(SMALL, operator=("127.0.0.2", 0), **tls) as service:
        outcome = forewarn("vm", "list", "--url", url(service, "127.0.0.2"), "--ca-file", str(files / "ca.pem"))

    assert outcome.code == 3
    assert "cannot be trusted: IP address mismatch, certificate is not valid for '127.0.0.2'." in outcome.err


def test_http_where_tls_is_spoken_and_the_other_way_round_are_told_apart(secured: RunningService, files: Path):
    plain = forewarn("vm", "list", "--url", url(secured).replace("https:", "http:"))
    with running(SMALL) as service:
        tls = forewarn("vm", "list", "--url", url(service), "--ca-file", str(files / "ca.pem"))

    assert (plain.code, tls.code) == (3, 3)
    assert plain.err.endswith("hint:  If it speaks TLS, call it as https://; otherwise see its log.\n")
    assert "does not speak TLS with us: " in tls.err
    assert tls.err.endswith("hint:  Check --url: is it http://?\n")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gone.pem", "gone.pem cannot be read: No such file or directory."),
        ("ca.key", "ca.key holds no certificate in PEM."),
    ],
)
def test_an_authority_that_cannot_be_read_is_refused(files: Path, name: str, sentence: str):
    outcome = forewarn("vm", "list", "--url", f"https://localhost:{free_port()}", "--ca-file", str(files / name))

    assert (outcome.code, outcome.out) == (1, "")
    assert f"{files}/{sentence}" in outcome.err


# The files.


def test_the_certificates_are_what_clients_expect(files: Path):
    root, leaf = (x509.load_pem_x509_certificate((files / name).read_bytes()) for name in ("ca.pem", "server.pem"))

    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "forewarn.example"]
    assert names.get_values_for_type(x509.IPAddress) == [
        ip_address(each) for each in ("127.0.0.1", "::1", "10.0.0.5")
    ]
    leaf.verify_directly_issued_by(root)
    for certificate in (root, leaf):
        key = certificate.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)
        assert key.curve.name == "secp256r1"
    lasts = leaf.not_valid_after_utc - datetime.now(UTC)
    assert timedelta(days=824) < lasts <= timedelta(days=825)


def test_keys_are_for_their_owner_alone(files: Path):
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in files.iterdir()}

    assert modes == {
        "ca.pem": 0o644,
        "ca.key": 0o600,
        "server.pem": 0o644,
        "server.key": 0o600,
        "bundle.pem": 0o644,
    }


def test_the_bundle_holds_our_authority_and_those_of_the_system(files: Path):
    bundle = (files / "bundle.pem").read_text()

    assert bundle.startswith((files / "ca.pem").read_text())
    assert bundle.count("BEGIN CERTIFICATE") > 10


def test_files_that_are_there_are_left_alone_unless_it_is_forced(tmp_path: Path):
    make_certificate(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    refused = forewarn("tls", "init", "--dir", str(tmp_path))
    untouched = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    make_certificate(tmp_path, "--force")

    assert refused.code == 1
    assert refused.err.startswith(f"error: There is already {tmp_path}/ca.pem, ")
    assert refused.err.endswith("hint:  Name another --dir, or replace them with --force.\n")
    assert untouched == before
    assert all((tmp_path / name).read_bytes() != content for name, content in before.items())


def test_it_says_what_to_do_next(tmp_path: Path):
    outcome = forewarn("tls", "init", "--dir", str(tmp_path / "new" / "tls"))

    assert (outcome.code, outcome.err) == (0, "")
    assert (
        f"forewarn serve --tls-cert {tmp_path}/new/tls/server.pem --tls-key {tmp_path}/new/tls/server.key"
        in outcome.out
    )
    assert f"FOREWARN_CA_FILE={tmp_path}/new/tls/ca.pem forewarn vm list" in outcome.out
    assert f"REQUESTS_CA_BUNDLE={tmp_path}/new/tls/bundle.pem" in outcome.out


def test_a_program_is_told_where_the_files_are(tmp_path: Path):
    outcome = forewarn("tls", "init", "--dir", str(tmp_path), "--days", "1", "--name", "A.example", "--json")

    told = json.loads(outcome.out)
    assert told["ca_pem"] == f"{tmp_path}/ca.pem"
    assert told["names"] == ["localhost", "127.0.0.1", "::1", "a.example"]
    assert datetime.fromisoformat(told["expires_at"]) - datetime.now(UTC) <= timedelta(days=1)


@pytest.mark.parametrize(
    "name", ["", "a b", "bücher.example", "-x", "x/y", "a..b", "x" * 64, ".".join(["abc"] * 70)]
)
def test_a_name_that_no_certificate_can_have_is_refused(tmp_path: Path, name: str):
    outcome = forewarn("tls", "init", "--dir", str(tmp_path), f"--name={name}")

    assert (outcome.code, outcome.out) == (2, "")
    assert "is neither a host name (in ASCII) nor an address" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").touch()

    outcome = forewarn("tls", "init", "--dir", str(tmp_path / "file" / "tls"))

    assert (outcome.code, outcome.out) == (1, "")
    assert "cannot be written: Not a directory." in outcome.err
