"""The http handler, against a real server."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.agent.case import Direction
from forewarn.agent.handlers import find
from tests.agent.lone_agent import lone_agent
from tests.agent.receiver import receiving
from tests.agent.tasks import EVENT, attempt
from tests.waiting import free_port, wait_until

HTTP = find("http")


def test_a_call_goes_out_with_its_templates_filled_in(tmp_path):
    with receiving((204, b"")) as receiver:
        options = {
            "url": f"{receiver.url}/nodes/${{vm}}/drain?why=${{event.description}}",
            "method": "PUT",
            "headers": {"X-Event": "${event.id}", "Authorization": "Bearer ${secret.token}"},
            "secrets": {"token": "s3cret"},
            "body": '{"why": "${event.description}", "all": ${event.resources}}',
        }

        result = HTTP.run(attempt(tmp_path, options))

    got = receiver.got[0]
    assert (result.is_done, result.note) == (True, f"PUT {receiver.url} answered 204")
    assert got.method == "PUT"
    assert got.path.startswith("/nodes/web-3/drain?why=Host%20%22blade")
    assert got.headers["X-Event"] == EVENT.id
    assert got.headers["Authorization"] == "Bearer s3cret"
    assert got.headers["Content-Type"] == "application/json"
    assert got.headers["Idempotency-Key"] == f"{EVENT.id}/drain/do"
    assert got.json == {"why": EVENT.description, "all": ["web-3", "web-4"]}


def test_a_body_of_another_type_is_filled_in_plainly(tmp_path):
    with receiving() as receiver:
        options = {"url": receiver.url, "headers": {"content-type": "text/plain"}, "body": "${event.description}!"}

        HTTP.run(attempt(tmp_path, options))

    assert receiver.got[0].body.decode() == f"{EVENT.description}!"


@pytest.mark.parametrize(
    ("status", "expect", "is_done"),
    [
        (200, None, True),
        (299, None, True),
        (301, None, False),
        (404, None, False),
        (500, None, False),
        (404, [404, 410], True),
        (200, [404, 410], False),
    ],
)
def test_only_an_expected_status_is_success(tmp_path, status, expect, is_done):
    with receiving((status, b"words of\nthe server", {"Location": "http://127.0.0.1:1/"})) as receiver:
        result = HTTP.run(attempt(tmp_path, {"url": receiver.url, "expect": expect}))

    assert result.is_done is is_done
    assert result.note.endswith(f"answered {status}" if is_done else f"answered {status}: words of the server")
    assert len(receiver.got) == 1, "no redirect is followed, nothing is repeated"


def test_a_server_that_does_not_answer_in_time_is_a_failure_in_time(tmp_path):
    with receiving(holds=True) as receiver:
        result = HTTP.run(attempt(tmp_path, {"url": receiver.url}, seconds=0.3))

    assert (result.is_done, result.note) == (
        False,
        f"POST {receiver.url} did not answer: its time of 0.3 s was up",
    )


def test_a_server_that_answers_a_byte_at_a_time_cannot_stretch_the_time(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        enough = threading.Event()

        def drip() -> None:
            connection, _ = listener.accept()
            with connection:
                while not enough.wait(0.05):
                    try:
                        connection.sendall(b"H")
                    except OSError:  # noqa: PERF203 - it waits on every turn anyway
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()

        result = HTTP.run(attempt(tmp_path, {"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}, seconds=0.4))

        enough.set()
        thread.join(60)
    assert "its time of 0.4 s was up" in result.note


def test_the_word_to_stop_ends_a_call_at_once(tmp_path):
    stop = threading.Event()
    results = []
    with receiving(holds=True) as receiver:
        task = attempt(tmp_path, {"url": receiver.url}, seconds=300, stop=stop)
        thread = threading.Thread(target=lambda: results.append(HTTP.run(task)))
        thread.start()
        wait_until(lambda: bool(receiver.got), "the call to arrive")

        stop.set()
        thread.join(60)

    assert results[0].note.endswith("did not answer: it was told to stop")


def test_nobody_there_is_a_failure_that_tells_the_host_and_not_the_secret(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    result = HTTP.run(attempt(tmp_path, {"url": f"http://127.0.0.1:{port}/hooks/T0PSECRET?token=abcd"}))

    assert not result.is_done
    assert f"http://127.0.0.1:{port} failed: ConnectionRefusedError" in result.note
    assert "T0PSECRET" not in result.note


def test_what_a_server_repeats_of_a_secret_is_not_told(tmp_path):
    with receiving((500, b"no token s3cret here, /hooks/T0P is gone")) as receiver:
        options = {"url": f"{receiver.url}/hooks/T0P", "headers": {"X-Key": "s3cret"}}

        result = HTTP.run(attempt(tmp_path, options))

    assert result.note.endswith("answered 500: no token [secret] here, [secret] is gone")


def test_no_proxy_of_the_environment_is_asked_and_the_given_one_is(tmp_path, monkeypatch):
    with receiving((200, b"origin")) as origin, receiving((502, b"proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        directly = HTTP.run(attempt(tmp_path, {"url": f"{origin.url}/x"}))
        given = proxy.url.replace("http://", "http://joe:pass@")
        through = HTTP.run(attempt(tmp_path, {"url": f"{origin.url}/x", "proxy": given}))

    assert (directly.is_done, through.is_done) == (True, False)
    assert proxy.got[0].path == f"{origin.url}/x"
    assert proxy.got[0].headers["Proxy-Authorization"] == "Basic am9lOnBhc3M="


def test_the_undo_is_its_own_call_with_the_same_trust_and_secrets(tmp_path):
    with receiving() as receiver:
        options = {
            "url": f"{receiver.url}/drain",
            "secrets": {"token": "s3cret"},
            "undo": {"url": f"{receiver.url}/undrain/${{secret.token}}", "method": "DELETE"},
        }

        result = HTTP.run(attempt(tmp_path, options, direction=Direction.UNDO))

    assert result.is_done
    assert (receiver.got[0].method, receiver.got[0].path) == ("DELETE", "/undrain/s3cret")
    assert HTTP.undoes(options)
    assert not HTTP.undoes({"url": "http://h"})


@pytest.mark.parametrize(
    ("more", "is_uncertain"), [({}, True), ({"repeatable": True}, False), ({"method": "PUT"}, False)]
)
def test_a_call_that_got_no_answer_may_have_arrived_and_one_that_found_nobody_has_not(
    tmp_path, more, is_uncertain
):
    with receiving(holds=True) as receiver:
        unanswered = HTTP.run(attempt(tmp_path, {"url": receiver.url, **more}, seconds=0.3))
        receiver.held.set()
    unsent = HTTP.run(attempt(tmp_path / "2", {"url": f"http://127.0.0.1:{free_port()}", **more}))

    assert (unanswered.is_done, unanswered.is_uncertain) == (False, is_uncertain)
    assert (unsent.is_done, unsent.is_uncertain) == (False, False)


def test_a_call_over_which_the_agent_died_is_not_made_again_unless_it_may_be(tmp_path):
    with receiving(holds=True) as receiver:
        options = {"url": receiver.url}
        with lone_agent(tmp_path, "http", options) as agent:
            wait_until(lambda: bool(receiver.got), "the call to arrive")
            agent.kill()
            agent.wait(60)
    task = attempt(tmp_path, options)

    unknown = HTTP.take_over(task)

    assert unknown is not None
    assert "whether the call arrived is not known" in unknown.note
    assert unknown.is_uncertain
    assert HTTP.take_over(replace(task, options=options | {"repeatable": True})) is None
    assert HTTP.take_over(replace(task, options=options | {"method": "PUT"})) is None


def test_a_call_that_was_never_begun_may_be_and_one_that_is_over_has_its_result(tmp_path):
    with receiving() as receiver:
        task = attempt(tmp_path, {"url": receiver.url})

        assert HTTP.take_over(task) is None
        result = HTTP.run(task)

    assert HTTP.take_over(task) == result


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"url": "ftp://h/x"}, "url is no address that can be called"),
        ({"url": "http://h:99999/"}, "url is no address that can be called"),
        ({"url": "http://h/a b"}, "url has a blank"),
        ({"url": "http://joe:pass@h/"}, "url has a user or a password in it"),
        (
            {"url": "http://h/${event_id}"},
            "url has ${event_id}, which stands for nothing. Did you mean ${event.id}?",
        ),
        ({"url": "http://h", "method": "post"}, "method is 'post'. Write it in capitals"),
        ({"url": "http://h", "headers": {"a b": "x"}}, "'a b', which is no name of a header"),
        ({"url": "http://h", "headers": {"A": "${secret.x}"}}, "headers.A has ${secret.x}"),
        ({"url": "http://h", "body": "{"}, "body is no JSON"),
        ({"url": "http://h", "expect": [99]}, "expect has 99"),
        ({"url": "http://h", "undo": {"body": "{}"}}, "undo has no url"),
        ({"url": "http://h", "undo": {"url": "http://h", "proxy": "x"}}, "undo has 'proxy'"),
        ({"url": "http://h", "undo": {"url": "h"}}, "undo.url is no address"),
        ({"url": "http://h", "ca_file": "/no/such/file"}, "where there is no file"),
        ({"url": "http://h", "proxy": "socks5://h"}, "proxy has to be"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_that_cannot_work_are_refused(options, problem):
    assert any(problem in each for each in HTTP.check(options)), HTTP.check(options)


def test_good_options_are_not_refused(tmp_path: Path):
    options = {"url": "https://h:8443/${vm}", "body": "${vm}!", "headers": {"Content-Type": "text/plain"}}

    assert HTTP.check(options) == []
