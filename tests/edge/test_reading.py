"""Reading HTTP: the same requests however the bytes are cut, and never anything but requests and one objection."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from forewarn.edge.limits import GuestLimits
from forewarn.edge.reading import Arrived, RequestReader
from forewarn.wire.http import Answer
from tests.edge.wire import GET, post

OFFER = b"\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
REQUESTS = [
    GET,
    GET.replace(b"\r\n\r\n", OFFER),
    post(b'{"StartRequests":[]}'),
    post(b'{"StartRequests":[]}').replace(b"\r\n\r\n", OFFER, 1),
    post(b"", "Transfer-Encoding: chunked", length=False) + b"5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n",
    GET.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n"),
]

repeatable = settings(max_examples=150, deadline=None, derandomize=True, database=None)


def read(*pieces: bytes) -> tuple[list[Arrived], Answer | None]:
    reader = RequestReader(GuestLimits(), lambda: 0.0)
    arrived = [each for piece in pieces for each in reader.feed(piece)]
    return arrived, reader.objection


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges) if start < end]


@repeatable
@given(st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=5), st.lists(st.integers(min_value=0), max_size=8))
def test_requests_are_read_alike_however_they_are_cut(requests: list[bytes], places: list[int]):
    data = b"".join(requests)

    whole, objection = read(data)

    assert objection is None
    assert len(whole) == len(requests)
    assert read(*cut(data, places)) == (whole, None)


@repeatable
@given(
    st.lists(st.sampled_from(REQUESTS), max_size=3),
    st.binary(max_size=200),
    st.lists(st.integers(min_value=0), max_size=4),
)
def test_whatever_comes_behind_requests_they_are_read_and_nothing_is_raised(
    requests: list[bytes], rest: bytes, places: list[int]
):
    expected, _ = read(*requests)

    arrived, _ = read(*requests, *cut(rest, places))

    assert arrived[: len(expected)] == expected


def test_an_offered_upgrade_changes_nothing_but_the_header_that_offers_it():
    plain, offering = post(b"hello"), post(b"hello").replace(b"\r\n\r\n", OFFER, 1)

    ((of_plain, ending),), _ = read(plain)
    ((of_offering, same_ending),), _ = read(offering)

    assert (of_offering.method, of_offering.target, of_offering.body) == ("POST", of_plain.target, b"hello")
    assert dict(of_offering.headers) == {**dict(of_plain.headers), "connection": "Upgrade"}
    assert same_ending == ending


def test_nothing_is_read_behind_an_objection():
    reader = RequestReader(GuestLimits(), lambda: 0.0)
    reader.feed(post(b"", "Content-Length: 70000", length=False))

    assert reader.feed(GET) == []
    assert reader.objection is not None
    assert reader.incoming is None
