"""What a rollout does next, and what it waits for."""

from __future__ import annotations

from datetime import time, timedelta

import pytest

from forewarn.core.rollout import RolloutState, TurnState
from forewarn.core.rollout_course import Outlook
from forewarn.core.world import World
from tests.core.rollouts import (
    FLEET,
    HOSTS,
    VMS,
    announced,
    in_window,
    web,
)
from tests.core.worlds import (
    Course,
    degraded,
    done_turn,
    down,
    failed,
    failed_turn,
    look_at,
    maintain,
    open_turn,
    postponed_turn,
    rollout,
    row,
    started,
    stopped,
    turn,
    vm,
    waits_of,
    world,
)

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
