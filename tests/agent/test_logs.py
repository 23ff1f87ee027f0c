"""Lines for programs and for people, without secrets."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from forewarn.agent import handlers
from forewarn.agent.logs import begin_logging, secrets_of
from forewarn.agent.policy import Profile, Step
from forewarn.agent.settings import Peers, Settings

log = logging.getLogger("forewarn.agent")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = (log.handlers, log.level, log.propagate, logging.raiseExceptions)
    yield
    log.handlers, log.level, log.propagate, logging.raiseExceptions = before


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_program_reads_json_with_the_fields():
    stream = io.StringIO()
    begin_logging(Settings(), [], stream)

    log.info("step done", extra={"event": "E1", "step": "drain", "phase": "preparing", "note": None})

    said = json.loads(stream.getvalue())
    assert {**said, "time": ""} == {
        "time": "",
        "level": "info",
        "message": "step done",
        "event": "E1",
        "step": "drain",
        "phase": "preparing",
    }


def test_a_number_is_a_number_to_a_program():
    stream = io.StringIO()
    begin_logging(Settings(), [], stream)

    log.info("step done", extra={"seconds": 0.5, "try_number": 2})

    said = json.loads(stream.getvalue())
    assert (said["seconds"], said["try_number"]) == (0.5, 2)


def test_a_person_at_a_terminal_reads_words():
    stream = Terminal()
    begin_logging(Settings(), [], stream)

    log.warning("step failed", extra={"event": "E1", "note": "exit status 3"})

    assert stream.getvalue().endswith('Z warning: step failed  event=E1 note="exit status 3"\n')


def test_what_comes_from_outside_does_nothing_to_a_terminal():
    stream = Terminal()
    begin_logging(Settings(), ["se\ncret"], stream)

    try:
        "".encode("\x1b]0;mine\x07")
    except LookupError:
        log.exception(
            "the leader was not told: %s", "\x1b[2J\nse\ncret", extra={"event": "E\x1b[31m", "x": "a \x9b"}
        )

    first, *trace = stream.getvalue().splitlines()
    assert first.endswith('the leader was not told: \\x1b[2J\\n[secret]  event=E\\x1b[31m x="a \\x9b"')
    assert trace[-1] == "LookupError: unknown encoding: \\x1b]0;mine\\x07"


@pytest.mark.parametrize(("form", "is_json"), [("json", True), ("plain", False)])
def test_the_form_can_be_chosen(form: str, *, is_json: bool):
    stream = Terminal()
    begin_logging(Settings(log_format=form), [], stream)

    log.info("hello")

    assert stream.getvalue().startswith("{") is is_json


def test_secrets_are_in_no_line_not_even_in_a_traceback():
    stream = io.StringIO()
    begin_logging(Settings(), ["hunter22", "abc"], stream)

    try:
        raise ValueError("wrong password: hunter22")  # noqa: TRY301 - there has to be a traceback
    except ValueError:
        log.exception("it has hunter22 in it", extra={"note": "hunter22!", "event": "abc"})

    assert "hunter22" not in stream.getvalue()
    assert stream.getvalue().count("[secret]") >= 3
    assert '"event": "abc"' in stream.getvalue(), "what is that short would blot out everything"


def test_the_secrets_are_those_of_peers_and_of_handlers_options():
    step = Step(
        "tell", "webhook", {"url": "http://x/", "headers": {"Authorization": "Bearer t0ps3cret", "X-Mode": "fast"}}
    )
    settings = Settings(
        profiles={"p": Profile("p", (step,))}, peers=Peers(("127.0.0.1", 0), "shared secret", {"web-0": "x:1"})
    )

    assert {"shared secret", "Bearer t0ps3cret"} <= secrets_of(settings, handlers.find)
    assert "fast" not in secrets_of(settings, handlers.find)
