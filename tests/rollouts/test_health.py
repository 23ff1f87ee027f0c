"""The health checks of sets: what counts as well, how long is waited, and whom it holds up."""

from __future__ import annotations

import os
import socket
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.control.health import HealthChecks
from forewarn.control.health_probes import run_command
from tests.control.bench import NOON
from tests.rollouts.shop import SHORT, Shop, checks, said_by
from tests.running import free_port, wait_until

# Addresses.


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (200, None),
        (204, None),
        (301, "the health check of web answered 301"),
        (404, "the health check of web answered 404"),
        (503, "the health check of web answered 503"),
    ],
    ids=str,
)
def test_an_address_is_well_if_it_answers_2xx(shop: Shop, status: int, said: str | None):
    shop.status = status

    assert said_by(checks(f"{shop.url}/ready?deep=1")) == said
    assert shop.asked == ["/ready?deep=1"]


def test_an_address_at_which_nobody_listens_is_not_well():
    port = free_port()

    said = said_by(checks(f"http://127.0.0.1:{port}/"))

    assert said == "the health check of web did not answer (Connection refused)"


def test_an_address_that_does_not_answer_in_time_is_not_well(shop: Shop):
    shop.may_answer.clear()

    assert said_by(checks(shop.url)) == "the health check of web did not answer within 0.3 s"


def test_an_address_that_sends_a_byte_now_and_then_is_not_waited_for_longer():
    with socket.create_server(("127.0.0.1", 0)) as server:
        is_over = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while not is_over.wait(0.05):
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return

        threading.Thread(target=drip, daemon=True).start()
        said = said_by(checks(f"http://127.0.0.1:{server.getsockname()[1]}/"))
        is_over.set()

    assert said == "the health check of web did not answer within 0.3 s"


def test_an_address_that_speaks_no_http_is_not_well():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"220 mail.example ESMTP\r\n")

        threading.Thread(target=greet, daemon=True).start()
        said = said_by(checks(f"http://127.0.0.1:{server.getsockname()[1]}/"))

    assert said is not None
    assert said.startswith("the health check of web did not answer (")


# Commands.


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("exit 0", None),
        ("echo all is lost; exit 0", None),
        ("exit 1", "the health check of web ended with 1"),
        (
            "echo first; echo the disk is full >&2; exit 3",
            "the health check of web ended with 3: the disk is full",
        ),
        ("kill -9 $$", "the health check of web ended with -9"),
        ("sleep 60 & exit 0", None),
        ("yes | head -c 1000000; echo; echo enough; exit 1", "the health check of web ended with 1: enough"),
        ("exec >&- 2>&-; exit 4", "the health check of web ended with 4"),
        ('test "$FOREWARN_SET" = web', None),
    ],
)
def test_a_command_is_well_if_it_ends_with_0(line: str, said: str | None):
    assert said_by(checks("mine", mine=line)) == said


def test_a_command_that_does_not_end_is_ended_with_all_that_it_has_started(tmp_path: Path):
    pids = tmp_path / "pids"

    said = said_by(checks("mine", mine=f"sleep 60 & echo $! $$ > {pids}; wait"))

    assert said == "the health check of web did not end within 0.5 s"
    for pid in map(int, pids.read_text().split()):
        wait_until(lambda pid=pid: _is_gone(pid), f"process {pid} to be gone")


def test_what_a_command_leaves_behind_is_ended_too(tmp_path: Path):
    pid_file = tmp_path / "pid"

    assert said_by(checks("mine", mine=f"sleep 60 & echo $! > {pid_file}")) is None

    pid = int(pid_file.read_text())
    wait_until(lambda: _is_gone(pid), "what was left behind to be gone")


@pytest.mark.parametrize(
    ("child", "end"),
    [
        pytest.param("setsid {child} &", "wait", id="at the time limit"),
        pytest.param("setsid {child} &", "exit 0", id="at the end of its command"),
        pytest.param("(setsid {child} &) &", "wait", id="and has no parent any more"),
        pytest.param("env -i setsid {child} &", "wait", id="and has another environment"),
    ],
)
def test_a_child_that_leaves_the_session_of_its_command_is_ended_too(tmp_path: Path, child: str, end: str):
    pid_file = tmp_path / "pid"
    sleeping = f"sh -c 'echo $$ > {pid_file}; exec sleep 600'"
    line = f"{child.format(child=sleeping)} until test -s {pid_file}; do sleep 0.01; done; {end}"

    for seconds in (0.5, 5, 30):  # a busy machine takes its time to start a child
        run_command(["/bin/sh", "-c", line], "web", seconds)
        if pid_file.exists():
            break

    pid = int(pid_file.read_text())
    wait_until(lambda: _is_gone(pid), "the child to be gone")
    assert _is_gone(pid)


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_command_that_nobody_has_named_is_not_well_and_the_setting_is_told():
    assert said_by(checks("theirs", mine="exit 0")) == (
        "the health check of web is 'theirs', which this service has no command for (--health-command theirs=...)"
    )


