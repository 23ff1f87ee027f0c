"""What is over by then, or was never to be seen: refused before anything is played, where that is certain."""

from __future__ import annotations

import pytest

from forewarn.scenario.check import check
from forewarn.scenario.file import read_scenario
from tests.scenario.refusing import AFTER, APPROVING, FLEET, RESTART, refusal_of
from tests.scenario.stage import play, read, unchecked

EXPECT = '[[expect]]\ntime = "{}"\nvm = "app-0"\n'
SCHEDULED, STARTED = 'phase = "Scheduled"\n', 'phase = "Started"\n'
APPROVE = '[[at]]\ntime = "1m"\ndo = "approve"\nvm = "app-0"\n'
CANCEL = '[[at]]\ntime = "{}"\ndo = "cancel"\nvm = "app-0"\n'
STOP = '[[at]]\ntime = "1m"\ndo = "stop"\nvm = "app-0"\n'
SPARE = '[[hosts]]\nname = "spare"\n'
FAIL = f'{SPARE}[[at]]\ntime = "1m"\ndo = "fail"\nvm = "app-0"\n'
GUEST = '[[guests]]\nvm = "app-0"\n'
SAW = '[[expect]]\ntime = "{}"\nguest = "app-0"\nsaw = ["Scheduled"]\n'
EVICT = '[[at]]\ntime = "1m"\ndo = "evict"\nvm = "spot-0"\n'
OTHERS = '[[guests]]\nvm = "spot-0"\nothers = true\napprove_after = "1s"\n'
TOLD = f"it is announced at 0:01:00 (line {AFTER}),"

