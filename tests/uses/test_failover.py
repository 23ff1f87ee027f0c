"""A primary that hands over to its standby before the event starts, under a writer that never pauses."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.running import ROOT, wait_until
from tests.uses.machine import Machine, a_machine, end, program
from tests.uses.page import block, filled, put
from tests.uses.replication import BIN, Server, two_servers

TITLE = "Failover of a primary"


def config(leader: Server, follower: Server, stop_seconds: int = 60) -> str:
    """The page's file and programs, put where the servers' user finds them."""
    folder = leader.place.parent
    places: dict[str, object] = {
        'user = "postgres"': f'user = "{leader.user}"',
        "/var/lib/postgresql/data": leader.place,
        "host=10.0.0.6 port=5432 user=postgres": follower.conninfo,
        'STOP_SECONDS = "60"': f'STOP_SECONDS = "{stop_seconds}"\nPATH = "{BIN}:/usr/bin:/bin"',
    }
    for name in ("hand-over", "follow"):
        path = f"/usr/local/bin/{name}"
        places[path] = put(folder / name, block(TITLE, "sh", path))
    return filled(block(TITLE, "toml"), places)


class Writer:
    """A process that commits rows to whoever leads."""

    def __init__(self, noted: Path) -> None:
        self._noted = noted

    @property
    def committed(self) -> list[int]:
        """The rows of which it was told that they are there."""
        return [int(line) for line in self._noted.read_text().splitlines()] if self._noted.exists() else []

    def wait_for_rows(self, count: int = 20) -> None:
        wanted = len(self.committed) + count
        wait_until(lambda: len(self.committed) >= wanted, f"{count} more rows")


@contextmanager
def writing(place: Path, *servers: Server) -> Iterator[Writer]:
    hosts = ",".join("127.0.0.1" for _ in servers)
    ports = ",".join(str(each.port) for each in servers)
    conninfo = f"host={hosts} port={ports} user=postgres dbname=postgres target_session_attrs=read-write"
    process = subprocess.Popen(program("writer", conninfo, place / "noted"), cwd=ROOT, stdin=subprocess.PIPE)
    try:
        yield Writer(place / "noted")
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        end(process)


def prepare(machine: Machine) -> str:
    """Announce the event, and come to where its preparation begins."""
    event = machine.announce()
    wait_until(lambda: bool(machine.case(event)), "the agent to see it")
    machine.service.advance(minutes=10)
    return event


def test_the_standby_leads_before_the_event_starts_and_no_committed_row_is_lost(tmp_path: Path):
    with two_servers() as (leader, follower), a_machine(tmp_path, config(leader, follower)) as machine:
        with writing(tmp_path, leader, follower) as writer:
            writer.wait_for_rows()
            event = prepare(machine)
            machine.wait_for_approval(event)
            assert follower.leads
            before = set(writer.committed)
            lost_before = before - follower.rows
            machine.crash()
            writer.wait_for_rows()
            machine.boot()
            machine.finish(event)
            wait_until(lambda: follower.has_follower, "the old primary to follow")
            writer.wait_for_rows()
        committed = set(writer.committed)
        lost = committed - follower.rows
        wait_until(lambda: committed <= leader.rows, "the old primary to have all rows")
        still_leads = leader.leads

    assert not lost_before
    assert not lost
    assert len(committed) >= len(before) + 40, "the writer went on"
    assert not still_leads


def test_where_the_standby_does_not_follow_the_primary_leads_on_and_nothing_is_approved(tmp_path: Path):
    with two_servers() as (leader, follower), a_machine(tmp_path, config(leader, follower)) as machine:
        follower.ask("ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port=9 user=postgres'")
        follower.ask("SELECT pg_reload_conf()")
        wait_until(lambda: not leader.has_follower, "the replication to break off")
        with writing(tmp_path, leader, follower) as writer:
            writer.wait_for_rows()
            event = prepare(machine)
            wait_until(lambda: machine.step(event, "hand over").get("outcome") == "failed", "the step to fail")
            writer.wait_for_rows()
        note, approver = machine.step(event, "hand over")["note"], machine.approver(event)
        leads, other_leads, lost = leader.leads, follower.leads, set(writer.committed) - leader.rows

    assert note == "exit status 1: the other server does not follow: not handed over"
    assert approver is None
    assert (leads, other_leads) == (True, False)
    assert not lost


def test_where_the_standby_stops_to_listen_half_way_the_primary_leads_on_and_nothing_is_approved(tmp_path: Path):
    with two_servers() as (leader, follower), a_machine(tmp_path, config(leader, follower, 2)) as machine:
        [(receiver,)] = follower.ask("SELECT pid FROM pg_stat_wal_receiver")
        with writing(tmp_path, leader, follower) as writer, stopped(receiver):
            writer.wait_for_rows()
            event = prepare(machine)
            wait_until(lambda: machine.step(event, "hand over").get("outcome") == "failed", "the step to fail")
            writer.wait_for_rows()
            lost = set(writer.committed) - leader.rows
            leads, other_leads = leader.leads, follower.leads
        note, approver = machine.step(event, "hand over")["note"], machine.approver(event)

    assert note.endswith("the other server does not take the rest of the log: this server leads on")
    assert approver is None
    assert (leads, other_leads) == (True, False)
    assert not lost


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process of the test's own that does nothing for the length of a block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
