"""`agent test`: what other systems get is marked as a test, and somebody at a terminal is asked first."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.agent.receiver import Got, Receiver, receiving
from tests.agent.running_command import AGENT, Outcome, agent, bare
from tests.waiting import as_typed

QUESTION = b"Go on? [y/N] "


def written(tmp_path: Path, step: str) -> Path:
    file = tmp_path / "agent.toml"
    file.write_text(f"[[rules]]\nprofile = 'x'\n[profiles.x]\n[[profiles.x.steps]]\n{step}\n", encoding="utf-8")
    return file


def got_by(receiver: Receiver, tmp_path: Path, step: str) -> Got:
    """What the receiver gets when the step is tested."""
    file = written(tmp_path, step.replace("URL", receiver.url))

    done = agent("test", "--config", str(file), "x", "--vm", "web-1")

    assert done.code == 0, done
    return receiver.got[0]


@pytest.mark.parametrize("preset", ["slack", "teams"])
@pytest.mark.parametrize("text", ["${summary}", "web-1 is drained"])
def test_a_message_to_a_chat_says_that_it_is_a_test(preset: str, text: str, tmp_path: Path):
    with receiving() as receiver:
        got = got_by(receiver, tmp_path, f"uses = 'webhook'\nurl = 'URL/'\npreset = '{preset}'\ntext = '{text}'")

    shown = got.json["text"] if preset == "slack" else got.json["attachments"][0]["content"]["body"][0]["text"]
    assert shown.startswith("TEST: ")
    assert shown.count("TEST: TEST: ") == 0
    assert got.headers["Forewarn-Test"] == "true"


def test_a_webhook_says_so_for_programs_too(tmp_path: Path):
    with receiving() as receiver:
        got = got_by(receiver, tmp_path, "uses = 'webhook'\nurl = 'URL/'")

    assert got.json["is_test"] is True
    assert got.json["event"]["Description"].startswith("TEST: ")


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ('{"text": "drained"}', {"text": "TEST: drained"}),
        ('{"text": "${summary}", "n": 1}', None),
        ('{"alert": ["${vm}"], "test": ${is_test}}', {"alert": ["web-1"], "test": True}),
        ('["${vm}"]', ["web-1"]),
    ],
)
def test_a_body_of_ones_own_is_marked_in_its_text_or_by_a_header(body: str, sent: object, tmp_path: Path):
    with receiving() as receiver:
        got = got_by(receiver, tmp_path, f"uses = 'webhook'\nurl = 'URL/'\nbody = '{body}'")

    assert got.json == sent if sent else got.json["text"].startswith("TEST: Reboot")
    assert got.headers["Forewarn-Test"] == "true"


def test_an_http_call_and_its_undo_are_marked_by_a_header(tmp_path: Path):
    with receiving() as receiver:
        got_by(receiver, tmp_path, "uses = 'http'\nurl = 'URL/drain'\nundo = { url = 'URL/back' }")

    assert [each.path for each in receiver.got] == ["/drain", "/back"]
    assert [each.headers["Forewarn-Test"] for each in receiver.got] == ["true", "true"]


def test_a_command_is_told_by_a_variable(tmp_path: Path):
    file = written(tmp_path, f"uses = 'command'\nshell = true\ncommand = 'echo $EVENT_TEST > {tmp_path}/said'")

    assert agent("test", "--config", str(file), "x").code == 0

    assert (tmp_path / "said").read_text() == "true\n"


def at_a_terminal(file: Path, answer: bytes, *arguments: str) -> tuple[Outcome, bool]:
    """Run the command at a terminal; how it ended, and whether it asked."""
    ours, theirs = pty.openpty()
    command = as_typed(*AGENT, "test", "--config", str(file), "x", *arguments)
    running = subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=bare(), text=True)
    os.close(theirs)
    said = b""
    try:
        while piece := _read(ours):
            said += piece
            if answer and said.endswith(QUESTION):
                os.write(ours, answer)
                answer = b""
        out, _ = running.communicate(timeout=60)
    finally:
        os.close(ours)
        running.kill()
    return Outcome(running.returncode, out, said.decode()), QUESTION in said


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1000)
    except OSError:  # nobody has the other side open any more
        return b""


@pytest.mark.parametrize(("answer", "calls"), [(b"y\n", 1), (b"n\n", 0), (b"\n", 0), (b"\x04", 0)], ids=repr)
def test_somebody_at_a_terminal_is_asked_before_others_are_called(answer: bytes, calls: int, tmp_path: Path):
    with receiving() as receiver:
        file = written(tmp_path, f"name = 'tell'\nuses = 'webhook'\nurl = '{receiver.url}/'")
        done, has_asked = at_a_terminal(file, answer)

    assert has_asked
    assert "tell (webhook)" in done.err
    assert (done.code, len(receiver.got)) == (0 if calls else 1, calls)


def test_yes_skips_the_question(tmp_path: Path):
    with receiving() as receiver:
        file = written(tmp_path, f"uses = 'webhook'\nurl = '{receiver.url}/'")
        done, has_asked = at_a_terminal(file, b"", "--yes")

    assert (done.code, has_asked, len(receiver.got)) == (0, False, 1)


def test_nobody_is_asked_about_steps_that_act_on_this_machine_alone(tmp_path: Path):
    done, has_asked = at_a_terminal(written(tmp_path, "uses = 'readiness'\nnotice_seconds = 0"), b"")

    assert (done.code, has_asked) == (0, False)
