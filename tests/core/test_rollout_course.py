"""What a rollout does next, and what it waits for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Any

import pytest

from forewarn.core.health import NotYet
from forewarn.core.notice import HOST_MAINTENANCE
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.rollout import Rollout, RolloutState, Turn, TurnState
from forewarn.core.rollout_course import HEALTH_EVERY, Outlook, stop_for_now
from forewarn.core.terms import Action, Kind, VmState
from forewarn.core.window import Window
from forewarn.core.world import World
from tests.core.worlds import (
    NOON,
    ROLLOUT,
    Course,
    Part,
    at,
    availability_set,
    degraded,
    done_turn,
    down,
    draft_of,
    failed,
    failed_turn,
    host,
    look_at,
    maintain,
    minutes,
    moved_on,
    open_turn,
    postponed_turn,
    restart,
    rollout,
    row,
    started,
    stopped,
    turn,
    vm,
    waits_of,
    world,
)

HOSTS = tuple(host(f"h{n}") for n in range(1, 6))
VMS = tuple(vm(f"vm-{n}", f"h{n}") for n in range(1, 6))
FLEET = (*HOSTS, *VMS)  # vm-1 on h1, vm-2 on h2, and so on, none of them in a set
SECOND = timedelta(seconds=1)


def announced(found: World, **more: Any) -> dict[str, float]:
    """By host, in how many minutes what is announced now may start."""
    outlook = look_at(found, **more)
    return {turn.host: (start - NOON) / minutes(1) for turn, start in outlook.announce}


def waits(found: World, **more: Any) -> list[datetime | None]:
    """Until when it waits, for each thing it waits for."""
    return [wait.until for wait in look_at(found, **more).waits]


# Whether it does anything at all.


@pytest.mark.parametrize("state", [each for each in RolloutState if each is not RolloutState.RUNNING])
def test_a_rollout_that_does_not_run_does_nothing_and_waits_for_nothing(state: RolloutState):
    assert look_at(world(*FLEET, rollout(turn("h1"), state=state))) == Outlook()


@pytest.mark.parametrize(
    ("course", "over"),
    [
        row("when every host has had its turn", rollout(done_turn("h1", "vm-1", ended=-5)), True),
        row("not while a host waits for its turn", rollout(done_turn("h1", "vm-1", ended=-5), turn("h2")), False),
        row("not while a host is at work", rollout(open_turn(started(maintain("h1")))), False),
        row("not while a host has put its turn off", rollout(postponed_turn(maintain("h1"))), False),
        row("when the last host was skipped", rollout(turn("h1", state=TurnState.SKIPPED)), True),
        row("when the last host failed and may", rollout(failed_turn("h1"), max_failures=1), True),
    ],
)
def test_a_rollout_is_over(course: Course, *, over: bool):
    assert look_at(world(*FLEET, course)).is_over is over


@pytest.mark.parametrize(
    ("course", "pauses"),
    [
        row("when a host failed and none may", rollout(failed_turn("h1"), turn("h2")), True),
        row("not when as many failed as may", rollout(failed_turn("h1"), turn("h2"), max_failures=1), False),
        row(
            "when one more failed than may",
            rollout(failed_turn("h1"), failed_turn("h2"), turn("h3"), max_failures=1),
            True,
        ),
        row(
            "not for failures from before it was resumed",
            rollout(failed_turn("h1"), turn("h2"), forgiven=1),
            False,
        ),
        row(
            "for a failure since it was resumed",
            rollout(failed_turn("h1"), failed_turn("h2"), turn("h3"), forgiven=1),
            True,
        ),
        row("also when the last host failed", rollout(failed_turn("h1")), True),
    ],
)
def test_failures_pause_a_rollout(course: Course, *, pauses: bool):
    found = look_at(world(*FLEET, course))

    assert bool(found.pause_because) is pauses
    assert not (pauses and (found.announce or found.is_over))


def test_the_reason_of_a_pause_names_the_hosts_that_failed_last_and_why():
    versions = [
        failed_turn("h1", "old", version=1),
        failed_turn("h2", "cable", version=3),
        failed_turn("h3", "disk", version=2),
    ]
    because = look_at(world(*FLEET, rollout(*versions, forgiven=1))).pause_because

    assert because.index("h3: disk") < because.index("h2: cable")
    assert "h1" not in because
    assert "2 hosts" in because


def test_the_reason_of_a_pause_names_three_of_many_hosts():
    because = look_at(world(*FLEET, rollout(*(failed_turn(f"h{n}") for n in range(1, 6))))).pause_because

    assert [f"h{n}:" in because for n in range(1, 6)] == [True, True, True, False, False]
    assert "2 more" in because


def test_the_reason_of_a_pause_names_exactly_three_hosts_without_a_remainder():
    because = look_at(world(*FLEET, rollout(*(failed_turn(f"h{n}") for n in range(1, 4))))).pause_because

    assert "more" not in because


# Who is announced.


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row(
            "the first hosts of the first wave, to start when their notice ends",
            world(*FLEET, rollout(turn("h1"), turn("h2"))),
            {"h1": 15, "h2": 15},
        ),
        row(
            "no more than may be at work",
            world(*FLEET, rollout(turn("h1"), turn("h2"), turn("h3"))),
            {"h1": 15, "h2": 15},
        ),
        row(
            "no more beside those that are announced",
            world(*FLEET, rollout(open_turn(maintain("h1")), turn("h2"), turn("h3"))),
            {"h2": 15},
        ),
        row(
            "no more beside those that are at work",
            world(*FLEET, rollout(open_turn(started(maintain("h1"))), turn("h2"), turn("h3"), max_parallel=1)),
            {},
        ),
        row(
            "no more of one zone than may be at work there",
            world(*FLEET, rollout(turn("h1"), turn("h2"), max_parallel_per_zone=1)),
            {"h1": 15},
        ),
        row(
            "not by the limit of a zone that is larger than the limit",
            world(*FLEET, rollout(turn("h1"), turn("h2"), max_parallel=1, max_parallel_per_zone=2)),
            {"h1": 15},
        ),
        row("nobody of the next wave", world(*FLEET, rollout(open_turn(maintain("h1")), turn("h2", 1))), {}),
        row(
            "the next wave when the first is done",
            world(*FLEET, rollout(done_turn("h1", "vm-1", ended=-5), turn("h2", 1))),
            {"h2": 15},
        ),
        row(
            "the next wave beside one that has put its turn off",
            world(*FLEET, rollout(postponed_turn(maintain("h1")), turn("h2", 1))),
            {"h2": 15},
        ),
        row(
            "with the rollout's own notice",
            world(*FLEET, rollout(turn("h1"), notice=timedelta(hours=2))),
            {"h1": 120},
        ),
        row("an empty host at once", world(*HOSTS, rollout(turn("h1"))), {"h1": 0}),
        row(
            "a host on which all VMs are off at once",
            world(*HOSTS, stopped("vm-1", "h1"), rollout(turn("h1"))),
            {"h1": 0},
        ),
        row(
            "a host whose VM is down with notice",
            world(*HOSTS, down("vm-1", "h1"), rollout(turn("h1"))),
            {"h1": 15},
        ),
        row("a degraded host", world(degraded("h1"), vm("vm-1", "h1"), rollout(turn("h1"))), {"h1": 15}),
    ],
)
def test_a_rollout_announces(found: World, expected: dict[str, float]):
    assert announced(found) == expected


@pytest.mark.parametrize(
    ("found", "skipped"),
    [
        row("a host that has failed", world(failed("h1"), vm("vm-1", "h1"), rollout(turn("h1"))), ["h1"]),
        row("a host that is gone", world(*FLEET, rollout(turn("h9"))), ["h9"]),
        row("not a host that is at work", world(failed("h1"), VMS[0], rollout(open_turn(maintain("h1")))), []),
        row("nobody else", world(*FLEET, rollout(turn("h1"))), []),
    ],
)
def test_a_rollout_skips(found: World, skipped: list[str]):
    said = look_at(found).skip

    assert [turn.host for turn, _ in said] == skipped
    assert all(turn.host in why for turn, why in said)


def test_a_host_that_is_skipped_takes_nobodys_place():
    assert announced(world(failed("h1"), *FLEET[1:], rollout(turn("h1"), turn("h2"), max_parallel=1))) == {
        "h2": 15
    }


# Other rollouts.

OTHER = rollout(open_turn(maintain("h1", due=20)), name="the other one")


def test_a_host_that_another_rollout_is_at_work_on_waits_and_those_behind_it_do_not():
    found = look_at(world(*FLEET, OTHER, rollout(turn("h1"), turn("h2"))))
    (wait,) = found.waits

    assert [turn.host for turn, _ in found.announce] == ["h2"]
    assert "h1" in wait.words
    assert "12:20:00Z" in wait.words
    assert "the othe" in wait.words
    assert found.waits_for_vms


def test_a_host_waits_for_the_last_notice_of_another_rollouts_work():
    other = rollout(open_turn(maintain("h1", due={"a": 20, "b": 25})), name="the other one")
    (wait,) = look_at(world(*HOSTS, vm("a", "h1"), vm("b", "h1"), other, rollout(turn("h1")))).waits

    assert "12:25:00Z" in wait.words


def test_it_is_not_known_when_another_rollout_that_has_started_is_done_with_a_host():
    other = rollout(open_turn(started(maintain("h1", due=20))), name="the other one")
    (wait,) = look_at(world(*FLEET, other, rollout(turn("h1")))).waits

    assert "until" not in wait.words


def test_work_that_is_no_rollouts_does_not_keep_a_host_from_being_announced():
    assert announced(world(*FLEET, maintain("h1"), rollout(turn("h1")))) == {"h1": 15}


# Recovery of update domains. web-1 of update domain 1 on h1 was worked on; web-0 of update domain 0 is on h2.

WEB = (*HOSTS, availability_set("web"), vm("web-1", "h1", "web", 1), vm("web-0", "h2", "web", 0))


def after(ended: float, recovery: float = 30, **more: Any) -> World:
    past = done_turn("h1", "web-1", ended=ended, domains=("web#1",))
    return world(*WEB, rollout(past, turn("h2", 1), recovery=minutes(recovery), **more))


def test_another_update_domain_is_announced_to_start_when_the_first_has_recovered():
    assert announced(after(-15)) == {"h2": 15}
    assert announced(after(-20)) == {"h2": 15}
    assert announced(after(-15.005)) == {"h2": 15}  # notice is given in whole seconds


def test_another_update_domain_is_not_announced_before_its_notice_can_end_with_the_recovery():
    (wait,) = look_at(after(-5)).waits

    assert announced(after(-5)) == {}
    assert wait.until == at(10)
    assert [
        name for name in ("update domain 1 of web", "h2", "12:25:00Z", "12:10:00Z") if name not in wait.words
    ] == []


def test_a_recovery_in_less_than_a_second_more_than_the_notice_is_no_reason_to_wait():
    now = at(-0.01)

    assert look_at(after(-15), now=now).announce == [(turn_of(after(-15), "h2"), at(15))]


def test_hosts_behind_one_that_waits_for_a_recovery_wait_too():
    found = world(
        *WEB,
        vm("vm-3", "h3"),
        rollout(done_turn("h1", "web-1", ended=-5, domains=("web#1",)), turn("h2", 1), turn("h3", 1)),
    )

    assert announced(found) == {}
    assert len(waits(found)) == 1


@pytest.mark.parametrize(
    "found",
    [
        row(
            "the same update domain",
            world(
                *WEB,
                vm("web-2", "h3", "web", 1),
                rollout(done_turn("h1", "web-1", ended=-5, domains=("web#1",)), turn("h3", 1)),
            ),
        ),
        row(
            "hosts without a VM of the set",
            world(*WEB, VMS[3], rollout(done_turn("h1", "web-1", ended=-5, domains=("web#1",)), turn("h4", 1))),
        ),
    ],
)
def test_a_recovery_does_not_hold(found: World):
    assert list(announced(found).values()) == [15]


def turn_of(found: World, name: str) -> Turn:
    return found.book_of(ROLLOUT).turns[name]


# Windows.

HOUR = timedelta(hours=1)


def in_window(opens: time, length: timedelta = HOUR, **more: Any) -> World:
    return world(*FLEET, rollout(turn("h1"), window=Window(opens, length), **more))


@pytest.mark.parametrize(
    ("found", "start"),
    [
        row("at the end of the notice if it is open then", in_window(time(12)), 15),
        row("when it opens if that is when the notice ends", in_window(time(12, 15)), 15),
        row("at the force-by date if that comes first", in_window(time(16), force_by=at(15)), 15),
        row("at the force-by date if it never opens", in_window(time(16), SECOND, force_by=at(15)), 15),
        row(
            "at the end of the notice once the force-by date has passed", in_window(time(16), force_by=at(-1)), 15
        ),
    ],
)
def test_work_is_announced_to_start_in_the_window(found: World, start: float):
    assert announced(found) == {"h1": start}


@pytest.mark.parametrize(
    ("found", "until", "named"),
    [
        row(
            "until its notice can end with the opening",
            in_window(time(13)),
            at(45),
            ["13:00:00Z", "12:45:00Z", "h1"],
        ),
        row(
            "until its notice can end with the force-by date",
            in_window(time(16), force_by=at(60)),
            at(45),
            ["force-by", "13:00:00Z"],
        ),
        row("for a window that never fits", in_window(time(13), SECOND), None, ["65 s"]),
        row(
            "until the next opening if the window closes too soon after the notice",
            in_window(time(12), minutes(16)),
            at(24 * 60 - 15),
            ["2026-03-03"],
        ),
    ],
)
def test_a_host_is_not_announced_before_the_window(found: World, until: datetime | None, named: list[str]):
    (wait,) = look_at(found).waits

    assert announced(found) == {}
    assert wait.until == until
    assert [name for name in named if name not in wait.words] == []


def withdrawn(found: World) -> list[str]:
    return [turn.host for turn, _ in look_at(found).withdraw]


SHUT, OPEN_NOW = Window(time(9), HOUR), Window(time(11, 30), HOUR)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row(
            "what is due and finds the window closed",
            world(*FLEET, rollout(open_turn(maintain("h1", due=0)), window=SHUT)),
            ["h1"],
        ),
        row(
            "what was postponed and finds it closed too",
            world(*FLEET, rollout(postponed_turn(maintain("h1", due=0)), window=SHUT)),
            ["h1"],
        ),
        row(
            "not before its notice has run out",
            world(*FLEET, rollout(open_turn(maintain("h1", due=1)), window=SHUT)),
            [],
        ),
        row(
            "not while the window is open",
            world(*FLEET, rollout(open_turn(maintain("h1", due=0)), window=OPEN_NOW)),
            [],
        ),
        row(
            "not what has started",
            world(*FLEET, rollout(open_turn(started(maintain("h1", due=0))), window=SHUT)),
            [],
        ),
        row("not without a window", world(*FLEET, rollout(open_turn(maintain("h1", due=0)))), []),
        row(
            "not from the force-by date on",
            world(*FLEET, rollout(open_turn(maintain("h1", due=0)), window=SHUT, force_by=NOON)),
            [],
        ),
        row(
            "not before the last of its notices has run out",
            world(
                *HOSTS,
                vm("a", "h1"),
                vm("b", "h1"),
                rollout(open_turn(maintain("h1", due={"a": 0, "b": 1})), window=SHUT),
            ),
            [],
        ),
        row(
            "not a turn whose operation has ended",
            world(*FLEET, rollout(turn("h1", state=TurnState.OPEN, operation="gone"), window=SHUT)),
            [],
        ),
        row(
            "not where no VM is left to feel it",
            world(*HOSTS, rollout(open_turn(maintain("h1", due=0)), window=SHUT)),
            [],
        ),
    ],
)
def test_a_rollout_takes_back(found: World, expected: list[str]):
    assert withdrawn(found) == expected


def test_nobody_is_announced_in_the_moment_in_which_something_is_taken_back():
    taken_back = open_turn(maintain("h1", due=0))
    an_empty_host = turn("h2")

    assert announced(world(*HOSTS, VMS[0], rollout(taken_back, an_empty_host, window=SHUT))) == {}


@pytest.mark.parametrize(
    ("found", "again"),
    [
        row(
            "a second after an announcement is due",
            world(*FLEET, rollout(open_turn(maintain("h1", due=1)), window=SHUT)),
            at(1) + SECOND,
        ),
        row(
            "a minute after one that is held in an open window",
            world(*FLEET, rollout(open_turn(maintain("h1", due=0)), window=OPEN_NOW)),
            at(1),
        ),
        row(
            "when the first thing it waits for is there",
            world(*FLEET, rollout(turn("h1"), window=Window(time(13), HOUR))),
            at(45),
        ),
        row(
            "when the first of several instants comes",
            world(*FLEET, rollout(open_turn(maintain("h1", due=1)), turn("h2"), window=Window(time(13), HOUR))),
            at(1) + SECOND,
        ),
        row(
            "at no time when it waits for nothing by the clock",
            world(*FLEET, rollout(open_turn(maintain("h1")))),
            None,
        ),
    ],
)
def test_a_rollout_is_looked_at_again(found: World, again: datetime | None):
    assert look_at(found).look_again == again


# Minimums. The set web has VMs on h1, h2 and h3, all of one update domain.


def web(minimum: int, *others: Part) -> World:
    members = [vm(f"web-{n}", f"h{n}", "web") for n in range(1, 4)]
    named = {each.name for each in others if hasattr(each, "state")}
    return world(
        *HOSTS, availability_set("web", minimum), *(each for each in members if each.name not in named), *others
    )


ALL_THREE = (turn("h1"), turn("h2"), turn("h3"))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row(
            "one after the other, each judged when the one before counts",
            web(1, rollout(*ALL_THREE, max_parallel=3)),
            {"h1": 15},
        ),
        row(
            "another beside one that is announced while enough would be left",
            web(1, rollout(open_turn(maintain("h1")), turn("h2"), max_parallel=3)),
            {"h2": 15},
        ),
        row(
            "nobody beside those that are announced when too few would be left",
            web(2, rollout(open_turn(maintain("h1")), turn("h2"), turn("h3"), max_parallel=3)),
            {},
        ),
        row(
            "another beside a turn whose operation has ended",
            web(2, rollout(turn("h1", state=TurnState.OPEN, operation="gone"), turn("h2"), max_parallel=3)),
            {"h2": 15},
        ),
        row(
            "nobody beside one that was postponed when too few would be left",
            web(2, rollout(postponed_turn(maintain("h1", due=60)), turn("h2"), max_parallel=3)),
            {},
        ),
        row("nobody when too few are left whatever the rollout does", web(3, rollout(*ALL_THREE)), {}),
        row(
            "nobody while others' work takes too many", web(2, started(restart("web-3")), rollout(turn("h1"))), {}
        ),
        row(
            "who is to start at the force-by date, at first one",
            web(3, rollout(*ALL_THREE, force_by=at(15))),
            {"h1": 15},
        ),
        row("nobody a moment before that", web(3, rollout(*ALL_THREE, force_by=at(15.01))), {}),
        row(
            "then one after the other",
            web(3, rollout(open_turn(started(maintain("h1"))), turn("h2"), turn("h3"), force_by=at(-5))),
            {},
        ),
        row(
            "others that do not hold its VMs go on",
            web(3, VMS[3], VMS[4], rollout(turn("h1"), turn("h4"), turn("h5"))),
            {"h4": 15, "h5": 15},
        ),
    ],
)
def test_beside_a_minimum_a_rollout_announces(found: World, expected: dict[str, float]):
    assert announced(found) == expected


@pytest.mark.parametrize(
    ("found", "until", "named"),
    [
        row("for ever", web(3, rollout(turn("h1"))), None, ["web", "4", "3", "h1"]),
        row(
            "until it can start at the force-by date",
            web(3, rollout(turn("h1"), force_by=at(60))),
            at(45),
            ["12:45:00Z", "h1"],
        ),
        row(
            "until its own work on the set is done",
            web(2, rollout(open_turn(maintain("h1")), turn("h2"))),
            None,
            ["web", "3", "2", "h2"],
        ),
        row(
            "until its own work on the set is done, from the moment on from which it is forced",
            web(3, rollout(open_turn(started(maintain("h1"))), turn("h2"), force_by=at(15))),
            None,
            ["h2"],
        ),
        row(
            "until its own work on the set is done, however long it has been forced",
            web(3, rollout(open_turn(started(maintain("h1"))), turn("h2"), force_by=at(-5))),
            None,
            ["h2"],
        ),
    ],
)
def test_a_host_waits_for_a_minimum(found: World, until: datetime | None, named: list[str]):
    (wait,) = look_at(found).waits

    assert wait.until == until
    assert [name for name in named if name not in wait.words] == []


def test_a_host_whose_set_is_short_through_others_may_go_on_as_soon_as_a_vm_comes_up():
    by_others = web(2, stopped("web-3", "h3", "web"), rollout(turn("h1")))
    by_itself = web(2, rollout(open_turn(maintain("h1")), turn("h2")))

    assert look_at(by_others).waits_for_vms
    assert not look_at(by_itself).waits_for_vms


# Live migrations.


MIGRATION = {"by_live_migration": True}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row("who has somewhere to go", world(*FLEET, rollout(turn("h1"), **MIGRATION)), {"h1": 15}),
        row(
            "not the last that might take the VMs",
            world(*HOSTS[:2], *VMS[:2], rollout(turn("h1"), turn("h2"), **MIGRATION)),
            {"h1": 15},
        ),
        row(
            "not who can only go where the rollout is at work",
            world(*HOSTS[:2], *VMS[:2], rollout(open_turn(maintain("h1")), turn("h2"), **MIGRATION)),
            {},
        ),
        row(
            "who could go nowhere anyway: that is refused, and counts as a failure",
            world(*HOSTS[:1], *VMS[:1], rollout(turn("h1"), **MIGRATION)),
            {"h1": 15},
        ),
        row(
            "who need not go anywhere",
            world(*HOSTS[:2], *VMS[:2], rollout(turn("h1"), turn("h2"))),
            {"h1": 15, "h2": 15},
        ),
        row(
            "whoever has only VMs that are off, at once",
            world(*HOSTS[:2], VMS[0], stopped("vm-2", "h2"), rollout(turn("h1"), turn("h2"), **MIGRATION)),
            {"h1": 15, "h2": 0},
        ),
        row(
            "who leaves only VMs that are off behind",
            world(
                *HOSTS[:3], *VMS[:2], stopped("off", "h2", zone="9"), rollout(turn("h1"), turn("h2"), **MIGRATION)
            ),
            {"h1": 15, "h2": 15},
        ),
    ],
)
def test_a_rollout_of_live_migrations_announces(found: World, expected: dict[str, float]):
    assert announced(found) == expected


def test_a_host_that_can_be_emptied_only_to_hosts_at_work_waits_and_names_its_vm():
    (wait,) = look_at(
        world(*HOSTS[:2], *VMS[:2], rollout(open_turn(maintain("h1")), turn("h2"), **MIGRATION))
    ).waits

    assert "vm-2" in wait.words
    assert "h2" in wait.words


# The gate: a wave begins when the one before it has soaked and is well.

PAST = done_turn("h1", "web-1", "vm-1", ended=-5, domains=("web#1",))
GATED = (*HOSTS, availability_set("web"), vm("web-1", "h1", "web", 1), vm("vm-1", "h1"), *VMS[1:])
ILL = "503"


def saying(verdict: str | None) -> dict[str, Callable[[str, datetime], str | None]]:
    return {"verdict": lambda _set, _since: verdict}


def gate(*parts: Part, past: Turn = PAST, **more: Any) -> World:
    named = {each.name for each in parts if hasattr(each, "state")}
    fleet = [each for each in GATED if each.name not in named]
    return world(*fleet, *parts, rollout(past, turn("h2", 1), **more))


@pytest.mark.parametrize(
    ("found", "verdict", "expected"),
    [
        row("a wave that is well lets the next begin", gate(), None, {"h2": 15}),
        row("a soak that is over does too", gate(soak=minutes(5)), None, {"h2": 15}),
        row("a soak that is not over does not", gate(soak=minutes(6)), None, {}),
        row("a VM that is down does not", gate(down("vm-1", "h1")), None, {}),
        row("a VM that is off does", gate(stopped("vm-1", "h1")), None, {"h2": 15}),
        row("a VM that is gone does", gate(vm("vm-1", "h1", state=VmState.DELETED)), None, {"h2": 15}),
        row("a check that is not passed does not", gate(), ILL, {}),
        row("a check that has not answered does not", gate(), NotYet(ILL), {}),
        row("somebody who resumes it anyway does", gate(waived_wave=1), ILL, {"h2": 15}),
        row("who waived an earlier wave does not", gate(waived_wave=0), ILL, {}),
        row(
            "a wave that has begun is not held any more",
            world(*GATED, rollout(PAST, open_turn(maintain("h2"), 1), turn("h3", 1))),
            ILL,
            {"h3": 15},
        ),
        row(
            "a wave of which somebody is done is not held any more",
            world(*GATED, rollout(PAST, done_turn("h2", "vm-2", ended=-1, wave=1), turn("h3", 1))),
            ILL,
            {"h3": 15},
        ),
        row("the first wave is not held", world(*GATED, rollout(turn("h1"))), ILL, {"h1": 15}),
        row(
            "a wave after one that touched nobody is not held",
            gate(past=done_turn("h1", ended=-5)),
            ILL,
            {"h2": 15},
        ),
    ],
)
def test_at_the_gate(found: World, verdict: str | None, expected: dict[str, float]):
    assert announced(found, **saying(verdict)) == expected


def test_a_soak_is_waited_for_before_any_check_is_asked():
    asked: list[str] = []
    (wait,) = look_at(gate(soak=minutes(6)), lambda name, _: asked.append(name)).waits

    assert (wait.until, asked) == (at(1), [])
    assert "12:01:00Z" in wait.words


def test_the_check_of_each_set_is_asked_once_and_since_the_end_of_the_wave():
    asked: list[tuple[str, datetime]] = []
    found = world(
        *GATED,
        vm("web-2", "h2", "web", 1),
        rollout(
            done_turn("h1", "web-1", "vm-1", ended=-5),
            done_turn("h2", "web-2", ended=-3),
            turn("h3", 1),
        ),
    )
    look_at(found, lambda name, since: asked.append((name, since)))

    assert asked == [("web", at(-3))]


def test_no_check_is_asked_for_a_vm_that_is_down_or_in_no_set():
    asked: list[str] = []
    outlook = look_at(gate(down("web-1", "h1", "web", 1)), lambda name, _: asked.append(name))

    assert asked == []
    assert "web-1" in outlook.waits[0].words


def test_only_the_last_wave_before_is_asked_about():
    old = done_turn("h1", "web-1", ended=-50)
    found = world(*GATED, rollout(old, done_turn("h2", "vm-2", ended=-5, wave=1), turn("h3", 2)))

    assert announced(found, **saying(ILL)) == {"h3": 15}


@pytest.mark.parametrize(
    ("found", "until"),
    [
        row("a moment at a time", gate(), NOON + HEALTH_EVERY),
        row("no longer than its limit", gate(health_wait=minutes(5) + 2 * SECOND), NOON + 2 * SECOND),
        row(
            "again from when somebody resumed it",
            gate(health_wait=minutes(1), resumed_at=at(-0.5)),
            NOON + HEALTH_EVERY,
        ),
        row("from the end of the soak", gate(soak=minutes(4.5), health_wait=minutes(1)), NOON + HEALTH_EVERY),
    ],
)
def test_an_unhealthy_wave_is_waited_for(found: World, until: datetime):
    outlook = look_at(found, **saying(ILL))
    (wait,) = outlook.waits

    assert wait.until == until
    assert ILL in wait.words
    assert not outlook.pause_because


@pytest.mark.parametrize(
    ("found", "verdict", "pauses"),
    [
        row("pauses the rollout when its time is up", gate(health_wait=minutes(5)), ILL, True),
        row(
            "pauses it a while after somebody resumed it",
            gate(health_wait=minutes(5), resumed_at=at(-5)),
            ILL,
            True,
        ),
        row(
            "pauses it if more are ill than may be",
            gate(health_wait=minutes(5), max_unhealthy_percent=49),
            ILL,
            True,
        ),
        row(
            "does not if as many are ill as may be",
            gate(health_wait=minutes(5), max_unhealthy_percent=50),
            ILL,
            False,
        ),
        row(
            "pauses it if nothing is known but that VMs are down",
            gate(down("vm-1", "h1"), health_wait=minutes(5)),
            None,
            True,
        ),
        row("does not while checks are still to be asked", gate(health_wait=minutes(5)), NotYet(ILL), False),
        row(
            "pauses it if enough are ill whatever the checks say that are still to be asked",
            gate(down("vm-1", "h1"), health_wait=minutes(5)),
            NotYet(ILL),
            True,
        ),
        row(
            "does not if so few may be ill that the checks decide it",
            gate(down("vm-1", "h1"), health_wait=minutes(5), max_unhealthy_percent=50),
            NotYet(ILL),
            False,
        ),
    ],
)
def test_an_unhealthy_wave(found: World, verdict: str | None, *, pauses: bool):
    outlook = look_at(found, **saying(verdict))

    assert bool(outlook.pause_because) is pauses
    assert not (pauses and outlook.announce)


def test_a_wave_of_which_few_enough_are_ill_lets_the_next_begin_when_its_time_is_up():
    assert announced(gate(health_wait=minutes(5), max_unhealthy_percent=50), **saying(ILL)) == {"h2": 15}


def test_checks_that_are_still_to_be_asked_are_waited_for_beyond_the_limit():
    assert waits(gate(health_wait=minutes(1)), **saying(NotYet(ILL))) == [NOON + HEALTH_EVERY]


@pytest.mark.parametrize(
    ("ill", "named", "unnamed"),
    [
        row("three of many", 5, ["5 of 6", "down-1", "down-3", "and 2 more"], ["down-4"]),
        row("exactly three", 3, ["3 of 4", "down-1", "down-3"], ["more", "down-4"]),
    ],
)
def test_the_reason_of_an_unhealthy_wave_gives_the_share_and_reasons(
    ill: int, named: list[str], unnamed: list[str]
):
    vms = [down(f"down-{n}", "h1") for n in range(1, ill + 1)]
    past = done_turn("h1", *(each.name for each in vms), "vm-2", ended=-5)
    found = world(*HOSTS, *vms, VMS[1], rollout(past, turn("h2", 1), health_wait=minutes(5)))
    because = look_at(found).pause_because

    assert [name for name in named if name not in because] == []
    assert [name for name in unnamed if name in because] == []


def test_a_reason_that_several_vms_share_is_given_once():
    found = gate(
        vm("web-2", "h1", "web", 1), past=done_turn("h1", "web-1", "web-2", ended=-5), health_wait=minutes(5)
    )

    assert look_at(found, **saying(ILL)).pause_because.count(ILL) == 1


# What operators read.


@pytest.mark.parametrize(
    ("found", "named"),
    [
        row(
            "nothing of one that has ended",
            world(*FLEET, rollout(open_turn(started(maintain("h1"))), state=RolloutState.ABORTED)),
            [],
        ),
        row(
            "the reason of a pause",
            world(*FLEET, rollout(turn("h1"), state=RolloutState.PAUSED, reason="lunch")),
            [["lunch"]],
        ),
        row("what keeps the next host", in_window(time(13)), [["13:00:00Z"]]),
        row(
            "what holds an announcement, with its host",
            world(*FLEET, rollout(open_turn(maintain("h1")))),
            [["h1", "vm-1", "12:15:00Z"]],
        ),
        row(
            "what is at work, with its host",
            world(*FLEET, rollout(open_turn(started(maintain("h1"))))),
            [["h1", "freeze"]],
        ),
        row(
            "both, each once",
            web(
                2,
                rollout(
                    open_turn(started(maintain("h1"))),
                    open_turn(maintain("h2", due=0)),
                    turn("h3"),
                    max_parallel=3,
                ),
            ),
            [["web", "h3"], ["h1", "freeze"], ["h2", "web"]],
        ),
        row(
            "nothing of an operation that has ended",
            world(*FLEET, rollout(turn("h1", state=TurnState.OPEN, operation="gone"))),
            [],
        ),
    ],
)
def test_a_rollout_says_what_it_waits_for(found: World, named: list[list[str]]):
    words = waits_of(found)

    assert len(words) == len(named)
    assert [name for names, said in zip(named, words, strict=True) for name in names if name not in said] == []


def test_a_rollout_says_once_what_it_waits_for_twice():
    both = rollout(open_turn(started(maintain("h1"))), postponed_turn(started(maintain("h1"))))

    assert len(waits_of(world(*FLEET, both))) == 1


# What is written of it.


def written(found: World, outlook: Outlook, *ids: str) -> tuple[Any, list[str]]:
    draft = moved_on(found, outlook, *ids)
    return draft, [deed.verb for deed in draft.seal().deeds]


NEW = "0b7e8c1a-0000-4000-8000-000000000001"


def test_an_announcement_makes_the_operation_and_opens_the_turn():
    found = world(*FLEET, rollout(turn("h1"), notice=minutes(20), duration_seconds=7, description="new kernel"))
    draft, verbs = written(found, look_at(found), NEW)
    operation, opened = draft.operation(NEW), draft.turn(ROLLOUT, "h1")
    (event,) = draft.events_of(NEW)

    assert (operation.host, operation.rollout, operation.asked_by) == ("h1", ROLLOUT, "operator")
    assert (operation.kind, operation.action, operation.duration_seconds) == (Kind.FREEZE, Action.FREEZE, 7)
    assert operation.description == "new kernel"
    assert event.not_before == at(20)
    assert (opened.state, opened.operation, opened.announced_at) == (TurnState.OPEN, NEW, NOON)
    assert verbs == ["maintain"]


def test_an_announcement_gives_more_notice_where_the_start_is_later_and_never_less():
    found = world(*FLEET, rollout(turn("h1")))
    first = turn_of(found, "h1")

    for start, not_before in ((at(40), at(40)), (NOON, at(15))):
        draft, _ = written(found, Outlook(announce=[(first, start)]), NEW)
        (event,) = draft.events_of(NEW)
        assert event.not_before == not_before


def test_an_announcement_without_a_description_says_what_guests_are_usually_told():
    found = world(*FLEET, rollout(turn("h1")))
    draft, _ = written(found, look_at(found), NEW)

    assert draft.operation(NEW).description == HOST_MAINTENANCE


def test_an_announcement_of_a_live_migration_migrates():
    found = world(*FLEET, rollout(turn("h1"), **MIGRATION))
    draft, _ = written(found, look_at(found), NEW)

    assert draft.operation(NEW).action is Action.MIGRATE


def test_an_announcement_that_is_refused_fails_the_turn_and_says_why():
    found = web(3, rollout(turn("h1")))
    draft, verbs = written(found, Outlook(announce=[(turn_of(found, "h1"), at(15))]), NEW)
    ended = draft.turn(ROLLOUT, "h1")

    assert (ended.state, ended.ended_at) == (TurnState.FAILED, NOON)
    assert "web" in ended.reason
    assert verbs == ["fail"]


def test_an_announcement_to_start_at_the_force_by_date_is_not_refused_for_a_minimum():
    found = web(3, rollout(turn("h1"), force_by=at(15)))
    draft, _ = written(found, look_at(found), NEW)

    assert draft.turn(ROLLOUT, "h1").state is TurnState.OPEN


def test_a_skipped_turn_has_ended_and_says_why():
    found = world(failed("h1"), rollout(turn("h1")))
    draft, verbs = written(found, look_at(found))
    ended = draft.turn(ROLLOUT, "h1")

    assert (ended.state, ended.ended_at) == (TurnState.SKIPPED, NOON)
    assert "h1" in ended.reason
    assert verbs == ["skip"]


def test_what_is_taken_back_is_cancelled_and_its_host_waits_for_another_turn():
    found = world(*FLEET, rollout(open_turn(maintain("h1", due=0)), window=SHUT))
    draft, verbs = written(found, look_at(found))
    again, operation = draft.turn(ROLLOUT, "h1"), draft.operation("maintain h1")

    assert (again.state, again.operation, again.announced_at) == (TurnState.WAITING, None, None)
    assert operation.phase is Phase.CANCELLED
    assert verbs == ["cancel"]


def test_what_has_started_meanwhile_is_not_taken_back():
    found = world(*FLEET, rollout(open_turn(started(maintain("h1")))))
    draft, _ = written(found, Outlook(withdraw=[(turn_of(found, "h1"), "late")]))

    assert draft.is_empty


def test_a_turn_without_an_operation_is_not_taken_back():
    found = world(*FLEET, rollout(turn("h1")))
    draft, _ = written(found, Outlook(withdraw=[(turn_of(found, "h1"), "late")]))

    assert draft.is_empty


@pytest.mark.parametrize(
    ("course", "state", "named"),
    [
        row(
            "completed when all went well", rollout(done_turn("h1", "vm-1", ended=-5)), RolloutState.COMPLETED, []
        ),
        row(
            "failed when a host failed, and names it",
            rollout(failed_turn("h1"), done_turn("h2", "vm-2", ended=-5), max_failures=1),
            RolloutState.FAILED,
            ["h1"],
        ),
    ],
)
def test_a_rollout_ends(course: Course, state: RolloutState, named: list[str]):
    found = world(*FLEET, course)
    draft, verbs = written(found, look_at(found))
    (ended,) = [each for each in draft.seal().entities if isinstance(each, Rollout)]

    assert (ended.state, ended.ended_at) == (state, NOON)
    assert bool(ended.reason) is bool(named)
    assert all(name in ended.reason for name in named)
    assert verbs == ["end rollout"]


def test_a_pause_takes_back_what_is_only_announced_and_lets_what_has_started_go_on():
    found = world(
        *FLEET,
        rollout(
            failed_turn("h1"),
            open_turn(started(maintain("h2"))),
            open_turn(maintain("h3")),
            postponed_turn(maintain("h4", due=60)),
            turn("h5"),
        ),
    )
    draft, verbs = written(found, look_at(found))
    sealed = draft.seal()
    (paused,) = [each for each in sealed.entities if isinstance(each, Rollout)]
    phases = {each.id: each.phase for each in sealed.entities if isinstance(each, Operation)}
    turns = {each.host: each.state for each in sealed.entities if isinstance(each, Turn)}

    assert paused.state is RolloutState.PAUSED
    assert "h1" in paused.reason
    assert phases == {"maintain h3": Phase.CANCELLED, "maintain h4": Phase.CANCELLED}
    assert turns == {"h3": TurnState.WAITING, "h4": TurnState.WAITING}
    assert verbs == ["pause rollout", "cancel", "cancel"]


def test_what_a_pause_takes_back_says_that_the_rollout_is_paused_and_why():
    found = world(*FLEET, rollout(open_turn(maintain("h1"))))
    draft = draft_of(found)
    stop_for_now(draft, found.rollouts[ROLLOUT], "lunch")

    assert "lunch" in draft.operation("maintain h1").reason
