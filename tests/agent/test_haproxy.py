"""The HAProxy handler, against a real HAProxy."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from forewarn.agent.case import Direction
from forewarn.agent.handlers import find
from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.haproxy_socket import RuntimeSocket
from tests.agent.haproxy_process import haproxy
from tests.agent.receiver import receiving
from tests.agent.tasks import EVENT, attempt
from tests.waiting import wait_until

HAPROXY = find("haproxy")


def options(socket: str, *servers: str, **more) -> dict:
    return {"socket": socket, "servers": list(servers) or ["web/a"], "poll_seconds": 0.05, **more}


def ask(balancer) -> RuntimeSocket:
    return RuntimeSocket(balancer.socket, Deadline(20))


@pytest.mark.system
def test_a_server_is_drained_once_its_sessions_have_ended_and_is_ready_after_the_undo(tmp_path):
    with receiving((200, b"a"), holds=True) as a, receiving((200, b"b")) as b:
        servers = {"a": a.url.removeprefix("http://"), "b": b.url.removeprefix("http://")}
        with haproxy(tmp_path, servers) as balancer:
            answers: list = []
            first = threading.Thread(target=lambda: answers.append(balancer.get()))
            first.start()
            wait_until(lambda: bool(a.got), "a request to be under way at a")
            task = attempt(tmp_path, options(balancer.socket))
            results: list = []
            draining = threading.Thread(target=lambda: results.append(HAPROXY.run(task)))
            draining.start()
            wait_until(lambda: ask(balancer).server("web/a").is_draining, "a to be drained")

            meanwhile = [balancer.get() for _ in range(4)]
            assert not results, "a request is still under way"
            a.held.set()
            first.join(60)
            draining.join(60)
            undone = HAPROXY.run(replace(task, direction=Direction.UNDO, scratch=tmp_path / "undo"))
            after = {balancer.get() for _ in range(4)}

    assert answers == [(200, b"a")], "what was under way came to its end"
    assert set(meanwhile) == {(200, b"b")}
    assert (results[0].is_done, results[0].note) == (True, "web/a has 0 sessions")
    assert (undone.is_done, undone.note) == (True, "web/a is ready")
    assert after == {(200, b"a"), (200, b"b")}


@pytest.mark.system
def test_sessions_that_do_not_end_are_a_failure_unless_they_are_few(tmp_path):
    with receiving(holds=True) as a, haproxy(tmp_path, {"a": a.url.removeprefix("http://")}) as balancer:
        request = threading.Thread(target=balancer.get)
        request.start()
        wait_until(lambda: bool(a.got), "a request to be under way")

        all_of_them = HAPROXY.run(attempt(tmp_path, options(balancer.socket), seconds=3))
        most_of_them = HAPROXY.run(attempt(tmp_path, options(balancer.socket, most_sessions=1)))

        a.held.set()
        request.join(60)
    assert (all_of_them.is_done, all_of_them.note) == (False, "web/a has 1 sessions: its time of 3 s was up")
    assert most_of_them.is_done


@pytest.mark.system
def test_what_somebody_else_took_out_is_left_out(tmp_path):
    with haproxy(tmp_path, {"a": "127.0.0.1:9", "b": "127.0.0.1:9"}) as balancer:
        ask(balancer).set_state("web/b", "maint")
        task = attempt(tmp_path, options(balancer.socket, "web/a", "web/b"))

        HAPROXY.run(task)
        between = [ask(balancer).server(name) for name in ("web/a", "web/b")]
        undone = HAPROXY.run(replace(task, direction=Direction.UNDO, scratch=tmp_path / "undo"))

        assert [each.is_draining for each in between] == [True, False]
        assert undone.note == "web/a is ready, web/b was out before, and is left so"
        assert ask(balancer).server("web/b").is_in_maintenance


@pytest.mark.system
def test_a_server_that_somebody_put_into_maintenance_meanwhile_is_left_there(tmp_path):
    with haproxy(tmp_path, {"a": "127.0.0.1:9"}) as balancer:
        task = attempt(tmp_path, options(balancer.socket))
        HAPROXY.run(task)
        ask(balancer).set_state("web/a", "maint")

        undone = HAPROXY.run(replace(task, direction=Direction.UNDO, scratch=tmp_path / "undo"))

        assert undone.is_done
        assert ask(balancer).server("web/a").is_in_maintenance


@pytest.mark.system
def test_a_drain_goes_on_when_haproxy_is_restarted_in_the_middle_of_it(tmp_path):
    results: list = []
    with receiving(holds=True) as a:
        servers = {"a": a.url.removeprefix("http://")}
        with haproxy(tmp_path, servers) as balancer:
            threading.Thread(target=lambda: _ignoring(balancer.get), daemon=True).start()
            wait_until(lambda: bool(a.got), "a request to be under way")
            task = attempt(tmp_path, options(balancer.socket), seconds=60)
            draining = threading.Thread(target=lambda: results.append(HAPROXY.run(task)))
            draining.start()
            wait_until(lambda: ask(balancer).server("web/a").is_draining, "a to be drained")
        with haproxy(tmp_path, servers, balancer.port, balancer.admin_port) as again:
            draining.join(60)

            assert (results[0].is_done, results[0].note) == (True, "web/a has 0 sessions")
            assert ask(again).server("web/a").is_draining


@pytest.mark.system
def test_a_socket_on_a_port_does_as_well(tmp_path):
    with haproxy(tmp_path, {"a": "127.0.0.1:9"}) as balancer:
        result = HAPROXY.run(attempt(tmp_path, options(f"127.0.0.1:{balancer.admin_port}")))

        assert result.is_done, result.note
        assert ask(balancer).server("web/a").is_draining


@pytest.mark.system
@pytest.mark.parametrize("server", ["web/none", "none/a"])
def test_a_server_that_does_not_exist_is_a_failure_at_once(tmp_path, server):
    with haproxy(tmp_path, {"a": "127.0.0.1:9"}) as balancer:
        result = HAPROXY.run(attempt(tmp_path, options(balancer.socket, server), seconds=300))

    assert not result.is_done
    assert f"has no server {server}" in result.note


def test_a_socket_where_nobody_is_is_a_failure_at_once(tmp_path):
    result = HAPROXY.run(attempt(tmp_path, options(str(tmp_path / "none.sock")), seconds=300))

    assert not result.is_done
    assert "does not answer: [Errno 2]" in result.note


@pytest.mark.system
def test_an_event_that_finds_a_server_half_drained_by_another_sets_it_ready_all_the_same(tmp_path):
    with receiving(holds=True) as a, haproxy(tmp_path, {"a": a.url.removeprefix("http://")}) as balancer:
        request = threading.Thread(target=balancer.get)
        request.start()
        wait_until(lambda: bool(a.got), "a request to be under way")
        first = HAPROXY.run(attempt(tmp_path, options(balancer.socket), seconds=1))
        a.held.set()
        request.join(60)
        later = replace(EVENT, id="LATER")

        second = HAPROXY.run(attempt(tmp_path, options(balancer.socket), event=later))
        undone = HAPROXY.run(attempt(tmp_path, options(balancer.socket), event=later, direction=Direction.UNDO))

        assert (first.is_done, second.is_done) == (False, True)
        assert undone.note == "web/a is ready"
        assert ask(balancer).server("web/a").is_ready


@pytest.mark.system
def test_servers_are_set_ready_whatever_the_file_names_by_now(tmp_path):
    with haproxy(tmp_path, {"a": "127.0.0.1:9", "b": "127.0.0.1:9"}) as balancer:
        HAPROXY.run(attempt(tmp_path, options(balancer.socket, "web/a")))
        HAPROXY.run(attempt(tmp_path, options(balancer.socket, "web/b"), try_number=2))

        undone = HAPROXY.run(attempt(tmp_path, options(balancer.socket, "web/b"), direction=Direction.UNDO))

        assert undone.is_done
        assert [ask(balancer).server(name).is_ready for name in ("web/a", "web/b")] == [True, True]


def test_an_undo_of_a_drain_of_which_no_record_is_left_has_failed_and_says_so(tmp_path):
    task = attempt(tmp_path, options(str(tmp_path / "none")), direction=Direction.UNDO)

    result = HAPROXY.run(replace(task, was_done=True))

    assert not result.is_done
    assert "not known any more" in result.note
    assert "see to it by hand" in result.note


def test_an_undo_without_a_drain_touches_nothing(tmp_path):
    result = HAPROXY.run(attempt(tmp_path, options(str(tmp_path / "none")), direction=Direction.UNDO))

    assert (result.is_done, result.note) == (True, "nothing was drained")


def test_an_attempt_of_an_earlier_agent_may_be_begun_again(tmp_path):
    assert HAPROXY.take_over(attempt(tmp_path, options("/s"))) is None
    assert HAPROXY.undoes({})


def test_options_that_cannot_work_are_refused():
    good = {"socket": "/run/haproxy/admin.sock", "servers": ["web/a"]}

    assert HAPROXY.check(good) == []
    assert HAPROXY.check(good | {"socket": "lb:9999"}) == []
    assert "Write /PATH/TO/SOCKET or HOST:PORT" in HAPROXY.check(good | {"socket": "admin.sock"})[0]
    assert "servers is empty" in HAPROXY.check(good | {"servers": []})[0]
    assert "Write it as BACKEND/SERVER" in HAPROXY.check(good | {"servers": ["web/a; disable server web/b"]})[0]
    assert "poll_seconds" in HAPROXY.check(good | {"poll_seconds": 0})[0]


def _ignoring(act) -> None:
    try:
        act()
    except OSError:
        return
