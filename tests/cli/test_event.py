"""`forewarn event`: list, show, approve, cancel, history."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.drivers.machines import Trouble
from tests.cli.command import CommandLine, shown
from tests.cli.conftest import command_line
from tests.rest.test_rest import EVENT_FIELDS, HISTORY_FIELDS
from tests.running import RunningService, running


def restarted(service: RunningService, vm: str = "solo") -> dict[str, Any]:
    """An event that is scheduled."""
    service.guest(vm).document()
    return service.post(f"/v1/vms/{vm}/restart")["event"]


def short(event: dict[str, Any]) -> str:
    return event["id"][:8].lower()


# Lists.


def test_event_list_says_what_each_event_waits_for(service: RunningService, cli: CommandLine):
    web, solo = restarted(service, "web-0"), restarted(service)

    assert cli.says("event", "list") == shown(
        "EVENT     KIND    PHASE      SCOPE  VMS    NOT BEFORE  WAITING FOR",
        f"{short(web)}  Reboot  Scheduled  web    web-0  12:15:00Z   "
        "approval from web-0 (scope web) until 12:15:00Z",
        f"{short(solo)}  Reboot  Scheduled  solo   solo   12:15:00Z   "
        "approval from solo (scope solo) until 12:15:00Z",
    )


def test_an_event_of_another_day_is_listed_with_its_date(cli: CommandLine):
    cli.says("host", "degrade", "host-0")

    assert "  2026-03-09 12:00:00Z  " in cli.says("event", "list")


@pytest.mark.parametrize(
    ("filters", "vms"),
    [
        ([], ["twin"]),
        (["--phase", "all"], ["solo", "twin"]),
        (["--phase", "completed"], ["solo"]),
        (["--phase", "Scheduled"], ["twin"]),
        (["--phase", "all", "--vm", "solo"], ["solo"]),
        (["--scope", "twin"], ["twin"]),
        (["--scope", "solo"], []),
    ],
    ids=lambda filters: " ".join(filters) or "none",
)
def test_events_are_listed_by_phase_scope_and_vm(
    service: RunningService, cli: CommandLine, filters: list[str], vms: list[str]
):
    service.post(f"/v1/events/{restarted(service)['id']}/approve")
    service.advance(seconds=70)
    restarted(service, "twin")

    listed = cli.json("event", "list", *filters)["events"]

    assert [event["resources"] for event in listed] == [[vm] for vm in vms]
    assert all(set(event) >= EVENT_FIELDS for event in listed)


def test_a_list_longer_than_a_page_is_complete():
    fleet = {"vms": [{"name": f"vm-{n}"} for n in range(1001)], "hosts": [{"name": "host-0"}]}
    with running(fleet) as service:
        listed = command_line(service).json("vm", "list")["vms"]

    assert len(listed) == 1001


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["list"], "Nothing is scheduled."),
        (["list", "--phase", "all"], "There are no events."),
        (["list", "--phase", "Failed"], "No event is Failed."),
        (
            ["history"],
            "Nothing has ended since 2025-03-02 12:00:00Z. What ended before is not kept (--history-days is 365).",
        ),
    ],
    ids=["open", "all", "failed", "history"],
)
def test_a_list_without_entries_is_a_sentence(still: CommandLine, arguments: list[str], said: str):
    assert still.says("event", *arguments) == f"{said}\n"


# One event.


def test_event_show_tells_the_whole_story(service: RunningService, cli: CommandLine):
    service.guest("solo").document()
    service.guest("web-0").document()
    web, solo = service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})["events"]
    service.advance(minutes=5)
    service.guest("solo").approve(solo["id"])

    assert cli.says("event", "show", solo["id"]) == shown(
        "Freeze of solo is Scheduled",
        f"  event        {solo['id']}",
        "  source       Platform",
        "  scope        solo",
        "  text         Host server is undergoing maintenance.",
        "  expected     9 s",
        "  announced    12:00:00Z",
        "  not before   12:15:00Z",
        "  approved by  solo at 12:05:00Z",
        "  waiting for  approval from web-0 (scope web) until 12:15:00Z",
        f"  operation    {web['operation']}",
    )


def test_an_event_that_has_ended_is_shown_with_its_reason(service: RunningService, cli: CommandLine):
    event = restarted(service)
    cli.says("event", "cancel", event["id"])

    said = cli.says("event", "show", event["id"])

    assert said.startswith("Reboot of solo is Cancelled\n")
    assert "  ended       12:00:00Z\n  because     cancelled by operator\n" in said


@pytest.mark.parametrize(
    "spelled",
    [str, str.lower, lambda event: event[:8], lambda event: event[:6].lower(), lambda event: event[:23].lower()],
    ids=["id", "id in lower case", "beginning", "short beginning in lower case", "long beginning"],
)
@pytest.mark.parametrize("verb", ["show", "approve", "cancel"])
def test_an_event_is_named_by_an_unambiguous_beginning_in_any_case(
    service: RunningService, cli: CommandLine, verb: str, spelled: Any
):
    event = restarted(service)["id"]

    assert cli.json("event", verb, spelled(event))["id"] == event


@pytest.mark.parametrize("verb", ["show", "approve", "cancel", "watch"])
def test_a_beginning_of_several_events_is_refused_and_names_them(verb: str):
    fleet = {"vms": [{"name": f"vm-{n}"} for n in range(17)], "hosts": [{"name": "host-0"}]}
    with running(fleet) as service:
        for number in range(17):
            service.post(f"/v1/hosts/vm-{number}-host/maintain", {"kind": "Freeze"})
        ids = [event["id"][:8].lower() for event in service.get("/v1/events")["events"]]
        beginning, several = next(
            (event[0], found) for event in ids if len(found := [each for each in ids if each[0] == event[0]]) > 1
        )

        code, complaint = command_line(service).complains("event", verb, beginning)

    error, hint = complaint.splitlines()
    assert (code, hint) == (1, "hint:  Write more of it.")
    assert error.startswith(f"error: {beginning} is the beginning of several events: ")
    assert set(error.rstrip(".").partition("events: ")[2].split(", ")) <= set(several)


@pytest.mark.parametrize("verb", ["show", "approve", "cancel", "watch"])
def test_an_unknown_event_is_refused_with_a_hint_and_exit_1(still: CommandLine, verb: str):
    assert still.complains("event", verb, "f020ba2e") == (
        1,
        shown("error: There is no event f020ba2e.", "hint:  forewarn event list"),
    )


def test_an_approval_by_an_operator_starts_the_event(service: RunningService, cli: CommandLine):
    event = restarted(service)

    said = cli.says("event", "approve", short(event))

    assert said.startswith("Reboot of solo is Started\n")
    assert "  approved by  operator at 12:00:00Z\n" in said
    assert "  waiting for  the reboot of solo to end\n" in said


def test_a_cancelled_event_takes_its_whole_operation_along(cli: CommandLine):
    first, second = cli.json("host", "maintain", "host-0")["events"]

    said = cli.says("event", "cancel", short(first))

    assert said.startswith("Freeze of web-0 is Cancelled\n")
    assert cli.json("event", "show", second["id"])["phase"] == "Cancelled"


@pytest.mark.parametrize(
    ("verb", "participle"), [("approve", "approved"), ("cancel", "cancelled")], ids=["approve", "cancel"]
)
def test_what_has_ended_can_be_neither_approved_nor_cancelled(
    service: RunningService, cli: CommandLine, verb: str, participle: str
):
    event = restarted(service)
    cli.says("event", "cancel", event["id"])

    code, complaint = cli.complains("event", verb, event["id"])

    assert code == 1
    assert complaint == shown(
        f"error: Reboot of solo ({short(event)}) is Cancelled; it cannot be {participle}.",
        f"hint:  See how it ended: forewarn event show {short(event)}",
    )


# History.


def test_history_says_who_asked_who_approved_and_what_notice_there_was(service: RunningService, cli: CommandLine):
    event = restarted(service)
    service.advance(minutes=5)
    service.guest("solo").approve(event["id"])
    service.post("/v1/vms/twin/stop")
    service.advance(minutes=5)

    head, reboot, stop = cli.says("event", "history").splitlines()

    assert head.endswith("ASKED BY  APPROVED BY  PROMISED  GIVEN  EXPECTED  TOOK  BECAUSE")
    assert " ".join(reboot.split()) == (
        f"{short(event)} Reboot solo Completed 12:06:05Z operator solo 900 s 300 s 60 s"
    )
    assert " ".join(stop.split()) == "stop twin Completed 12:05:10Z operator 10 s"


def test_history_has_a_dash_where_nobody_knows_how_long_a_vm_was_away(service: RunningService, cli: CommandLine):
    service.service.machines.order("solo", Trouble.FAILS)
    event = restarted(service)
    service.guest("solo").approve(event["id"])
    service.advance(minutes=5)

    _, reboot = cli.says("event", "history").splitlines()

    assert " ".join(reboot.split()).endswith("900 s 0 s - the reboot failed, as it was ordered to")


def test_history_is_limited_to_a_vm_and_to_so_many_lines(service: RunningService, cli: CommandLine):
    for vm in ("solo", "twin", "brief"):
        service.post(f"/v1/vms/{vm}/stop")
        service.advance(minutes=1)

    newest, of_solo = cli.json("event", "history", "--limit", "2"), cli.json("event", "history", "--vm", "solo")

    assert [row["resources"] for row in newest["history"]] == [["brief"], ["twin"]]
    assert [row["resources"] for row in of_solo["history"]] == [["solo"]]
    assert all(set(row) >= HISTORY_FIELDS for row in newest["history"])


def test_a_phase_that_does_not_exist_is_refused_with_those_that_do(still: CommandLine):
    assert still.complains("event", "list", "--phase", "Paused") == (
        1,
        shown(
            "error: 'Paused' is no phase.",
            "hint:  It can be Scheduled, Started, Completed, Cancelled, Failed or all.",
        ),
    )
