"""Where others act than the file, what they may bring about is played, and what nobody can is refused."""

from __future__ import annotations

import pytest

from forewarn.scenario.check import check
from forewarn.scenario.file import BadScenario, read_scenario
from tests.scenario.refusing import DELETE, EXPECT_OF_GUEST, EXPECT_OF_RESTART, FLEET, GROW, RESTART, refusal_of

EXPECT = '[[expect]]\ntime = "5m"\nvm = "app-0"\n'
OLD_GUEST = '[[guests]]\nvm = "spot-0"\nversion = "2017-08-01"\n'
EXPECT_OF_GONE = '[[expect]]\ntime = "20m"\nvm = "gone-0"\n'
BROUGHT_ABOUT = {
    "started, as an operator approves": f'{EXPECT_OF_RESTART}phase = "Started"\n',
    "completed, as an operator approves": f'{RESTART}{EXPECT}phase = "Completed"\n',
    "called off by an operator": f'{EXPECT_OF_RESTART}phase = "Cancelled"\n',
    "approved by an operator": f'{EXPECT_OF_RESTART}approved_by = "ops"\n',
    "approved by a client that speaks for the VM": f'{EXPECT_OF_RESTART}approved_by = "app-0"\n',
    "an event of an operator": f'{EXPECT}kind = "Redeploy"\nphase = "Scheduled"\n',
    "more events than the file makes": f"{EXPECT_OF_RESTART}count = 2\n",
    "a VM that an operator has stopped": f'{EXPECT}state = "stopped"\n',
    "a VM whose deletion an operator has called off": f"{DELETE}{EXPECT_OF_GONE}on = true\n",
    "an answer of a fault that an operator has put in": f"{EXPECT_OF_GUEST}status = 503\n",
    "a start of a VM that an operator has stopped": RESTART.replace("restart", "start"),
    "a cancel of what an operator has announced": RESTART.replace("restart", "cancel"),
    "work on an instance that an operator has made": RESTART.replace("app-0", "pool_1").replace("1m", "0s") + GROW,
}
NOBODY_CAN = {
    "a kind that the guest's version does not have": (
        f'{OLD_GUEST}[[expect]]\ntime = "5m"\nguest = "spot-0"\nkind = "Preempt"\nsaw = ["Scheduled"]\n',
        "spot-0 asks with api-version 2017-08-01, which has no Preempt.",
    ),
    "seen before the guest has asked": (
        '[[guests]]\nvm = "app-0"\nstarts = "6m"\n[[expect]]\ntime = "5m"\nguest = "app-0"\nsaw = ["Scheduled"]\n',
        "app-0 has not asked at 0:05:00: it starts at 0:06:00.",
    ),
    "an event that names VMs of two documents": (
        f'{EXPECT}resources = ["spot-0"]\n',
        "spot-0 does not share a document with app-0, so no event names both.",
    ),
}


@pytest.mark.parametrize("text", BROUGHT_ABOUT.values(), ids=BROUGHT_ABOUT)
def test_what_others_may_bring_about_is_refused_only_where_nobody_acts_but_the_file(text: str):
    assert refusal_of(FLEET + text)
    assert check(read_scenario(FLEET + text, "good.toml"), is_closed=False)


@pytest.mark.parametrize("text", BROUGHT_ABOUT.values(), ids=BROUGHT_ABOUT)
def test_a_guest_outside_is_played_with_in_real_time_so_others_may_act(text: str):
    outside = '[[guests]]\nvm = "spot-0"\noutside = true\n'

    assert check(read_scenario(FLEET + outside + text, "good.toml"))


@pytest.mark.parametrize(("text", "what"), NOBODY_CAN.values(), ids=NOBODY_CAN)
def test_what_cannot_be_whoever_acts_is_refused_all_the_same(text: str, what: str):
    with pytest.raises(BadScenario) as refused:
        check(read_scenario(FLEET + text, "bad.toml"), is_closed=False)

    (line,) = refused.value.lines
    assert what in line
