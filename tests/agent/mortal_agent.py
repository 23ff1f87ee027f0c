"""A real agent in a process of its own, which may be told to die at a certain entry of its journal.

As a program it takes one argument, JSON: see `Orders`. `Process` starts and ends it.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from forewarn.agent.case import Case
from forewarn.agent.case_form import read_case
from forewarn.agent.daemon import run
from forewarn.agent.journal import Journal
from forewarn.agent.policy import Approval, Profile, Rule, Step, Together
from forewarn.agent.settings import Peers, Settings
from tests.agent.running_command import bare
from tests.waiting import ROOT, wait_until


@dataclass(frozen=True)
class Orders:
    """What an agent is, and when it dies."""

    endpoint: str
    state_dir: str
    steps: tuple[Mapping[str, Any], ...] = ()
    profile: Mapping[str, Any] = field(default_factory=dict)
    port: int = 0  # 0: it listens nowhere
    peers: Mapping[str, Any] | None = None
    is_dry_run: bool = False
    boot: str = "b-1"
    dies_at: int = 0  # the number of the entry, from 1; 0: it does not die of itself
    dies_before: bool = False  # the entry is written, rather than after

    def settings(self) -> Settings:
        said = {"approval": "after_success"} | dict(self.profile)
        profile = Profile(
            "drain",
            tuple(Step(**{"uses": "command", "has_undo": True} | dict(step)) for step in self.steps),
            **said
            | {"approval": Approval(said["approval"]), "together": Together(said.get("together", "refuse"))},
        )
        peers = None
        if self.peers:
            peers = Peers(**{**self.peers, "listen": tuple(self.peers["listen"])})
        return Settings(
            endpoints=(self.endpoint,),
            poll_seconds=0.05,
            doubt_seconds=0.05,
            wait_seconds=0,
            uses_hostname=False,
            state_dir=Path(self.state_dir),
            listen=("127.0.0.1", self.port) if self.port else None,
            log_format="json",
            audit_file=Path(self.state_dir).parent / "audit",
            is_dry_run=self.is_dry_run,
            rules=(Rule("drain"),),
            profiles={"drain": profile},
            peers=peers,
        )


class MortalJournal(Journal):
    """A journal at one of whose entries the agent dies."""

    def __init__(self, place: Path | None, orders: Orders) -> None:
        super().__init__(place)
        self._orders = orders
        self._entries = 0

    def save(self, case: Case) -> None:
        self._entries += 1
        is_last = self._entries == self._orders.dies_at
        if is_last and self._orders.dies_before:
            os.kill(os.getpid(), signal.SIGKILL)
        super().save(case)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)


class Process:
    """The agent, as it is seen from outside."""

    def __init__(self, orders: Orders, log: Path) -> None:
        self.orders = orders
        self.log = log
        command = [sys.executable, "-m", "tests.agent.mortal_agent", json.dumps(asdict(orders))]
        with log.open("ab") as lines:
            self._process = subprocess.Popen(command, cwd=ROOT, env=bare(), stderr=lines)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(60)

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait(60)

    @property
    def is_dead(self) -> bool:
        return self._process.poll() is not None

    @property
    def code(self) -> int | None:
        return self._process.poll()

    def cases(self) -> list[Case]:
        """What its journal says, read without a hand in it: only the agent opens it to write."""
        path = Path(self.orders.state_dir) / "journal.db"
        if not path.exists():
            return []
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as rows:
            if not rows.execute("SELECT 1 FROM sqlite_schema WHERE name = 'cases'").fetchone():
                return []
            return [
                read_case(json.loads(body)) for (body,) in rows.execute("SELECT body FROM cases ORDER BY number")
            ]

    def wait_for(self, condition, what: str) -> None:
        """Wait until its journal has a case that is so."""
        try:
            wait_until(lambda: any(condition(case) for case in self.cases()), what, 60)
        except AssertionError:
            raise AssertionError(f"{what} did not come.\n{self.log.read_text()}") from None


@contextmanager
def mortal(orders: Orders) -> Iterator[Process]:
    """An agent for the length of a block, if it lives so long."""
    process = Process(orders, Path(orders.state_dir).parent / "log")
    try:
        yield process
    finally:
        if not process.is_dead:
            process.kill()


if __name__ == "__main__":
    told = Orders(**json.loads(sys.argv[1]))
    sys.exit(run(told.settings(), told.boot, lambda place: MortalJournal(place, told)))
