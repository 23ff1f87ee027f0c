"""How the service logs: an event's name and fields, through structlog as the process has configured it.

A process that has not, because it is somebody's test, hears warnings through the standard library's logger
`forewarn` and nothing on its standard output.
"""

from __future__ import annotations

import logging
from typing import Any, cast

import structlog
from structlog.typing import FilteringBoundLogger

_library = structlog.wrap_logger(
    logging.getLogger("forewarn"),
    processors=[
        structlog.stdlib.filter_by_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["event"]),
    ],
    wrapper_class=structlog.stdlib.BoundLogger,
)


class _Logger:
    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a logger can do
        speaker = structlog.get_logger() if structlog.is_configured() else _library
        return getattr(speaker, name)


def get_logger() -> FilteringBoundLogger:
    """A logger for a module of ours; where its lines go is looked up for each of them."""
    return cast(FilteringBoundLogger, _Logger())
