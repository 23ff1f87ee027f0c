"""What `decide` wants done next, and when time alone makes it look again."""

from __future__ import annotations

import pytest

from forewarn.core.decide import (
    AttemptReport,
    Begin,
    Conclude,
    Finish,
    Intent,
    LetGo,
    Start,
    decide,
    operation_of,
)
from forewarn.core.operation import Outcome
from forewarn.core.world import World
from tests.core.worlds import (
    NOON,
    Job,
    approved,
    availability_set,
    begun,
    botched,
    degrade,
    delete,
    done,
    fail,
    failed,
    host,
    maintain,
    report,
    restart,
    row,
    started,
    stop,
    vm,
    without,
    world,
)

H1, H2 = host("h1"), host("h2")
SOLO, TWIN = vm("solo", "h1"), vm("twin", "h1")
WEB = (availability_set("web"), vm("web-0", "h1", "web", 0), vm("web-1", "h2", "web", 1))
PAIR = (vm("web-0", "h1", "web"), vm("web-1", "h1", "web"))  # one update domain: one event
LOST = (failed("h1"), failed("h2"), SOLO, TWIN)  # nowhere to bring a VM back


def decided(found: World, *reports: AttemptReport) -> list[Intent]:
    return decide(found, list(found.operations), NOON, {(each.operation, each.vm): each for each in reports})


# What is announced.


@pytest.mark.parametrize(
    ("found", "starting"),
    [
        row("an operation whose notice runs waits", world(H1, SOLO, restart("solo", due=15)), []),
        row("an operation starts when its notice has run out", world(H1, SOLO, restart("solo", due=0)), ["solo"]),
        row("an approved operation starts at once", world(H1, SOLO, approved(restart("solo"))), ["solo"]),
        row(
            "an operation without events starts at once",
            world(H1, SOLO, stop("solo")),
            ["solo"],
        ),
        row(
            "operations on different VMs start together, oldest first",
            world(H1, SOLO, TWIN, restart("solo", due=0, asked=-5), restart("twin", due=0, asked=-6)),
            ["twin", "solo"],
        ),
        row(
            "of two operations on one VM only the older starts",
            world(H1, SOLO, restart("solo", due=0, asked=-5), delete("solo", due=0, asked=-4)),
            ["solo"],
        ),
        row(
            "of two operations of the same instant the one with the lower id is first",
            world(H1, SOLO, TWIN, restart("twin", due=0, asked=-5), restart("solo", due=0, asked=-5)),
            ["solo", "twin"],
        ),
    ],
)
def test_of_what_is_announced_decide_starts_what_nothing_holds(found: World, starting: list[str]):
    assert [intent.operation.split()[1] for intent in decided(found) if isinstance(intent, Start)] == starting


def test_planned_work_gives_way_to_a_user_operation_that_is_younger():
    found = world(H1, H2, *WEB, maintain("h1", due=0, asked=-60), restart("web-1", due=0, asked=-5))

    assert decided(found) == [Start("restart web-1")]


def test_of_two_update_domains_that_are_due_together_one_starts():
    found = world(H1, H2, *WEB, maintain("h1", due=0), maintain("h2", due=0))

    assert decided(found) == [Start("maintain h1")]


def farm(minimum: int, *jobs: Job) -> World:
    """A set of three VMs on three hosts, all of one update domain: nothing but its minimum keeps them apart."""
    members = [vm(f"web-{n}", f"h{n}", "web") for n in (1, 2, 3)]
    return world(H1, H2, host("h3"), availability_set("web", minimum), *members, *jobs)


MAINTAIN_ALL = [maintain(f"h{n}", due=0) for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("found", "starting"),
    [
        row("all at once without a minimum", farm(0, *MAINTAIN_ALL), ["h1", "h2", "h3"]),
        row("as many as the minimum leaves", farm(1, *MAINTAIN_ALL), ["h1", "h2"]),
        row("one after the other", farm(2, *MAINTAIN_ALL), ["h1"]),
        row(
            "none beside a restart that starts in the same moment",
            farm(2, restart("web-1", due=0), maintain("h2", due=0)),
            ["web-1"],
        ),
        row(
            "hosts that are about to fail one after the other",
            farm(3, degrade("h1", due=0), degrade("h2", due=0)),
            ["h1"],
        ),
    ],
)
def test_of_works_that_are_due_together_those_start_that_leave_enough_available(found: World, starting: list[str]):
    assert [operation_of(intent).split()[1] for intent in decided(found)] == starting


def test_decide_looks_only_at_the_operations_it_is_given():
    found = world(H1, SOLO, TWIN, restart("solo", due=0), restart("twin", due=0))

    assert decide(found, ["restart twin", "one that has ended"], NOON) == [Start("restart twin")]


def test_what_has_started_goes_on_before_anything_else_starts():
    found = world(H1, SOLO, TWIN, started(restart("solo")), restart("twin", due=0))

    assert decided(found) == [Begin("restart solo", ("solo",))]


def test_what_has_started_and_waits_keeps_nothing_else_from_starting():
    found = world(H1, SOLO, TWIN, begun(restart("solo"), "solo"), restart("twin", due=0))

    assert decided(found) == [Start("restart twin")]


# What has started.


MAINTENANCE = maintain("h1", "solo", "twin")
RESTORE = fail("h1", "solo", "twin")


