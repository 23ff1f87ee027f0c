"""structlog for a while: afterwards it is as it was, also if nobody had configured it.

A structlog that counts as configured with its defaults renders every traceback in colour, which takes 30 ms each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog


@contextmanager
def structlog_with(**settings: Any) -> Iterator[None]:
    """Configure structlog, and undo it in the end; without settings it is unconfigured."""
    before, was_configured = structlog.get_config(), structlog.is_configured()
    structlog.reset_defaults()
    try:
        if settings:
            structlog.configure(**settings)
        yield
    finally:
        structlog.reset_defaults()
        if was_configured:
            structlog.configure(**before)
