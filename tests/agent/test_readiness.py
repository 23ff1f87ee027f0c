"""The readiness handler, with real connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from forewarn.agent.case import Direction
from forewarn.agent.handlers import find
from forewarn.agent.handlers.connections import established
from forewarn.agent.handlers.readiness import READINESS
from forewarn.agent.handlers.service_state import ServiceState
from tests.agent.tasks import attempt
from tests.running import wait_until

HANDLER = find("readiness")


@pytest.fixture(autouse=True)
def _in_service() -> Iterator[None]:
    put_all_back()
    yield
    put_all_back()


def put_all_back() -> None:
    for holder in READINESS.holders:
        READINESS.put_back(holder)


@pytest.fixture(params=[socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
def listener(request) -> Iterator[socket.socket]:
    address = "127.0.0.1" if request.param == socket.AF_INET else "::1"
    with socket.create_server((address, 0), family=request.param) as listening:
        yield listening


def test_the_machine_is_out_of_service_until_connections_are_few(tmp_path, listener):
    port = listener.getsockname()[1]
    client = socket.create_connection(listener.getsockname()[:2])
    server, _ = listener.accept()
    task = attempt(tmp_path, {"ports": [port], "notice_seconds": 0})
    results = []
    thread = threading.Thread(target=lambda: results.append(HANDLER.run(task)))
    thread.start()
    wait_until(lambda: not READINESS.is_in_service, "the machine to go out of service")
    assert established({port}) == 1
    assert not READINESS.is_drained

    client.close()
    server.close()
    thread.join(20)

    assert (results[0].is_done, results[0].note) == (True, "0 connections left")
    assert READINESS.is_drained
    assert not READINESS.is_in_service, "it stays out until the undo"


def test_connections_that_do_not_end_are_a_failure_and_the_machine_stays_out(tmp_path, listener):
    with socket.create_connection(listener.getsockname()[:2]):
        task = attempt(tmp_path, {"ports": [listener.getsockname()[1]], "notice_seconds": 0}, seconds=0.3)

        result = HANDLER.run(task)

    assert (result.is_done, result.note) == (False, "1 connections left: its time of 0.3 s was up")
    assert not READINESS.is_in_service
    assert not READINESS.is_drained


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


def test_the_undo_puts_it_back_into_service(tmp_path):
    HANDLER.run(attempt(tmp_path, {"notice_seconds": 0}))

    result = HANDLER.run(attempt(tmp_path, {}, direction=Direction.UNDO))

    assert (result.is_done, result.note) == (True, "back in service")
    assert READINESS.is_in_service
    assert HANDLER.undoes({})


def test_another_step_that_keeps_it_out_keeps_it_out(tmp_path):
    HANDLER.run(attempt(tmp_path, {"notice_seconds": 0}, step="one"))
    HANDLER.run(attempt(tmp_path, {"notice_seconds": 0}, step="other"))

    HANDLER.run(attempt(tmp_path, {}, step="one", direction=Direction.UNDO))

    assert not READINESS.is_in_service
    HANDLER.run(attempt(tmp_path, {}, step="other", direction=Direction.UNDO))
    assert READINESS.is_in_service


def test_after_a_restart_the_machine_is_out_of_service_again(tmp_path):
    task = attempt(tmp_path, {"notice_seconds": 0})
    result = HANDLER.run(task)
    put_all_back()

    taken_over = HANDLER.take_over(task)

    assert taken_over == result
    assert not READINESS.is_in_service
    assert READINESS.is_drained


def test_a_drain_in_whose_middle_the_agent_died_begins_again_with_the_machine_out_of_service(tmp_path):
    assert HANDLER.take_over(attempt(tmp_path, {})) is None
    assert not READINESS.is_in_service


def test_the_state_holds_on_when_many_threads_use_it():
    state = ServiceState()

    def use(number: int) -> None:
        for _ in range(200):
            state.take_out(str(number))
            state.note_drained(str(number))
            state.put_back(str(number))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert state.is_in_service
    assert not state.is_drained


def test_options_that_cannot_work_are_refused():
    assert HANDLER.check({"ports": [80, 443], "drain_seconds": 30}) == []
    assert HANDLER.check({"ports": [0]}) == ["ports has 0, which is no port. They are 1 to 65535."]
    assert HANDLER.check({"most_connections": -1}) == [
        "most_connections is below 0. Use 0 to wait for the last one."
    ]