@pytest.mark.parametrize(
    ("found", "reports", "intents"),
    [
        row(
            "machines are not touched before Started was visible long enough",
            world(H1, SOLO, started(restart("solo"), begins=0.01)),
            [],
            [],
        ),
        row(
            "machines are not touched while Started is still to be shown",
            world(H1, SOLO, started(restart("solo"), begins=None)),
            [],
            [],
        ),
        row(
            "machines are touched from the lead's last instant on",
            world(H1, SOLO, started(restart("solo"), begins=0)),
            [],
            [Begin("restart solo", ("solo",))],
        ),
        row(
            "all machines of an operation begin together",
            world(H1, SOLO, TWIN, started(MAINTENANCE)),
            [],
            [Begin("maintain h1", ("solo", "twin"))],
        ),
        row(
            "a machine that has been begun on is not begun on again",
            world(H1, SOLO, TWIN, begun(MAINTENANCE, "solo")),
            [],
            [Begin("maintain h1", ("twin",))],
        ),
        row(
            "an operation at work waits for its driver",
            world(H1, SOLO, begun(restart("solo"), "solo")),
            [],
            [],
        ),
        row(
            "a driver's word on the last machine concludes it and finishes the operation",
            world(H1, SOLO, begun(restart("solo"), "solo")),
            [report("restart solo", "solo")],
            [Conclude(report("restart solo", "solo")), Finish("restart solo")],
        ),
        row(
            "a failure is concluded like a success",
            world(H1, SOLO, begun(restart("solo"), "solo")),
            [report("restart solo", "solo", Outcome.FAILED)],
            [Conclude(report("restart solo", "solo", Outcome.FAILED)), Finish("restart solo")],
        ),
        row(
            "a driver's word on one machine of two concludes that one alone",
            world(H1, SOLO, TWIN, begun(MAINTENANCE, "solo", "twin")),
            [report("maintain h1", "twin")],
            [Conclude(report("maintain h1", "twin"))],
        ),
        row(
            "an outcome that is known already is not concluded again",
            world(H1, SOLO, TWIN, begun(done(MAINTENANCE, "solo"), "twin")),
            [report("maintain h1", "solo")],
            [],
        ),
        row(
            "an operation is finished when all of its machines are done with, well or badly",
            world(H1, SOLO, TWIN, botched(done(MAINTENANCE, "solo"), "twin")),
            [],
            [Finish("maintain h1")],
        ),
        row(
            "an operation whose machines have all left is finished",
            world(H1, started(maintain("h1"))),
            [],
            [Finish("maintain h1")],
        ),
        row(
            "a machine on which another operation is at work is not touched",
            world(H1, SOLO, begun(restart("solo"), "solo"), started(maintain("h1"))),
            [],
            [],
        ),
        row(
            "a machine on which another operation is done is touched",
            world(H1, SOLO, done(restart("solo"), "solo"), started(maintain("h1"))),
            [],
            [Finish("restart solo"), Begin("maintain h1", ("solo",))],
        ),
        row(
            "two operations that may begin on one machine begin one after the other",
            world(H1, SOLO, started(restart("solo", asked=-5)), started(stop("solo", asked=-6))),
            [],
            [Begin("stop solo", ("solo",))],
        ),
        row(
            "a machine is not brought back where no host may take it",
            world(*LOST, RESTORE),
            [],
            [],
        ),
        row(
            "a machine is brought back where a host may take it",
            world(*LOST, host("h3"), RESTORE),
            [],
            [Begin("fail h1", ("solo", "twin"))],
        ),
        row(
            "machines that are back do not wait for those that no host may take",
            world(*LOST, done(RESTORE, "solo")),
            [],
            [LetGo("fail h1", ("solo",))],
        ),
        row(
            "machines that were let go are not let go again",
            without(world(*LOST, done(RESTORE, "solo")), "fail h1 in solo"),
            [],
            [],
        ),
        row(
            "machines that are being brought back are not let go yet",
            world(*LOST, begun(RESTORE, "solo")),
            [],
            [],
        ),
        row(
            "machines that are done with wait for one that another operation is at work on",
            world(H1, SOLO, TWIN, done(MAINTENANCE, "solo"), begun(restart("twin"), "twin")),
            [],
            [],
        ),
        row(
            "a machine that shares its event with one that no host may take waits with it",
            world(failed("h1"), availability_set("web"), *PAIR, done(fail("h1", "web-0", "web-1"), "web-0")),
            [],
            [],
        ),
    ],
)
def test_what_has_started_goes_on(found: World, reports: list[AttemptReport], intents: list[Intent]):
    assert decided(found, *reports) == intents


def test_outcomes_are_concluded_before_the_operation_is_finished():
    said = decided(
        world(H1, SOLO, TWIN, begun(MAINTENANCE, "solo", "twin")),
        report("maintain h1", "twin"),
        report("maintain h1", "solo"),
    )

    assert said == [
        Conclude(report("maintain h1", "solo")),
        Conclude(report("maintain h1", "twin")),
        Finish("maintain h1"),
    ]


def test_every_intent_names_its_operation():
    intents: list[Intent] = [
        Start("a"),
        Begin("a", ()),
        Conclude(report("a", "solo")),
        LetGo("a", ()),
        Finish("a"),
    ]

    assert {operation_of(each) for each in intents} == {"a"}
