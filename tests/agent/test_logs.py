"""Lines for programs and for people, without secrets."""

from __future__ import annotations

import io
import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forewarn.agent import handlers
from forewarn.agent.logs import begin_logging, secrets_of
from forewarn.agent.policy import Profile, Step
from forewarn.agent.settings import Peers, Settings
from tests.agent.outputs import files_no_longer_than, full_pipe
from tests.waiting import wait_until

BOUND = 30

log = logging.getLogger("forewarn.agent")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = (log.handlers, log.level, log.propagate, logging.raiseExceptions)
    yield
    log.handlers, log.level, log.propagate, logging.raiseExceptions = before


class Paper(io.TextIOWrapper):
    """A stream that can be read."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    @property
    def text(self) -> str:
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]


class Terminal(Paper):
    def isatty(self) -> bool:
        return True


@contextmanager
def logging_to(stream: io.TextIOBase, *secrets: str, form: str = "auto") -> Iterator[None]:
    """What is logged in the block is in the stream after it."""
    outlet = begin_logging(Settings(log_format=form), secrets, stream)  # type: ignore[arg-type]
    yield
    outlet.flush(BOUND)
    outlet.close()


def test_a_program_reads_json_with_the_fields():
    stream = Paper()

    with logging_to(stream):
        log.info("step done", extra={"event": "E1", "step": "drain", "phase": "preparing", "note": None})

    said = json.loads(stream.text)
    assert {**said, "time": ""} == {
        "time": "",
        "level": "info",
        "message": "step done",
        "event": "E1",
        "step": "drain",
        "phase": "preparing",
    }


def test_a_number_is_a_number_to_a_program():
    stream = Paper()

    with logging_to(stream):
        log.info("step done", extra={"seconds": 0.5, "try_number": 2})

    said = json.loads(stream.text)
    assert (said["seconds"], said["try_number"]) == (0.5, 2)


def test_a_person_at_a_terminal_reads_words():
    stream = Terminal()

    with logging_to(stream):
        log.warning("step failed", extra={"event": "E1", "note": "exit status 3"})

    assert stream.text.endswith('Z warning: step failed  event=E1 note="exit status 3"\n')


def test_what_comes_from_outside_does_nothing_to_a_terminal():
    stream = Terminal()

    with logging_to(stream, "se\ncret"):
        try:
            "".encode("\x1b]0;mine\x07")
        except LookupError:
            log.exception(
                "the leader was not told: %s", "\x1b[2J\nse\ncret", extra={"event": "E\x1b[31m", "x": "a \x9b"}
            )

    first, *trace = stream.text.splitlines()
    assert first.endswith('the leader was not told: \\x1b[2J\\n[secret]  event=E\\x1b[31m x="a \\x9b"')
    assert trace[-1] == "LookupError: unknown encoding: \\x1b]0;mine\\x07"


@pytest.mark.parametrize(("form", "is_json"), [("json", True), ("plain", False)])
def test_the_form_can_be_chosen(form: str, *, is_json: bool):
    stream = Terminal()

    with logging_to(stream, form=form):
        log.info("hello")

    assert stream.text.startswith("{") is is_json


def test_secrets_are_in_no_line_not_even_in_a_traceback():
    stream = Paper()

    with logging_to(stream, "hunter22", "abc"):
        try:
            raise ValueError("wrong password: hunter22")  # noqa: TRY301 - there has to be a traceback
        except ValueError:
            log.exception("it has hunter22 in it", extra={"note": "hunter22!", "event": "abc"})

    assert "hunter22" not in stream.text
    assert stream.text.count("[secret]") >= 3
    assert '"event": "abc"' in stream.text, "what is that short would blot out everything"


def test_the_secrets_are_those_of_peers_and_of_handlers_options():
    step = Step(
        "tell", "webhook", {"url": "http://x/", "headers": {"Authorization": "Bearer t0ps3cret", "X-Mode": "fast"}}
    )
    settings = Settings(
        profiles={"p": Profile("p", (step,))}, peers=Peers(("127.0.0.1", 0), "shared secret", {"web-0": "x:1"})
    )

    assert {"shared secret", "Bearer t0ps3cret"} <= secrets_of(settings, handlers.find)
    assert "fast" not in secrets_of(settings, handlers.find)


# Readers who do not read.


def test_whoever_does_not_read_the_log_holds_up_nobody_and_is_told_how_many_lines_are_missing():
    count = 6000  # of some hundred bytes: more than is kept for anybody
    with full_pipe() as pipe:
        outlet = begin_logging(Settings(), [], pipe.stream)
        logging_them = threading.Thread(target=log_lines, args=(count,), daemon=True)
        logging_them.start()
        logging_them.join(BOUND)
        is_held_up = logging_them.is_alive()

        pipe.read_on()
        outlet.flush(BOUND)
        log.info("and on")
        outlet.flush(BOUND)
        outlet.close()
        *kept, word, last = [json.loads(line)["message"] for line in pipe.read_to_the_end()]

    assert not is_held_up
    assert kept == [f"line {number}" for number in range(len(kept))]
    assert 1000 < len(kept) < count
    assert word == f"lines of log that are missing here, as nobody took them: {count - len(kept)}"
    assert last == "and on"


def log_lines(count: int) -> None:
    for number in range(count):
        log.info("line %d", number, extra={"note": "as long as a line mostly is"})


def test_lines_that_nobody_takes_do_not_keep_whoever_logs_from_ending():
    with full_pipe() as pipe:
        outlet = begin_logging(Settings(), [], pipe.stream)
        log.info("in vain")
        closing = threading.Thread(target=outlet.close, daemon=True)
        closing.start()
        closing.join(BOUND)
        is_held_up = closing.is_alive()
        pipe.read_on()
        wait_until(lambda: bool(pipe.lines), "the line, as somebody reads after all")

    assert not is_held_up


def test_what_a_full_disk_did_not_take_is_counted_and_spoils_no_other_line(tmp_path: Path):
    with (tmp_path / "log").open("w", encoding="utf-8") as stream:
        outlet = begin_logging(Settings(), [], stream)
        with files_no_longer_than(20):
            log.info("cut short")
            log.info("not there at all")
            outlet.flush(BOUND)
        log.info("whole")
        outlet.flush(BOUND)
        outlet.close()

    cut, word, whole = (tmp_path / "log").read_text().splitlines()
    assert len(cut) == 20
    assert json.loads(word)["message"].endswith("as nobody took them: 2")
    assert json.loads(whole)["message"] == "whole"


def test_a_pipe_that_says_that_it_is_full_instead_of_blocking_gets_every_line():
    with full_pipe() as pipe:
        os.set_blocking(pipe.stream.fileno(), False)
        outlet = begin_logging(Settings(), [], pipe.stream)
        log.info("one")
        log.info("two")
        pipe.read_on()
        outlet.flush(BOUND)
        outlet.close()
        told = [json.loads(line)["message"] for line in pipe.read_to_the_end()]

    assert told == ["one", "two"]
