"""Whatever comes in over the wire is understood or refused; nothing that was sent can make the judge stumble."""

from __future__ import annotations

import json
import re
import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st

from forewarn.wire.fleet_file import BadFleet, read_toml
from forewarn.wire.http import Answer
from forewarn.wire.imds.request import (
    ApproveEvents,
    ReadEvents,
    ReadInstance,
    ReadVersions,
    Request,
    judge,
    parse_start_requests,
)
from forewarn.wire.imds.versions import EVENTS_VERSIONS
from forewarn.wire.toml_lines import find_lines

# The same examples in every run: a test that fails today fails tomorrow.
repeatable = settings(max_examples=150, deadline=None, derandomize=True, database=None)

latin = st.text(st.characters(max_codepoint=255), max_size=60)
paths = (
    st.sampled_from(["/metadata/scheduledevents", "/metadata/instance", "/metadata/instance/compute", "/"]) | latin
)
versions = st.sampled_from([*EVENTS_VERSIONS, "2021-02-01", "2016-01-01", ""]) | latin
headers = st.lists(
    st.tuples(st.sampled_from(["metadata", "prefer", "if-none-match", "x-forwarded-for", "host"]), latin),
    max_size=4,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(["GET", "POST", "PUT", "HEAD", "PATCH"]),
    paths,
    versions,
    latin,
    headers,
    st.binary(max_size=200),
)
@repeatable
def test_every_request_gets_a_wish_or_a_refusal_with_a_json_body(method, path, version, more, given_headers, body):
    request = Request(method, f"{path}?api-version={version}&{more}", tuple(given_headers), body)

    verdict = judge(request)

    assert isinstance(verdict, (Answer, ReadEvents, ReadInstance, ReadVersions, ApproveEvents))
    if isinstance(verdict, Answer):
        assert 400 <= verdict.status < 500
        assert "error" in json.loads(verdict.body)


@given(values, st.lists(st.text(max_size=40), max_size=4))
@repeatable
def test_start_requests_are_read_or_refused_whatever_else_the_body_holds(extra, ids):
    body = {"DocumentIncarnation": extra, "StartRequests": [{"EventId": each, "Note": extra} for each in ids]}

    verdict = parse_start_requests(json.dumps(body).encode())

    if ids:
        assert isinstance(verdict, ApproveEvents)
        assert set(verdict.event_ids) == {each.strip().upper() for each in ids}
    else:
        assert isinstance(verdict, Answer)


@given(values)
@repeatable
def test_a_body_that_is_something_else_is_refused(body):
    verdict = parse_start_requests(json.dumps(body).encode())

    assert isinstance(verdict, Answer)
    assert verdict.status == 400


names = st.from_regex(re.compile(r"[A-Za-z0-9_-]{1,8}"), fullmatch=True)
odd_values = ["[1,\n 2]", "'''\n[[vms]]\n'''", "{ a = 1 }", "true", "-1", "="]
lines = st.one_of(
    st.builds("[[{}]]".format, st.sampled_from(["vms", "hosts", "scale_sets", "surprise"])),
    st.builds("[{}.{}]".format, names, names),
    st.builds('{} = "{}"'.format, st.sampled_from(["name", "host", "zone", "odd"]), names),
    st.builds(
        "{} = {}".format, names, st.sampled_from(["[1,\n 2]", "'''\n[[vms]]\n'''", "{ a = 1 }", "true", "-1", "="])
    ),
    st.builds("# {}".format, names),
    st.just(""),
)


@given(st.lists(lines, max_size=12))
@repeatable
def test_a_fleet_file_is_taken_or_refused_with_lines_that_exist(written):
    text = "\n".join(written)

    try:
        refused = ()
        read_toml(text, "fleet.toml")
    except BadFleet as problem:
        refused = problem.lines

    told = [re.match(r"fleet\.toml:(\d+): .+[.?]$", line) for line in refused]
    assert all(told), refused
    assert all(1 <= int(each[1]) <= text.count("\n") + 1 for each in told), (refused, text)


@given(st.lists(lines, max_size=12))
@repeatable
def test_the_line_of_a_table_is_the_line_of_its_header(written):
    text = "\n".join(written)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        document = {}

    found = find_lines(text)

    for name in ("vms", "hosts", "scale_sets", "surprise"):
        for index in range(len(document.get(name, []))):
            assert text.split("\n")[found.line(name, index) - 1] == f"[[{name}]]"
