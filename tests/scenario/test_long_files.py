"""A long file is checked in a moment."""

from __future__ import annotations

import time

from forewarn.scenario.check import check
from forewarn.scenario.file import read_scenario
from tests.scenario.refusing import refusal_of

CYCLES = 200
AT_MOST_SECONDS = 3  # of work; a fifth of one is usual


def long_file(last: str) -> str:
    """A VM that is to be restarted time and again, and is not."""
    text = ['[[vms]]\nname = "app-0"\n[[guests]]\nvm = "app-0"\nevery = "1m"\n']
    for minute in range(0, CYCLES * 10, 10):
        text += [
            f'[[at]]\ntime = "{minute}m"\ndo = "restart"\nvm = "app-0"\n',
            f'[[at]]\ntime = "{minute + 5}m"\ndo = "cancel"\nvm = "app-0"\n',
            f'[[expect]]\ntime = "{minute + 4}m"\nvm = "app-0"\nphase = "Scheduled"\n',
        ]
    return "".join(text) + f'[[expect]]\nvm = "app-0"\n{last}\n'


def test_a_file_of_hundreds_of_acts_and_expectations_is_checked_in_a_moment(figures):
    text = read_scenario(long_file('phase = "Cancelled"'), "long.toml")
    began = time.process_time()

    scenario = check(text)

    took = time.process_time() - began
    figures(f"{len(scenario.acts)} acts, {len(scenario.expectations)} expectations: {took:.2f} s")
    assert took < AT_MOST_SECONDS


def test_what_is_wrong_at_the_end_of_a_long_file_is_found():
    (said,) = refusal_of(long_file('kind = "Freeze"\nphase = "Scheduled"'))

    assert "A Freeze of app-0 cannot be: nothing in this file makes one." in said
