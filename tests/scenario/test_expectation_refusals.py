"""Plain mistakes in expectations: refused before anything is played."""

from __future__ import annotations

import pytest

from tests.scenario.refusing import AFTER, DELETE, EXPECT_OF_GUEST, EXPECT_OF_RESTART, FLEET, refused_lines

ROWS = {
    "nothing expected": (('[[expect]]\nvm = "app-0"\n'), 0),
    "expected of nobody": (('[[expect]]\nphase = "Started"\n'), 1),
    "expected of somebody else": (('[[guests]]\nvm = "app-0"\n[[expect]]\nguest = "app-0"\nempty = true\n'), 4),
    "expected of two": (
        ('[[guests]]\nvm = "app-0"\n[[expect]]\nguest = "app-0"\nvm = "app-0"\nempty = true\n'),
        2,
    ),
    "an unknown guest": (('[[guests]]\nvm = "app-0"\n[[expect]]\nguest = "app"\nids = 0\n'), 3),
    "what no guest ever sees": (
        ('[[guests]]\nvm = "app-0"\n[[expect]]\nguest = "app-0"\nsaw = ["Completed"]\n'),
        4,
    ),
    "a phase that is none": (('[[expect]]\nvm = "app-0"\nphase = "Done"\n'), 2),
    "a resource that is no VM": ((f'{EXPECT_OF_RESTART}resources = ["app-0", "ap-1"]\n'), 7),
    "a count below 0": ((f"{EXPECT_OF_RESTART}count = -1\n"), 7),
    "open below 0": (('[[expect]]\ntime = "2m"\nopen = -1\n'), 2),
    "events below 0": ((f"{EXPECT_OF_RESTART}events = -1\n"), 7),
    "ids below 0": ((f"{EXPECT_OF_GUEST}ids = -1\n"), 9),
    "an incarnation below 1": ((f"{EXPECT_OF_RESTART}incarnation = -4\n"), 7),
    "gone, and never seen": ((f'{EXPECT_OF_GUEST}saw = ["gone"]\n'), 9),
    "NotBefore of what has started": (
        (f'{EXPECT_OF_RESTART.replace("2m", "16m")}phase = "Started"\nnot_before_in = "1m"\n'),
        8,
    ),
    "no event, and its source": (('[[expect]]\nvm = "app-0"\nphase = "none"\nsource = "User"\n'), 3),
    "no event, counted": ((f'{EXPECT_OF_RESTART}phase = "none"\ncount = 1\n'), 8),
    "a count of 0, and a phase": ((f'{EXPECT_OF_RESTART}count = 0\nphase = "Scheduled"\n'), 8),
    "an empty document with events": ((f"{EXPECT_OF_RESTART}empty = true\nevents = 1\n"), 8),
    "deleted, and on": ((f'{DELETE}[[expect]]\ntime = "10m"\nvm = "gone-0"\nstate = "deleted"\non = true\n'), 8),
    "a mark that no event bears": ((f'{EXPECT_OF_RESTART}fault = "delay"\n'), 7),
}


@pytest.mark.parametrize(("text", "line"), ROWS.values(), ids=ROWS)
def test_mistake_in_an_expectation_is_refused_with_its_line(text: str, line: int):
    assert refused_lines(FLEET + text) == [AFTER + line]
