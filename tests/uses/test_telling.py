"""An administrator is told, by a webhook that fails twice."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from tests.running import free_port, wait_until
from tests.uses.machine import a_machine, program
from tests.uses.page import block, filled

SECRET = "T0P-SECRET-HOOK"


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_webhook_that_fails_twice_arrives_and_says_exactly_what_was_to_be_said(tmp_path: Path):
    port, got, address = free_port(), tmp_path / "got.jsonl", tmp_path / "chat.url"
    address.write_text(f"http://127.0.0.1:{port}/hooks/{SECRET}\n")
    address.chmod(0o600)
    config = filled(block("Telling an administrator", "toml"), {"/etc/forewarn/chat.url": address})
    with a_machine(tmp_path, config) as machine:
        machine.start(*program("administrator", port, got))
        wait_until(lambda: _listens(port), "the administrator to listen")
        event = machine.announce()
        wait_until(lambda: machine.step(event, "tell").get("outcome") == "done", "the webhook to arrive")
        note = machine.step(event, "tell")["note"]
        machine.service.advance(minutes=15)
        machine.finish(event)

    *tries, last = lines(got)
    said = [json.loads(each["body"]) for each in (*tries, last)]
    keys = [each["headers"]["Idempotency-Key"] for each in (*tries, last)]
    assert [each["answered"] for each in tries] == [500, None, 200]
    assert said == [
        *[{"text": "Reboot of web-0, not before Mon, 02 Mar 2026 12:15:00 GMT"}] * 3,
        {"text": "Reboot of web-0 is over"},
    ]
    assert len({each["body"] for each in tries}) == 1
    assert len(set(keys[:3])) == 1, "by which a receiver can tell a repeat"
    assert keys[3] != keys[0]
    assert {each["path"] for each in (*tries, last)} == {f"/hooks/{SECRET}"}
    assert {each["headers"]["Content-Type"] for each in (*tries, last)} == {"application/json"}
    assert note == "it arrived with status 200, try 3"
    assert SECRET not in json.dumps(machine.log)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
