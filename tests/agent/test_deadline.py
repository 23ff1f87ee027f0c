"""The time that an attempt has. The clock is the test's own."""

from __future__ import annotations

import threading

from forewarn.agent.handlers.deadline import Deadline


def test_a_deadline_is_over_when_its_time_is_up_and_says_so():
    now = [100.0]
    deadline = Deadline(5, monotonic=lambda: now[0])

    assert (deadline.left, deadline.is_over) == (5, False)
    now[0] = 105.0
    assert (deadline.left, deadline.is_over) == (0, True)
    assert deadline.why() == "its time of 5 s was up"


def test_a_deadline_is_over_at_once_when_it_is_told_to_stop():
    stop = threading.Event()
    deadline = Deadline(5, stop)

    stop.set()

    assert deadline.is_over
    assert not deadline.pause(60)
    assert deadline.why() == "it was told to stop"


def test_a_part_of_a_deadline_ends_with_it_and_tells_the_reason_of_the_whole():
    now = [0.0]
    whole = Deadline(10, monotonic=lambda: now[0])
    now[0] = 8.0
    short, long = whole.within(1), whole.within(60)

    now[0] = 9.5

    assert (short.is_over, short.why()) == (True, "its time of 1 s was up")
    assert long.left == 0.5
    now[0] = 10.0
    assert long.why() == short.why() == "its time of 10 s was up"
