"""Mistakes in faults: refused before anything is played, with the line of the key."""

from __future__ import annotations

import pytest

from tests.scenario.refusing import AFTER, FLEET, refused_lines
from tests.scenario.stage import play, read

FAULT = '[[at]]\ntime = "1m"\ndo = "fault"\nfault = "status"\n'
ROWS = {
    "a VM that is not there": ((f'{FAULT}options = {{ code = 503, vm = "app-9" }}\n'), 4),
    "a VM that is not there, in a table of its own": ((f'{FAULT}[at.options]\nvm = "app-9"\n'), 4),
    "a VM that is none": ((f"{FAULT}options = {{ vm = 5 }}\n"), 4),
    "a VM in both places": ((f'{FAULT}vm = "app-0"\noptions = {{ vm = "spot-0" }}\n'), 5),
    "another fault": ((f'{FAULT}options = {{ name = "delay" }}\n'), 4),
    "an option of another fault": ((f"{FAULT}options = {{ seconds = 5 }}\n"), 4),
    "requests that there are not": ((f'{FAULT}options = {{ on = "approvals" }}\n'), 4),
    "members that there are not": (
        ('[[at]]\ntime = "1m"\ndo = "fault"\nfault = "missing_members"\noptions = { members = ["NotAfter"] }\n'),
        4,
    ),
    "two paces": ((f"{FAULT}options = {{ rate = 0.5, count = 2 }}\n"), 4),
}


@pytest.mark.parametrize(("text", "line"), ROWS.values(), ids=ROWS)
def test_mistake_in_a_fault_is_refused_with_its_line(text: str, line: int):
    assert refused_lines(FLEET + text) == [AFTER + line]


def test_fault_with_a_vm_in_its_options_hits_only_that_vm():
    guests = '[[guests]]\nvm = "app-0"\n[[guests]]\nvm = "spot-0"\n'
    wanted = '[[expect]]\ntime = "61s"\nguest = "{}"\nstatus = {}\n'

    played = play(
        read(
            f'{FLEET}{guests}{FAULT}options = {{ vm = "app-0" }}\n'
            + wanted.format("app-0", 503)
            + wanted.format("spot-0", 200)
        )
    )

    assert played.differences == []
    assert "fault status app-0" in played.texts
