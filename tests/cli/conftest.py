"""What tests of the command line share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import pytest
import structlog

from tests.cli.command import CommandLine
from tests.fleets import SMALL
from tests.running import RunningService, running
from tests.structured_logs import structlog_with


@pytest.fixture(autouse=True)
def without_logs() -> Iterator[None]:
    """A service in this process would log to the streams that commands write to: let it be quiet."""
    with structlog_with(processors=[_drop]):
        yield


def _drop(*_: object) -> NoReturn:
    raise structlog.DropEvent


@pytest.fixture
def cli(service: RunningService) -> CommandLine:
    """The command line of the service."""
    return command_line(service)


@pytest.fixture(scope="module")
def still() -> Iterator[CommandLine]:
    """The command line of a service that no test changes anything of."""
    with running(SMALL) as service:
        yield command_line(service)


def command_line(service: RunningService) -> CommandLine:
    return CommandLine(f"http://127.0.0.1:{service.service.operator[1]}")
