"""Files that cannot be played: refused before anything happens, with file, line and what to do."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from forewarn.scenario import shelf
from forewarn.scenario.check import check
from forewarn.scenario.file import BadScenario
from tests.cli.command import forewarn
from tests.scenario.refusing import AFTER, DELETE, FLEET, GROW, RESTART, refusal_of
from tests.scenario.stage import play, unchecked

ROWS = {
    "no TOML": ("[scenario\n", 0, "Expected ']' at the end of a table declaration", "Mend the TOML syntax."),
    "an unknown section": ("[[gests]]\n", 0, "There is no section gests.", "Did you mean guests?"),
    "an unknown key of a table": (
        "[scenario]\nsede = 1\n",
        1,
        "[scenario] has no key sede.",
        "Did you mean seed?",
    ),
    "an unknown key of a list": (
        '[[at]]\ntime = "1m"\ndo = "restart"\nvmm = "app-0"\n',
        3,
        "[[at]] has no key vmm.",
        "Did you mean vm?",
    ),
    "a list that is a table": ('[at]\ntime = "1m"\n', 0, "at is not a list.", "Write [[at]] above every entry."),
    "a table that is a list": ("[[scenario]]\nseed = 1\n", 0, "scenario is not a table.", "Write [scenario] once"),
    "settings that are a list": (
        "[[settings]]\nlead = 5\n",
        0,
        "settings is not a table.",
        "Write [settings] once, and its keys below.",
    ),
    "a setting that real time counts for": (
        "[settings]\nrate_limit = 5\n",
        1,
        "[settings] takes no rate_limit: it counts in real time, so a scenario would not give the same bytes",
        'Put in a fault: do = "fault", fault = "status", options = { code = 429 }.',
    ),
    "a number that is none": ('[scenario]\nseed = "one"\n', 1, "seed cannot be used: ", "Write a whole number."),
    "a list that is none": (
        '[[at]]\ntime = 0\ndo = "rollout"\nhosts = "h"\n',
        3,
        "hosts cannot be used: ",
        "Write a list in brackets.",
    ),
    "an unknown setting": ("[settings]\nleed = 5\n", 1, "[settings] has no key leed.", "Did you mean lead?"),
    "a setting that cannot be": ("[settings]\nlead = 1\n", 1, "lead cannot be used: ", "at least 2"),
    "a problem of the fleet": ('[[hosts]]\nnme = "h"\n', 1, "hosts have no key nme.", "Did you mean name?"),
    "a fleet that cannot be": (
        '[[vms]]\nname = "app-1"\nhost = "nowhere"\n',
        2,
        "There is no host nowhere.",
        'Add [[hosts]] with name = "nowhere".',
    ),
    "no time": ('[[at]]\ndo = "restart"\nvm = "app-0"\n', 0, "This entry has no time.", "Give it a time."),
    "a time that is none": (
        '[[at]]\ntime = "soon"\ndo = "restart"\nvm = "app-0"\n',
        1,
        "time cannot be used: 'soon' is no time.",
        'Write it like "15m", "1h30m" or "0:15:00".',
    ),
    "a time before the start": (
        '[[at]]\ntime = -5\ndo = "restart"\nvm = "app-0"\n',
        1,
        "time cannot be used: -5 is no time.",
        "It can be 0 or more seconds.",
    ),
    "a start that is none": (
        '[scenario]\nstart = "noon"\n',
        1,
        "start cannot be used: 'noon' is no instant.",
        "Write it like 2026-01-05T09:00:00Z.",
    ),
    "a start that is none in UTC": (
        "[scenario]\nstart = 0001-01-01T00:00:00+05:00\n",
        1,
        "start cannot be used: in UTC there is no 0001-01-01 00:00:00+05:00.",
        "Write it like 2026-01-05T09:00:00Z.",
    ),
    "a start after which no dates are left": (
        "[scenario]\nstart = 9999-12-31T23:59:00Z\n",
        1,
        "start is 9999-12-31T23:59:00Z, and there would be no dates left to announce.",
        "It can be up to 9980-01-01T00:00:00Z.",
    ),
    "a notice that cannot be counted with": (
        '[[at]]\ntime = 0\ndo = "maintain"\nvm = "app-0"\nnotice = "99999999h"\n',
        4,
        "notice cannot be used: '99999999h' is too long.",
        "It can be up to 3650 days.",
    ),
    "a guest that waits too long": (
        '[[guests]]\nvm = "app-0"\nevery = "999999999d"\n',
        2,
        "every cannot be used: '999999999d' is too long.",
        "It can be up to 3650 days.",
    ),
    "a start of what runs": (
        '[[at]]\ntime = "1m"\ndo = "start"\nvm = "app-0"\n',
        2,
        "app-0 runs at 0:01:00, so it cannot be started: nothing in this file stops it before.",
        'Stop it before (do = "stop"), or leave this out.',
    ),
    "a start of what runs while another is stopped": (
        '[[at]]\ntime = 0\ndo = "stop"\nvm = "spot-0"\n[[at]]\ntime = "1m"\ndo = "start"\nvm = "app-0"\n',
        6,
        "app-0 runs at 0:01:00, so it cannot be started: nothing in this file stops it before.",
        'Stop it before (do = "stop"), or leave this out.',
    ),
    "a cancel of nothing": (
        '[[at]]\ntime = "1m"\ndo = "cancel"\nvm = "app-0"\n',
        2,
        "There is nothing to cancel at 0:01:00: no event of app-0 is announced before.",
        "Put what is to be called off before it.",
    ),
    "an approval of another kind": (
        f'{RESTART}[[at]]\ntime = "2m"\ndo = "approve"\nvm = "app-0"\nkind = "Freeze"\n',
        6,
        "There is nothing to approve at 0:02:00: no Freeze of app-0 is announced before.",
        "Put what is to be approved before it.",
    ),
    "time that goes back": (
        f'{RESTART}[[at]]\ntime = "0:00:59"\ndo = "cancel"\nvm = "app-0"\n',
        5,
        "Time goes back: 0:00:59 comes after 0:01:00.",
        "Put the [[at]] in the order of their times.",
    ),
    "an expectation after the end": (
        '[[expect]]\nopen = 0\n[[expect]]\ntime = "1m"\nopen = 0\n',
        3,
        "Time goes back: 0:01:00 comes after the end.",
        "Put the [[expect]] in the order of their times.",
    ),
    "a seed below 0": ("[scenario]\nseed = -1\n", 1, "seed is -1.", "It can be 0 or more."),
    "a length that is too short": (
        '[scenario]\nlength = "1m"\n[[expect]]\ntime = "2m"\nopen = 0\n',
        1,
        "length is 0:01:00, and the last time that is named is 0:02:00.",
        "Make it longer, or leave it out.",
    ),
    "a length that is too long": (
        '[scenario]\nlength = "401d"\n',
        1,
        "The scenario takes 9624:00:00.",
        "up to 400 days.",
    ),
    "a guest in no VM": ('[[guests]]\nvm = "app-9"\n', 1, "There is no VM app-9.", "Did you mean app-0?"),
    "two guests of one name": (
        '[[guests]]\nvm = "app-0"\n[[guests]]\nvm = "app-0"\n',
        2,
        "Two guests are called app-0.",
        "Give one of them a name of its own.",
    ),
    "a guest of no version": (
        '[[guests]]\nvm = "app-0"\nversion = "2020-01-01"\n',
        2,
        "There is no api-version 2020-01-01.",
        "It can be 2017-03-01, ",
    ),
    "a guest that polls for ever": (
        '[[guests]]\nvm = "app-0"\nevery = 0\n',
        2,
        "every is 0.",
        "longer than that.",
    ),
    "a guest that polls too often": (
        '[scenario]\nlength = "200d"\n[[guests]]\nvm = "app-0"\nevery = "1s"\n',
        4,
        "app-0 would poll 17280000 times.",
        "Let it poll less often: 100000 times at most.",
    ),
    "a guest that stops first": (
        '[[guests]]\nvm = "app-0"\nstarts = "2m"\nstops = "1m"\n',
        3,
        "app-0 stops at 0:01:00, before it has begun.",
        "Let it stop later, or leave it out.",
    ),
    "a guest from elsewhere": (
        '[[vms]]\nname = "far-0"\naddresses = ["10.0.0.4"]\n[[guests]]\nvm = "far-0"\n',
        4,
        "far-0 is recognised by its address 10.0.0.4, which a scripted guest on this machine does not have.",
        "Leave that out of the fleet, or give the VM a port or an address in 127.0.0.0/8.",
    ),
    "a script for a guest outside": (
        '[[guests]]\nvm = "app-0"\noutside = true\nevery = "2s"\n',
        3,
        "app-0 is outside, so nothing is scripted for it.",
        "Leave out every, or outside.",
    ),
    "an unknown deed": (
        '[[at]]\ntime = "1m"\ndo = "reboot"\nvm = "app-0"\n',
        2,
        "do cannot be used: invalid enum value 'reboot'.",
        "It can be restart, ",
    ),
    "an unknown VM": (
        '[[at]]\ntime = "1m"\ndo = "restart"\nvm = "ap-0"\n',
        3,
        "There is no VM ap-0.",
        "Did you mean app-0?",
    ),
    "an unknown host": ('[[at]]\ntime = "1m"\ndo = "fail"\nhost = "h"\n', 3, "There is no host h.", "Known are: "),
    "a deed without its object": ('[[at]]\ntime = "1m"\ndo = "evict"\n', 2, "evict needs vm.", "Give it vm."),
    "a deed with two objects": (
        '[[at]]\ntime = "1m"\ndo = "fail"\nhost = "rack"\nvm = "app-0"\n[[hosts]]\nname = "rack"\n',
        2,
        "fail needs host or vm, and one of them only.",
        "Give it host or vm.",
    ),
    "a key of another deed": (
        f'{RESTART}notice = "1h"\n',
        4,
        "restart takes no notice.",
        "It takes vm, who.",
    ),
    "an eviction of what is no Spot VM": (
        '[[at]]\ntime = "1m"\ndo = "evict"\nvm = "app-0"\n',
        3,
        "app-0 cannot be evicted: its priority is Regular, and only Spot VMs can be.",
        'Give it priority = "Spot".',
    ),
    "a notice below the minimum": (
        '[[at]]\ntime = "1m"\ndo = "maintain"\nvm = "app-0"\nnotice = "14m"\n',
        4,
        "A Freeze needs at least 15 min of notice; 14 min was asked for.",
        "Ask for 15 min or more",
    ),
    "a degraded host with too much notice": (
        '[[at]]\ntime = "1m"\ndo = "degrade"\nvm = "app-0"\nnotice = "8d"\n',
        4,
        "A degraded host gets at most 7 days of notice; 8 days was asked for.",
        "Ask for 7 days or less.",
    ),
    "work that takes too long": (
        '[[at]]\ntime = "1m"\ndo = "maintain"\nvm = "app-0"\nduration_seconds = 3600\n',
        4,
        "Work of 3600 s cannot be done: an action that has no outcome after 30 min has failed.",
        "Ask for less",
    ),
    "a kind that maintenance does not have": (
        '[[at]]\ntime = "1m"\ndo = "maintain"\nvm = "app-0"\nkind = "Preempt"\n',
        4,
        "maintain cannot be a Preempt.",
        "It can be Freeze, Reboot or Redeploy.",
    ),
    "a live migration that reboots": (
        '[[at]]\ntime = "1m"\ndo = "maintain"\nvm = "app-0"\nkind = "Reboot"\nby = "live_migration"\n',
        5,
        "A live migration is felt as a Freeze, not as a Reboot.",
        'Give it kind = "Freeze", or leave out by.',
    ),
    "an unknown fault": (
        '[[at]]\ntime = "1m"\ndo = "fault"\nfault = "truncate"\n',
        3,
        "There is no fault truncate.",
        "Did you mean truncated?",
    ),
    "a fault that cannot be": (
        '[[at]]\ntime = "1m"\ndo = "fault"\nfault = "status"\noptions = { code = 418 }\n',
        4,
        "status: code cannot be 418.",
        "It can be 400, 404, 410, 429, 500 or 503.",
    ),
    "an unknown scale set": (
        '[[at]]\ntime = "1m"\ndo = "scale"\nscale_set = "pool"\nto = 1\n',
        3,
        "There is no scale set pool.",
        "There are none.",
    ),
    "a restart of what is deleted": (
        f'{DELETE}[[at]]\ntime = "2m"\ndo = "restart"\nvm = "gone-0"\n',
        7,
        f"gone-0 is deleted at 0:01:00 (line {AFTER}); restart comes too late.",
        "Do it before, or to another VM.",
    ),
    "a guest that asks before its VM is there": (
        f'{GROW}[[guests]]\nvm = "pool_1"\nstarts = "59s"\n',
        9,
        f"pool_1 is not there at 0:00:59: pool gets it at 0:01:00 at the earliest (line {AFTER + 3}).",
        "Let it start then, or later (starts).",
    ),
    "a client of one's own in a VM that is not there from the start": (
        f'{GROW}[[guests]]\nvm = "pool_1"\noutside = true\n',
        9,
        "pool_1 is not there at 0:00:00: pool gets it",
        "Let one be outside that is there from the start.",
    ),
    "something done to a VM before it is there": (
        f'[[at]]\ntime = "1m"\ndo = "restart"\nvm = "pool_1"\n{GROW}',
        3,
        f"pool_1 is not there at 0:01:00: pool gets it at 0:01:00 at the earliest (line {AFTER + 7}).",
        "Do it after that.",
    ),
    "a guest of a VM that will have an address of another machine": (
        '[[guests]]\nvm = "pool_1"\nstarts = "1m"\n'
        + GROW.replace("capacity = 1\n", 'capacity = 1\naddresses = ["127.5.0.1", "10.0.0.2"]\n'),
        1,
        "pool_1 is recognised by its address 10.0.0.2, which a scripted guest on this machine does not have.",
        "or give the VM a port or an address in 127.0.0.0/8.",
    ),
    "more instances than there can be": (
        GROW.replace("to = 2", "to = 1000000000"),
        7,
        "to is 1000000000, and a scale set has at most 100000 instances.",
        "It can be up to 100000.",
    ),
}


@pytest.mark.parametrize(("text", "line", "what", "remedy"), ROWS.values(), ids=ROWS)
def test_a_scenario_that_cannot_be_played_is_refused_with_its_line(text: str, line: int, what: str, remedy: str):
    (said,) = refusal_of(FLEET + text)

    assert said.startswith(f"bad.toml:{AFTER + line}: {what}")
    assert remedy in said


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_the_file():
    text = '[[at]]\ntime = "2m"\ndo = "restart"\nvm = "x"\n[[at]]\ntime = "1m"\ndo = "evict"\nvm = "app-0"\n'

    said = refusal_of(FLEET + text)

    assert [line.split(":")[1] for line in said] == [str(AFTER + number) for number in (3, 5, 7)]


def test_what_cannot_be_read_is_told_in_the_order_of_the_file_too():
    text = (
        '[[vms]]\nnmae = "x"\n[[at]]\ntime = "soon"\ndo = "evict"\n[settings]\nleed = 5\n[[hosts]]\nnmae = "h"\n'
    )

    said = refusal_of(FLEET + text)

    assert [line.split(":")[1] for line in said] == [str(AFTER + number) for number in (1, 3, 6, 8)]


def test_a_scenario_without_vms_is_refused():
    assert refusal_of("[scenario]\nseed = 1\n") == (
        "bad.toml: The scenario has no VMs. Add [[vms]] or [[scale_sets]].",
    )


def test_a_fleet_that_the_engine_does_not_take_is_told_and_nothing_is_played():
    fleet = '[[vms]]\nname = "pool_0"\n[[scale_sets]]\nname = "pool"\ncapacity = 1\n'

    with pytest.raises(BadScenario, match=r"The VM name pool_0 is used twice: pool has such an instance\. Give"):
        play(unchecked(fleet))


def test_the_mark_with_which_some_editors_begin_a_file_is_no_mistake(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(FLEET, encoding="utf-8-sig")

    assert check(shelf.find(str(file))).head.name == "mine"


@pytest.mark.parametrize(
    "start", ["2026-03-02T12:00:00", '"2026-03-02T12:00:00"', "2026-03-02T12:00:00Z", "2026-03-02T14:00:00+02:00"]
)
def test_a_start_without_a_zone_is_in_utc(start: str):
    text = f"[scenario]\nstart = {start}\n{FLEET}"

    assert unchecked(text).head.start == datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_nothing_is_played_of_a_file_that_is_refused(tmp_path: Path):
    file = tmp_path / "bad.toml"
    file.write_text(FLEET + '[[at]]\ntime = "1m"\ndo = "restart"\nvm = "ap-0"\n')

    outcome = forewarn("scenario", "play", str(file), "--virtual")

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == f"error: {file}:{AFTER + 3}: There is no VM ap-0. Did you mean app-0?\n"


@pytest.mark.parametrize("name", shelf.names())
def test_no_scenario_of_the_library_is_refused(name: str):
    assert check(shelf.find(name)).head.name == name
