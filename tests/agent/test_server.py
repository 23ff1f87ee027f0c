"""What the agent tells over HTTP, and whose words it takes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from forewarn.agent.case import Case, Ending
from forewarn.agent.clock import Clock
from forewarn.agent.http1 import Request, Response, exchange
from forewarn.agent.listening import Listener
from forewarn.agent.metrics import Metrics
from forewarn.agent.orders import Order, Refusal, Verb
from forewarn.agent.server import Desk
from forewarn.agent.standing import Standing
from forewarn.agent.watching import Trouble
from tests.agent import little_world
from tests.agent.little_world import (
    BEGUN,
    DO,
    DONE,
    FAILED,
    NOW,
    SKIPPED,
    UNDO,
    a_policy,
    a_profile,
    a_run,
    a_step,
    an_event,
)

PROFILE = a_profile(a_step("out", uses="readiness"), a_step())
TOKEN = "t" * 48
a_case = partial(little_world.a_case, policy=a_policy(PROFILE))


class Office:
    """A desk behind a real socket."""

    def __init__(self, **standing) -> None:
        self.steady = 1000.0
        self.orders: list[Order] = []
        self.answer: str | Refusal = "Done."
        self.standing = Standing(**standing)
        self.standing.ticked_at = self.steady
        self.metrics = Metrics()
        clock = Clock(lambda: NOW, lambda: self.steady)
        desk = Desk(self.standing, self.metrics, clock, TOKEN, self._say)
        self._listener = Listener(("127.0.0.1", 0), desk.answer, "office")
        self.address = ("127.0.0.1", self._listener.port)

    def _say(self, order: Order) -> str | Refusal:
        self.orders.append(order)
        return self.answer

    def call(self, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Response:
        return exchange(self.address, Request(method, path, headers, body), 10)

    def status(self, path: str) -> int:
        return self.call(path).status

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def office() -> Iterator[Office]:
    office = Office()
    yield office
    office.close()


def test_an_agent_that_has_nothing_to_do_is_well(office: Office):
    assert {path: office.status(path) for path in ("/healthz", "/readyz", "/drainz")} == {
        "/healthz": 200,
        "/readyz": 200,
        "/drainz": 200,
    }


def test_an_agent_whose_keeper_does_not_go_round_is_not_well(office: Office):
    office.steady += 31

    answer = office.call("/healthz")

    assert answer.status == 503
    assert b"has not gone round for 31 s" in answer.body


def test_an_agent_that_is_blind_is_not_ready_until_it_sees_again(office: Office):
    office.standing.trouble = Trouble("timeout", "no answer", NOW, is_blind=True)
    blind = office.call("/readyz")
    for_balancers = office.status("/readyz?blind=ok")
    office.standing.trouble = Trouble("timeout", "no answer", NOW, is_blind=False)

    assert blind.status == 503
    assert b"blind since 12:00:00Z" in blind.body
    assert for_balancers == 200
    assert office.status("/readyz") == 200


@pytest.mark.parametrize(
    ("outcome", "undo", "is_ready"),
    [
        (BEGUN, None, False),
        (DONE, None, False),
        (FAILED, None, False),
        (SKIPPED, None, True),
        (DONE, BEGUN, False),
        (DONE, FAILED, False),
        (DONE, DONE, True),
        (DONE, SKIPPED, True),
    ],
)
def test_a_machine_is_out_of_service_from_the_beginning_of_its_readiness_step_until_it_is_undone(
    office: Office, outcome, undo, *, is_ready: bool
):
    runs = {("out", DO): a_run(outcome)} | ({("out", UNDO): a_run(undo)} if undo else {})
    office.standing.cases = (a_case(runs=runs),)

    assert office.status("/readyz") == (200 if is_ready else 503)


def test_a_machine_is_drained_when_it_is_prepared_and_back_when_that_is_undone(office: Office):
    done = {("out", DO): a_run(), ("drain", DO): a_run()}
    half = a_case(runs={("out", DO): a_run()})
    prepared = a_case(runs=done, prepared_at=NOW)
    undone = replace(prepared, runs=done | {("drain", UNDO): a_run()}, ending=Ending.FINISHED)

    statuses = []
    for case in (half, prepared, undone):
        office.standing.cases = (case,)
        statuses.append(office.status("/drainz"))

    assert statuses == [200, 503, 200]


@pytest.mark.parametrize("path", ["/readyz", "/drainz"])
def test_a_case_that_is_closed_keeps_nothing_out_of_service_whatever_became_of_its_undo(office: Office, path: str):
    runs = {("out", DO): a_run(), ("drain", DO): a_run(), ("out", UNDO): a_run(FAILED)}
    case = a_case(runs=runs, prepared_at=NOW)
    office.standing.cases = (case,)
    before = office.status(path)

    office.standing.cases = (replace(case, ending=Ending.FINISHED, closed_at=NOW),)

    assert before == 503
    assert office.status(path) == 200


def test_events_are_shown_with_what_is_waited_for(office: Office):
    over = a_case(an_event("E0"), ending=Ending.CANCELLED, closed_at=NOW)
    office.standing.cases = (over, a_case(runs={("drain", DO): a_run(BEGUN)}))
    office.standing.waiting_for = {"E1": ("step drain, at it since 12:00:00Z",)}
    office.standing.good_at = 998.5

    shown = json.loads(office.call("/events").body)
    everything = json.loads(office.call("/events?all=1").body)

    [event] = shown["events"]
    assert (event["event"]["id"], event["phase"]) == ("E1", "preparing")
    assert event["waiting_for"] == ["step drain, at it since 12:00:00Z"]
    assert event["seconds_to_not_before"] == 900
    assert shown["poll_age_seconds"] == 1.5
    assert [(each["event"]["id"], each["phase"]) for each in everything["events"]] == [
        ("E0", "cancelled"),
        ("E1", "preparing"),
    ]


def test_an_operators_word_is_passed_on_with_who_said_it(office: Office):
    office.answer = "Event E1 is approved at once."

    answer = office.call(
        "/events/E%2F1/approve", "POST", b'{"by": "ann", "now": true}', Authorization=f"Bearer {TOKEN}"
    )

    assert (answer.status, json.loads(answer.body)) == (200, {"message": "Event E1 is approved at once."})
    assert office.orders == [Order(Verb.APPROVE, "E/1", "ann", is_urgent=True)]


def test_a_refusal_is_an_answer_with_its_reason(office: Office):
    office.answer = Refusal(409, "Event E1 has started.")

    answer = office.call("/events/E1/hold", "POST", Authorization=f"Bearer {TOKEN}")

    assert (answer.status, json.loads(answer.body)) == (409, {"message": "Event E1 has started."})
    assert office.orders == [Order(Verb.HOLD, "E1", "operator")]


@pytest.mark.parametrize(
    "said", ["", "Bearer ", f"Bearer {TOKEN[:-1]}", f"bearer {TOKEN}", "Basic x", "Bearer ü"], ids=repr
)
def test_who_does_not_have_the_token_may_say_nothing(office: Office, said: str):
    answer = office.call("/events/E1/approve", "POST", Authorization=said)

    assert answer.status == 401
    assert office.orders == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nowhere", b"", 404),
        ("POST", "/healthz", b"", 405),
        ("GET", "/events/E1/approve", b"", 405),
        ("POST", "/events/E1/explode", b"", 404),
        ("POST", "/events/E1/approve", b"[]", 400),
        ("POST", "/events/E1/approve", b"{", 400),
        ("POST", "/events/E1/approve", b"[" * 50_000, 400),
    ],
)
def test_what_makes_no_sense_is_refused(office: Office, method: str, path: str, body: bytes, status: int):
    assert office.call(path, method, body, Authorization=f"Bearer {TOKEN}").status == status
    assert office.orders == []


def test_head_is_get_without_the_body(office: Office):
    with socket.create_connection(office.address, 10) as connection:
        connection.sendall(b"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = connection.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"\r\n\r\n")


def test_a_client_that_says_nothing_holds_up_nobody(office: Office):
    silent = [socket.create_connection(office.address, 10) for _ in range(20)]

    statuses = [office.status("/healthz") for _ in range(5)]

    assert statuses == [200] * 5
    for each in silent:
        each.close()


def test_many_clients_that_say_half_of_something_do_not_close_the_pages(office: Office):
    with ExitStack() as at_the_end:
        for _ in range(100):
            rude = at_the_end.enter_context(socket.create_connection(office.address, 10))
            rude.sendall(b"GET /readyz HTTP/1.1\r\nHost:")

        statuses = [office.status("/readyz") for _ in range(5)]

    assert statuses == [200] * 5


def test_a_client_that_talks_nonsense_is_told_so(office: Office):
    with socket.create_connection(office.address, 10) as connection:
        connection.sendall(b"\x16\x03\x01\x00\xa5 not http\r\n\r\n")
        answer = connection.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 400")


def test_a_dry_run_keeps_nothing_out_of_service():
    office = Office(is_dry_run=True)
    office.standing.cases = (a_case(runs={("out", DO): a_run(), ("drain", DO): a_run()}, prepared_at=NOW),)

    assert (office.status("/readyz"), office.status("/drainz")) == (200, 200)
    office.close()


def figures(page: str) -> dict[str, str]:
    return dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))


def seen(**said) -> Case:
    return a_case(an_event(source="Platform", resources=("web-0", "web-1")), runs={("drain", DO): a_run()}, **said)


def test_metrics_have_the_names_of_the_webdevops_exporter(office: Office):
    office.standing.cases = (seen(prepared_at=NOW + timedelta(seconds=3)),)
    office.standing.incarnation = 7
    office.metrics.count("poll_errors", kind="timeout")
    office.metrics.count("poll_errors", kind="gone")

    page = figures(office.call("/metrics").body.decode())

    labels = 'eventType="Reboot",resourceType="VirtualMachine",resource="web-1",eventStatus="Scheduled"'
    event = f'eventID="E1",{labels},notBefore="Mon, 02 Mar 2026 12:15:00 GMT",eventSource="Platform"'
    assert page[f"azure_scheduledevent_event{{{event}}}"] == "1772453700"
    assert page["azure_scheduledevent_document_incarnation"] == "7"
    assert page["azure_scheduledevent_request_error"] == "2"
    assert page['azure_scheduledevent_event_drain{eventID="E1",type="start"}'] == "1772452800"
    assert page['azure_scheduledevent_event_drain{eventID="E1",type="finish"}'] == "1772452803"


def test_metrics_have_the_request_histogram_of_the_webdevops_exporter(office: Office):
    for seconds in (0.004, 0.005, 0.3, 60.0):
        office.metrics.observe_request(seconds)

    text = office.call("/metrics").body.decode()
    page = figures(text)

    assert "# TYPE azure_scheduledevent_request histogram" in text
    assert page['azure_scheduledevent_request_bucket{le="0.005"}'] == "2"
    assert page['azure_scheduledevent_request_bucket{le="0.25"}'] == "2"
    assert page['azure_scheduledevent_request_bucket{le="0.5"}'] == "3"
    assert page['azure_scheduledevent_request_bucket{le="10.0"}'] == "3"
    assert page['azure_scheduledevent_request_bucket{le="+Inf"}'] == "4"
    assert page["azure_scheduledevent_request_count"] == "4"
    assert float(page["azure_scheduledevent_request_sum"]) == pytest.approx(60.309)


def test_metrics_have_names_of_our_own(office: Office):
    office.standing.cases = (seen(),)
    office.standing.good_at = 999.0
    office.standing.trouble = Trouble("timeout", "no answer", NOW, is_blind=True)
    office.metrics.count("poll_errors", kind="timeout")
    office.metrics.count("steps", handler="command", direction="do", outcome="failed")
    office.metrics.observe_phases(seen(prepared_at=NOW + timedelta(seconds=3)), PROFILE)

    page = figures(office.call("/metrics").body.decode())

    assert page["forewarn_agent_poll_age_seconds"] == "1"
    assert page["forewarn_agent_blind"] == "1"
    assert page["forewarn_agent_events"] == "1"
    assert page['forewarn_agent_event_seconds_to_not_before{event="E1"}'] == "900"
    assert page['forewarn_agent_poll_errors_total{kind="timeout"}'] == "1"
    assert page['forewarn_agent_steps_total{direction="do",handler="command",outcome="failed"}'] == "1"
    assert page['forewarn_agent_phase_seconds_sum{phase="preparing"}'] == "3"
    assert page['forewarn_agent_phase_seconds_count{phase="preparing"}'] == "1"


def test_a_label_cannot_break_out_of_its_quotes(office: Office):
    office.standing.cases = (a_case(an_event('E"1\\\n')),)

    page = office.call("/metrics").body.decode()

    assert 'eventID="E\\"1\\\\\\n"' in page


def test_an_event_that_is_over_leaves_the_page(office: Office):
    office.standing.cases = (seen(ending=Ending.FINISHED, closed_at=NOW),)

    assert "azure_scheduledevent_event{" not in office.call("/metrics").body.decode()


def test_an_agent_that_cannot_go_on_with_an_event_is_not_well(office: Office):
    office.standing.stuck = {"E1": "OverflowError()"}

    answer = office.call("/healthz")

    assert (answer.status, answer.body) == (503, b"the agent cannot go on with E1: see its log\n")
