"""The page on faults: its commands, typed one after the other, do what they say."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import pytest

from tests.cli.conftest import command_line
from tests.fleets import SMALL
from tests.running import ROOT, RunningService, running

PAGE = (ROOT / "docs/howto/faults.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^(?:forewarn fault|curl) .*$", PAGE, re.MULTILINE)


@pytest.fixture
def service() -> Iterator[RunningService]:
    with running(SMALL) as service:
        yield service


def curl(service: RunningService, *words: str) -> int:
    """The status that the request of a command line is answered with."""
    *options, url = words
    path = url.removeprefix("http://127.0.0.1:8255")
    if options[:1] == ["-d"]:
        return service.operator("POST", path, json.loads(options[1])).status
    return service.operator(options[1] if options else "GET", path).status


def test_the_commands_of_the_page_can_be_typed_in_its_order(service: RunningService):
    forewarn = command_line(service)
    statuses = []
    for command in COMMANDS:
        program, *words = shlex.split(command)
        if program == "curl":
            statuses.append(curl(service, *words))
        else:
            forewarn.says(*words)

    assert len(COMMANDS) == 7
    assert statuses == [201, 200, 200]
    assert service.get("/v1/faults")["faults"] == []
