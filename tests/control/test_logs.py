"""Where the service's log goes in a process that is not ours."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog

from forewarn.logs import get_logger
from tests.structured_logs import structlog_with


@pytest.fixture
def unconfigured() -> Iterator[None]:
    """structlog as it is before anybody has said how it is to log."""
    with structlog_with():
        yield


@pytest.mark.usefixtures("unconfigured")
def test_a_process_that_configured_nothing_hears_warnings_through_the_standard_library(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
):
    log = get_logger()

    log.info("action begins", vm="web-0")
    log.warning("clock stepped", step_s=3.0)

    assert caplog.record_tuples == [("forewarn", logging.WARNING, "event='clock stepped' step_s=3.0")]
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("unconfigured")
def test_a_process_that_configured_structlog_hears_what_it_asked_for(caplog: pytest.LogCaptureFixture):
    log, heard = get_logger(), []
    structlog.configure(processors=[lambda _logger, _method, line: heard.append(line) or ""])

    log.info("action begins", vm="web-0")

    assert heard == [{"event": "action begins", "vm": "web-0"}]
    assert caplog.records == []
