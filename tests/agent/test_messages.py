"""Sightings that wait for the keeper together."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from forewarn.agent.events import Document, Sighting
from forewarn.agent.messages import Nudge, without_repeated

NOON = datetime(2026, 3, 2, 12, tzinfo=timezone.utc)
DOCUMENT = Document(())


def seen(second: int, *, is_unchanged: bool = True, is_anew: bool = False, endpoint: str = "") -> Sighting:
    at = NOON + timedelta(seconds=second)
    return Sighting(DOCUMENT, at, is_unchanged=is_unchanged, is_anew=is_anew, endpoint=endpoint)


def test_of_sightings_that_say_the_same_the_first_and_the_last_are_noted():
    messages = [seen(0, is_unchanged=False), seen(1), seen(2), seen(3), Nudge(), seen(4), seen(5)]

    kept = [each.at.second for each in without_repeated(messages) if isinstance(each, Sighting)]

    assert kept == [0, 3, 5]


def test_sightings_that_change_something_were_asked_for_or_come_from_elsewhere_are_all_noted():
    messages = [
        seen(0, is_unchanged=False),
        seen(1, is_unchanged=False),
        seen(2, is_anew=True),
        seen(3, endpoint="a"),
    ]

    assert list(without_repeated([*messages, seen(4, endpoint="b")])) == [*messages, seen(4, endpoint="b")]
