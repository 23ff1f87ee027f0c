"""A failed expectation reports what was expected, what was seen, the time, and the line of the file."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import patch

import pytest

from forewarn import service
from forewarn.scenario.file.model import FileLine
from tests.scenario.refusing import GROW
from tests.scenario.stage import FLEET, play, read, unchecked

SCENE = (
    FLEET
    + """
[[guests]]
vm = "app-0"
every = "10s"
approve_after = "2m"

[[at]]
time = "1m"
do = "restart"
vm = "app-0"

"""
)
WRONG = [
    ("3m", "phase", '"Scheduled"', "Scheduled", "Started"),
    ("2m", "notice", '"20m"', "0:20:00", "0:15:00"),
    ("2m", "not_before_in", '"15m"', "0:15:00", "0:14:00"),
    ("4m", "not_before_in", '"15m"', "0:15:00", "it is Started"),
    ("4m", "approved_by", '""', "nothing", "app-0"),
    ("2m", "description", '"Maintenance."', "Maintenance.", "Virtual machine is going to be restarted"),
    ("2m", "duration_seconds", "9", "9", "-1"),
    ("2m", "source", '"Platform"', "Platform", "User"),
    ("2m", "resources", '["app-0", "spot-0"]', "app-0, spot-0", "app-0"),
    ("2m", "fault", '"early_start"', "early_start", "nothing"),
    ("2m", "count", "2", "2", "1"),
    ("2m", "empty", "true", "true", "false"),
    ("2m", "events", "0", "0", "1"),
    ("2m", "incarnation", "3", "3", "2"),
    ("2m", "on", "false", "false", "true"),
    ("2m", "state", '"down"', "down", "running"),
    ("2m", "phase", '"none"', "none", "Scheduled"),
]


@pytest.mark.parametrize(
    ("time", "key", "value", "expected", "seen"),
    WRONG,
    ids=[f"{row[1]} {row[4]}" for row in WRONG],
)
def test_failed_expectation_of_a_vm_reports_what_was_seen(time, key, value, expected, seen):
    played = play(unchecked(f'{SCENE}[[expect]]\ntime = "{time}"\nvm = "app-0"\n{key} = {value}\n'))

    ((told_key, told_expected, told_seen),) = played.differences
    assert (told_key, told_expected) == (key, expected)
    assert told_seen.startswith(seen)


@pytest.mark.parametrize(
    ("key", "value", "expected", "seen"),
    [
        ("saw", '["Scheduled", "gone"]', "Scheduled, gone", "Scheduled, Started"),
        ("status", "304", "304", "200"),
        ("ids", "0", "0", "1"),
    ],
    ids=["saw", "status", "ids"],
)
def test_failed_expectation_of_a_guest_reports_what_was_seen(key, value, expected, seen):
    played = play(unchecked(f'{SCENE}[[expect]]\ntime = "0:03:10"\nguest = "app-0"\n{key} = {value}\n'))

    assert played.differences == [(key, expected, seen)]


def test_failed_expectation_of_the_fleet_reports_what_was_seen():
    played = play(read(f'{SCENE}[[expect]]\ntime = "2m"\nopen = 0\n'))

    assert played.differences == [("open", "0", "1")]


def test_failed_expectation_reports_that_there_was_no_event():
    off = f'{FLEET}[scenario]\nenabled = false\n[[guests]]\nvm = "app-0"\nstarts = "59s"\nevery = "1h"\n'
    text = (
        f'{off}[[at]]\ntime = "1m"\ndo = "restart"\nvm = "app-0"\n[[expect]]\nvm = "app-0"\nphase = "Scheduled"\n'
    )

    with patch.object(service, "first_poll", lambda *_: None):  # a planted bug: nobody is ever told
        played = play(read(text))

    assert played.differences == [("phase", "Scheduled", "no event of app-0")]


def test_failure_has_its_line_and_time_and_the_play_goes_on():
    text = f'{SCENE}[[expect]]\ntime = "2m"\nvm = "app-0"\nevents = 0\n[[expect]]\ntime = "10m"\nopen = 0\n'

    played = play(read(text))

    (failure,) = played.result.failures
    assert failure.line == FileLine("test.toml", SCENE.count("\n") + 1)
    assert (failure.at, failure.subject) == (timedelta(minutes=2), "app-0")
    assert played.result.held == 1
    assert "NOT as expected: app-0: events is 1, not 0" in played.texts


def test_refused_action_is_a_failure_with_its_line():
    again = '[[at]]\ntime = "2m"\ndo = "restart"\nvm = "app-0"\n'

    played = play(read(SCENE + again))

    ((key, expected, seen),) = played.differences
    assert (key, expected) == ("do", "restart")
    assert seen.startswith("refused: ")
    assert played.result.failures[0].line == FileLine("test.toml", SCENE.count("\n") + 1)


def test_approval_without_an_event_is_a_failure():
    played = play(unchecked(f'{FLEET}[[at]]\ntime = "1m"\ndo = "approve"\nvm = "app-0"\n'))

    ((key, expected, seen),) = played.differences
    assert (key, expected) == ("do", "approve")
    assert seen.startswith("refused: ")


def test_deleted_vm_has_the_state_deleted():
    text = f'{FLEET}[[at]]\ntime = "1m"\ndo = "delete"\nvm = "app-0"\n[[expect]]\ntime = "90s"\nvm = "app-0"\n'

    assert play(read(f'{text}state = "deleted"\n')).differences == []
    assert play(read(f"{text}on = true\n")).differences == [("on", "true", "the VM is deleted")]


def test_approval_by_an_operator_has_its_name():
    text = (
        f'{FLEET}[[at]]\ntime = "1m"\ndo = "restart"\nvm = "app-0"\n'
        '[[at]]\ntime = "2m"\ndo = "approve"\nvm = "app-0"\nwho = "ops"\n'
        '[[expect]]\ntime = "2m"\nvm = "app-0"\nphase = "Started"\napproved_by = "ops"\n'
    )

    assert play(read(text)).result.held == 1


def test_guest_approves_only_the_kinds_in_its_script():
    text = SCENE.replace('approve_after = "2m"', 'approve_after = "2m"\napproves = ["Freeze"]')

    played = play(
        read(f'{text}[[expect]]\ntime = "0:15:59"\nvm = "app-0"\nphase = "Scheduled"\napproved_by = ""\n')
    )

    assert played.differences == []


@pytest.mark.parametrize(
    ("version", "others", "phase"),
    [("2020-07-01", "false", "Scheduled"), ("2020-07-01", "true", "Started"), ("2017-03-01", "true", "Started")],
    ids=["its own only", "others' too", "in the first version too"],
)
def test_guest_approves_events_of_others_only_if_its_script_says_so(version: str, others: str, phase: str):
    text = f"""