ROWS = {
    "Scheduled when its notice has run out": (
        RESTART + EXPECT.format("16m") + SCHEDULED,
        7,
        f"An event of app-0 is not Scheduled any more at 0:16:00: {TOLD} and starts by 0:16:00.",
        "Expect it before 0:16:00.",
    ),
    "Scheduled when an act has approved it": (
        RESTART + APPROVE + EXPECT.format("1m") + SCHEDULED,
        11,
        f"An event of app-0 is not Scheduled any more at 0:01:00: {TOLD} and starts by 0:01:00.",
        "Expect Started, or what comes then.",
    ),
    "Scheduled when its guest has approved it": (
        APPROVING + RESTART + EXPECT.format("3m") + SCHEDULED,
        10,
        "An event of app-0 is not Scheduled any more at 0:03:00: it is announced at 0:01:00",
        "Expect it before 0:03:00.",
    ),
    "NotBefore ahead of what has started": (
        RESTART + EXPECT.format("16m") + "not_before_in = 0\n",
        7,
        "An event of app-0 is not Scheduled any more at 0:16:00",
        "Expect it before 0:16:00.",
    ),
    "Started when the work is done": (
        RESTART + EXPECT.format("0:17:05") + STARTED,
        7,
        f"An event of app-0 is not Started any more at 0:17:05: {TOLD} starts by 0:16:00 and is over by 0:17:05.",
        "Expect it before 0:17:05.",
    ),
    "Scheduled, of a host failure": (
        FAIL + EXPECT.format("5m") + SCHEDULED,
        9,
        f"An event of app-0 is never Scheduled: fail (line {AFTER + 2}) makes it Started at once.",
        "Leave out phase, or expect Started.",
    ),
    "seen Scheduled, of a host failure": (
        GUEST + FAIL + SAW.format("5m"),
        11,
        f"An event of app-0 is never Scheduled: fail (line {AFTER + 4}) makes it Started at once.",
        "Leave out Scheduled, or expect Started.",
    ),
    "approved, of a host failure": (
        GUEST + "approve_after = 0\n" + FAIL + EXPECT.format("5m") + 'approved_by = "app-0"\n',
        12,
        f"An event of app-0 is never Scheduled: fail (line {AFTER + 5}) makes it Started at once.",
        "Leave out approved_by, or expect Started.",
    ),
    "approved by a VM of another scope": (
        OTHERS + RESTART + EXPECT.format("5m") + 'approved_by = "spot-0"\n',
        11,
        "spot-0 does not share a document with app-0, so it cannot approve its events.",
        "Let a guest of app-0 approve (approve_after), or an [[at]].",
    ),
    "approved by a guest that approves other kinds": (
        GUEST
        + 'approve_after = 0\napproves = ["Freeze"]\n'
        + RESTART
        + EXPECT.format("5m")
        + 'approved_by = "app-0"\n',
        11,
        "app-0 does not approve an event of app-0 until 0:05:00.",
        "Let a guest of app-0 approve",
    ),
    "approved by a guest that approves later": (
        APPROVING + RESTART + EXPECT.format("0:02:59") + 'approved_by = "app-0"\n',
        10,
        "app-0 does not approve an event of app-0 until 0:02:59.",
        "Let a guest of app-0 approve",
    ),
    "approved by who does so for others": (
        RESTART
        + EVICT
        + EVICT.replace("evict", "approve")
        + 'who = "ops"\n'
        + EXPECT.format("5m")
        + 'approved_by = "ops"\n',
        16,
        "ops does not approve an event of app-0 until 0:05:00.",
        "Let a guest of ops approve (approve_after), or an [[at]].",
    ),
    "a kind that an old version does not have": (
        '[[guests]]\nvm = "spot-0"\nversion = "2017-08-01"\n'
        + EVICT
        + SAW.format("80s").replace("app-0", "spot-0"),
        10,
        "spot-0 asks with api-version 2017-08-01, which has no Preempt.",
        'Give it version = "2017-11-01" or a later one',
    ),
    "seen by a guest that has stopped": (
        GUEST + 'stops = "30s"\n' + RESTART + SAW.format("5m"),
        10,
        f"app-0 asks for the last time at 0:00:29, and an event of app-0 comes at 0:01:00 (line {AFTER + 3}).",
        "Let it ask until then (every, stops), or expect it later.",
    ),
    "seen by a guest that asks again only later": (
        GUEST + 'every = "1h"\n' + RESTART + SAW.format("59m"),
        10,
        "app-0 asks for the last time at 0:00:00, and an event of app-0 comes at 0:01:00",
        "Let it ask until then",
    ),
    "seen Started by a guest that asks again only later": (
        GUEST + 'every = "10m"\n' + RESTART + SAW.format("19m").replace('"]', '", "Started"]'),
        10,
        "app-0 asks for the last time at 0:10:00, and an event of app-0 does not start before 0:16:00.",
        "Let it ask until then",
    ),
    "on, a day after the start": (
        EXPECT.format("24h") + "on = true\n",
        3,
        "The scope of app-0 is off at 24:00:00: nobody in it asks after 0:00:00, and that holds for 24 h.",
        "Expect on = false, or let a guest ask (every, stops).",
    ),
    "on, a day after the last poll": (
        GUEST + 'stops = "10m"\n' + EXPECT.format("24:09:59") + "on = true\n",
        6,
        "The scope of app-0 is off at 24:09:59: nobody in it asks after 0:09:59, and that holds for 24 h.",
        "Expect on = false",
    ),
    "a cancel of what is approved": (
        RESTART + APPROVE + CANCEL.format("1m"),
        10,
        f"The Reboot of app-0 (line {AFTER}) has started by 0:01:00.",
        "Let it be called off before.",
    ),
    "a cancel of what has started": (
        RESTART + CANCEL.format("0:16:01"),
        6,
        f"The Reboot of app-0 (line {AFTER}) has started by 0:16:01.",
        "Let it be called off before.",
    ),
    "a cancel at the instant at which the notice has run out": (
        RESTART + CANCEL.format("16m"),
        6,
        f"The Reboot of app-0 (line {AFTER}) has started by 0:16:00.",
        "Let it be called off before.",
    ),
    "an approval of what is over": (
        RESTART + CANCEL.format("18m").replace("cancel", "approve"),
        6,
        f"The Reboot of app-0 (line {AFTER}) is over by 0:18:00.",
        "Let it be approved before.",
    ),
    "a restart of what is stopped": (
        STOP + RESTART,
        6,
        f"app-0 does not run at 0:01:00, so it takes no restart: it is stopped at 0:01:00 (line {AFTER}).",
        'Start it before (do = "start"), or leave this out.',
    ),
    "a second stop": (
        STOP + STOP.replace("1m", "9m"),
        6,
        "app-0 does not run at 0:09:00, so it takes no stop",
        'Start it before (do = "start")',
    ),
}


