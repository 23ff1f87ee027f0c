from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from forewarn.agent.events import Event
from forewarn.agent.forecast import approval_in_words, foresee, undone_after
from forewarn.agent.policy import Approval, Occasion, Profile, Step, Together

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=timezone.utc)
EVENT = Event("a", "Reboot", resources=("web-1",), not_before=NOW + timedelta(minutes=15), source="Platform")
STEPS = (
    Step("tell", "webhook", on=Occasion.DETECTED),
    Step("drain", "haproxy", has_undo=True, timeout_seconds=60),
    Step("stop", "systemd", group=2, has_undo=True, timeout_seconds=90),
)


def words(event: Event, vm: str, profile: Profile) -> str:
    quick, slow = foresee(event, vm, profile, NOW), foresee(event, vm, profile, NOW, is_slow=True)
    return approval_in_words(event, vm, profile, quick, slow)


def test_steps_are_foreseen_group_by_group_with_the_time_they_have():
    profile = Profile("drain", STEPS, lead_seconds=600, approval=Approval.AFTER_SUCCESS)

    quick = foresee(EVENT, "web-1", profile, NOW)
    slow = foresee(EVENT, "web-1", profile, NOW, is_slow=True)

    begins = NOW + timedelta(minutes=5)
    assert [(each.step, each.at, each.seconds) for each in quick.moments] == [
        ("tell", NOW, 60),
        ("drain", begins, 60),
        ("stop", begins, 90),
    ]
    assert quick.approved_at == begins
    assert slow.approved_at == begins + timedelta(seconds=150)


def test_a_step_for_which_no_time_is_left_is_left_out_and_nothing_is_approved():
    profile = Profile("drain", STEPS, approval=Approval.AFTER_SUCCESS, reserve_seconds=860)

    slow = foresee(EVENT, "web-1", profile, NOW, is_slow=True)

    assert [(each.step, each.left_out) for each in slow.moments][-1] == ("stop", "no time was left for it")
    assert slow.approved_at is None


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        (Profile("p"), "It is not approved: profile p never does."),
        (Profile("p", approval=Approval.MANUAL), "It waits for someone to say: forewarn agent approve a."),
        (Profile("p", approval=Approval.AFTER_SUCCESS), "It is approved at 12:00:00Z, if every step succeeds."),
        (
            Profile("p", STEPS, approval=Approval.AFTER_SUCCESS),
            "It is approved between 12:00:00Z and 12:02:30Z, if every step succeeds.",
        ),
        (
            Profile("p", STEPS, approval=Approval.BEFORE_DEADLINE, reserve_seconds=30),
            "It is approved at 12:14:30Z, if every step succeeds.",
        ),
        (
            Profile("p", STEPS, approval=Approval.AFTER_SUCCESS, reserve_seconds=860),
            "It is approved at 12:00:00Z, if every step succeeds; if they use all their time, it is not.",
        ),
    ],
)
def test_when_it_will_be_approved_is_said_in_a_sentence(profile: Profile, said: str):
    assert words(EVENT, "web-1", profile) == said


def test_an_event_of_several_vms_is_said_to_wait_for_the_others():
    event = Event("a", "Reboot", resources=("web-1", "web-2", "web-3"), not_before=EVENT.not_before)
    leader = Profile("p", approval=Approval.AFTER_SUCCESS, together=Together.LEADER)
    nobody = Profile("p", approval=Approval.AFTER_SUCCESS)

    assert words(event, "web-1", leader).endswith("if every step succeeds and web-2, web-3 are ready.")
    assert words(event, "web-2", leader) == "It waits for web-1, who approves for all."
    assert "names several VMs" in words(event, "web-1", nobody)


def test_what_is_not_this_vms_or_has_started_is_not_approved():
    profile = Profile("p", approval=Approval.AFTER_SUCCESS)
    started = Event("a", "Reboot", "Started", ("web-1",))

    assert words(EVENT, "", profile) == "It is not approved: it does not name this VM."
    assert words(started, "web-1", profile) == "There is nothing to approve: it has started."


@pytest.mark.parametrize(
    ("status", "said"), [("", "not said"), ("Completed", "Completed, and not Scheduled")], ids=["none", "another"]
)
def test_an_event_that_nobody_calls_started_is_not_said_to_be(status: str, said: str):
    odd = Event("a", "Reboot", status, ("web-1",))

    approval = words(odd, "web-1", Profile("p", approval=Approval.AFTER_SUCCESS))

    assert approval == f"It is not approved: its EventStatus is {said}."


def test_what_a_user_asked_for_may_be_approved_whatever_comes_of_the_steps():
    event = Event("a", "Reboot", resources=("web-1",), not_before=EVENT.not_before, source="User")
    profile = Profile("p", STEPS, approval=Approval.AT_ONCE_FOR_USER)

    assert words(event, "web-1", profile) == (
        "It is approved at 12:00:00Z, whether its steps have succeeded or not."
    )


def test_steps_are_undone_the_last_group_first():
    assert list(undone_after(Profile("p", STEPS))) == ["stop", "drain"]
