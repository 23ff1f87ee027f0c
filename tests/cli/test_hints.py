"""Hints fit the cause: what a person can do about a port, a disk, a store or a database that is in the way."""

from __future__ import annotations

import errno
import os
import socket
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from forewarn.agent.commands import run_command
from forewarn.binding import bind_failure
from forewarn.cli.problems import file_problem, hint_for
from forewarn.errors import StoreError
from tests.cli.command import CommandLine, forewarn
from tests.cli.serving import serve_ends
from tests.store.databases import fresh_postgresql


def store_error(cause: Exception) -> StoreError:
    """A store's error as it is raised when the database or the system says this."""
    problem = StoreError("The store cannot be opened.", "the usual hint")
    problem.__cause__ = cause
    return problem


# Listeners.


@pytest.mark.parametrize(
    ("number", "port", "expected"),
    [
        (errno.EACCES, 80, "net.ipv4.ip_unprivileged_port_start=80"),
        (errno.EACCES, 8080, "Choose another address with --metadata."),
        (errno.EADDRINUSE, 80, "stop the program that listens there"),
        (errno.EADDRNOTAVAIL, 80, "ip address"),
    ],
    ids=["privileged port", "another denial", "taken", "another machine's"],
)
def test_the_hint_for_a_listener_fits_the_reason_why_it_cannot_bind(number: int, port: int, expected: str):
    problem = bind_failure("guest listener", f"x:{port}", port, "--metadata", OSError(number, os.strerror(number)))

    assert os.strerror(number) in problem.message
    assert expected in problem.hint
    assert "--metadata" in problem.hint


def test_a_host_name_that_nobody_knows_gets_an_example_of_an_address():
    outcome = serve_ends("--metadata", "nowhere.invalid:8254")

    assert outcome.code == 1
    assert "--metadata 127.0.0.1:8254" in outcome.err


# Stores.


def full_disk() -> Exception:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        with pytest.raises(sa.exc.DBAPIError) as caught:
            connection.exec_driver_sql("CREATE TABLE full (a)")
    engine.dispose()
    return caught.value


def read_only(directory: Path) -> Exception:
    file = directory / "read-only.db"
    sqlite3.connect(file).close()
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("CREATE TABLE x (a)")
    connection.close()
    return caught.value


def test_the_hint_for_a_full_disk_is_to_free_space():
    assert "df -h" in hint_for(store_error(full_disk()))
    assert "df -h" in hint_for(store_error(OSError(errno.ENOSPC, "No space left on device")))


def test_the_hint_for_a_store_that_may_not_be_used_is_about_permissions(tmp_path: Path):
    for cause in (read_only(tmp_path), PermissionError(errno.EACCES, "Permission denied")):
        hint = hint_for(store_error(cause))
        assert "read and write" in hint
        assert "--store" in hint


def test_a_directory_in_place_of_a_store_is_refused_with_a_hint_about_the_path(tmp_path: Path):
    outcome = serve_ends("--store", f"sqlite:///{tmp_path}")

    assert outcome.code == 1
    assert "The path has to be a file" in outcome.err


def test_an_error_without_a_known_cause_keeps_its_hint():
    assert hint_for(store_error(ValueError("?"))) == "the usual hint"


def test_a_missing_postgresql_database_is_refused_with_the_command_that_creates_it():
    address = sa.make_url(fresh_postgresql()).set(database="forewarn_missing")

    outcome = serve_ends("--store", address.render_as_string(hide_password=False))

    assert outcome.code == 1
    assert outcome.err.endswith("hint:  Create it first: createdb forewarn_missing\n")


def test_a_postgresql_user_who_is_not_there_is_refused_with_the_reason():
    address = sa.make_url(fresh_postgresql()).set(username="nobody_here", password="wrong")

    outcome = serve_ends("--store", address.render_as_string(hide_password=False))

    assert outcome.code == 1
    assert "wrong" not in outcome.err.replace("Correct the", "")
    assert outcome.err.splitlines()[-1].startswith(("hint:  Create the user", "hint:  Correct the password"))


def test_a_postgresql_that_does_not_run_is_refused_with_where_to_look():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

    outcome = serve_ends("--store", f"postgresql://u@127.0.0.1:{port}/x")

    assert outcome.code == 1
    assert "Start PostgreSQL, or correct the host and the port in --store." in outcome.err


