"""What can be, if only just: it is not refused."""

from __future__ import annotations

import pytest

from forewarn.scenario.check import check
from forewarn.scenario.file import read_scenario
from tests.scenario.refusing import DELETE, EXPECT_OF_GUEST, FLEET, GROW, MAINTAIN, RESTART
from tests.scenario.stage import play, read

MAY_BE = {
    "what a fault answers with": (
        '[[at]]\ntime = 0\ndo = "fault"\nfault = "proxy_page"\noptions = { code = 407 }\n'
        '[[guests]]\nvm = "app-0"\n[[expect]]\ntime = "1m"\nguest = "app-0"\nstatus = 407\n'
    ),
    "what a stale document shows": (
        f'[[at]]\ntime = 0\ndo = "fault"\nfault = "stale"\n{EXPECT_OF_GUEST}saw = ["Started", "Scheduled"]\n'
    ),
    "a VM that is evicted, and gone": (
        '[[at]]\ntime = "1m"\ndo = "evict"\nvm = "spot-0"\n'
        '[[expect]]\ntime = "5m"\nvm = "spot-0"\nstate = "deleted"\n'
    ),
    "a pause of the usual length, and of another": (
        f'{MAINTAIN}[[at]]\ntime = "5h"\ndo = "maintain"\nvm = "app-0"\nduration_seconds = 3\n'
        '[[expect]]\ntime = "4h"\nvm = "app-0"\nduration_seconds = 9\n'
        '[[expect]]\ntime = "6h"\nvm = "app-0"\nduration_seconds = 3\n'
    ),
    "an instance that is back when its set has grown again": (
        '[[scale_sets]]\nname = "pool"\ncapacity = 2\n'
        '[[at]]\ntime = 0\ndo = "scale"\nscale_set = "pool"\nto = 0\n'
        '[[at]]\ntime = "10m"\ndo = "scale"\nscale_set = "pool"\nto = 2\n'
        '[[at]]\ntime = "20m"\ndo = "redeploy"\nvm = "pool_1"\n'
        '[[at]]\ntime = "40m"\ndo = "fail"\nvm = "app-0"\n'
        '[[expect]]\ntime = "20m"\nvm = "pool_1"\nstate = "running"\n'
        '[[expect]]\ntime = "40m"\nvm = "pool_1"\nkind = "Redeploy"\nsource = "Platform"\n'
    ),
    "a start of a VM whose host has failed": (
        '[[at]]\ntime = "1m"\ndo = "fail"\nvm = "app-0"\n[[at]]\ntime = "2m"\ndo = "start"\nvm = "app-0"\n'
    ),
    "a start of a VM that is stopped": (
        '[[at]]\ntime = "1m"\ndo = "stop"\nvm = "app-0"\n[[at]]\ntime = "2m"\ndo = "start"\nvm = "app-0"\n'
    ),
    "an approval of what is done to the host": (
        f'{MAINTAIN}[[at]]\ntime = "2m"\ndo = "approve"\nvm = "app-0"\nkind = "Freeze"\n'
    ),
    "a VM that a rollout meets twice": (
        f'{RESTART}[[at]]\ntime = "1m"\ndo = "rollout"\nby = "live_migration"\n'
        '[[expect]]\ntime = "2h"\nvm = "app-0"\ncount = 3\n'
    ),
    "an event whose work was done by a stop before it": (
        '[[at]]\ntime = "1m"\ndo = "stop"\nvm = "app-0"\n[[at]]\ntime = "61s"\ndo = "maintain"\nvm = "app-0"\n'
        '[[expect]]\ntime = "30m"\nvm = "app-0"\nphase = "Cancelled"\n'
    ),
    "an event whose VM was moved by another": (
        '[[at]]\ntime = "10s"\ndo = "maintain"\nvm = "app-0"\nkind = "Redeploy"\n'
        '[[at]]\ntime = "11s"\ndo = "degrade"\nvm = "app-0"\nrisk = "low"\n'
        '[[expect]]\ntime = "20m"\nvm = "app-0"\nphase = "Cancelled"\n'
    ),
    "unchanged, of a guest that sends a condition": (
        '[[guests]]\nvm = "app-0"\nconditional = true\n[[expect]]\ntime = "1m"\nguest = "app-0"\nstatus = 304\n'
    ),
    "off after a day": '[[expect]]\ntime = "24h"\nvm = "app-0"\non = false\n',
    "on, as a guest has asked": (
        '[scenario]\nenabled = false\n[[guests]]\nvm = "app-0"\n[[expect]]\ntime = 0\nvm = "app-0"\non = true\n'
    ),
    "who is not there yet, and of whom nothing is expected that needs it": (
        f'{GROW}[[expect]]\ntime = 0\nvm = "pool_1"\nphase = "none"\n'
    ),
    "an event of others that a guest approves who comes later": (
        f'{GROW}[[guests]]\nvm = "pool_1"\nstarts = "1m"\nothers = true\napprove_after = 0\n'
        '[[at]]\ntime = "2m"\ndo = "restart"\nvm = "pool_0"\n'
        '[[expect]]\ntime = "2m5s"\nvm = "pool_0"\nphase = "Started"\n'
    ),
    "a VM that is moved to a host where something is to be done": (
        f'{MAINTAIN}[[at]]\ntime = "2m"\ndo = "redeploy"\nvm = "spot-0"\n'
        '[[expect]]\ntime = "30m"\nvm = "spot-0"\ncount = 2\n'
    ),
}


@pytest.mark.parametrize("text", MAY_BE.values(), ids=MAY_BE)
def test_only_what_is_certain_not_to_be_is_refused(text: str):
    assert check(read_scenario(FLEET + text, "good.toml"))


