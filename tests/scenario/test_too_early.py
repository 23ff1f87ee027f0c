"""What takes its time: expected before it can be over, it is refused, and told from when on it may be."""

from __future__ import annotations

import pytest

from forewarn.scenario.check import check
from forewarn.scenario.file import read_scenario
from tests.scenario.refusing import AFTER, APPROVING, FLEET, LATE, MAINTAIN, RESTART, TOLD, UNAPPROVED, refusal_of

HOSTS = '[[hosts]]\nname = "rack"\n'
COMPLETED = '[[expect]]\ntime = "{}"\nvm = "app-0"\nphase = "Completed"\n'
SLOW = "[settings]\nlead = 10\nsimulated_seconds = { reboot = 300 }\n"
FROM_WHEN = {
    "a reboot that is approved": (APPROVING + RESTART, "0:04:04", "0:04:05"),
    "a reboot that nobody approves": (RESTART, "0:17:04", "0:17:05"),
    "a reboot that takes longer": (SLOW + RESTART, "0:21:09", "0:21:10"),
    "a pause of the usual length": (MAINTAIN, "2:01:13", "2:01:14"),
    "a pause of no length": (f"{MAINTAIN}duration_seconds = 0\n", "2:01:04", "2:01:05"),
    "a live migration": (f'{HOSTS}{MAINTAIN}by = "live_migration"\nduration_seconds = 30\n', "2:01:34", "2:01:35"),
    "a redeploy": (HOSTS + RESTART.replace("restart", "redeploy"), "0:13:04", "0:13:05"),
}


@pytest.mark.parametrize(("text", "early", "first"), FROM_WHEN.values(), ids=FROM_WHEN)
def test_what_cannot_be_done_yet_is_refused_and_the_remedy_says_from_when_on_it_can(
    text: str, early: str, first: str
):
    (said,) = refusal_of(FLEET + text + COMPLETED.format(early))

    assert f"An event of app-0 cannot be Completed at {early}: it is announced at 0:01:00" in said
    assert f"Expect it from {first} on" in said
    assert check(read_scenario(FLEET + text + COMPLETED.format(first), "good.toml"))


def test_how_long_it_takes_is_told():
    (said,) = refusal_of(FLEET + APPROVING + RESTART + COMPLETED.format("0:02:59"))

    assert said == (
        f"bad.toml:{AFTER + 10}: An event of app-0 cannot be Completed at 0:02:59: {TOLD} {AFTER + 3}) with {LATE}"
        "; it takes 65 s from its start. "
        "Expect it from 0:04:05 on, or let a guest approve it before (approve_after)."
    )


def test_a_guest_does_not_see_gone_what_has_only_started():
    seen = '[[expect]]\ntime = "{}"\nguest = "app-0"\nsaw = ["Scheduled", "Started", "gone"]\n'
    text = f'{FLEET}[[guests]]\nvm = "app-0"\n{RESTART}'

    (said,) = refusal_of(text + seen.format("0:16:04"))

    assert f"An event of app-0 cannot be gone at 0:16:04: {TOLD} {AFTER + 2}) with {UNAPPROVED[:-1]}" in said
    assert check(read_scenario(text + seen.format("0:16:05"), "good.toml"))


def test_what_a_stop_may_end_sooner_is_not_refused():
    stop = '[[at]]\ntime = "16m"\ndo = "stop"\nvm = "app-0"\n'

    assert check(read_scenario(FLEET + RESTART + stop + COMPLETED.format("0:16:00"), "good.toml"))


def test_how_long_work_takes_is_not_held_against_a_guest_outside():
    outside = '[[guests]]\nvm = "app-0"\noutside = true\n'

    assert check(read_scenario(FLEET + outside + RESTART + COMPLETED.format("0:01:00"), "good.toml"))
