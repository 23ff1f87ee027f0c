"""The webhook handler, against a real server."""

from __future__ import annotations

import json
import threading

import pytest

from forewarn.agent.handlers import find
from tests.agent.receiver import receiving
from tests.agent.tasks import EVENT, attempt
from tests.waiting import wait_until

WEBHOOK = find("webhook")
SUMMARY = f"Reboot of web-3, Scheduled, not before Mon, 02 Mar 2026 12:15:00 GMT: {EVENT.description} ({EVENT.id})"


def test_a_webhook_that_fails_twice_arrives_and_every_try_has_the_same_key(tmp_path):
    with receiving((500, b"busy"), (503, b""), (200, b"ok")) as receiver:
        result = WEBHOOK.run(attempt(tmp_path, {"url": receiver.url}))

    assert (result.is_done, result.note) == (True, "it arrived with status 200, try 3")
    assert {got.headers["Idempotency-Key"] for got in receiver.got} == {f"{EVENT.id}/drain/do"}
    assert len({got.body for got in receiver.got}) == 1


def test_a_webhook_that_nobody_answers_is_tried_again_until_its_time_is_up(tmp_path):
    with receiving(holds=True) as receiver:
        result = WEBHOOK.run(attempt(tmp_path, {"url": receiver.url, "request_seconds": 0.2}, seconds=2))

    assert not result.is_done
    assert "did not answer" in result.note
    assert len(receiver.got) >= 2


def test_a_webhook_that_is_refused_is_not_tried_again(tmp_path):
    with receiving((404, b"no such hook")) as receiver:
        result = WEBHOOK.run(attempt(tmp_path, {"url": f"{receiver.url}/T0PSECRET"}))

    assert (result.is_done, result.note) == (False, "it was refused with status 404 (no such hook), try 1")
    assert len(receiver.got) == 1


def test_a_server_that_asks_for_patience_is_given_it(tmp_path):
    with receiving((429, b"", {"Retry-After": "1"}), (200, b"")) as receiver:
        result = WEBHOOK.run(attempt(tmp_path, {"url": receiver.url}))

    assert result.is_done
    assert len(receiver.got) == 2


def test_the_word_to_stop_ends_the_tries(tmp_path):
    stop = threading.Event()
    results = []
    with receiving((500, b"")) as receiver:
        task = attempt(tmp_path, {"url": receiver.url}, seconds=300, stop=stop)
        thread = threading.Thread(target=lambda: results.append(WEBHOOK.run(task)))
        thread.start()
        wait_until(lambda: bool(receiver.got), "the first try")

        stop.set()
        thread.join(60)

    assert not results[0].is_done
    assert WEBHOOK.take_over(task) is None, "the next agent goes on with it"


def test_without_a_preset_the_event_is_sent_with_azures_names(tmp_path):
    with receiving() as receiver:
        WEBHOOK.run(attempt(tmp_path, {"url": receiver.url}))

    said = receiver.got[0].json
    assert receiver.got[0].headers["Content-Type"] == "application/json"
    assert (said["text"], said["vm"], said["step"]) == (SUMMARY, "web-3", "drain")
    assert said["event"]["EventId"] == EVENT.id
    assert said["event"]["Description"] == EVENT.description


def test_slack_gets_a_text_with_its_three_marks_quoted(tmp_path):
    with receiving() as receiver:
        WEBHOOK.run(attempt(tmp_path, {"url": receiver.url, "preset": "slack", "text": "*${event.description}*"}))

    text = receiver.got[0].json["text"]
    assert text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == f"*{EVENT.description}*"
    assert "<" not in text


def test_teams_gets_an_adaptive_card(tmp_path):
    with receiving() as receiver:
        WEBHOOK.run(attempt(tmp_path, {"url": receiver.url, "preset": "teams"}))

    attachment = receiver.got[0].json["attachments"][0]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert attachment["content"]["type"] == "AdaptiveCard"
    assert attachment["content"]["body"][0]["text"] == SUMMARY


def test_a_body_of_ones_own_stays_json_whatever_the_event_says(tmp_path):
    body = '{"chat": "${secret.chat}", "text": "${vm}: ${event.description}"}'
    with receiving() as receiver:
        WEBHOOK.run(attempt(tmp_path, {"url": receiver.url, "body": body, "secrets": {"chat": "12"}}))

    assert json.loads(receiver.got[0].body) == {"chat": "12", "text": f"web-3: {EVENT.description}"}


def test_what_arrived_is_not_sent_again_by_the_next_agent_and_what_may_not_have_is(tmp_path):
    with receiving() as receiver:
        task = attempt(tmp_path, {"url": receiver.url})

        assert WEBHOOK.take_over(task) is None
        result = WEBHOOK.run(task)

    assert WEBHOOK.take_over(task) == result
    assert not WEBHOOK.undoes(task.options)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"url": "example.org"}, "url is no address"),
        ({"url": "http://h", "preset": "irc"}, "preset is 'irc'. There are: slack, teams."),
        ({"url": "http://h", "preset": "slack", "body": "{}"}, "Take one of them out"),
        ({"url": "http://h", "text": "${evnt.id}"}, "Did you mean ${event.id}?"),
        ({"url": "http://h", "body": "{'a': 1}"}, "body is no JSON"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_that_cannot_work_are_refused(options, problem):
    assert any(problem in each for each in WEBHOOK.check(options)), WEBHOOK.check(options)


def test_good_options_are_not_refused():
    assert WEBHOOK.check({"url": "https://hooks.example/${secret.hook}", "secrets": {"hook": "x"}}) == []
