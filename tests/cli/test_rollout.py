"""`forewarn rollout`: preview, start, list, show, pause, resume, abort."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forewarn.drivers.machines import Trouble
from tests.cli.command import CommandLine, shown
from tests.cli.conftest import command_line
from tests.cli.test_terminal import completed, on_terminal
from tests.rest.test_rollouts import FIELDS, ROW_FIELDS
from tests.rollouts.bench import grid
from tests.running import RunningService, running


@pytest.fixture
def service() -> Iterator[RunningService]:
    """Two update domains with two hosts each."""
    with running(grid(domains=2, hosts_per_domain=2)) as started:
        yield started


@pytest.fixture(scope="module")
def still() -> Iterator[CommandLine]:
    """The command line of a service that no test changes anything of."""
    with running(grid(domains=2, hosts_per_domain=2)) as started:
        yield command_line(started)


def started(cli: CommandLine, *options: str) -> str:
    """A rollout that has begun; the beginning of its id."""
    return cli.json("rollout", "start", "--kind", "Reboot", *options)["id"][:8]


# Preview.


def test_preview_prints_the_whole_plan_and_schedules_nothing(service: RunningService, cli: CommandLine):
    assert cli.says("rollout", "preview", "--kind", "reboot", "--max-parallel", "1") == shown(
        "WAVE  ZONE  HOST      ANNOUNCED FROM  USUALLY DONE  STARTS BY  DONE BY    VMS",
        "1           host-0-0  12:00:00Z       12:16:05Z     12:15:00Z  12:45:06Z  vm0-0-0",
        "1           host-0-1  12:16:05Z       12:32:10Z     13:00:06Z  13:30:12Z  vm0-0-1",
        "2           host-1-0  12:47:10Z       13:03:15Z     14:00:12Z  14:30:18Z  vm0-1-0",
        "2           host-1-1  13:03:15Z       13:19:20Z     14:45:18Z  15:15:24Z  vm0-1-1",
        "Reboot of 4 hosts with 4 VMs in 2 waves: from 12:00:00Z for about 1 h 19 min, "
        "done by 15:15:24Z at the latest. Nothing is scheduled yet.",
    )
    assert cli.says("event", "list") == "Nothing is scheduled.\n"
    assert cli.says("rollout", "list") == "There are no rollouts.\n"


def test_preview_gives_a_program_every_host_and_every_instant(still: CommandLine):
    plan = still.json("rollout", "preview", "--kind", "Freeze", "--seconds", "5")

    assert (plan["hosts_total"], plan["vms_total"], plan["waves"]) == (4, 4, 2)
    assert all(set(row) >= ROW_FIELDS for row in plan["hosts"])


def test_preview_of_a_window_on_another_day_says_the_dates(still: CommandLine):
    window = ("--from", "22:00", "--to", "02:00", "--day", "sat", "--timezone", "Europe/Berlin")

    said = still.says("rollout", "preview", *window)

    assert "  2026-03-07 20:45:00Z  " in said
    assert "from 2026-03-07 20:45:00Z for about 45 min 28 s" in said


def test_preview_fits_a_narrow_terminal(still: CommandLine):
    lines = on_terminal(still.url, "rollout", "preview", columns=60)

    rows = [line for line in lines if "Nothing is scheduled yet" not in line]
    assert max(map(len, rows)) <= 60, "\n".join(lines)


@pytest.mark.parametrize(
    ("options", "hosts"),
    [
        (["--host", "host-1-1", "--host", "host-0-0"], ["host-0-0", "host-1-1"]),
        (["--zone", "1"], ["host-0-0", "host-0-1"]),
        (["--zone", "1", "--zone", "2"], ["host-0-0", "host-0-1", "host-1-0", "host-1-1"]),
        (["--tag", "row=1"], ["host-0-1", "host-1-1"]),
        (["--tag", "row=1", "--tag", "row=1", "--zone", "2"], ["host-1-1"]),
    ],
    ids=" ".join,
)
def test_hosts_are_picked_by_name_zone_and_tag(options: list[str], hosts: list[str]):
    fleet = grid(domains=2, hosts_per_domain=2)
    for host in fleet["hosts"]:
        host |= {"zone": str(int(host["name"][5]) + 1), "tags": {"row": host["name"][-1]}}
    with running(fleet) as service:
        plan = command_line(service).json("rollout", "preview", *options)

    assert sorted(row["host"] for row in plan["hosts"]) == hosts


def test_every_option_reaches_the_rollout(service: RunningService, cli: CommandLine):
    begun = cli.json(
        "rollout", "start", "--kind", "freeze", "--by", "live_migration", "--seconds", "4", "--notice", "20m",
        "--description", "A new kernel.", "--max-parallel", "3", "--max-parallel-per-zone", "2",
        "--recovery", "1h", "--soak", "5m", "--health-wait", "90s", "--max-failures", "2",
        "--max-unhealthy-percent", "25",
        "--from", "20:00", "--to", "04:30", "--day", "Mon", "--day", "tue", "--timezone", "Asia/Tokyo",
        "--blackout", "2026-03-03", "--force-by", "2026-06-01",
    )  # fmt: skip

    assert {name: begun[name] for name in begun if name.endswith(("_seconds", "_percent")) or "max" in name} == {
        "max_parallel": 3,
        "max_parallel_per_zone": 2,
        "notice_seconds": 1200,
        "duration_seconds": 4,
        "recovery_seconds": 3600,
        "soak_seconds": 300,
        "health_wait_seconds": 90,
        "max_failures": 2,
        "max_unhealthy_percent": 25,
    }
    assert begun["window"] == "Mon, Tue from 20:00 for 8 h 30 min (Asia/Tokyo), but not on 2026-03-03"
    assert begun["force_by"] == "2026-06-01T00:00:00Z"
    service.advance(days=40)
    assert {event["description"] for event in cli.json("event", "list", "--phase", "all")["events"]} == {
        "A new kernel."
    }


# What makes no sense.


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--max-parallel", "0"], 1, "error: --max-parallel is 0: no host would ever get its turn.\nhint:"),
        (["--host", "nobody"], 1, "error: There is no host nobody.\nhint:  forewarn host list"),
        (["--zone", "9"], 1, "error: There is no host in zone 9."),
        (["--timezone", "Mars/Base"], 1, "error: --timezone is 'Mars/Base', which is no time zone.\nhint:"),
        (["--from", "25:00"], 1, "error: --from is '25:00', which is no time of day.\nhint:  Write hours"),
        (["--from", "22:00", "--to", "22:00:30"], 1, "error: --to is '22:00:30', which is no time of day."),
        (["--kind", "Reboot", "--from", "22:00", "--to", "22:01"], 1, "error: The window never fits: a Reboot"),
        (["--force-by", "2020-01-01"], 1, "error: --force-by is 2020-01-01 00:00:00Z, which has passed."),
        (["--notice", "1m"], 1, "error: "),
        (["--kind", "Reboot", "--by", "live_migration"], 1, "error: A live migration is felt as a Freeze"),
        (["--host", ""], 2, "Invalid value for '--host': a name is needed, and this one is empty"),
        (["--tag", "rack"], 2, "Invalid value for --tag: 'rack' has no value; write KEY=VALUE."),
        (["--tag", "rack=1", "--tag", "rack=2"], 2, "Invalid value for --tag: no host has rack=1 and rack=2."),
        (["--max-failures", "-1"], 2, "Invalid value for '--max-failures'"),
        (["--max-unhealthy-percent", "101"], 2, "Invalid value for '--max-unhealthy-percent'"),
        (["--blackout", "soon"], 2, "Invalid value for '--blackout'"),
        (["--day", "Caturday"], 2, "Invalid value for '--day'"),
        (["--force-by", "soon"], 2, "'soon' is no instant; write it like 2026-03-02T22:00:00Z"),
        (["--soak", "a while"], 2, "'a while' is no duration; write it like 15m"),
        (["--kind", "Preempt"], 2, "Invalid value for '--kind'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
@pytest.mark.parametrize("verb", ["preview", "start"])
def test_what_makes_no_sense_is_refused_by_preview_and_start_alike(
    still: CommandLine, verb: str, options: list[str], code: int, said: str
):
    ended, complaint = still.complains("rollout", verb, *options)

    assert ended == code, complaint
    assert said in complaint
    assert still.says("rollout", "list") == "There are no rollouts.\n"


@pytest.mark.parametrize("verb", ["show", "watch", "pause", "resume", "abort"])
def test_a_rollout_that_is_not_there_is_refused(still: CommandLine, verb: str):
    assert still.complains("rollout", verb, "12345678") == (
        1,
        shown("error: There is no rollout 12345678.", "hint:  forewarn rollout list"),
    )


# Start, list, show.


def test_start_says_what_it_waits_for_and_how_to_follow_it(service: RunningService, cli: CommandLine):
    said = cli.says("rollout", "start", "--kind", "Reboot")

    rollout = service.get("/v1/rollouts")["rollouts"][0]["id"]
    notice = "the notice to end at 12:15:00Z (scope set0 is off, nobody there can approve)"
    assert said == shown(
        "Reboot of 4 hosts is Running",
        f"  rollout               {rollout}",
        "  hosts done            0 of 4",
        "  wave                  1 of 2",
        "  at work or announced  host-0-0 host-0-1",
        f"  waiting for           host-0-0: {notice}",
        f"                        host-0-1: {notice}",
        "  at once               10 hosts",
        "  recovery              30 min",
        "  asked by              operator",
        "  begun                 12:00:00Z",
        f"follow it: forewarn rollout watch {rollout[:8]}",
    )


def test_list_shows_one_thing_that_each_rollout_waits_for_and_how_many_more_there_are(
    service: RunningService, cli: CommandLine
):
    aborted = started(cli)
    cli.says("rollout", "abort", aborted, "--reason", "a typing error")
    service.advance(seconds=1)
    runs = started(cli)

    assert cli.says("rollout", "list") == shown(
        "ROLLOUT   KIND    STATE    HOSTS DONE  BEGUN      ASKED BY  WAITING FOR",
        f"{runs}  Reboot  Running  0/4         12:00:01Z  operator  host-0-0: the notice to end at 12:15:01Z "
        "(scope set0 is off, nobody there can approve); and 1 more",
        f"{aborted}  Reboot  Aborted  0/4         12:00:00Z  operator  a typing error",
    )
    listed = cli.json("rollout", "list")["rollouts"]
    assert [each["id"][:8] for each in listed] == [runs, aborted]
    assert all(set(each) >= FIELDS for each in listed)
    assert [each["id"][:8] for each in cli.json("rollout", "list", "--state", "open")["rollouts"]] == [runs]
    assert cli.complains("rollout", "list", "--state", "asleep")[0] == 1


def test_show_with_hosts_says_how_far_each_is(service: RunningService, cli: CommandLine):
    service.service.machines.order("vm0-0-1", Trouble.FAILS)
    rollout = started(cli)
    service.advance(minutes=20)

    said = cli.says("rollout", "show", rollout, "--hosts")

    assert "\n  failed       1\n" in said
    table = said[said.index("WAVE") :].splitlines()
    assert table[0] == "WAVE  ZONE  HOST      STATE    ANNOUNCED  ENDED      BECAUSE"
    assert table[1] == "1           host-0-0  Done     12:00:00Z  12:16:05Z"
    assert re.fullmatch(r"1 {11}host-0-1  Failed   12:00:00Z  12:\d\d:\d\dZ  vm0-0-1: .+", table[2])
    assert table[3:] == ["2           host-1-0  Waiting", "2           host-1-1  Waiting"]
    found = cli.json("rollout", "show", rollout, "--hosts")
    assert [each["state"] for each in found["hosts"]] == ["Done", "Failed", "Waiting", "Waiting"]
    assert "hosts" not in cli.json("rollout", "show", rollout)


def test_show_of_one_that_is_over_says_when_it_ended(service: RunningService, cli: CommandLine):
    rollout = started(cli, "--host", "host-0-0")
    service.advance(hours=1)

    said = cli.says("rollout", "show", rollout)

    assert said.startswith("Reboot of 1 host is Completed\n")
    assert "\n  ended       12:16:05Z\n" in said
    assert "waiting for" not in said


# Pause, resume, abort.


def test_a_paused_rollout_says_why_once_and_how_to_go_on(service: RunningService, cli: CommandLine):
    rollout = started(cli)

    said = cli.says("rollout", "pause", rollout, "--reason", "lunch")

    assert said.startswith("Reboot of 4 hosts is Paused\n")
    assert said.count("lunch") == 1
    assert "\n  waiting for  somebody to resume it: lunch\n" in said
    assert said.endswith(f"\ngo on: forewarn rollout resume {rollout}\n")
    assert cli.says("event", "list") == "Nothing is scheduled.\n"


def test_a_resumed_rollout_runs_again(service: RunningService, cli: CommandLine):
    rollout = started(cli)
    cli.says("rollout", "pause", rollout)

    assert cli.says("rollout", "resume", rollout).startswith("Reboot of 4 hosts is Running\n")
    service.advance(days=1)
    assert cli.json("rollout", "show", rollout)["state"] == "Completed"


def test_resume_anyway_goes_on_whatever_the_health(tmp_path: Path):
    fleet: dict[str, Any] = grid(domains=2)
    fleet["availability_sets"][0]["health_check"] = "never"
    with running(fleet, health_command={"never": ("/bin/false",)}) as service:
        cli = command_line(service)
        rollout = started(cli)
        service.advance(hours=1)
        paused = cli.says("rollout", "show", rollout)
        resumed = cli.says("rollout", "resume", rollout, "--anyway")

    assert (
        "1 of 1 VMs of the last wave are unhealthy, and 0 % may be (the health check of set0 ended with 1)"
        in paused
    )
    assert resumed.startswith("Reboot of 2 hosts is Running\n")


def test_an_aborted_rollout_says_by_whom_and_stays_so(service: RunningService, cli: CommandLine):
    rollout = started(cli)

    said = cli.says("rollout", "abort", rollout)

    assert said.startswith("Reboot of 4 hosts is Aborted\n")
    assert "\n  because     aborted by operator\n" in said
    assert cli.complains("rollout", "resume", rollout)[0] == 1
    assert cli.complains("rollout", "abort", rollout)[0] == 1


@pytest.mark.parametrize("verb", ["pause", "resume", "abort"])
def test_a_program_is_given_the_rollout_as_it_is_afterwards(service: RunningService, cli: CommandLine, verb: str):
    rollout = started(cli)
    if verb == "resume":
        cli.says("rollout", "pause", rollout)

    found = cli.json("rollout", verb, rollout)

    assert set(found) >= FIELDS
    assert found["state"] == {"pause": "Paused", "resume": "Running", "abort": "Aborted"}[verb]


def test_rollouts_are_completed_by_the_beginnings_of_their_ids(service: RunningService, cli: CommandLine):
    rollout = started(cli)

    assert completed(cli.url, "rollout", "watch", rollout[:3]) == [rollout]
    assert completed(cli.url, "rollout", "pre") == ["preview"]
