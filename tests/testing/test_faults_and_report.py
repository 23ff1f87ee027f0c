"""What a test puts in, and what it reads about the guest that met it."""

from __future__ import annotations

import http.client

import pytest

from forewarn.testing import Refused, Service


@pytest.fixture
def service() -> Service:
    with Service() as made:
        yield made


def status_of(vm) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", vm.port, timeout=30)
    try:
        connection.request("GET", "/metadata/scheduledevents?api-version=2020-07-01", headers={"Metadata": "true"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_fault_strikes_one_vm_as_often_as_it_was_told_to_and_no_other(service: Service):
    one, other = service.vm("web_0"), service.vm("web_1")
    fault = service.fault("status", one, code=503, count=2)

    assert [status_of(one) for _ in range(3)] == [503, 503, 200]
    assert status_of(other) == 200
    assert fault.struck == 2


def test_a_fault_in_a_block_ends_with_it(service: Service):
    vm = service.vm("web_0")

    with service.fault("status", code=500):
        inside = status_of(vm)

    assert (inside, status_of(vm)) == (500, 200)


def test_a_fault_of_the_engine_is_marked_on_its_event(service: Service):
    vm = service.vm("web_0")
    service.fault("early_start", vm, seconds=600)

    event = service.maintain(vm, "Freeze")
    service.clock.advance(minutes=5)

    event.expect("Started")
    assert "early_start" in event.life


@pytest.mark.parametrize(
    ("fault", "options", "sentence"),
    [
        ("truncated", {"hangs_up": True}, 'web_0 was answered in part, and no more came: {"Docu'),
        ("truncated", {}, 'web_0 was answered what is no JSON: {"Docu'),
        ("proxy_page", {}, "web_0 was answered what is no JSON: <!DOCTYPE html>"),
        ("null_events", {}, "web_0 was answered a document without a list of events: {'Docu"),
        (
            "missing_members",
            {"members": ["Events"]},
            "web_0 was answered a document without a list of events: {'Docu",
        ),
        ("closed", {}, "does not answer"),
        ("status", {"code": 500}, "web_0 was answered 500"),
    ],
    ids=["cut", "truncated", "proxy", "null", "missing", "closed", "status"],
)
def test_what_a_fault_has_made_of_an_answer_is_told_in_a_sentence(
    service: Service, fault: str, options: dict[str, object], sentence: str
):
    vm = service.vm("web_0")
    service.fault(fault, vm, **options)

    with pytest.raises(Refused) as caught:
        vm.events()

    assert sentence in str(caught.value)


def test_a_guest_that_approves_in_time_has_a_good_report(service: Service):
    vm = service.vm("web_0")
    vm.events()
    event = service.restart(vm)
    for _ in range(10):
        service.clock.advance(seconds=1)
        vm.events()
    vm.approve(event)
    for _ in range(90):
        service.clock.advance(seconds=1)
        vm.events()

    report = service.report(vm)

    assert report.is_good, str(report)
    assert report.faults == []
    assert report.json["approvals"] == 1


def test_a_guest_that_asks_once_a_minute_is_told_what_that_means(service: Service):
    vm = service.vm("web_0")
    for _ in range(10):
        vm.events()
        service.clock.advance(minutes=1)

    report = service.report(vm)

    assert report.faults == ["too_slow"]
    assert "30 s" in str(report)


def test_a_guest_that_was_never_heard_is_not_called_good(service: Service):
    service.vm("web_0")

    report = service.report("web_0")

    assert (report.is_good, report.json) == (False, {})
    assert str(report).startswith("web_0 ")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda s: s.fault("statsu"), "Did you mean status?"),
        (lambda s: s.fault("status", "web_9"), "There is no VM web_9."),
        (lambda s: s.fault("status", code=418), "418"),
        (lambda s: s.report("web_9"), "There is no VM web_9."),
        (lambda s: s.report("web_0", pace="fast"), "real or virtual"),
    ],
)
def test_what_makes_no_sense_is_refused(service: Service, act, words: str):
    service.vm("web_0")

    with pytest.raises(Refused) as caught:
        act(service)

    assert words in str(caught.value)
