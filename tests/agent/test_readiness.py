"""The readiness handler, with real connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from forewarn.agent.case import Direction
from forewarn.agent.handlers import find
from forewarn.agent.handlers.connections import established
from tests.agent.tasks import attempt
from tests.waiting import wait_until

HANDLER = find("readiness")


@pytest.fixture(params=[socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
def listener(request) -> Iterator[socket.socket]:
    address = "127.0.0.1" if request.param == socket.AF_INET else "::1"
    with socket.create_server((address, 0), family=request.param) as listening:
        yield listening


def test_it_waits_until_connections_are_few(tmp_path, listener):
    port = listener.getsockname()[1]
    client = socket.create_connection(listener.getsockname()[:2])
    server, _ = listener.accept()
    task = attempt(tmp_path, {"ports": [port], "notice_seconds": 0})
    results = []
    thread = threading.Thread(target=lambda: results.append(HANDLER.run(task)))
    thread.start()
    wait_until(lambda: any(task.scratch.rglob("begun.json")), "it to begin")
    assert established({port}) == 1
    assert not results

    client.close()
    server.close()
    thread.join(60)

    assert (results[0].is_done, results[0].note) == (True, "0 connections left")


def test_connections_that_do_not_end_are_a_failure(tmp_path, listener):
    with socket.create_connection(listener.getsockname()[:2]):
        task = attempt(tmp_path, {"ports": [listener.getsockname()[1]], "notice_seconds": 0}, seconds=0.3)

        result = HANDLER.run(task)

    assert (result.is_done, result.note) == (False, "1 connections left: its time of 0.3 s was up")


def test_so_many_connections_as_are_said_are_few(tmp_path, listener):
    with socket.create_connection(listener.getsockname()[:2]):
        options = {"ports": [listener.getsockname()[1]], "notice_seconds": 0, "most_connections": 1}

        assert HANDLER.run(attempt(tmp_path, options)).is_done


def test_connections_left_after_the_drain_seconds_are_not_waited_for(tmp_path, listener):
    with socket.create_connection(listener.getsockname()[:2]):
        options = {"ports": [listener.getsockname()[1]], "notice_seconds": 0, "drain_seconds": 0.2}

        result = HANDLER.run(attempt(tmp_path, options))

    assert (result.is_done, result.note) == (True, "1 connections left after 0.2 s")


def test_connections_to_other_ports_do_not_count(tmp_path, listener):
    with socket.create_connection(listener.getsockname()[:2]) as client:
        assert established({1}) == 0
        assert established({client.getsockname()[1]}) == 1


def test_load_balancers_that_have_no_time_to_notice_are_a_failure(tmp_path):
    result = HANDLER.run(attempt(tmp_path, {"notice_seconds": 5}, seconds=0.2))

    assert (result.is_done, result.note) == (
        False,
        "load balancers had no time to notice: its time of 0.2 s was up",
    )


def test_the_undo_has_nothing_to_wait_for(tmp_path):
    result = HANDLER.run(attempt(tmp_path, {"notice_seconds": 300}, direction=Direction.UNDO))

    assert (result.is_done, result.note) == (True, "back in service")
    assert HANDLER.undoes({})


def test_what_came_of_it_is_known_after_a_restart_and_what_was_not_over_waits_anew(tmp_path):
    over = attempt(tmp_path, {"notice_seconds": 0})
    result = HANDLER.run(over)

    assert HANDLER.take_over(over) == result
    assert HANDLER.take_over(attempt(tmp_path, {}, try_number=2)) is None


def test_options_that_cannot_work_are_refused():
    assert HANDLER.check({"ports": [80, 443], "drain_seconds": 30}) == []
    assert HANDLER.check({"ports": [0]}) == ["ports has 0, which is no port. They are 1 to 65535."]
    assert HANDLER.check({"most_connections": -1}) == [
        "most_connections is below 0. Use 0 to wait for the last one."
    ]
