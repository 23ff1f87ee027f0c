"""`forewarn webhook`: add, list, remove, dead, resend, test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import CommandLine, shown
from tests.cli.conftest import command_line
from tests.fleets import SMALL
from tests.push.receiver import Receiver, receiving
from tests.running import RunningService, running, wait_until

SECRET = re.compile(r"fwh_[A-Za-z0-9_-]{43}\n")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.touch(mode=0o600)
    file.write_text("a-secret-of-my-own\n")
    return file


def only(cli: CommandLine) -> dict[str, object]:
    (found,) = cli.json("webhook", "list")["webhooks"]
    return dict(found)


def test_a_secret_and_nothing_else_is_printed_and_a_sentence_is_told_beside_it(
    cli: CommandLine, receiver: Receiver
):
    outcome = cli("webhook", "add", receiver.url)

    name = only(cli)["id"]
    assert outcome.code == 0
    assert SECRET.fullmatch(outcome.out)
    assert outcome.err == shown(
        f"Webhook {name} is told of all events at {receiver.url}. Keep the secret: it is not told again."
    )


def test_a_secret_of_ones_own_comes_from_a_file_and_is_not_repeated(
    cli: CommandLine, service: RunningService, receiver: Receiver, secret_file: Path
):
    outcome = cli("webhook", "add", receiver.url, "--secret-file", str(secret_file))

    service.guest("solo").document()
    cli.says("vm", "restart", "solo")
    (got,) = receiver.wait_for(1)
    assert (outcome.code, outcome.out) == (0, "")
    assert "a-secret-of-my-own" not in outcome.err
    assert got.is_signed_with("a-secret-of-my-own")


def test_a_secret_that_others_can_read_or_that_is_none_is_refused(
    cli: CommandLine, receiver: Receiver, secret_file: Path
):
    add = ("webhook", "add", receiver.url, "--secret-file")
    secret_file.chmod(0o644)
    readable = cli.complains(*add, str(secret_file))
    secret_file.chmod(0o600)
    secret_file.write_text("\n")
    empty = cli.complains(*add, str(secret_file))
    secret_file.write_bytes(b"\xff")
    no_text = cli.complains(*add, str(secret_file))
    missing = cli.complains(*add, f"{secret_file}-not")

    assert readable == (
        1,
        shown(
            f"error: {secret_file} holds a secret, and others on this machine may read it.",
            f"hint:  chmod 600 {secret_file}",
        ),
    )
    assert empty == no_text
    assert empty[1].startswith(f"error: {secret_file} holds no secret.")
    assert missing[1].endswith("hint:  Name another with --secret-file.\n")
    assert cli.json("webhook", "list") == {"webhooks": []}


def test_what_a_webhook_is_told_of_can_be_chosen(cli: CommandLine, receiver: Receiver):
    chosen = ("--format", "eventgrid", "--kind", "reboot", "--kind", "Freeze", "--scope", "web")

    outcome = cli("webhook", "add", receiver.url, *chosen)

    found = only(cli)
    assert f"is told of Reboot and Freeze events of web at {receiver.url}." in outcome.err
    assert (found["format"], found["kinds"], found["scopes"]) == ("eventgrid", ["Reboot", "Freeze"], ["web"])


def test_webhooks_are_listed_with_how_things_stand(cli: CommandLine, service: RunningService, receiver: Receiver):
    nothing = cli.says("webhook", "list")
    cli("webhook", "add", receiver.url)
    service.guest("solo").document()
    cli.says("vm", "restart", "solo")
    wait_until(lambda: only(cli)["delivered_since_start"] == 1, "the delivery to arrive")

    name, width = only(cli)["id"], len(receiver.url)
    assert nothing == shown("There are no webhooks. Add one: forewarn webhook add URL")
    assert cli.says("webhook", "list") == shown(
        f"WEBHOOK   {'URL':<{width}}  FORMAT       TOLD OF     DELIVERED SINCE START  WAITING  DEAD  PROBLEM",
        f"{name}  {receiver.url}  cloudevents  all events  1                      0        0",
    )


def test_what_was_given_up_is_listed_sent_again_and_forgotten_with_its_webhook(receiver: Receiver):
    with running(SMALL, webhook_tries=1) as service:
        cli = command_line(service)
        receiver.answers = [500, 404, 404]
        cli("webhook", "add", receiver.url)
        name = str(only(cli)["id"])
        nothing = cli.says("webhook", "dead")
        service.guest("solo").document()
        event = service.post("/v1/vms/solo/restart")["event"]["id"]
        wait_until(lambda: only(cli)["dead"] == 1, "a dead letter")
        (letter,) = cli.json("webhook", "dead")["dead"]
        listed = cli.says("webhook", "dead", name)
        once = cli.says("webhook", "resend", name, letter["id"])
        receiver.wait_for(2)
        wait_until(lambda: only(cli)["dead"] == 1, "a dead letter again")
        again = cli.says("webhook", "resend", name)
        receiver.wait_for(3)
        wait_until(lambda: only(cli)["dead"] == 1, "a dead letter once more")
        removed = cli.says("webhook", "remove", name)

    number = letter["id"]
    assert nothing == shown("Nothing was given up.")
    assert listed == shown(
        f"{'LETTER':<{len(number)}}  WEBHOOK   EVENT     PHASE      HAPPENED   TRIES  PROBLEM",
        f"{number}  {name}  {event[:8].lower()}  Scheduled  12:00:00Z  1      answered 500",
    )
    assert once == again == shown(f"1 dead letter of {name} will be sent again.")
    assert removed == shown(f"Webhook {name} is removed. What it was not told is forgotten: 1 dead.")


def test_what_a_program_is_told_is_json(cli: CommandLine, receiver: Receiver):
    made = cli("webhook", "add", receiver.url, "--json")
    name = str(only(cli)["id"])

    assert f'"id": "{name}"' in made.out
    assert cli.json("webhook", "resend", name) == {"resent": 0}
    assert cli.json("webhook", "dead") == {"dead": []}
    assert cli.json("webhook", "remove", name)["id"] == name
    assert cli.json("webhook", "list") == {"webhooks": []}


def test_a_test_that_arrives_reports_status_and_latency(cli: CommandLine, receiver: Receiver):
    cli("webhook", "add", receiver.url)
    name = str(only(cli)["id"])

    said = cli.says("webhook", "test", name)

    assert re.fullmatch(rf"{re.escape(receiver.url)} accepted the test message: status 200, \d+ ms\.\n", said)
    assert [got.json["type"] for got in receiver.got] == ["forewarn.webhook.test"]
    assert only(cli)["delivered_since_start"] == 0


def test_a_test_that_fails_exits_with_1_and_says_why(cli: CommandLine, receiver: Receiver):
    receiver.answers = [503, 503]
    cli("webhook", "add", receiver.url)
    name = str(only(cli)["id"])

    code, complaint = cli.complains("webhook", "test", name)
    told = cli("webhook", "test", name, "--json")

    assert (code, complaint.startswith(f"error: {receiver.url} answered 503 (")) == (1, True), complaint
    assert (told.code, json.loads(told.out)["status"]) == (1, 503)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("remove", "nobody"), 1, "error: There is no webhook nobody.\nhint:  forewarn webhook list\n"),
        (("dead", "nobody"), 1, "error: There is no webhook nobody.\nhint:  forewarn webhook list\n"),
        (("resend", "nobody", "1"), 1, "error: There is no webhook nobody.\nhint:  forewarn webhook list\n"),
        (("test", "nobody"), 1, "error: There is no webhook nobody.\nhint:  forewarn webhook list\n"),
        (("add", "ftp://a.example"), 1, "error: A webhook is told over http or https"),
        (("add", "http://eve:pa55@a.example"), 1, "error: The address of a.example holds a user's name"),
        (("add", "http://a.example", "--scope", "nowhere"), 1, "error: There is no scope nowhere."),
        (("add", "http://a.example", "--format", "xml"), 2, "error: Invalid value for '--format'"),
        (("add",), 2, "error: Missing argument 'URL'."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_is_refused_with_a_sentence(
    still: CommandLine, arguments: tuple[str, ...], code: int, says: str
):
    ended, complaint = still.complains("webhook", *arguments)

    assert (ended, complaint.startswith(says)) == (code, True), complaint
    assert "pa55" not in complaint