# Files.


def test_a_file_that_no_command_has_foreseen_is_reported_and_not_traced():
    assert file_problem(OSError(errno.EACCES, "Permission denied", "/etc/x")) is not None
    assert file_problem(OSError(errno.ENOSPC, "No space left on device")) is not None
    assert file_problem(OSError(errno.EBADF, "Bad file descriptor")) is None


# Settings that contradict each other or are no ids.


def test_a_start_time_for_the_system_clock_is_refused():
    by_flag = serve_ends("--clock-start", "2026-03-02T12:00:00Z")
    by_environment = serve_ends(FOREWARN_CLOCK_START="2026-03-02T12:00:00Z")
    in_sandbox = forewarn("sandbox", "--clock-start", "2026-03-02T12:00:00Z", "--", "true")

    assert (by_flag.code, by_environment.code, in_sandbox.code) == (2, 1, 2)
    assert all("--clock virtual" in each.err for each in (by_flag, by_environment, in_sandbox))


def test_every_wrong_setting_is_reported_at_once():
    outcome = serve_ends("--subscription", "x", "--tenant", "y", FOREWARN_LEAD="1")

    assert outcome.code == 2
    places = [line.removeprefix("error:").split()[0] for line in outcome.err.splitlines()]
    assert places[:-1] == ["FOREWARN_LEAD:", "--subscription:", "--tenant:"]


# One style.


@pytest.mark.parametrize(
    "arguments",
    [["bogus"], [], ["check", "--bogus"], ["approve"], ["check", "extra"], ["explain", "--type"]],
    ids=lambda value: " ".join(value) or "no command",
)
def test_the_agents_usage_errors_have_the_same_form_as_those_of_all_commands(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
):
    assert run_command(arguments) == 2

    out, err = capsys.readouterr()
    error, hint = err.splitlines()
    assert out == ""
    assert error.startswith("error: ")
    assert hint.startswith("hint:  Usage: forewarn agent ")
    assert hint.endswith(" --help")


def test_a_misspelt_command_is_answered_with_the_one_that_resembles_it():
    for arguments, meant in ((["rolout"], "rollout"), (["vm", "restrat"], "restart")):
        outcome = forewarn(*arguments)
        assert outcome.code == 2
        assert f"Did you mean {meant}?" in outcome.err


# The words of the command line.


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["host", "maintain", "host-0", "--seconds", "99999999"], "error: --seconds is more than 86400."),
        (
            ["host", "maintain", "host-0", "--kind", "Reboot", "--by", "live_migration"],
            "--kind Freeze with --by live",
        ),
        (["host", "maintain", "host-0", "--description", "a\nb"], "error: --description has a line break"),
        (["rollout", "preview", "--soak", "400d"], "error: --soak is more than 366 days."),
        (["rollout", "preview", "--from", "25:00"], "error: --from is '25:00'"),
        (["rollout", "preview", "--to", "7"], "error: --to is '7'"),
        (["rollout", "preview", "--timezone", "Mars"], "error: --timezone is 'Mars'"),
        (["rollout", "preview", "--force-by", "2020-01-01"], "error: --force-by is 2020-01-01"),
        (["rollout", "preview", "--max-parallel", "0"], "error: --max-parallel is 0"),
        (["rollout", "preview", "--max-parallel-per-zone", "0"], "error: --max-parallel-per-zone is 0"),
        (["event", "history", "--tag", "="], "error: --tag is '='"),
        (["event", "history", "--asked-by", ""], "or leave --asked-by out."),
        (["event", "postpone", "4f1c9a02"], "error: Give either --until or --by."),
        (["fault", "add", "status", "--code", "99"], "error: status: --code cannot be 99."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals_name_the_flags_that_were_typed(still: CommandLine, arguments: list[str], said: str):
    code, complaint = still.complains(*arguments)

    assert code == 1
    assert said in complaint
    assert "body" not in complaint


def test_names_of_machines_stay_as_they_are_where_flags_are_named(still: CommandLine):
    assert still.complains("vm", "show", "max_parallel")[1].startswith("error: There is no VM max_parallel.")
