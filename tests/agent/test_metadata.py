"""What comes of asking the endpoint: an answer, or an error that says what is wrong, and never "no events"."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from forewarn.agent.metadata import EndpointError, Metadata
from forewarn.agent.settings import Settings
from tests.agent.azure import (
    CLOSED,
    EMPTY_BODY,
    GONE,
    HALF_A_DOCUMENT,
    NULL_EVENTS,
    PORTAL,
    SERVER_ERROR,
    THROTTLED,
    TRUNCATED,
    Azure,
    Fault,
    event,
)
from tests.agent.looking import hours_later
from tests.waiting import ROOT, free_port

MetadataOf = Callable[..., Metadata]


def test_the_document_is_read_with_all_its_members(azure: Azure, metadata_of: MetadataOf):
    azure.show(event("A"), incarnation=7)

    answer = metadata_of(azure.url).get()

    assert answer.document is not None
    assert answer.document.incarnation == 7
    (seen,) = answer.document.events
    assert (seen.id, seen.type, seen.status, seen.source) == ("A", "Reboot", "Scheduled", "User")
    assert seen.resources == ("web-0",)
    assert seen.not_before == datetime(2037, 3, 2, 12, 15, tzinfo=timezone.utc)
    assert seen.duration_seconds == -1


def test_every_request_has_the_metadata_header_and_says_who_asks(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(azure.url)

    metadata.get()
    metadata.approve("A")
    metadata.compute_name()

    assert [asked.headers["metadata"] for asked in azure.asked] == ["true"] * 3
    assert all(asked.headers["user-agent"].startswith("forewarn-agent/") for asked in azure.asked)


def test_the_document_and_the_name_are_asked_for_where_each_is(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(f"{azure.url}/metadata/scheduledevents")

    metadata.get()
    metadata.compute_name()

    paths = [asked.path for asked in azure.asked]
    assert paths == ["/metadata/scheduledevents", "/metadata/instance/compute/name"]
    assert Settings().endpoints == ("http://169.254.169.254",)


@pytest.mark.parametrize(
    ("fault", "kind", "status", "words"),
    [
        pytest.param(Fault(401), "forbidden", 401, "answered 401", id="401"),
        pytest.param(Fault(404), "not_found", 404, "This is what a test asked for", id="404"),
        pytest.param(Fault(405), "not_allowed", 405, "answered 405", id="405"),
        pytest.param(GONE, "gone", 410, "answered 410", id="410"),
        pytest.param(THROTTLED, "throttled", 429, "answered 429", id="429"),
        pytest.param(SERVER_ERROR, "server_error", 500, "answered 500", id="500"),
        pytest.param(Fault(503, b"<html>"), "server_error", 503, "<html>", id="503 with HTML"),
        pytest.param(Fault(418), "unexpected", 418, "answered 418", id="418"),
        pytest.param(Fault(204, b""), "unexpected", 204, "answered 204", id="204"),
        pytest.param(Fault(304, b""), "unexpected", 304, "answered 304", id="304 that nobody asked for"),
        pytest.param(PORTAL, "unreadable", 200, "no JSON", id="HTML of a proxy"),
        pytest.param(TRUNCATED, "unreadable", None, "in the middle", id="cut off"),
        pytest.param(HALF_A_DOCUMENT, "unreadable", 200, "no JSON", id="truncated JSON"),
        pytest.param(NULL_EVENTS, "unreadable", 200, "no list of events", id="null events"),
        pytest.param(Fault(200, b'{"error":"x"}'), "unreadable", 200, "no list of events", id="error with 200"),
        pytest.param(Fault(200, b"[]"), "unreadable", 200, "no JSON object", id="a list"),
        pytest.param(Fault(200, b"[" * 100_000), "unreadable", 200, "no JSON", id="nested too deep"),
        pytest.param(EMPTY_BODY, "unreadable", 200, "no JSON", id="empty body"),
        pytest.param(CLOSED, "unreachable", None, "without a word", id="closed"),
    ],
)
def test_what_is_no_answer_is_an_error_and_never_no_events(
    azure: Azure, fault: Fault, kind: str, status: int | None, words: str, metadata_of: MetadataOf
):
    azure.show(event("A"))
    azure.fail(fault)

    with pytest.raises(EndpointError) as caught:
        metadata_of(azure.url).get()

    assert (caught.value.kind, caught.value.status) == (kind, status)
    assert words in caught.value.message
    assert azure.place in caught.value.message


def test_after_an_error_the_next_question_is_answered(azure: Azure, metadata_of: MetadataOf):
    azure.show(event("A"))
    azure.fail(CLOSED, SERVER_ERROR, TRUNCATED, NULL_EVENTS)
    metadata = metadata_of(azure.url)

    for _ in range(4):
        with pytest.raises(EndpointError):
            metadata.get()
    answer = metadata.get()

    assert answer.document is not None
    assert [each.id for each in answer.document.events] == ["A"]


def test_nobody_at_the_address_is_an_error_that_names_it(metadata_of: MetadataOf):
    port = free_port()

    with pytest.raises(EndpointError, match=rf"127\.0\.0\.1:{port} .*cannot be reached") as caught:
        metadata_of(f"http://127.0.0.1:{port}").get()

    assert (caught.value.kind, caught.value.status) == ("unreachable", None)


def test_how_long_a_throttled_caller_shall_wait_is_passed_on(azure: Azure, metadata_of: MetadataOf):
    azure.fail(Fault(429, headers={"Retry-After": "2"}))

    with pytest.raises(EndpointError) as caught:
        metadata_of(azure.url).get()

    assert caught.value.retry_after_seconds == 2


# Time.


def test_the_first_answer_may_take_130_s_and_a_later_one_10_s():
    assert (Settings().first_timeout_seconds, Settings().timeout_seconds) == (130, 10)


def test_the_first_answer_may_take_longer_than_later_ones(azure: Azure, metadata_of: MetadataOf):
    azure.first_delay_seconds = 0.5
    metadata = metadata_of(azure.url, timeout_seconds=0.2, first_timeout_seconds=20)

    first = metadata.get()
    azure.fail(Fault(delay_seconds=30))
    with pytest.raises(EndpointError) as later:
        metadata.get()

    assert first.document is not None
    assert later.value.kind == "timeout"


def test_the_first_answer_keeps_its_long_time_until_there_is_one(azure: Azure, metadata_of: MetadataOf):
    azure.fail(SERVER_ERROR, Fault(delay_seconds=0.5))
    metadata = metadata_of(azure.url, timeout_seconds=0.2, first_timeout_seconds=20)

    with pytest.raises(EndpointError):
        metadata.get()
    answer = metadata.get()

    assert answer.document is not None


def test_after_an_hour_of_silence_the_next_answer_may_take_long_again(azure: Azure, metadata_of: MetadataOf):
    hours = [0.0]
    timer = hours_later(hours)
    metadata = metadata_of(azure.url, timer=timer, timeout_seconds=0.2, first_timeout_seconds=20)
    metadata.get()

    hours[0] = 2
    azure.fail(Fault(delay_seconds=0.5))
    answer = metadata.get()

    assert answer.document is not None


# Where.


def test_a_redirect_is_an_error_and_is_not_followed(azure: Azure, metadata_of: MetadataOf):
    with_portal = Fault(302, b"", {"Location": f"{azure.url}/metadata/scheduledevents?api-version=2020-07-01"})
    azure.fail(with_portal)

    with pytest.raises(EndpointError, match="redirects to") as caught:
        metadata_of(azure.url).get()

    assert caught.value.kind == "redirected"
    assert len(azure.asked) == 1


def test_proxies_in_the_environment_are_ignored(azure: Azure):
    with_proxies = {
        name: f"http://127.0.0.1:{free_port()}"
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    }
    code = (
        "import sys; from forewarn.agent.metadata import *; from forewarn.agent.endpoints import *; "
        "metadata = Metadata(Endpoints(sys.argv[1:]), Settings()); "
        "print(metadata.get().document.incarnation); metadata.close()"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code, azure.url],
        cwd=ROOT,
        env=os.environ | with_proxies,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ran.returncode, ran.stdout.strip()) == (0, "1"), ran.stderr


def test_the_next_endpoint_is_asked_where_the_first_has_never_answered(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(f"http://127.0.0.1:{free_port()}", azure.url)

    with pytest.raises(EndpointError):
        metadata.get()
    answer = metadata.get()

    assert answer.endpoint == azure.url


def test_an_endpoint_that_has_answered_is_left_only_when_it_fails_three_times(
    azure: Azure, another_azure: Azure, metadata_of: MetadataOf
):
    metadata = metadata_of(azure.url, another_azure.url)
    metadata.get()
    azure.fail(SERVER_ERROR, SERVER_ERROR)
    for _ in range(2):
        with pytest.raises(EndpointError):
            metadata.get()
    patient = metadata.get()
    azure.fail(*[SERVER_ERROR] * 3)
    for _ in range(3):
        with pytest.raises(EndpointError):
            metadata.get()
    moved = metadata.get()

    assert patient.endpoint == azure.url
    assert moved.endpoint == another_azure.url


def test_an_endpoint_that_is_come_back_to_is_asked_for_all_of_the_document(
    azure: Azure, another_azure: Azure, metadata_of: MetadataOf
):
    azure.has_tags = True
    metadata = metadata_of(azure.url, another_azure.url)
    metadata.get()
    azure.fail(*[SERVER_ERROR] * 3)
    another_azure.fail_always(lambda _: SERVER_ERROR)
    for _ in range(4):
        with pytest.raises(EndpointError):
            metadata.get()
    back = metadata.get()

    assert back.endpoint == azure.url
    assert back.document is not None


def test_the_first_endpoint_is_asked_again_after_a_while_without_events(
    azure: Azure, another_azure: Azure, metadata_of: MetadataOf
):
    hours = [0.0]
    metadata = metadata_of(azure.url, another_azure.url, timer=hours_later(hours))
    azure.fail(SERVER_ERROR, SERVER_ERROR)
    with pytest.raises(EndpointError):
        metadata.get()
    another_azure.show(event())
    asked = [metadata.get().endpoint]
    hours[0] += 0.01
    asked.append(metadata.get().endpoint)
    another_azure.show()
    asked.append(metadata.get().endpoint)
    for _ in range(2):
        hours[0] += 0.01
        asked.append(metadata.get().endpoint)

    assert asked == [*[another_azure.url] * 4, azure.url], "not while there are events, nor while it fails"


# Approving, and who this is.


def test_an_approval_that_is_refused_is_an_error_with_the_endpoints_words(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(azure.url)
    metadata.get()
    azure.fail(Fault(400, b'{"error":"Bad request. No such event"}'))

    with pytest.raises(EndpointError, match="No such event") as caught:
        metadata.approve("A")

    assert caught.value.kind == "bad_request"
    assert azure.approved == []


def test_an_approval_is_sent_once_also_where_the_connection_breaks(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(azure.url)
    metadata.get()
    azure.fail(CLOSED)

    with pytest.raises(EndpointError):
        metadata.approve("A")

    assert [asked.method for asked in azure.asked] == ["GET", "POST"]


def test_the_name_of_this_vm_is_what_the_endpoint_says(azure: Azure, metadata_of: MetadataOf):
    azure.name = "pool_10"

    name = metadata_of(azure.url).compute_name()

    assert name == "pool_10"


@pytest.mark.parametrize("body", [b"", b"<html>sign in</html>", b"two words", b"x" * 1000])
def test_what_cannot_be_the_name_of_a_vm_is_an_error(azure: Azure, body: bytes, metadata_of: MetadataOf):
    azure.fail_always(lambda _: Fault(200, body))

    with pytest.raises(EndpointError, match="no name of a VM"):
        metadata_of(azure.url).compute_name()


def test_a_portal_that_says_200_to_an_approval_has_not_taken_it(azure: Azure, metadata_of: MetadataOf):
    metadata = metadata_of(azure.url)
    metadata.get()
    azure.fail(PORTAL)

    with pytest.raises(EndpointError, match="stands in between") as refused:
        metadata.approve("A")

    assert refused.value.kind == "unreadable"
    assert azure.approved == []