[[availability_sets]]
name = "web"
[[vms]]
name = "web-0"
availability_set = "web"
[[vms]]
name = "web-1"
availability_set = "web"
[[guests]]
vm = "web-1"
every = "10s"
version = "{version}"
approve_after = "1m"
others = {others}
[[at]]
time = "0s"
do = "restart"
vm = "web-0"
[[expect]]
time = "1m"
vm = "web-0"
phase = "{phase}"
"""

    assert play(read(text)).differences == []


def test_guest_of_a_later_instance_polls_and_approves_once_it_exists():
    played = play(
        read(
            f"""{GROW}
[[guests]]
vm = "pool_1"
starts = "1m"
approve_after = "30s"

[[at]]
time = "2m"
do = "restart"
vm = "pool_1"

[[expect]]
time = "1m"
guest = "pool_1"
status = 200

[[expect]]
time = "3m"
vm = "pool_1"
phase = "Started"
approved_by = "pool_1"

[[expect]]
time = "3m"
guest = "pool_1"
saw = ["Scheduled", "Started"]
"""
        )
    )

    assert (played.result.held, played.differences) == (3, [])


RESTART = '[[at]]\ntime = "1m"\ndo = "restart"\nvm = "app-0"\n'
APPROVING = '[[guests]]\nvm = "app-0"\napprove_after = "2m"\n'
REFUSED = {
    "cancel of nothing": '[[at]]\ntime = "1m"\ndo = "cancel"\nvm = "app-0"\n',
    "cancel when the notice has run out": f'{RESTART}[[at]]\ntime = "16m"\ndo = "cancel"\nvm = "app-0"\n',
    "start of a running VM": '[[at]]\ntime = "1m"\ndo = "start"\nvm = "app-0"\n',
    "restart of a VM that no longer exists": (
        '[[at]]\ntime = 0\ndo = "delete"\nvm = "app-0"\n[[at]]\ntime = "1h"\ndo = "restart"\nvm = "app-0"\n'
    ),
    "work on the host of a VM that no longer exists": (
        '[[at]]\ntime = 0\ndo = "delete"\nvm = "app-0"\n[[at]]\ntime = "1h"\ndo = "fail"\nvm = "app-0"\n'
    ),
    "restart of a VM that does not exist yet": f'[[at]]\ntime = 0\ndo = "restart"\nvm = "pool_1"\n{GROW}',
    "fault for a VM that does not exist yet": (
        f'[[at]]\ntime = 0\ndo = "fault"\nfault = "status"\noptions = {{ vm = "pool_1" }}\n{GROW}'
    ),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_refused_action_fails_on_its_line_and_the_play_goes_on(text: str):
    scenario = read(f'{FLEET}{text}[[expect]]\ntime = "5h"\nopen = 0\n')

    outcome = play(scenario).result

    (failure,) = outcome.failures
    assert [each.key for each in failure.differences] == ["do"]
    assert failure.line in scenario.action_lines
    assert outcome.held == 1


def test_cancel_at_the_instant_of_an_approval_is_in_time():
    cancel = '[[at]]\ntime = "3m"\ndo = "cancel"\nvm = "app-0"\n'
    cancelled = '[[expect]]\ntime = "3m"\nvm = "app-0"\nphase = "Cancelled"\n'

    assert play(read(FLEET + APPROVING + RESTART + cancel + cancelled)).differences == []


def test_guest_of_a_vm_that_does_not_exist_yet_is_answered_404_until_it_does():
    asks = '[[guests]]\nvm = "pool_1"\n'
    wanted = "".join(
        f'[[expect]]\ntime = "{time}"\nguest = "pool_1"\nstatus = {status}\n'
        for time, status in (("59s", 404), ("61s", 200))
    )

    assert play(read(GROW + asks + wanted)).differences == []
