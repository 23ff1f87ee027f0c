"""The thirteen points of what real clients do on the wire."""

from __future__ import annotations

import http.client
import json
import re
from typing import Any

import pytest

from tests.conformance.wire import (
    FREEZE,
    NEWEST,
    VERSIONS,
    announce_every_kind,
    exchange,
    only,
    scheduled_restart,
    start_requests,
    url,
)
from tests.running import RunningService

INSTANCE = "/metadata/instance"
USER_AGENTS = {
    "curl": "curl/7.88.1",
    "urllib": "Python-urllib/3.11",
    "requests": "python-requests/2.31.0",
    "node-fetch": "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)",
    "Go": "Go-http-client/1.1",
    "Pacemaker": "Pacemaker-ResourceAgent/1.0 (ClusterLabs)",
    "empty": "",
    "odd": 'x"\\\t\xe9 (;,)',
    "none": None,
}


def status_of(service: RunningService, event: str) -> str:
    return service.get(f"/v1/events/{event}")["phase"]


@pytest.mark.client(1)
@pytest.mark.parametrize(
    "content_type",
    ["application/x-www-form-urlencoded", "application/json", "application/json; charset=utf-8", None],
    ids=["curl and urllib", "node, requests and Go", "with a charset", "requests without json"],
)
@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "chunked"])
def test_an_approval_is_read_as_json_whatever_its_content_type(
    service: RunningService, content_type: str | None, *, chunked: bool
):
    _, event = scheduled_restart(service)
    body = start_requests(event).encode()
    head = f"POST {NEWEST} HTTP/1.1\r\nHost: 169.254.169.254\r\nMetadata: true\r\nConnection: close\r\n"
    head += f"Content-Type: {content_type}\r\n" if content_type else ""
    if chunked:
        head += "Transfer-Encoding: chunked\r\n"
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    else:
        head += f"Content-Length: {len(body)}\r\n"

    received = exchange(service, "127.0.1.1", head.encode() + b"\r\n" + body)

    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert status_of(service, event) == "Started"


@pytest.mark.client(2)
@pytest.mark.parametrize(
    "extra",
    [{}, {"DocumentIncarnation": "5"}, {"DocumentIncarnation": 5}, {"DocumentIncarnation": 2}],
    ids=["absent", "a string", "a number", "the right number"],
)
def test_a_stale_incarnation_in_an_approval_is_ignored(service: RunningService, extra: dict[str, Any]):
    web, event = scheduled_restart(service)

    reply = web.call("POST", NEWEST, start_requests(event, **extra))

    assert (reply.status, status_of(service, event)) == (200, "Started")


@pytest.mark.client(3)
def test_a_client_may_get_with_one_version_and_post_with_another(service: RunningService):
    web, _ = scheduled_restart(service)
    event = only(web.events("2020-07-01"))["EventId"]

    reply = web.approve(event, version="2019-08-01")

    assert reply.status == 200
    assert only(web.events("2020-07-01"))["EventStatus"] == "Started"


@pytest.mark.client(4)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_approval_is_answered_with_200_and_an_empty_body(service: RunningService, version: str):
    web, event = scheduled_restart(service)

    reply = web.approve(event, version=version)

    assert (reply.status, reply.body, reply.headers["content-length"]) == (200, b"", "0")


@pytest.mark.client(5)
def test_a_client_may_approve_at_every_poll_as_long_as_it_sees_the_event(service: RunningService):
    web, event = scheduled_restart(service)
    answers = []

    while events := web.events():
        answers.append(web.approve(*(each["EventId"] for each in events)).status)
        service.advance(seconds=10)

    assert len(answers) >= 6
    assert set(answers) == {200}
    assert status_of(service, event) == "Completed"


@pytest.mark.client(6)
@pytest.mark.parametrize("times", [1, 2], ids=["when first seen", "when seen before"])
def test_a_get_that_asks_to_close_is_told_so_and_hung_up_on(service: RunningService, times: int):
    request = (
        f"GET {NEWEST} HTTP/1.1\r\nHost: 169.254.169.254\r\nMetadata: true\r\nConnection: close\r\n\r\n".encode()
    )

    for _ in range(times):
        received = exchange(service, "127.0.2.1", request)

    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nConnection: close" in head
    assert body == b'{"DocumentIncarnation":1,"Events":[]}'


