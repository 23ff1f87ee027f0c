import pytest
from my_application import Application


@pytest.fixture
def application(forewarn):
    return Application(forewarn.vm("web_0", availability_set="web", priority="Spot").url, "web_0")


def test_application_keeps_serving_during_a_short_freeze(forewarn, application):
    event = forewarn.maintain("web_0", "Freeze", duration_seconds=9)
    forewarn.clock.until(event, "Started")
    application.look()
    assert application.is_serving


def test_application_saves_its_work_before_it_approves_a_reboot(forewarn, application):
    event = forewarn.restart("web_0")
    application.look()
    event.expect_approved(by="web_0")
    assert (application.saved, application.is_serving) == (1, False)
    forewarn.clock.until(event, "Completed")
    application.look()
    assert application.is_serving


def test_application_does_not_approve_an_eviction(forewarn, application):
    event = forewarn.evict("web_0")
    application.look()
    forewarn.clock.advance(seconds=29)
    event.expect("Scheduled")
    assert application.saved == 1


def test_cancelled_event_returns_application_to_service(forewarn, application):
    event = forewarn.evict("web_0")
    application.look()
    forewarn.cancel(event)
    application.look()
    assert application.is_serving
