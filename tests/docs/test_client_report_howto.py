"""The page on the client report names every code and no other."""

from __future__ import annotations

import re
from pathlib import Path

from forewarn.core.notice import FREEZE_SECONDS
from forewarn.report.findings import SHORTEST_NOTICE_SECONDS, SLOW_SECONDS, TIME_TO_ACT_SECONDS, Finding
from forewarn.report.notes import MOST_EVENTS, MOST_GAPS

PAGE = (Path(__file__).parents[2] / "docs/howto/client-report.md").read_text(encoding="utf-8")


def test_page_lists_every_code_in_the_order_of_the_report():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(Finding)


def test_figures_on_the_page_are_those_of_the_code():
    for text in (
        f"the last {MOST_GAPS} gaps and the last {MOST_EVENTS} events",
        f"more than {SLOW_SECONDS:g} s pass between polls",
        f"let {SHORTEST_NOTICE_SECONDS:g} s or more pass",
        f"{FREEZE_SECONDS} s where none was announced",
        f"it had {TIME_TO_ACT_SECONDS:g} s or more to approve",
    ):
        assert text in PAGE