def test_a_command_that_is_not_there_is_not_well():
    found = HealthChecks(
        lambda _: "mine", lambda: NOON, {"mine": ("/no/such/file",)}, waits_for_answers=True, patience=SHORT
    )

    assert said_by(found) == (
        "the health check of web could not be started: /no/such/file: No such file or directory"
    )


def test_a_command_reads_nothing_from_whoever_started_the_service():
    assert said_by(checks("mine", mine="read word && exit 9; exit 0")) is None


def test_a_set_without_a_check_is_well_by_the_drivers_word_alone():
    assert said_by(checks(None)) is None


# When it is asked.


def test_nobody_waits_for_a_check_while_real_time_passes(shop: Shop):
    shop.may_answer.clear()
    found = HealthChecks(lambda _: shop.url, lambda: NOON)

    found.ask({"web": NOON})

    said = found.answer("web", NOON)

    assert said == "the health check of web has not answered yet"
    shop.may_answer.set()
    wait_until(lambda: found.answer("web", NOON) is None, "the answer")
    assert shop.asked == ["/"]


def test_a_check_that_is_being_asked_is_not_asked_again(shop: Shop):
    shop.may_answer.clear()
    found = HealthChecks(lambda _: shop.url, lambda: NOON)
    found.ask({"web": NOON})
    wait_until(lambda: bool(shop.asked), "the check to be asked")

    for _ in range(20):
        found.ask({"web": NOON})
    shop.may_answer.set()
    wait_until(lambda: found.answer("web", NOON) is None, "the answer")

    assert shop.asked == ["/"]


def test_one_check_that_hangs_does_not_keep_another_from_being_asked(shop: Shop):
    shop.may_answer.clear()
    other = Shop()
    found = HealthChecks({"slow": shop.url, "quick": other.url}.get, lambda: NOON)

    found.ask({"slow": NOON})
    found.ask({"quick": NOON})

    wait_until(lambda: found.answer("quick", NOON) is None, "the quick one")
    assert found.answer("slow", NOON) == "the health check of slow has not answered yet"
    other.close()


def test_an_answer_from_before_the_end_of_the_wave_does_not_count(shop: Shop):
    clock = [NOON]
    found = checks(shop.url, now=lambda: clock[0])
    assert said_by(found) is None
    end_of_wave = NOON + timedelta(minutes=20)

    assert found.answer("web", end_of_wave) == "the health check of web has not answered yet"
    clock[0] = end_of_wave
    shop.status = 503

    assert said_by(found, end_of_wave) == "the health check of web answered 503"
    assert len(shop.asked) == 2


def test_an_answer_that_was_begun_before_the_end_of_the_wave_does_not_count_when_it_comes_later(shop: Shop):
    clock = [NOON]
    found = checks(shop.url, now=lambda: clock[0], waits=False)
    shop.may_answer.clear()
    found.ask({"web": NOON})
    wait_until(lambda: bool(shop.asked), "the check to be asked")
    clock[0] = NOON + timedelta(seconds=1)
    shop.may_answer.set()
    wait_until(lambda: found.answer("web", NOON) is None, "the answer")

    assert found.answer("web", clock[0]) == "the health check of web has not answered yet"


def test_a_good_answer_is_enough_and_a_bad_one_is_asked_for_again(shop: Shop):
    shop.status = 503
    found = checks(shop.url)
    assert said_by(found) == "the health check of web answered 503"

    shop.status = 200
    wait_until(lambda: said_by(found) is None, "a good answer")
    asked = len(shop.asked)
    shop.status = 503

    assert said_by(found) is None
    assert len(shop.asked) == asked


def test_reading_asks_nothing(shop: Shop):
    found = checks(shop.url)

    assert found.answer("web", NOON) == "the health check of web has not answered yet"
    assert shop.asked == []


def test_a_check_that_took_its_time_is_not_asked_again_for_as_long_as_it_took(tmp_path: Path):
    asked, seconds = tmp_path / "asked", [0.0]

    def monotonic() -> float:
        seconds[0] += 10  # a look at the clock, and ten seconds are gone
        return seconds[0]

    line = f"echo again >> {asked}; exit 1"
    commands = {"mine": ("/bin/sh", "-c", line)}
    found = HealthChecks(lambda _: "mine", lambda: NOON, commands, waits_for_answers=True, monotonic=monotonic)
    said_by(found)  # from 10 to 20: another at 30

    seconds[0] = 15
    said_by(found)  # at 25
    assert asked.read_text().split() == ["again"]
    said_by(found)  # at 35

    assert asked.read_text().split() == ["again"] * 2


def test_an_environment_of_its_own_is_not_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP", "open")

    assert said_by(checks("mine", mine='test "$SHOP" = open')) is None
    assert "FOREWARN_SET" not in os.environ
