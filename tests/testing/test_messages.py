"""What a test says when an event did not do what was expected: its whole life, a line for each thing."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest

from forewarn.testing import Event, Refused, Service, Unmet


def said(failed: pytest.ExceptionInfo[Unmet]) -> str:
    return re.sub(r"\b[0-9a-f]{8}\b", "ID", str(failed.value))


def text(written: str) -> str:
    return dedent(written).strip()


def test_an_event_that_nobody_approved(service: Service):
    event = service.restart(service.vm("web_0", availability_set="web"))
    service.clock.advance(minutes=5)

    with pytest.raises(Unmet) as failed:
        event.expect_approved(by="web_0")

    assert said(failed) == text("""
        Reboot of web_0 (ID) was to be approved by web_0; it is not approved.
          09:00:00Z  restart web_0, asked for by test: Reboot announced, to start by 09:15:00Z (15 min of notice)
          09:05:00Z  now Scheduled, waiting for approval from web_0 (scope web) until 09:15:00Z
    """)


def test_an_event_that_somebody_else_approved(service: Service):
    web, other = (service.vm(name, availability_set="web") for name in ("web_0", "web_1"))
    event = service.restart(web)
    service.clock.advance(seconds=90)
    other.approve(event)

    with pytest.raises(Unmet) as failed:
        event.expect_approved(by=web)

    event.expect_approved(by=other)
    event.expect_approved()
    assert said(failed) == text("""
        Reboot of web_0 (ID) was to be approved by web_0; it is approved by web_1.
          09:00:00Z  restart web_0, asked for by test: Reboot announced, to start by 09:15:00Z (15 min of notice)
          09:01:30Z  approved by web_1
          09:01:30Z  Started
          09:01:30Z  now Started, waiting for the reboot of web_0 to end
    """)


def test_an_event_that_is_over(service: Service):
    vm = service.vm("web_0")
    event = service.restart(vm)
    vm.approve(event)
    service.clock.until(event, "Completed")
    service.clock.advance(minutes=1)

    with pytest.raises(Unmet) as failed:
        event.expect("Started")

    assert said(failed) == text("""
        Reboot of web_0 (ID) is Completed; it was to be Started.
          09:00:00Z  restart web_0, asked for by test: Reboot announced, to start by 09:15:00Z (15 min of notice)
          09:00:00Z  approved by web_0
          09:00:00Z  Started
          09:00:05Z  the reboot of web_0 begins
          09:01:05Z  the reboot of web_0 is done
          09:01:05Z  Completed
          09:02:05Z  now Completed
    """)


def test_an_event_that_was_cancelled_cannot_start(service: Service):
    event = service.maintain(service.vm("web_0", host="h"), "Freeze", notice_seconds=2 * 86400)
    service.clock.advance(hours=20)
    service.cancel(event)

    with pytest.raises(Unmet) as failed:
        service.clock.until(event, "Started")

    until = "to start by 2026-01-07 09:00:00Z (2 days of notice)"
    assert said(failed) == text(f"""
        Freeze of web_0 (ID) is Cancelled; it cannot become Started.
          2026-01-05 09:00:00Z  maintain h, asked for by test: Freeze announced, {until}
          2026-01-06 05:00:00Z  Cancelled: cancelled by test
          2026-01-06 05:00:00Z  now Cancelled
    """)


def test_an_event_that_was_born_started_and_one_that_overtook_another(service: Service):
    vm = service.vm("web_0", host="h", priority="Spot")
    service.host("spare")
    planned = service.maintain(vm, "Reboot")
    failed = service.fail("h")

    assert _lines(planned) == [
        "09:00:00Z  maintain h, asked for by test: Reboot announced, to start by 09:15:00Z (15 min of notice)",
        "09:00:00Z  Cancelled by test: h has failed",
        "09:00:00Z  now Cancelled",
    ]
    assert _lines(failed) == [
        "09:00:00Z  fail h, asked for by test: Redeploy, born Started",
        "09:00:00Z  now Started, waiting for the restore of web_0 to end",
    ]


def test_an_event_that_a_fault_starts_at_once_was_announced_all_the_same(service: Service):
    vm = service.vm("web_0")
    service.fault("early_start", vm, seconds=3600)

    event = service.restart(vm)

    assert (event.phase, event.started_at) == ("Started", service.clock.now)
    assert _lines(event)[0] == (
        "09:00:00Z  restart web_0, asked for by test: Reboot announced, to start by 09:15:00Z (15 min of notice)"
    )
    assert "09:00:00Z  Started" in _lines(event)


def test_what_is_not_kept_any_more_is_said_to_be_so_and_the_rest_is_told():
    with Service(history_days=1) as service:
        old = service.restart(service.vm("web_0"))
        service.clock.until(old, "Completed")
        service.clock.advance(days=3)
        new = service.restart(service.vm("web_1"))

        with pytest.raises(Refused, match=r"is not kept any more\. Look at it sooner, or .* history_days"):
            old.expect("Completed")

        assert "not kept any more" in service.story
        assert new.life in service.story


def _lines(event: Event) -> list[str]:
    return [line.strip() for line in event.life.splitlines()]


def test_something_that_guests_are_told_nothing_of_cannot_be_approved(service: Service):
    vm = service.vm("web_0")
    event = service.stop(vm)

    with pytest.raises(Unmet) as failed:
        event.expect_approved()

    assert said(failed).splitlines()[0] == "stop of web_0 cannot be approved: guests are told nothing of it."


def test_a_program_that_was_given_time_and_did_not_use_it(service: Service):
    event = service.restart(service.vm("web_0"))
    before = len(service.emulator.service.plane.ticked)

    with pytest.raises(Unmet, match=r"is Scheduled; it was to be Started within 0\.01 s\."):
        event.expect("Started", within_seconds=0.01)
    with pytest.raises(Unmet, match=r"was to be approved by web_0 within 0\.01 s; it is not approved\."):
        event.expect_approved(by="web_0", within_seconds=0.01)

    assert len(service.emulator.service.plane.ticked) == before


def test_of_very_many_events_the_last_are_told(service: Service):
    vms = [service.vm(f"web_{number}") for number in range(22)]
    for vm in vms:
        service.restart(vm)

    story = service.story.splitlines()

    assert story[0] == "after 2 others:"
    assert [line.split()[2] for line in story if line.startswith("Reboot of")] == [vm.name for vm in vms[2:]]


def test_an_expectation_fails_as_an_assertion_does():
    assert issubclass(Unmet, AssertionError)
