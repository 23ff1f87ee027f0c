"""Texts with placeholders, and the quoting of each place."""

from __future__ import annotations

import json

import pytest

from forewarn.agent.handlers import template
from forewarn.agent.handlers.event_words import PLACEHOLDERS, parts
from tests.agent.tasks import EVENT, attempt


@pytest.fixture
def values(tmp_path) -> dict:
    return parts(attempt(tmp_path, {})) | {"secret.token": 'to"ken'}


def test_every_placeholder_that_is_offered_stands_for_something_and_no_other_does(tmp_path):
    assert set(parts(attempt(tmp_path, {}))) == set(PLACEHOLDERS)


def test_inside_quotes_of_json_a_description_arrives_unchanged(values):
    filled = template.in_json('{"text": "now: ${event.description} (${event.id})"}', values)

    assert json.loads(filled) == {"text": f"now: {EVENT.description} ({EVENT.id})"}


def test_outside_quotes_of_json_a_placeholder_is_a_whole_value(values):
    filled = template.in_json('{"a": ${event.resources}, "b": ${event.duration_seconds}, "c": ${vm}}', values)

    assert json.loads(filled) == {"a": ["web-3", "web-4"], "b": 120, "c": "web-3"}


def test_a_quote_that_is_quoted_does_not_end_a_text_of_json(values):
    filled = template.in_json(r'{"a": "say \"${event.description}\" \\", "b": ${vm}}', values)

    assert json.loads(filled) == {"a": f'say "{EVENT.description}" \\', "b": "web-3"}


def test_half_a_character_does_not_spoil_json(values):
    filled = template.in_json('"${vm}"', values | {"vm": "a\ud800b"})

    assert filled.encode() == b'"a\\ud800b"'


def test_in_an_address_a_value_is_one_part(values):
    assert template.in_url("http://h/${vm}?d=${step}", values | {"vm": "a/b c", "step": "x&y=ü"}) == (
        "http://h/a%2Fb%20c?d=x%26y%3D%C3%BC"
    )


def test_a_header_stays_one_line(values):
    assert template.in_header("x ${vm}", values | {"vm": "a\r\nEvil: yes"}) == "x a  Evil: yes"


def test_two_dollars_are_a_plain_one(values):
    assert template.plainly("$${vm} costs $5, ${vm}", values) == "${vm} costs $5, web-3"


def test_what_a_value_says_is_not_filled_in_again(values):
    assert template.plainly("${vm}", values | {"vm": "${secret.token}"}) == "${secret.token}"


def test_a_placeholder_that_stands_for_nothing_is_refused_with_a_suggestion():
    assert template.problems("${event.typ} ${secret.token}", "body", ["token"]) == [
        "body has ${event.typ}, which stands for nothing. Did you mean ${event.type}?"
    ]
    assert "There are: event.id, " in template.problems("${quite_another_thing}", "body")[0]


def test_a_body_that_is_no_json_is_refused():
    assert template.json_problems('{"a": "${vm}"}', "body") == []
    assert "is no JSON once its placeholders are filled in" in template.json_problems('{"a": "${vm}",}', "body")[0]
