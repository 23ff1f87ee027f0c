"""The page about the report on a client names every code there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from forewarn.core.conduct import MOST_EVENTS, MOST_GAPS
from forewarn.core.conduct_findings import SHORTEST_NOTICE_SECONDS, SLOW_SECONDS, TIME_TO_ACT_SECONDS, Finding
from forewarn.core.notice import FREEZE_SECONDS

PAGE = (Path(__file__).parents[2] / "docs/howto/client-report.md").read_text(encoding="utf-8")


def test_every_code_has_a_row_in_the_order_in_which_findings_are_told():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(Finding)


def test_the_figures_on_the_page_are_those_of_the_code():
    for text in (
        f"the last {MOST_GAPS} gaps and the last {MOST_EVENTS} events",
        f"more than {SLOW_SECONDS:g} s pass between polls",
        f"let {SHORTEST_NOTICE_SECONDS:g} s or more pass",
        f"{FREEZE_SECONDS} s where none was",
        f"it had {TIME_TO_ACT_SECONDS:g} s or more to approve",
    ):
        assert text in PAGE
