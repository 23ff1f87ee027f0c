import pytest
from my_application import Application


@pytest.fixture
def application(forewarn):
    return Application(forewarn.vm("web_0", availability_set="web", priority="Spot").url, "web_0")


def test_a_freeze_of_some_seconds_is_sat_out(forewarn, application):
    event = forewarn.maintain("web_0", "Freeze", duration_seconds=9)
    forewarn.clock.until(event, "Started")
    application.look()
    assert application.is_serving


def test_work_is_saved_before_a_reboot_is_approved(forewarn, application):
    event = forewarn.restart("web_0")
    application.look()
    event.expect_approved(by="web_0")
    assert (application.saved, application.is_serving) == (1, False)
    forewarn.clock.until(event, "Completed")
    application.look()
    assert application.is_serving


def test_an_eviction_is_used_to_the_last_second(forewarn, application):
    event = forewarn.evict("web_0")
    application.look()
    forewarn.clock.advance(seconds=29)
    event.expect("Scheduled")
    assert application.saved == 1


def test_what_is_called_off_lets_it_serve_again(forewarn, application):
    event = forewarn.evict("web_0")
    application.look()
    forewarn.cancel(event)
    application.look()
    assert application.is_serving
