"""From answers to changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from forewarn.agent.changes import CannotApprove, Change, Register, What
from forewarn.agent.events import Document, Event, Sighting

NOW = datetime(2026, 3, 2, 12, tzinfo=timezone.utc)
EVENT = Event("A", "Reboot", resources=("web-0",), not_before=NOW + timedelta(minutes=15))
STARTED = replace(EVENT, status="Started", not_before=None)


class Tale:
    """A register that is told one answer after the other."""

    def __init__(self) -> None:
        self.approved: list[str] = []
        self.me = "web-0"
        self.now = NOW
        self.register = Register(
            lambda names: self.me if self.me in names else "",
            self.approved.append,
            lambda: self.now,
            timedelta(seconds=45),
            1.0,
        )
        self.steady_at = 0.0

    def tell(
        self, *events: Event, is_anew: bool = False, at: datetime = NOW, oddities: tuple[str, ...] = ()
    ) -> list[tuple[What, str]]:
        return [(each.what, each.id) for each in self.changes(*events, is_anew=is_anew, at=at, oddities=oddities)]

    def changes(
        self, *events: Event, is_anew: bool = False, at: datetime = NOW, oddities: tuple[str, ...] = ()
    ) -> list[Change]:
        self.steady_at += 1
        document = Document(events, None, oddities)
        return self.register.note(Sighting(document, at, is_anew=is_anew, steady_at=self.steady_at))

    def told_in_the_end(self, at: datetime) -> list[tuple[What, str]]:
        """What is told when answer after answer lacks all events."""
        return [told for _ in range(4) for told in self.tell(is_anew=True, at=at)]


@pytest.fixture
def tale() -> Tale:
    return Tale()


def test_a_new_event_is_told_once(tale: Tale):
    assert tale.tell(EVENT) == [(What.SCHEDULED, "A")]
    assert tale.tell(EVENT) == []


def test_an_event_that_is_born_started_is_told_as_started(tale: Tale):
    assert tale.tell(STARTED) == [(What.STARTED, "A")]


def test_a_start_and_a_change_are_told_once_each_with_what_was_before(tale: Tale):
    tale.tell(EVENT)
    moved = replace(EVENT, not_before=NOW + timedelta(minutes=5))

    (change,) = tale.changes(moved)

    assert (change.what, change.before) == (What.CHANGED, EVENT)
    assert tale.tell(STARTED) == [(What.STARTED, "A")]
    assert tale.tell(STARTED) == []


def test_several_events_in_one_answer_are_all_told(tale: Tale):
    other = replace(EVENT, id="B")

    assert tale.tell(EVENT, other) == [(What.SCHEDULED, "A"), (What.SCHEDULED, "B")]


def test_an_event_is_gone_only_when_a_second_answer_asked_for_anew_lacks_it_too(tale: Tale):
    tale.tell(EVENT)

    assert tale.tell() == []
    assert tale.register.look_after == 1.0
    assert tale.tell() == []
    assert tale.tell(is_anew=True) == [(What.CANCELLED, "A")]
    assert tale.register.look_after is None


def test_an_event_that_has_started_is_gone_only_when_four_answers_lack_it(tale: Tale):
    tale.tell(STARTED)

    assert [tale.tell(is_anew=True) for _ in range(4)] == [[], [], [], [(What.FINISHED, "A")]]


def test_an_event_that_was_missing_once_and_is_back_is_no_change(tale: Tale):
    tale.tell(EVENT)

    assert tale.tell() == []
    assert tale.tell(EVENT, is_anew=True) == []
    assert tale.register.look_after is None


def test_an_answer_that_could_not_be_read_whole_takes_no_event_away(tale: Tale):
    tale.tell(EVENT)
    tale.tell()

    assert tale.tell(is_anew=True, oddities=("an event without an EventId",)) == []


@pytest.mark.parametrize(
    ("event", "later", "what"),
    [
        (STARTED, timedelta(), What.FINISHED),
        (EVENT, timedelta(), What.CANCELLED),
        (EVENT, timedelta(minutes=16), What.FINISHED),
    ],
    ids=["after its start", "before its start", "when it was due"],
)
def test_how_an_event_ended_depends_on_whether_it_had_started(
    tale: Tale, event: Event, later: timedelta, what: What
):
    tale.tell(event)

    assert tale.told_in_the_end(at=NOW + later) == [(what, "A")]


def test_learning_ones_name_makes_an_event_ones_own(tale: Tale):
    tale.me = "host-7"
    (first,) = tale.changes(EVENT)

    tale.me = "web-0"
    (second,) = tale.changes(EVENT)

    assert (first.is_mine, second.is_mine, second.what) == (False, True, What.CHANGED)


def test_an_event_of_ones_own_is_approved(tale: Tale):
    (change,) = tale.changes(EVENT)

    change.approve()

    assert tale.approved == ["A"]


def test_an_event_that_does_not_name_this_vm_is_approved_only_when_that_is_said(tale: Tale):
    (change,) = tale.changes(replace(EVENT, resources=("web-1",)))

    with pytest.raises(CannotApprove, match=r"for web-1, not for this VM: say approve\(for_others=True\)"):
        change.approve()
    before = list(tale.approved)
    change.approve(for_others=True)

    assert (before, tale.approved) == ([], ["A"])


def test_an_event_that_has_started_is_not_approved_again(tale: Tale):
    (change,) = tale.changes(STARTED)

    change.approve()

    assert tale.approved == []


def test_an_event_that_is_over_cannot_be_approved(tale: Tale):
    tale.tell(EVENT)
    tale.tell()
    (change,) = tale.changes(is_anew=True)

    with pytest.raises(CannotApprove, match="cancelled"):
        change.approve()


def test_a_change_says_how_long_there_is(tale: Tale):
    (change,) = tale.changes(EVENT)

    assert change.seconds_left == 900


def test_an_event_that_was_approved_and_is_gone_at_the_next_look_has_finished(tale: Tale):
    (change,) = tale.changes(EVENT)
    tale.now = NOW + timedelta(seconds=1)
    change.approve()

    assert tale.told_in_the_end(at=NOW + timedelta(seconds=2)) == [(What.FINISHED, "A")]


def test_an_event_whose_status_is_not_said_is_told_and_cannot_be_approved(tale: Tale):
    (change,) = tale.changes(replace(EVENT, status=""))

    with pytest.raises(CannotApprove, match="its status is not said"):
        change.approve()

    assert change.what is What.SCHEDULED