@pytest.mark.client(6)
def test_an_approval_and_a_refusal_that_ask_to_close_are_told_so_and_hung_up_on(service: RunningService):
    _, event = scheduled_restart(service)
    replies = []

    for body in (start_requests(event), "{"):
        head = f"POST {NEWEST} HTTP/1.1\r\nHost: 169.254.169.254\r\nMetadata: true\r\nConnection: close\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
        replies.append(exchange(service, "127.0.1.1", request))

    assert [reply.partition(b"\r\n")[0] for reply in replies] == [b"HTTP/1.1 200 OK", b"HTTP/1.1 400 Bad Request"]
    assert all(b"\r\nConnection: close\r\n" in reply for reply in replies)


@pytest.mark.client(6)
def test_a_client_of_http_1_0_is_hung_up_on_unless_it_asks_to_stay(service: RunningService):
    plain = f"GET {NEWEST} HTTP/1.0\r\nMetadata: true\r\n\r\n".encode()
    staying = f"GET {NEWEST} HTTP/1.0\r\nMetadata: true\r\nConnection: keep-alive\r\n\r\n".encode()

    once = exchange(service, "127.0.2.1", plain)
    twice = exchange(service, "127.0.2.1", staying + plain)

    assert once.count(b'{"DocumentIncarnation":1,"Events":[]}') == 1
    assert re.findall(rb"\r\nConnection: ([a-z-]+)\r\n", once) == [b"close"]
    assert twice.count(b'{"DocumentIncarnation":1,"Events":[]}') == 2
    assert re.findall(rb"\r\nConnection: ([a-z-]+)\r\n", twice) == [b"keep-alive", b"close"]


@pytest.mark.client(6)
def test_a_connection_stays_open_for_who_does_not_ask_to_close(service: RunningService):
    _, event = scheduled_restart(service)
    connection = http.client.HTTPConnection(
        "127.0.0.1", service.metadata_port, timeout=5, source_address=("127.0.1.1", 0)
    )
    sockets, statuses = [], []

    for method, body in (("GET", None), ("POST", start_requests(event)), ("GET", None), ("POST", "{")):
        connection.request(method, NEWEST, body, {"Metadata": "true"})
        reply = connection.getresponse()
        reply.read()
        sockets.append(connection.sock)
        statuses.append((reply.status, reply.getheader("Connection")))
    connection.close()

    assert statuses == [(200, None), (200, None), (200, None), (400, None)]
    assert sockets[0] is not None
    assert all(each is sockets[0] for each in sockets)


@pytest.mark.client(7)
@pytest.mark.parametrize("value", ["0", '"0"', "*", "current"])
def test_a_condition_on_an_approval_does_not_keep_it_from_200(service: RunningService, value: str):
    web, event = scheduled_restart(service)
    condition = web.call().headers["etag"] if value == "current" else value

    reply = web.call("POST", NEWEST, start_requests(event), {"If-None-Match": condition})

    assert (reply.status, status_of(service, event)) == (200, "Started")


@pytest.mark.client(7)
def test_a_client_that_begins_with_tag_zero_gets_the_document_and_then_304(service: RunningService):
    solo = service.guest("solo")

    first = solo.call(headers={"If-None-Match": "0"})
    second = solo.call(headers={"If-None-Match": first.headers["etag"]})

    assert (first.status, first.body) == (200, b'{"DocumentIncarnation":1,"Events":[]}')
    assert (second.status, second.body) == (304, b"")


@pytest.mark.client(8)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_header_may_be_missing_at_2017_03_01_only(service: RunningService, version: str):
    web, event = scheduled_restart(service)
    lenient = version == "2017-03-01"

    read = web.call(path=url(version), with_header=False)
    posted = web.call("POST", url(version), start_requests(event), with_header=False)

    assert [read.status, posted.status] == ([200, 200] if lenient else [400, 400])
    assert status_of(service, event) == ("Started" if lenient else "Scheduled")


@pytest.mark.client(9)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_member_has_the_type_that_strict_decoders_need(mixed: RunningService, version: str):
    guest = mixed.guest("mix_0")
    documents = [guest.document(version)]
    announce_every_kind(mixed)
    documents.append(guest.document(version))
    guest.approve(*(event["EventId"] for event in guest.events()))
    documents.append(guest.document(version))

    events = [event for document in documents for event in document["Events"]]
    assert {event["EventStatus"] for event in events} == {"Scheduled", "Started"}
    assert {type(document["DocumentIncarnation"]) for document in documents} == {int}
    assert [type(document["Events"]) for document in documents] == [list, list, list]
    for event in events:
        assert type(event.pop("DurationInSeconds", -1)) is int
        assert {type(name) for name in event.pop("Resources")} == {str}
        assert {type(value) for value in event.values()} == {str}
        assert (event["NotBefore"] == "") is (event["EventStatus"] == "Started")
        assert event["NotBefore"].endswith("GMT") is (event["EventStatus"] == "Scheduled")