FAILED_HOST = f'{DELETE}[[at]]\ntime = "2m"\ndo = "fail"\nvm = "gone-0"\n'
SO_IT_IS = {
    "an eviction of a VM that is under notice to be restarted": (
        '[[at]]\ntime = "1m"\ndo = "restart"\nvm = "spot-0"\n[[at]]\ntime = "2m"\ndo = "evict"\nvm = "spot-0"\n'
        '[[expect]]\ntime = "20m"\nvm = "spot-0"\nkind = "Reboot"\nphase = "Cancelled"\n'
        '[[expect]]\ntime = "20m"\nvm = "spot-0"\nkind = "Preempt"\nphase = "Completed"\n'
    ),
    "a live migration, which announces five seconds": (
        f'{MAINTAIN}by = "live_migration"\n[[hosts]]\nname = "spare"\n'
        '[[expect]]\ntime = "2m"\nvm = "app-0"\nduration_seconds = 5\n'
    ),
    "a VM that runs on as its host has failed before it was deleted": (
        f'{FAILED_HOST}[[at]]\ntime = "30m"\ndo = "restart"\nvm = "gone-0"\n'
        '[[expect]]\ntime = "29m"\nvm = "gone-0"\nstate = "running"\n'
        '[[expect]]\ntime = "30m"\nvm = "gone-0"\nevents = 1\n'
    ),
    "a VM whose deletion takes long": (
        f"[settings]\nsimulated_seconds = {{ delete = 600 }}\n{DELETE}"
        '[[expect]]\ntime = "8m"\nvm = "gone-0"\nevents = 1\nphase = "Started"\n'
    ),
    "a VM whose deletion takes too long": (
        f"[settings]\nsimulated_seconds = {{ delete = 600 }}\naction_limit = 300\n{DELETE}"
        '[[expect]]\ntime = "1h"\nvm = "gone-0"\nphase = "Failed"\nempty = true\n'
    ),
    "a VM that has long been told that its deletion has started": (
        f'[settings]\nlead = 300\n{DELETE}[[expect]]\ntime = "8m"\nvm = "gone-0"\nevents = 1\nphase = "Started"\n'
    ),
    "a guest of a deleted VM that is not found": (
        f'[[guests]]\nvm = "gone-0"\n{DELETE}[[expect]]\ntime = "10m"\nguest = "gone-0"\nstatus = 404\n'
    ),
    "a VM that is paused when it is to be deleted": (
        "[settings]\nsimulated_seconds = { freeze = 900 }\n"
        '[[at]]\ntime = 0\ndo = "maintain"\nvm = "gone-0"\n'
        '[[at]]\ntime = "14m"\ndo = "delete"\nvm = "gone-0"\n'
        '[[expect]]\ntime = "25m"\nvm = "gone-0"\nevents = 2\nstate = "running"\n'
    ),
    "work on a host that a neighbour approves, as nobody else there has asked": (
        '[scenario]\nenabled = false\n[[hosts]]\nname = "rack"\n'
        '[[vms]]\nname = "silent"\nhost = "rack"\n[[vms]]\nname = "asking"\nhost = "rack"\n'
        '[[guests]]\nvm = "asking"\nevery = "10s"\napprove_after = "30s"\n'
        '[[at]]\ntime = "1m"\ndo = "maintain"\nhost = "rack"\n'
        '[[expect]]\ntime = "2m"\nvm = "silent"\nphase = "Completed"\n'
    ),
    "work on a host that an operator approves for the one VM that has asked": (
        '[scenario]\nenabled = false\n[[hosts]]\nname = "rack"\n'
        '[[vms]]\nname = "silent"\nhost = "rack"\n[[vms]]\nname = "asking"\nhost = "rack"\n'
        '[[guests]]\nvm = "asking"\nevery = "10s"\n'
        '[[at]]\ntime = "1m"\ndo = "maintain"\nhost = "rack"\n'
        '[[at]]\ntime = "90s"\ndo = "approve"\nvm = "asking"\n'
        '[[expect]]\ntime = "2m"\nvm = "silent"\nphase = "Completed"\n'
    ),
    "work on a VM that a restart has left down, as it took too long": (
        f"[settings]\naction_limit = 30\n{RESTART}"
        '[[at]]\ntime = "17m"\ndo = "maintain"\nvm = "app-0"\n'
        '[[expect]]\ntime = "18m"\nvm = "app-0"\nkind = "Freeze"\nphase = "Completed"\n'
    ),
    "a restart that waits until other work is done": (
        "[settings]\nsimulated_seconds = { freeze = 600 }\n"
        '[[at]]\ntime = 0\ndo = "maintain"\nvm = "app-0"\n[[at]]\ntime = "1m"\ndo = "restart"\nvm = "app-0"\n'
        '[[expect]]\ntime = "20m"\nvm = "app-0"\nkind = "Reboot"\nphase = "Scheduled"\n'
    ),
}


@pytest.mark.parametrize("text", SO_IT_IS.values(), ids=SO_IT_IS)
def test_what_comes_about_is_not_refused(text: str):
    played = play(read(FLEET + text))

    assert played.differences == []


def test_a_failed_host_whose_vm_no_other_may_take_is_waited_for_as_long_as_it_takes():
    fleet = '[[hosts]]\nname = "only"\n[[vms]]\nname = "app-0"\nhost = "only"\n'
    fail = '[[at]]\ntime = "1m"\ndo = "fail"\nhost = "only"\n'

    played = play(read(f'{fleet}{fail}[[expect]]\ntime = "5h"\nvm = "app-0"\nphase = "Started"\n'))

    assert played.differences == []
