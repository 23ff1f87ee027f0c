"""The line of one webhook: order for each event, and patience."""

from __future__ import annotations

from forewarn.control.push.delivery_queue import DeliveryQueue, RetryPolicy
from tests.push.samples import delivery


def drain(line: DeliveryQueue, now: float) -> list[int]:
    """All that is due, each of which arrives."""
    found = []
    while (each := line.take(now)) is not None:
        found.append(each.number)
        line.leave(each, now)
    return found


def test_what_is_due_comes_in_the_order_in_which_it_happened():
    line = DeliveryQueue()
    for number, event in ((1, "A"), (2, "B"), (3, "A")):
        line.join(delivery(number, event), 0.0)

    assert drain(line, 0.0) == [1, 2, 3]
    assert len(line) == 0
    assert line.next_due() is None


def test_the_next_of_an_event_waits_for_the_one_before_it_and_other_events_do_not():
    line = DeliveryQueue()
    for number, event in ((1, "A"), (2, "A"), (3, "B")):
        line.join(delivery(number, event), 0.0)
    first = line.take(0.0)
    assert first is not None

    line.put_back(delivery(1, "A", tries=1), 10.0)

    assert drain(line, 9.0) == [3]
    assert line.next_due() == 10.0
    again = line.take(10.0)
    assert again is not None
    assert (again.number, again.tries) == (1, 1)
    line.leave(again, 10.0)
    assert drain(line, 10.0) == [2]


def test_one_in_hand_is_not_given_out_again():
    line = DeliveryQueue()
    line.join(delivery(1), 0.0)

    first, second = line.take(0.0), line.take(0.0)

    assert first is not None
    assert second is None
    assert len(line) == 1


def test_pauses_double_up_to_a_limit_and_chance_makes_them_shorter_by_half_at_most():
    patience = RetryPolicy(first_seconds=1.0, most_seconds=600.0)

    longest = [patience.pause(tries, 1.0) for tries in range(1, 13)]

    assert longest == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
    assert patience.pause(3, 0.0) == 2
    assert patience.pause(10**6, 1.0) == 600


def test_a_delivery_is_tried_for_about_a_day():
    patience = RetryPolicy()

    seconds = sum(patience.pause(tries, 0.5) for tries in range(1, patience.tries))

    assert 15 * 3600 < seconds < 26 * 3600
    assert not patience.is_over(patience.tries - 1)
    assert patience.is_over(patience.tries)