@pytest.mark.client(10)
def test_no_two_different_documents_have_the_same_incarnation(service: RunningService):
    web = service.guest("web-0")
    seen = [web.document()]

    for vm in ("web-0", "web-1", "web-0"):
        event = service.post(f"/v1/vms/{vm}/restart")["event"]["id"]
        seen.append(web.document())
        web.approve(event)
        seen.append(web.document())
        service.advance(minutes=2)
        seen.append(web.document())
    event = service.post("/v1/vms/web-2/restart")["event"]["id"]
    seen.append(web.document())
    service.post(f"/v1/events/{event}/cancel")
    seen.append(web.document())

    assert [document["DocumentIncarnation"] for document in seen] == list(range(1, 13))


@pytest.mark.client(11)
@pytest.mark.parametrize(
    "version", ["2017-08-01", "2018-10-01", "2019-08-01", "2020-09-01", "2021-02-01", "2021-12-13"]
)
@pytest.mark.parametrize("vm", ["web-0", "pool_1", "FrontEnd_IN_0", "solo"])
def test_an_instances_name_in_its_metadata_is_its_name_in_resources(
    service: RunningService, vm: str, version: str
):
    guest, _ = scheduled_restart(service, vm)

    whole = guest.call(path=f"{INSTANCE}?api-version={version}").json
    leaf = guest.call(path=f"{INSTANCE}/compute/name?api-version={version}&format=text")

    assert only(guest.events())["Resources"] == [whole["compute"]["name"]]
    assert (leaf.status, leaf.body) == (200, vm.encode())
    assert leaf.headers["content-type"].startswith("text/plain")


@pytest.mark.client(11)
def test_the_leaves_that_clients_decode_are_strings(service: RunningService):
    compute = service.guest("solo").call(path=f"{INSTANCE}/compute?api-version=2021-02-01").json
    set_member = service.guest("web-2").call(path=f"{INSTANCE}?api-version=2021-02-01").json["compute"]

    assert compute["tags"] == "team:blue;env:test"
    assert (compute["platformUpdateDomain"], compute["platformFaultDomain"]) == ("0", "0")
    assert (set_member["platformUpdateDomain"], set_member["tags"]) == ("2", "")
    shapes = {name: type(value) for name, value in compute.items() if type(value) is not str}
    assert shapes == {
        "osProfile": dict,
        "plan": dict,
        "publicKeys": list,
        "securityProfile": dict,
        "storageProfile": dict,
        "tagsList": list,
    }


@pytest.mark.client(11)
def test_reading_the_instances_metadata_needs_the_header(service: RunningService):
    reply = service.guest("solo").call(path=f"{INSTANCE}?api-version=2021-02-01", with_header=False)

    assert (reply.status, reply.json) == (400, {"error": "Bad request. Required metadata header not specified"})


@pytest.mark.client(12)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_underscore_is_of_the_first_version_and_the_duration_of_the_last(
    service: RunningService, version: str
):
    web = service.guest("web-0")
    web.document()
    service.post("/v1/hosts/host-0/maintain", FREEZE)

    event = only(web.events(version))

    assert event["Resources"] == ["_web-0" if version == "2017-03-01" else "web-0"]
    assert ("DurationInSeconds" in event) is (version == "2020-07-01")


@pytest.mark.client(13)
@pytest.mark.parametrize("agent", USER_AGENTS)
def test_any_user_agent_is_served_alike(service: RunningService, agent: str):
    _, event = scheduled_restart(service)
    value = USER_AGENTS[agent]
    line = b"" if value is None else b"User-Agent: %b\r\n" % value.encode("latin-1")
    body = start_requests(event).encode()
    common = b"Host: 169.254.169.254\r\nMetadata: true\r\nConnection: close\r\n" + line
    get = b"GET %b HTTP/1.1\r\n%b\r\n" % (NEWEST.encode(), common)
    post = b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (NEWEST.encode(), common, len(body), body)
    expected = service.guest("web-1").call().body

    read = exchange(service, "127.0.1.1", get)
    posted = exchange(service, "127.0.1.1", post)

    assert read.startswith(b"HTTP/1.1 200 OK\r\n")
    assert read.partition(b"\r\n\r\n")[2] == expected
    assert json.loads(expected)["Events"][0]["EventId"] == event
    assert posted.startswith(b"HTTP/1.1 200 OK\r\n")
    assert status_of(service, event) == "Started"
