"""Faults that cannot be put in: refused before anything is played, wherever in the entry that stands."""

from __future__ import annotations

import pytest

from tests.scenario.refusing import AFTER, FLEET, GROW, refusal_of
from tests.scenario.stage import play, read

FAULT = '[[at]]\ntime = "1m"\ndo = "fault"\nfault = "status"\n'
ROWS = {
    "a VM that is not there": (
        f'{FAULT}options = {{ code = 503, vm = "app-9" }}\n',
        4,
        "There is no VM app-9.",
        "Did you mean app-0?",
    ),
    "a VM that is not there, in a table of its own": (
        f'{FAULT}[at.options]\nvm = "app-9"\n',
        4,
        "There is no VM app-9.",
        "Did you mean app-0?",
    ),
    "a VM that is not there yet": (
        f'[[at]]\ntime = 0\ndo = "fault"\nfault = "status"\noptions = {{ vm = "pool_1" }}\n{GROW}',
        4,
        f"pool_1 is not there at 0:00:00: pool gets it at 0:01:00 at the earliest (line {AFTER + 8}).",
        "Do it after that.",
    ),
    "a VM that is none": (f"{FAULT}options = {{ vm = 5 }}\n", 4, "status: vm cannot be 5.", "It is a name."),
    "a VM in both places": (
        f'{FAULT}vm = "app-0"\noptions = {{ vm = "spot-0" }}\n',
        5,
        "vm is given twice, beside the options and in them.",
        "Leave out one of them.",
    ),
    "another fault": (
        f'{FAULT}options = {{ name = "delay" }}\n',
        4,
        "The fault is named beside its options: status.",
        "Leave out name.",
    ),
    "an option of another fault": (
        f"{FAULT}options = {{ seconds = 5 }}\n",
        4,
        "status has no option 'seconds'.",
        "It takes code, retry_after, on, vm, rate, count, every or seed.",
    ),
    "requests that there are not": (
        f'{FAULT}options = {{ on = "approvals" }}\n',
        4,
        "status: on cannot be 'approvals'.",
        "It can be any, document, approval or instance.",
    ),
    "members that there are not": (
        '[[at]]\ntime = "1m"\ndo = "fault"\nfault = "missing_members"\noptions = { members = ["NotAfter"] }\n',
        4,
        "missing_members: members cannot have 'NotAfter'.",
        "They are DocumentIncarnation, ",
    ),
    "two paces": (
        f"{FAULT}options = {{ rate = 0.5, count = 2 }}\n",
        4,
        "rate and count do not go together.",
        "Give one of them",
    ),
}


@pytest.mark.parametrize(("text", "line", "what", "remedy"), ROWS.values(), ids=ROWS)
def test_options_that_cannot_be_are_refused_with_their_line(text: str, line: int, what: str, remedy: str):
    (said,) = refusal_of(FLEET + text)

    assert said.startswith(f"bad.toml:{AFTER + line}: {what}")
    assert remedy in said


def test_a_fault_whose_options_name_a_vm_strikes_that_vm_alone():
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
