"""A keeper and its watcher in this process, an endpoint behind a socket, and handlers that a test plays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from forewarn.agent.case import Case, Direction
from forewarn.agent.clock import Clock
from forewarn.agent.endpoints import Endpoints
from forewarn.agent.handlers.base import Option, Result, Task
from forewarn.agent.journal import Journal
from forewarn.agent.keeper import Keeper
from forewarn.agent.messages import Inbox, Named, Nudge
from forewarn.agent.metadata import Metadata
from forewarn.agent.names import Names
from forewarn.agent.policy import Profile, Rule
from forewarn.agent.settings import Settings
from forewarn.agent.watching import Watcher
from tests.agent.looking import QUICK
from tests.waiting import wait_until

OK = Result(is_done=True)
BAD = Result(is_done=False, note="exit status 3")
Play = Callable[[Task], Optional[Result]]


@dataclass
class Stage:
    """Handlers whose parts a test writes: by step and direction, or for all."""

    parts: dict[str, Play] = field(default_factory=dict)
    after_a_restart: Play = lambda _: None
    tasks: list[Task] = field(default_factory=list)
    taken_over: list[Task] = field(default_factory=list)
    help: str = ""
    options: tuple[Option, ...] = ()
    is_for_all_events: bool = False

    def find(self, kind: str) -> Stage:
        assert kind in {"command", "http", "readiness"}, kind
        return self

    def check(self, options: Mapping[str, Any]) -> list[str]:
        return []

    def undoes(self, options: Mapping[str, Any]) -> bool:
        return True

    def run(self, task: Task) -> Result:
        self.tasks.append(task)
        result = self.parts.get(f"{task.step} {task.direction}", lambda _: OK)(task)
        assert result is not None
        return result

    def take_over(self, task: Task) -> Result | None:
        self.taken_over.append(task)
        return self.after_a_restart(task)

    def ran(self) -> list[str]:
        """What was run so far, in order."""
        return [f"{task.event.id} {task.step} {task.direction}" for task in self.tasks]


class Gate:
    """A part that lasts until a test lets it end, or the handler is told to give up."""

    def __init__(self, result: Result = OK) -> None:
        self.result = result
        self.is_open = threading.Event()

    def __call__(self, task: Task) -> Result:
        for _ in range(6000):
            if task.stop.is_set():
                return Result(is_done=False, note="told to stop")
            if self.is_open.wait(0.01):
                return self.result
        raise AssertionError("nobody opened the gate")


class Kept:
    """One agent without a process of its own."""

    def __init__(
        self,
        url: str,
        place: Path,
        stage: Stage,
        profile: Profile,
        boot: str,
        name: str,
        company: Any = None,
        **settings: Any,
    ) -> None:
        self._company = company
        self.inbox = Inbox()
        self.stage = stage
        self._name = name
        self.settings = Settings(
            state_dir=place,
            **(
                QUICK
                | {"rules": (Rule(profile.name),), "profiles": {profile.name: profile}}
                | {"endpoints": (url,), "wait_seconds": 0, "uses_hostname": False}
                | settings
            ),
        )
        self._boot = boot
        self._stop = threading.Event()
        self._is_up = threading.Event()
        self.thread = threading.Thread(target=self._run, name="keeper", daemon=True)
        self.thread.start()
        assert self._is_up.wait(60)

    def _run(self) -> None:
        settings, clock = self.settings, Clock()
        self.journal = Journal(None if settings.is_dry_run else settings.state_dir)
        metadata = Metadata(Endpoints(settings.endpoints), settings)
        watcher = Watcher(metadata, clock, settings, self.inbox.send, self.inbox.send)
        self.look_again = watcher.look_again
        self.keeper = Keeper(
            settings,
            metadata,
            clock,
            Names(),
            self.journal,
            find=self.stage.find,
            boot=self._boot,
            inbox=self.inbox,
            look_again=watcher.look_again,
            company=self._company,
        )
        self.keeper.send(Named(self._name))
        watching = threading.Thread(target=watcher.run, args=(self._stop,), daemon=True)
        watching.start()
        self._is_up.set()
        self.keeper.run(self._stop)
        watcher.look_again()
        watching.join(60)
        self.journal.close()

    def stop(self) -> None:
        self._stop.set()
        self.keeper.send(Nudge())
        self.thread.join(60)
        assert not self.thread.is_alive(), "the keeper does not stop"

    # What a test asks.

    def case(self, event: str = "E1") -> Case | None:
        return next((case for case in self.keeper.standing.cases if case.id == event), None)

    def wait_for(self, condition: Callable[[Case], bool], what: str, event: str = "E1") -> Case:
        """Wait until a case is so."""
        wait_until(lambda: (case := self.case(event)) is not None and condition(case), what, 30)
        case = self.case(event)
        assert case is not None
        return case

    def wait_until_closed(self, event: str = "E1") -> Case:
        return self.wait_for(lambda case: case.closed_at is not None, f"{event} to be closed", event)

    def outcome(self, step: str = "drain", direction: Direction = Direction.DO, event: str = "E1") -> str:
        case = self.case(event)
        run = case.run(step, direction) if case else None
        return run.outcome if run else ""


@contextmanager
def kept(
    url: str, place: Path, stage: Stage, profile: Profile, boot: str = "b-1", name: str = "web-0", **settings: Any
) -> Iterator[Kept]:
    """A keeper for the length of a block."""
    agent = Kept(url, place, stage, profile, boot, name, **settings)
    try:
        yield agent
        assert agent.thread.is_alive(), "the keeper has died"
    finally:
        agent.stop()
