"""Statements 1 to 21: transport and request validation."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from forewarn.edge.limits import RateLimiter
from forewarn.edge.listener import GuestListener
from tests.conformance.wire import EVENTS, NEWEST, STRICT_VERSIONS, VERSIONS, exchange, only, url
from tests.fleets import SMALL
from tests.running import Guest, RunningService, call, running

NO_HEADER = b'{"error":"Bad request. Required metadata header not specified"}'
BAD_VERSION = (
    b'{"error":"Bad request. api-version is invalid or was not specified in the request. '
    b'For more information refer to aka.ms/azureimds",'
    b'"newest-versions":["2020-07-01","2019-08-01","2019-04-01"]}'
)


@pytest.mark.conformance(1)
def test_a_get_with_the_header_is_answered_with_json(service: RunningService):
    reply = service.guest("solo").call(path=f"{EVENTS}?api-version=2020-07-01")

    assert reply.status == 200
    assert reply.headers["content-type"].startswith("application/json")


@pytest.mark.conformance(2)
def test_the_document_has_exactly_two_members(service: RunningService):
    document = service.guest("solo").document()

    assert isinstance(document, dict)
    assert list(document) == ["DocumentIncarnation", "Events"]


@pytest.mark.conformance(3)
@pytest.mark.parametrize("version", STRICT_VERSIONS)
def test_a_get_without_the_header_is_refused_from_2017_08_01_on(service: RunningService, version: str):
    reply = service.guest("solo").call(path=f"{EVENTS}?api-version={version}", with_header=False)

    assert reply.status == 400


@pytest.mark.conformance(3)
@pytest.mark.parametrize("version", STRICT_VERSIONS)
def test_a_refused_first_get_does_not_enable_the_feature(service: RunningService, version: str):
    service.guest("solo").call(path=url(version), with_header=False)

    assert service.get("/v1/scopes/solo")["is_on"] is False


@pytest.mark.conformance(4)
def test_at_2017_03_01_a_post_without_the_header_is_accepted(service: RunningService):
    solo = service.guest("solo")
    solo.document()
    service.post("/v1/vms/solo/restart")
    event = only(solo.events())["EventId"]

    reply = solo.call(
        "POST", url("2017-03-01"), json.dumps({"StartRequests": [{"EventId": event}]}), with_header=False
    )

    assert reply.status == 200
    assert only(solo.events())["EventStatus"] == "Started"


@pytest.mark.conformance(4)
def test_at_2017_03_01_a_get_without_the_header_is_accepted(service: RunningService):
    reply = service.guest("solo").call(path=url("2017-03-01"), with_header=False)

    assert (reply.status, reply.body) == (200, b'{"DocumentIncarnation":1,"Events":[]}')


@pytest.mark.conformance(5)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("value", ["false", "", " ", "1", "yes", "true, true"])
def test_a_header_with_any_value_but_true_is_refused(service: RunningService, version: str, value: str):
    reply = service.guest("solo").call(path=url(version), headers={"Metadata": value})

    assert (reply.status, reply.body) == (400, NO_HEADER)


@pytest.mark.conformance(6)
@pytest.mark.parametrize(
    "line", ["Metadata: true", "metadata: true", "METADATA:TRUE", "Metadata:True", "Metadata:\ttrue "]
)
def test_the_header_is_read_whatever_its_case(service: RunningService, line: str):
    request = f"GET {NEWEST} HTTP/1.1\r\nHost: 169.254.169.254\r\n{line}\r\nConnection: close\r\n\r\n"

    received = exchange(service, "127.0.2.1", request.encode())

    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert received.endswith(b'\r\n\r\n{"DocumentIncarnation":1,"Events":[]}')


@pytest.mark.conformance(7)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_missing_header_is_named_in_the_body(service: RunningService, method: str):
    reply = service.guest("solo").call(method, NEWEST, with_header=False)

    assert (reply.status, reply.body) == (400, NO_HEADER)
    assert reply.headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.conformance(8)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("query", ["", "?", "?format=json"], ids=["no query", "an empty query", "another query"])
def test_a_missing_api_version_is_refused(service: RunningService, method: str, query: str):
    reply = service.guest("solo").call(method, EVENTS + query)

    assert (reply.status, reply.body) == (400, BAD_VERSION)


@pytest.mark.conformance(9)
@pytest.mark.parametrize(
    "version",
    [
        "2016-01-01",
        "2099-01-01",
        "latest",
        "{latest}",
        "%7Blatest%7D",
        "",
        "2021-02-01",
        "2020-07-01x",
        "2020-7-1",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unsupported_api_version_is_refused(service: RunningService, method: str, version: str):
    reply = service.guest("solo").call(method, url(version))

    assert reply.status == 400


@pytest.mark.conformance(10)
@pytest.mark.parametrize("version", ["2016-01-01", "latest", ""], ids=["too old", "a word", "empty"])
def test_a_bad_version_is_answered_with_the_newest_ones(service: RunningService, version: str):
    reply = service.guest("solo").call(path=url(version))

    assert reply.body == BAD_VERSION
    newest = reply.json["newest-versions"]
    assert newest == sorted(newest, reverse=True)


@pytest.mark.conformance(11)
@pytest.mark.parametrize("version", VERSIONS)
def test_each_of_the_seven_versions_is_answered(service: RunningService, version: str):
    reply = service.guest("solo").call(path=url(version))

    assert (reply.status, reply.body) == (200, b'{"DocumentIncarnation":1,"Events":[]}')


@pytest.mark.conformance(12)
@pytest.mark.parametrize("value", ["10.0.0.4", "127.0.0.1", "unknown", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_forwarded_request_is_refused_even_with_the_header(service: RunningService, method: str, value: str):
    reply = service.guest("solo").call(method, NEWEST, headers={"X-Forwarded-For": value})

    assert reply.status == 400
    assert reply.json == {"error": "Bad request. X-Forwarded-For header is not allowed"}


@pytest.mark.conformance(13)
@pytest.mark.parametrize(
    "query",
    [
        "api-version=2020-07-01&api-version=2020-07-01",
        "api-version=2020-07-01&api-version=2019-08-01",
        "api-version=2020-07-01&API-Version=2020-07-01",
        "api-version=2020-07-01&a=1&a=2",
        "&".join(["api-version=2020-07-01"] * 101),
    ],
    ids=["the same", "another", "in another case", "some other name", "a hundred and one times"],
)
def test_a_parameter_given_twice_is_refused(service: RunningService, query: str):
    reply = service.guest("solo").call(path=f"{EVENTS}?{query}")

    assert reply.status == 400
    assert reply.json == {"error": "Bad request. A query parameter was given more than once"}


@pytest.mark.conformance(14)
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_other_methods_are_not_allowed(service: RunningService, method: str):
    reply = service.guest("solo").call(method, NEWEST)

    assert (reply.status, reply.body) == (405, b'{"error":"Method not allowed"}')
    assert reply.headers["allow"] == "GET, POST"


@pytest.mark.conformance(15)
@pytest.mark.parametrize(
    "path",
    ["/metadata/nosuch", "/metadata/scheduledevents/xyz", "/metadata", "/", "/metadata/instance/compute/nosuch"],
)
def test_an_unknown_path_is_not_found(service: RunningService, path: str):
    reply = service.guest("solo").call(path=f"{path}?api-version=2020-07-01")

    assert (reply.status, reply.body) == (404, b'{"error":"Not found"}')


@pytest.mark.conformance(16)
@pytest.mark.parametrize(
    "path", ["/metadata/scheduledEvents", "/Metadata/ScheduledEvents", "/METADATA/SCHEDULEDEVENTS"]
)
def test_the_path_is_read_whatever_its_case(service: RunningService, path: str):
    solo = service.guest("solo")
    solo.document()
    service.post("/v1/vms/solo/restart")
    event = only(solo.events())["EventId"]

    reply = solo.call(path=f"{path}?api-version=2020-07-01")
    approval = solo.call(
        "POST", f"{path}?api-version=2020-07-01", json.dumps({"StartRequests": [{"EventId": event}]})
    )

    assert only(reply.json["Events"])["EventId"] == event
    assert (approval.status, only(solo.events())["EventStatus"]) == (200, "Started")


REFUSED = {
    "no header": (b"GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\n", 400),
    "no version": (b"GET /metadata/scheduledevents HTTP/1.1\r\nMetadata: true\r\n", 400),
    "forwarded": (b"GET /metadata/scheduledevents HTTP/1.1\r\nX-Forwarded-For: a\r\n", 400),
    "twice": (b"GET /metadata/scheduledevents?a=1&a=2 HTTP/1.1\r\nMetadata: true\r\n", 400),
    "no body": (b"POST /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\nMetadata: true\r\n", 400),
    "two lengths": (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n", 400),
    "garbage": (b"\x00\x01\x02 what\r\n", 400),
    "unknown path": (b"GET /metadata/nosuch HTTP/1.1\r\nMetadata: true\r\n", 404),
    "method": (b"PUT /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\nMetadata: true\r\n", 405),
    "large body": (b"POST /metadata/scheduledevents HTTP/1.1\r\nContent-Length: 65537\r\n", 413),
    "large header": (b"GET / HTTP/1.1\r\nX-Large: " + b"x" * 16384 + b"\r\n", 431),
    "instance version": (b"GET /metadata/instance?api-version=1 HTTP/1.1\r\nMetadata: true\r\n", 400),
    "101 parameters": (b"GET /?" + b"&".join(b"p%d=" % n for n in range(101)) + b" HTTP/1.1\r\n", 404),
}


@pytest.mark.conformance(17)
@pytest.mark.parametrize("what", REFUSED)
def test_every_refusal_is_a_json_object_with_a_string_error(service: RunningService, what: str):
    request, status = REFUSED[what]

    received = exchange(service, "127.0.2.1", request + b"Host: 169.254.169.254\r\nConnection: close\r\n\r\n")

    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nContent-Type: application/json; charset=utf-8\r\n" in head
    error = json.loads(body)
    assert isinstance(error, dict)
    assert isinstance(error["error"], str)
    assert error["error"]


@pytest.mark.conformance(17)
def test_a_caller_that_is_no_vm_is_refused_in_json_too(service: RunningService):
    reply = Guest(service, "127.9.9.9").call()

    assert reply.status == 404
    assert reply.json == {"error": "Not found. No virtual machine is known at the address of this request"}


@pytest.mark.conformance(17)
@pytest.mark.conformance(18)
@pytest.mark.parametrize("varies", [False, True], ids=["the same bytes", "other bytes each time"])
def test_more_than_five_requests_in_a_second_get_429_and_the_service_recovers(*, varies: bool):
    seconds = 1000.0
    with running(SMALL, rate_limit=5) as service:
        service.service.edge.now = lambda: seconds
        solo = service.guest("solo")

        replies = [solo.call(headers={"User-Agent": str(n) if varies else "same"}) for n in range(12)]
        other = service.guest("twin").call()
        seconds += 1.0
        later = [solo.call().status for _ in range(6)]

    refused = replies[5:]
    assert [reply.status for reply in replies[:5]] == [200] * 5
    assert {reply.status for reply in refused} == {429}
    assert {reply.body for reply in refused} == {b'{"error":"Too many requests"}'}
    assert {reply.headers["retry-after"] for reply in refused} == {"1"}
    assert other.status == 200
    assert later == [200] * 5 + [429]


@pytest.mark.conformance(18)
def test_the_limit_can_be_switched_off():
    with running(SMALL, rate_limit=0) as service:
        solo = service.guest("solo")

        statuses = {solo.call().status for _ in range(50)}

    assert statuses == {200}


@pytest.mark.conformance(19)
def test_one_request_a_second_for_a_minute_is_never_refused():
    with running(SMALL, rate_limit=5) as service:
        seconds = 0.0
        edge = replace(service.service.edge, now=lambda: seconds, connections=set())
        listener = GuestListener(edge, service.service.clock)
        ((_, port),) = service._on_loop(listener.open([("127.0.0.1", 0)]))

        statuses = []
        for _ in range(60):
            seconds += 1.0
            reply = call("127.0.0.1", port, "GET", NEWEST, headers={"Metadata": "true"}, source="127.0.2.1")
            statuses.append(reply.status)
        burst = [
            call("127.0.0.1", port, "GET", NEWEST, headers={"Metadata": "true"}, source="127.0.2.1").status
            for _ in range(5)
        ]
        service._on_loop(listener.close())

    assert statuses == [200] * 60
    assert burst == [200] * 4 + [429]  # the limit was in force all the time


@pytest.mark.conformance(19)
def test_the_limiter_admits_one_a_second_for_a_minute_and_five_but_not_six(service: RunningService):
    guest, limiter = service.service.board.guests["solo"], RateLimiter(5)

    steady = [limiter.admits(guest, 1000.0 + second) for second in range(60)]
    at_once = [limiter.admits(guest, 2000.0) for _ in range(6)]

    assert all(steady)
    assert at_once == [True] * 5 + [False]


@pytest.mark.conformance(20)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_unchanged_document_is_not_sent_again_to_who_names_its_tag(service: RunningService, version: str):
    solo = service.guest("solo")
    first = solo.call(path=url(version))

    again = solo.call(path=url(version), headers={"If-None-Match": first.headers["etag"]})

    assert (again.status, again.body) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


@pytest.mark.conformance(20)
def test_a_changed_document_is_sent_with_a_new_tag(service: RunningService):
    solo = service.guest("solo")
    tag = solo.call().headers["etag"]
    service.post("/v1/vms/solo/restart")

    changed = solo.call(headers={"If-None-Match": tag})
    again = solo.call(headers={"If-None-Match": changed.headers["etag"]})

    assert changed.status == 200
    assert changed.headers["etag"] != tag
    assert only(changed.json["Events"])["Resources"] == ["solo"]
    assert again.status == 304


@pytest.mark.conformance(20)
def test_a_tag_of_one_version_is_not_taken_for_that_of_another(service: RunningService):
    solo = service.guest("solo")

    tags = {version: solo.call(path=url(version)).headers["etag"] for version in VERSIONS}

    assert len(set(tags.values())) == len(VERSIONS)


@pytest.mark.conformance(21)
def test_the_versions_are_listed_without_an_api_version(service: RunningService):
    reply = service.guest("solo").call(path="/metadata/versions")

    assert reply.status == 200
    assert list(reply.json) == ["apiVersions"]
    versions = reply.json["apiVersions"]
    assert (versions[0], versions[-1]) == ("2017-03-01", "2025-04-07")
    assert versions == sorted(set(versions))


@pytest.mark.conformance(21)
def test_the_versions_are_not_listed_without_the_header(service: RunningService):
    reply = service.guest("solo").call(path="/metadata/versions", with_header=False)

    assert (reply.status, reply.body) == (400, NO_HEADER)
