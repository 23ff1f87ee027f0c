"""The page on running the service names log events that the service writes."""

from __future__ import annotations

import re

from tests.running import ROOT
from tests.tree import texts

PAGE = (ROOT / "docs/howto/run-the-service.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (?:Health checks|Limits).*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
SOURCE = "\n".join(texts(".py", under=("src/forewarn",)).values())
LOG_EVENTS = set(re.findall(r"`([a-z]+(?: [a-z]+)+)`", "\n".join(SECTIONS)))


def test_every_log_event_on_the_page_is_written_by_the_service():
    assert {event for event in LOG_EVENTS if f'"{event}"' not in SOURCE} == set()
    assert {"store unavailable", "store available", "response cut off"} <= LOG_EVENTS