@pytest.mark.parametrize(("text", "line", "what", "remedy"), ROWS.values(), ids=ROWS)
def test_what_is_over_or_never_is_refused_with_its_line(text: str, line: int, what: str, remedy: str):
    (said,) = refusal_of(FLEET + text)

    assert said.startswith(f"bad.toml:{AFTER + line}: {what}")
    assert remedy in said


OUTSIDE = '[[guests]]\nvm = "spot-0"\noutside = true\n'
GROW = '[[scale_sets]]\nname = "pool"\ncapacity = 1\n[[at]]\ntime = 0\ndo = "scale"\nscale_set = "pool"\nto = 2\n'
UNCERTAIN = {
    "where a guest is outside": OUTSIDE + RESTART + EXPECT.format("16m") + SCHEDULED,
    "where a guest outside may have asked": OUTSIDE.replace("spot-0", "app-0")
    + EXPECT.format("24h")
    + "on = true\n",
    "where a machine stops": RESTART + STOP.replace("app-0", "spot-0") + EXPECT.format("5h") + SCHEDULED,
    "where a set grows": GROW + RESTART + EXPECT.format("5h") + SCHEDULED,
    "where a set is kept at a minimum": (
        RESTART + EXPECT.format("16m") + SCHEDULED + '[[availability_sets]]\nname = "db"\nmin_available = 1\n'
    ),
    "where an action takes too long": (
        "[settings]\naction_limit = 30\n" + RESTART + EXPECT.format("16m") + SCHEDULED
    ),
    "where an approval may not be answered": (
        APPROVING
        + RESTART
        + EXPECT.format("3m")
        + SCHEDULED
        + '[[at]]\ntime = "2m"\ndo = "fault"\nfault = "closed"\n'
    ),
    "where the cancel comes first": RESTART + CANCEL.format("1m") + APPROVE,
    "where the stopped VM is started": STOP + STOP.replace("stop", "start") + RESTART,
    "where a host that failed may have brought it back": SPARE + STOP + FAIL.removeprefix(SPARE) + RESTART,
}


@pytest.mark.parametrize("text", UNCERTAIN.values(), ids=UNCERTAIN)
def test_nothing_is_called_over_where_it_may_take_longer(text: str):
    assert check(read_scenario(FLEET + text, "good.toml"))


def test_a_cancel_at_the_instant_at_which_the_notice_has_run_out_comes_too_late():
    (failure,) = play(unchecked(FLEET + RESTART + CANCEL.format("16m"))).outcome.failures

    assert "Started" in failure.differences[0].seen


def test_a_cancel_at_the_instant_at_which_a_guest_approves_is_in_time():
    cancelled = EXPECT.format("3m") + 'phase = "Cancelled"\n'

    played = play(read(FLEET + APPROVING + RESTART + CANCEL.format("3m") + cancelled))

    assert played.differences == []


def test_an_approval_that_stands_before_the_restart_does_not_start_it():
    (said,) = refusal_of(FLEET + APPROVE + RESTART + EXPECT.format("5m") + SCHEDULED + CANCEL.format("6m"))

    assert said.startswith(f"bad.toml:{AFTER + 2}: There is nothing to approve at 0:01:00")


IN_REAL_TIME = {
    "Scheduled when its notice has run out": RESTART + EXPECT.format("16m") + SCHEDULED,
    "Started when the work is done": RESTART + EXPECT.format("2h") + STARTED,
    "Completed before the work is done": RESTART + EXPECT.format("16m") + 'phase = "Completed"\n',
    "on, a day after the start": EXPECT.format("24h") + "on = true\n",
    "a cancel of what has started": RESTART + APPROVE + CANCEL.format("1m"),
    "a restart of what is stopped": STOP + RESTART,
}


@pytest.mark.parametrize("text", IN_REAL_TIME.values(), ids=IN_REAL_TIME)
def test_what_an_operator_may_bring_about_is_refused_only_where_nobody_else_acts(text: str):
    refused = refusal_of(FLEET + text)

    assert refused
    assert check(read_scenario(FLEET + text, "good.toml"), is_closed=False)
