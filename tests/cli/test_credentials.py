"""`forewarn token` and `forewarn principal`, and how every command signs in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.command import CommandLine, Outcome, forewarn, shown
from tests.cli.conftest import command_line
from tests.cli.serving import serving
from tests.running import RunningService, running
from tests.sign_in.people import Book

KINDS = ["token", "principal"]
TOKEN = re.compile(r"fw_[A-Za-z0-9_-]{43}\n")


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.touch(mode=0o600)
    return file


# Over REST.


def test_a_token_and_nothing_else_is_printed_and_a_sentence_is_told_beside_it(cli: CommandLine):
    outcome = cli("token", "create", "--role", "admin", "--name", "root")

    assert outcome.code == 0
    assert TOKEN.fullmatch(outcome.out)
    assert outcome.err == shown(
        "root may sign in as admin. Keep the token: it is not told again. "
        "Sign in with FOREWARN_TOKEN or --token-file."
    )


def test_who_has_a_token_goes_on_and_who_has_none_is_told_how_to_sign_in(cli: CommandLine, token_file: Path):
    token = cli("token", "create", "--role", "admin", "--name", "root").out.strip()
    token_file.write_text(f"{token}\n")

    nobody = cli("vm", "list")
    by_variable = forewarn("vm", "list", "--url", cli.url, FOREWARN_TOKEN=token)
    by_file = cli("vm", "list", "--token-file", str(token_file))
    both = forewarn("vm", "list", "--url", cli.url, "--token-file", str(token_file), FOREWARN_TOKEN="fw_wrong")

    assert nobody == Outcome(
        1,
        "",
        shown(
            "error: Nobody gets in here without signing in.",
            "hint:  Sign in with FOREWARN_TOKEN or --token-file; over REST with Authorization: Bearer TOKEN.",
        ),
    )
    assert by_variable.code == 0
    assert by_variable == by_file == both


def test_too_small_a_role_is_a_sentence_with_a_hint(cli: CommandLine):
    root = cli("token", "create", "--role", "admin", "--name", "root").out.strip()
    eve = forewarn(
        "token", "create", "--role", "viewer", "--name", "eve", "--url", cli.url, FOREWARN_TOKEN=root
    ).out.strip()

    outcome = forewarn("vm", "restart", "solo", "--url", cli.url, FOREWARN_TOKEN=eve)

    assert outcome == Outcome(
        1,
        "",
        shown(
            "error: POST /v1/vms/solo/restart needs the role operator; eve has the role viewer.",
            "hint:  Ask an admin for a token: forewarn token create --role operator --name NAME",
        ),
    )


def test_an_approver_approves_with_the_command_line_and_is_named(service: RunningService):
    cli = command_line(service)
    service.guest("solo").document()
    event = service.post("/v1/vms/solo/restart")["event"]["id"]
    alice = cli("token", "create", "--role", "approver", "--name", "alice").out.strip()

    outcome = forewarn("event", "approve", event, "--json", "--url", cli.url, FOREWARN_TOKEN=alice)

    assert (outcome.code, json.loads(outcome.out)["approved_by"]) == (0, "alice")


@pytest.mark.parametrize("kind", KINDS)
def test_lists_show_who_may_sign_in_and_who_no_longer(kind: str, store: str):
    made = ("--role", "viewer", "--store", store)
    forewarn(kind, "create", "--name", "ci", "--expires", "30d", *made)
    forewarn(kind, "create", "--name", "old", *made)
    forewarn(kind, "revoke", "old", "--store", store)

    outcome = forewarn(kind, "list", "--store", store)
    as_json = json.loads(forewarn(kind, "list", "--store", store, "--json").out)

    head, ci, old = outcome.out.splitlines()
    assert head.split()[:2] == (["NAME", "ROLE"] if kind == "token" else ["NAME", "CLIENT"])
    assert {"ci", "viewer", "active"} <= set(ci.split())
    assert {"old", "viewer", "revoked"} <= set(old.split())
    assert [each["state"] for each in as_json[f"{kind}s"]] == ["active", "revoked"]
    assert not {"token", "client_secret", "digest"} & set(as_json[f"{kind}s"][0])


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_list_says_how_to_make_one(kind: str, store: str):
    outcome = forewarn(kind, "list", "--store", store)

    assert outcome == Outcome(
        0, shown(f"There are no {kind}s. Make one: forewarn {kind} create --role ROLE --name NAME"), ""
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_service_and_its_store_tell_the_same(kind: str, store: str, tmp_path: Path):
    root = forewarn("token", "create", "--role", "admin", "--name", "root", "--store", store).out.strip()
    made = json.loads(forewarn(kind, "create", "--role", "viewer", "--name", "ci", "--store", store, "--json").out)
    with running(store=store) as service:
        url = command_line(service).url
        by_service = forewarn(kind, "list", "--json", "--url", url, FOREWARN_TOKEN=root)
        again = forewarn(
            kind, "create", "--role", "viewer", "--name", "ci2", "--json", "--url", url, FOREWARN_TOKEN=root
        )
    by_store = forewarn(kind, "list", "--json", "--store", store)

    (of_service,) = (each for each in json.loads(by_service.out)[f"{kind}s"] if each["name"] == "ci")
    (of_store,) = (each for each in json.loads(by_store.out)[f"{kind}s"] if each["name"] == "ci")
    assert of_service == of_store
    assert set(json.loads(again.out)) == set(made)


def test_a_principal_is_printed_with_all_that_az_wants(cli: CommandLine):
    outcome = cli("principal", "create", "--role", "operator", "--name", "az")

    lines = [line.split(maxsplit=2) for line in outcome.out.splitlines()]
    assert [line[0] for line in lines] == ["client", "client", "tenant"]
    assert outcome.err == shown(
        "az may sign in as operator. Keep the secret: it is not told again. "
        "az login --service-principal takes all three."
    )


def test_revoking_is_told_in_a_sentence(store: str):
    forewarn("token", "create", "--role", "viewer", "--name", "ci", "--store", store)
    forewarn("principal", "create", "--role", "viewer", "--name", "az", "--store", store)

    assert forewarn("token", "revoke", "ci", "--store", store) == Outcome(0, "The token ci is revoked.\n", "")
    assert forewarn("principal", "revoke", "az", "--store", store) == Outcome(
        0, "The principal az is revoked, and all that it signed in with.\n", ""
    )


# In the store.


def test_the_first_token_is_made_before_the_service_is_heard_on_the_network(store: str, tmp_path: Path):
    token = forewarn("token", "create", "--role", "admin", "--name", "root", "--store", store).out.strip()

    with serving(tmp_path, "--operator", "0.0.0.0:0", "--store", store) as served:
        port = re.findall(r"http://0\.0\.0\.0:(\d+)", served.out)[0]
        url = f"http://127.0.0.1:{port}"
        assert forewarn("vm", "list", "--url", url).code == 1
        assert forewarn("vm", "list", "--url", url, FOREWARN_TOKEN=token).code == 0
        assert served.err == (
            f"warning: http://0.0.0.0:{port} has no TLS, so tokens cross the network as they are; "
            "forewarn tls init makes what --tls-cert and --tls-key want.\n"
        )


def test_a_store_that_a_service_has_open_is_left_alone(store: str):
    with running(store=store):
        outcome = forewarn("token", "create", "--role", "admin", "--name", "root", "--store", store)

    assert (outcome.code, outcome.out) == (1, "")
    assert f"The store {store} is in use by another forewarn service." in outcome.err
    with Book(store) as book:
        assert book.token("root")


def test_a_store_in_memory_is_refused():
    outcome = forewarn("token", "create", "--role", "admin", "--name", "root", "--store", "sqlite://")

    assert outcome == Outcome(
        1,
        "",
        shown("error: A store in memory ends with this command.", "hint:  Name one that is kept: sqlite:///PATH."),
    )


def test_the_stores_refusals_are_the_services(store: str):
    forewarn("token", "create", "--role", "admin", "--name", "root", "--store", store)

    again = forewarn("token", "create", "--role", "admin", "--name", "root", "--store", store)
    unknown = forewarn("token", "revoke", "nobody", "--store", store)

    assert again == Outcome(
        1,
        "",
        shown(
            "error: There is a token root already.",
            "hint:  Choose another name, or first: forewarn token revoke root",
        ),
    )
    assert unknown == Outcome(1, "", shown("error: There is no token nobody.", "hint:  forewarn token list"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--name", "x"], "Missing option '--role'"),
        (["--role", "viewer"], "Missing option '--name'"),
        (["--role", "king", "--name", "x"], "'king' is not one of 'viewer', 'approver', 'operator', 'admin'."),
        (["--role", "viewer", "--name", ""], "a name is needed, and this one is empty"),
        (["--role", "viewer", "--name", "x", "--expires", "soon"], "'soon' is no duration"),
        (["--role", "viewer", "--name", "x", "--token", "fw_x"], "No such option"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_wrong_is_usage(kind: str, arguments: list[str], sentence: str):
    outcome = forewarn(kind, "create", *arguments)

    assert (outcome.code, outcome.out) == (2, "")
    assert sentence in outcome.err


# The token file.


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602])
def test_a_token_file_that_others_may_read_is_refused(still: CommandLine, token_file: Path, mode: int):
    token_file.write_text("fw_secret\n")
    token_file.chmod(mode)

    outcome = still("vm", "list", "--token-file", str(token_file))

    assert outcome == Outcome(
        1,
        "",
        shown(
            f"error: {token_file} holds a token, and others on this machine may read it.",
            f"hint:  chmod 600 {token_file}",
        ),
    )


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"fw_a\nfw_b\n", b"\xff\xfe", "fw_ü".encode()])
def test_a_file_without_a_token_is_refused_and_not_shown(still: CommandLine, token_file: Path, content: bytes):
    token_file.write_bytes(content)

    outcome = still("vm", "list", "--token-file", str(token_file))

    assert outcome == Outcome(
        1,
        "",
        shown(
            f"error: {token_file} holds no token.",
            "hint:  It is one word, as forewarn token create printed it.",
        ),
    )


def test_a_token_file_that_is_not_there_is_refused(still: CommandLine, tmp_path: Path):
    outcome = still("vm", "list", "--token-file", str(tmp_path / "gone"))

    assert outcome == Outcome(
        1,
        "",
        shown(
            f"error: {tmp_path}/gone cannot be read: No such file or directory.",
            "hint:  Name another with --token-file.",
        ),
    )


def test_a_variable_that_holds_no_token_is_refused_and_not_shown(still: CommandLine):
    outcome = forewarn("vm", "list", "--url", still.url, FOREWARN_TOKEN="my secret")

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: FOREWARN_TOKEN holds no token.")
    assert "secret" not in outcome.err


def test_an_empty_variable_is_none(still: CommandLine):
    assert forewarn("vm", "list", "--url", still.url, FOREWARN_TOKEN="").code == 0
