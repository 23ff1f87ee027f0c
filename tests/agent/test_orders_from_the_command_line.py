"""status, approve, hold and release, against a server that answers as the agent's does."""

from __future__ import annotations

import getpass
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.agent.running_command import Outcome, agent
from tests.waiting import free_port

CASE: dict[str, Any] = {
    "event": {
        "id": "4F1C9A02-6B0E",
        "type": "Reboot",
        "resources": ["web-0", "web-1"],
        "not_before": "2026-03-02T12:15:00+00:00",
    },
    "vm": "web-0",
    "profile": "drain",
    "why": "rule usual (line 8) fits",
    "runs": [
        {"step": "one", "direction": "do", "outcome": "done", "tries": 2, "note": ""},
        {"step": "two", "direction": "do", "outcome": "begun", "tries": 1, "note": ""},
    ],
    "consent": "none",
    "consent_at": None,
    "consent_by": "",
    "held_by": "alice",
    "phase": "preparing",
    "waiting_for": ["step two, at it since 12:01:00Z"],
    "seconds_to_not_before": 600.0,
}
STATUS: dict[str, Any] = {
    "version": "0.1.0",
    "vm": ["web-0"],
    "endpoint": "http://169.254.169.254",
    "api_version": "2020-07-01",
    "is_dry_run": False,
    "is_blind": False,
    "poll_age_seconds": 0.4,
    "trouble": None,
    "events": [CASE],
}


class Answering:
    """A server with one answer, which remembers what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body: object = {"message": "Event 4F1C9A02-6B0E is approved as soon as it is prepared."}
        self.asked: list[tuple[str, str, str, Any]] = []
        answering = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                told = (self.command, self.path, self.headers.get("Authorization", ""), json.loads(body or b"{}"))
                answering.asked.append(told)
                said = json.dumps(answering.body).encode()
                self.send_response(answering.status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_POST = do_GET  # noqa: N815 - the server looks for it by this name

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"


@pytest.fixture
def answering() -> Iterator[Answering]:
    there = Answering()
    thread = threading.Thread(target=there.server.serve_forever, args=(0.01,))
    thread.start()
    yield there
    there.server.shutdown()
    thread.join()
    there.server.server_close()


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("the-token\n", encoding="utf-8")
    return tmp_path


def tell(answering: Answering, state_dir: Path, *arguments: str, **variables: str) -> Outcome:
    where = ("--listen", answering.address, "--state-dir", str(state_dir))
    return agent(*arguments, *where, FOREWARN_AGENT_CONFIG="", **variables)


def test_an_approval_goes_to_the_agent_with_its_token_and_the_name_of_who_says_so(
    answering: Answering, state_dir: Path
):
    done = tell(answering, state_dir, "approve", "4f1c", "--now", SUDO_USER="alice")

    assert done == (0, "Event 4F1C9A02-6B0E is approved as soon as it is prepared.\n", "")
    assert answering.asked == [("POST", "/events/4f1c/approve", "Bearer the-token", {"by": "alice", "now": True})]


@pytest.mark.parametrize("verb", ["hold", "release"])
def test_a_hold_and_its_release_go_the_same_way(verb: str, answering: Answering, state_dir: Path):
    done = tell(answering, state_dir, verb, "4f/1c", "--json", SUDO_USER="")

    assert (done.code, done.json) == (0, answering.body)
    assert answering.asked == [("POST", f"/events/4f%2F1c/{verb}", "Bearer the-token", {"by": getpass.getuser()})]


def test_what_the_agent_refuses_is_told_and_exits_1(answering: Answering, state_dir: Path):
    answering.status, answering.body = 409, {"message": "Several events begin with 4: 4A, 4B."}

    done = tell(answering, state_dir, "approve", "4")

    assert (done.code, done.out, done.err) == (1, "", "error: Several events begin with 4: 4A, 4B.\n")


def test_without_the_token_the_agent_is_not_asked(answering: Answering, tmp_path: Path):
    done = tell(answering, tmp_path, "approve", "4f1c")

    assert done.code == 1
    assert "token cannot be read: No such file or directory." in done.err
    assert answering.asked == []


def test_status_says_what_is_seen_done_and_waited_for(answering: Answering, state_dir: Path):
    answering.body = STATUS

    done = tell(answering, state_dir, "status")

    assert done.out.splitlines() == [
        "Watching http://169.254.169.254, answered 0 s ago; this VM is web-0.",
        "",
        "Reboot 4F1C9A02-6B0E of web-0, web-1: preparing",
        "  not before  2026-03-02T12:15:00+00:00 (in 10 min)",
        "  whose       this VM's, as web-0",
        "  profile     drain: rule usual (line 8) fits",
        "  steps       one: done at try 2",
        "              two: under way",
        "  held        by alice",
        "  waits for   step two, at it since 12:01:00Z",
    ]


def test_status_says_that_the_agent_is_blind(answering: Answering, state_dir: Path):
    answering.body = STATUS | {"is_blind": True, "trouble": "it answers 500", "is_dry_run": True, "events": []}

    done = tell(answering, state_dir, "status", "--all")

    assert "BLIND: it answers 500" in done.out
    assert "This is a dry run" in done.out
    assert "There are no events." in done.out
    assert answering.asked[0][1] == "/events?all=1"


def test_status_for_programs_is_what_the_agent_said(answering: Answering, state_dir: Path):
    answering.body = STATUS

    assert tell(answering, state_dir, "status", "--json").json == STATUS


@pytest.mark.parametrize("command", ["status", "approve 4f", "hold 4f", "release 4f"])
def test_without_an_agent_that_answers_a_command_exits_3(command: str, state_dir: Path):
    port = free_port()

    done = agent(
        *command.split(), "--listen", f"127.0.0.1:{port}", "--state-dir", str(state_dir), FOREWARN_AGENT_CONFIG=""
    )

    assert (done.code, done.out) == (3, "")
    assert f"No agent answers at 127.0.0.1:{port}" in done.err
    assert "hint:  Is it running?" in done.err


def test_an_agent_that_listens_nowhere_cannot_be_talked_to():
    done = agent("status", "--listen", "false", FOREWARN_AGENT_CONFIG="")

    assert (done.code, done.out) == (3, "")
    assert "The agent listens nowhere" in done.err
