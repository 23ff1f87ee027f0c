"""Every hold names what it is about, and until when."""

from __future__ import annotations

from datetime import datetime

import pytest

from forewarn.core.availability import Shortfall
from forewarn.core.holds import (
    BelowMinimum,
    Hold,
    NoHostTakes,
    TerminatePending,
    TooManyAtWork,
    VmComes,
    clock_time,
    holds,
)
from forewarn.core.world import World
from tests.core.held import (
    AT_FOUR,
    BOTH,
    H1,
    H2,
    SOLO,
    TOO_SHORT,
    TWIN,
    WEB,
    WEB_0,
    WEB_1,
    in_window,
    recovering,
    web,
)
from tests.core.worlds import (
    NOON,
    approved,
    at,
    availability_set,
    degrade,
    delete,
    down,
    evict,
    maintain,
    off,
    postponed,
    restart,
    row,
    started,
    vm,
    world,
)

# Words: every hold names what it is about, and until when.


def the_hold(found: World, operation: str) -> Hold:
    (hold,) = holds(found, found.operations[operation], NOON)
    return hold


MANY = tuple(vm(f"web-{n}", "h1", "web") for n in range(7))
EVENT = world(H1, SOLO, delete("solo")).events["delete solo in solo"]


@pytest.mark.parametrize(
    ("hold", "named", "unnamed"),
    [
        row("approval", the_hold(world(H1, SOLO, restart("solo")), "restart solo"), ["solo", "12:15:00Z"], []),
        row(
            "approval, or the end of a notice nobody reads",
            the_hold(world(*BOTH, off("twin"), maintain("h1", due={"solo": 15, "twin": 20})), "maintain h1"),
            ["solo", "twin", "12:20:00Z"],
            ["12:15:00Z"],
        ),
        row(
            "a notice nobody reads",
            the_hold(world(H1, SOLO, off("solo"), restart("solo")), "restart solo"),
            ["solo", "off", "12:15:00Z"],
            ["owner"],
        ),
        row(
            "a notice that somebody postponed",
            the_hold(world(H1, SOLO, off("solo"), postponed(maintain("h1"), "solo")), "maintain h1"),
            ["solo", "off", "12:15:00Z", "owner"],
            [],
        ),
        row(
            "a busy VM",
            the_hold(world(H1, SOLO, started(restart("solo")), evict("solo", due=0)), "evict solo"),
            ["Reboot of solo"],
            [],
        ),
        row(
            "an update domain at work",
            the_hold(
                world(H1, H2, WEB, WEB_0, WEB_1, started(restart("web-1")), maintain("h1", due=0)), "maintain h1"
            ),
            ["update domain 1 of web", "web-1", "Reboot of web-1"],
            [],
        ),
        row(
            "an update domain that is down",
            the_hold(
                world(H1, H2, WEB, WEB_0, down("web-1", "h2", "web", 1), maintain("h1", due=0)), "maintain h1"
            ),
            ["update domain 1 of web", "web-1"],
            [],
        ),
        row(
            "a minimum",
            the_hold(web(3, maintain("h1", due=0)), "maintain h1"),
            ["web", "4", "3", "h1", "web-0"],
            ["more", "until"],
        ),
        row(
            "a minimum until a date",
            the_hold(web(3, approved(degrade("h1", due=15))), "degrade h1"),
            ["12:15:00Z"],
            [],
        ),
        row(
            "a minimum, with the first five of many VMs",
            the_hold(world(H1, availability_set("web", 1), *MANY, maintain("h1", due=0)), "maintain h1"),
            ["8", "web-4", "2 more"],
            ["web-5", "12 more"],
        ),
        row(
            "a minimum, with exactly five VMs",
            the_hold(world(H1, availability_set("web", 1), *MANY[:5], maintain("h1", due=0)), "maintain h1"),
            ["web-4"],
            ["more"],
        ),
        row(
            "a minimum of work on VMs rather than a host",
            BelowMinimum(
                Shortfall("web", 1, 1, ("web-0",)),
                world(H1, SOLO, restart("solo")).operations["restart solo"],
                None,
            ),
            ["this work", "web-0"],
            [],
        ),
        row(
            "a set that is short",
            the_hold(web(2, started(restart("web-1")), degrade("h1", due=0)), "degrade h1"),
            ["Reboot of web-1", "web", "2"],
            [],
        ),
        row("another Terminate", TerminatePending(EVENT, at(15)), ["solo", "12:15:00Z"], []),
        row(
            "a VM that leaves",
            the_hold(world(H1, SOLO, TWIN, evict("twin"), maintain("h1", "solo", due=0)), "maintain h1"),
            ["Preempt of twin", "twin"],
            [],
        ),
        row("a VM that comes", VmComes("twin", "h1"), ["twin", "h1"], []),
        row("recovery", the_hold(recovering(-10), "maintain h1"), ["update domain 1 of web", "12:20:00Z"], []),
        row("a window that opens", the_hold(in_window(AT_FOUR), "maintain h1"), ["Mon 16:00:00Z"], ["force"]),
        row(
            "a force-by date",
            the_hold(in_window(TOO_SHORT, at(60)), "maintain h1"),
            ["force-by", "Mon 13:00:00Z"],
            [],
        ),
        row("a window that never opens", the_hold(in_window(TOO_SHORT), "maintain h1"), ["window"], ["Mon"]),
        row("too many at work", TooManyAtWork(2, ("h2", "h3")), ["h2", "h3", "2"], []),
        row("no host", NoHostTakes("solo", "none may: h1 has failed"), ["solo", "h1"], []),
    ],
)
def test_a_hold_names_what_it_waits_for(hold: Hold, named: list[str], unnamed: list[str]):
    words = hold.in_words(NOON)

    assert [each for each in named if each not in words] == []
    assert [each for each in unnamed if each in words] == []


@pytest.mark.parametrize(
    ("instant", "shown"),
    [
        row("today, by its time", at(15), "12:15:00Z"),
        row("on another day, with its date", at(12 * 60), "2026-03-03 00:00:00Z"),
        row("at the end of today, by its time", at(12 * 60 - 1), "23:59:00Z"),
    ],
)
def test_an_instant_is_shown(instant: datetime, shown: str):
    assert clock_time(instant, NOON) == shown
