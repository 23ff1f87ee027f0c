"""The agent as a process: everything made and joined, signals, the lock, and a clean end."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from forewarn import __version__
from forewarn.agent import handlers
from forewarn.agent.clock import Clock
from forewarn.agent.endpoints import Endpoints
from forewarn.agent.events import Sighting
from forewarn.agent.handlers.proc import boot_id, see_how_children_end
from forewarn.agent.journal import Held, Journal, JournalProblem, Lock
from forewarn.agent.keeper import Keeper
from forewarn.agent.listening import Listener, Responder
from forewarn.agent.logs import begin_logging, secrets_of
from forewarn.agent.messages import Inbox, Leave, Named, Nudge
from forewarn.agent.metadata import EndpointError, Metadata
from forewarn.agent.names import Names
from forewarn.agent.notify import Notifier
from forewarn.agent.ownership import Untrusted, own_user, refuse_foreign_directory
from forewarn.agent.server import Desk
from forewarn.agent.settings import Settings
from forewarn.agent.watching import Watcher

if TYPE_CHECKING:
    from forewarn.agent.peers import Others

_NAME_PAUSES_SECONDS = (1, 5, 10, 30, 60, 300)  # between questions for this VM's name; the last one repeats

log = logging.getLogger("forewarn.agent")


class CannotBegin(Exception):
    """Why the agent does not run, in a sentence with what to do."""


OpenJournal = Callable[[Optional[Path]], Journal]


def run(settings: Settings, boot: str | None = None, open_journal: OpenJournal = Journal) -> int:
    """Run until SIGTERM, SIGINT or SIGHUP. 0: stopped as asked; 1: could not begin, which was said."""
    with ExitStack() as at_the_end:
        outlet = begin_logging(settings, secrets_of(settings, handlers.find))
        at_the_end.callback(outlet.close)
        for warning in settings.warnings:
            log.warning("%s", warning)
        try:
            agent = Agent(settings, boot_id() if boot is None else boot, open_journal, at_the_end)
        except (CannotBegin, JournalProblem, Held) as problem:
            log.error("%s", problem)  # noqa: TRY400 - the sentence is all there is to say
            return 1
        outlet.conceal(agent.keeper.secrets)
        agent.run()
    return 0


class Agent:
    """All parts of one agent."""

    def __init__(self, settings: Settings, boot: str, open_journal: OpenJournal, at_the_end: ExitStack) -> None:
        """Make and join them; `CannotBegin` and the like say why not."""
        self._settings = settings
        self._stop = threading.Event()
        self._has_seen = threading.Event()
        token = "" if settings.is_dry_run else _own_state(settings.state_dir, at_the_end)
        journal = open_journal(None if settings.is_dry_run else settings.state_dir)
        at_the_end.callback(journal.close)
        clock = Clock()
        hostname = socket.gethostname() if settings.uses_hostname else ""
        self._metadata = Metadata(Endpoints(settings.endpoints, os.environ), settings)
        self._notifier = Notifier()
        inbox = Inbox()
        self._watcher = Watcher(self._metadata, clock, settings, self._see, inbox.send)
        others = _others(settings, clock, inbox, at_the_end)
        self.keeper = Keeper(
            settings,
            self._metadata,
            clock,
            Names(settings.names, hostname),
            journal,
            find=handlers.find,
            boot=boot,
            inbox=inbox,
            look_again=self._watcher.look_again,
            company=others,
            notifier=self._notifier,
        )
        if settings.peers is not None and others is not None:
            self._listen(settings.peers.listen, others.board.answer, "peers", at_the_end)
        desk = Desk(self.keeper.standing, self.keeper.metrics, clock, token, self.keeper.say)
        if settings.listen is not None:
            self._listen(settings.listen, desk.answer, "server", at_the_end)

    def run(self) -> None:
        """Until a signal."""
        settings = self._settings
        log.info(
            "forewarn agent %s begins",
            __version__,
            extra={
                "file": settings.source or "none",
                "endpoints": " ".join(settings.endpoints),
                "dry_run": settings.is_dry_run or None,
                "approves": None if settings.approves else "nothing",
            },
        )
        self._heed_signals()
        watching = threading.Thread(target=self._watcher.run, args=(self._stop,), name="watcher", daemon=True)
        watching.start()
        threading.Thread(target=self._ask_for_name, name="naming", daemon=True).start()
        self._notifier.ready()
        try:
            self.keeper.run(self._stop)
        finally:
            self.stop()
            watching.join(2)

    def stop(self) -> None:
        """Have it end."""
        self._stop.set()
        self._has_seen.set()
        self.keeper.send(Nudge())
        self._watcher.look_again()  # so that it looks up from a long wait

    def _see(self, sighting: Sighting) -> None:
        self._has_seen.set()
        self.keeper.send(sighting)

    def _ask_for_name(self) -> None:
        """Ask the endpoint for this VM's name once it answers, until it tells."""
        self._has_seen.wait()
        tries = 0
        while not self._stop.is_set():
            try:
                self.keeper.send(Named(self._metadata.compute_name()))
            except Exception as problem:  # noqa: BLE001 - whatever it is, the next try may go well
                if tries == 0:
                    words = problem.message if isinstance(problem, EndpointError) else repr(problem)
                    log.warning("this VM's name is not known: %s", words)
                    self.keeper.send(Named(""))  # the other names have to do until then
            else:
                return
            self._stop.wait(_NAME_PAUSES_SECONDS[min(tries, len(_NAME_PAUSES_SECONDS) - 1)])
            tries += 1

    def _heed_signals(self) -> None:
        # A handler interrupts the keeper, whatever locks that holds: so it takes none, and only leaves a message.
        with suppress(ValueError):  # not on the main thread: then somebody else heeds them
            see_how_children_end()
            for name in ("SIGTERM", "SIGINT", "SIGHUP"):
                each = getattr(signal, name, None)  # there is no SIGHUP on Windows
                is_nohup = name == "SIGHUP" and each and signal.getsignal(each) is signal.SIG_IGN
                if each is not None and not is_nohup:
                    signal.signal(each, lambda *_: self.keeper.send(Leave()))

    def _listen(self, address: tuple[str, int], answer: Responder, name: str, at_the_end: ExitStack) -> None:
        try:
            listener = Listener(address, answer, name)
        except OSError as problem:
            sentence = (
                f"{address[0]}:{address[1]} cannot be listened on: {problem.strerror or problem}. "
                "Does another agent run? Name another address with listen."
            )
            if not self._settings.is_dry_run:
                raise CannotBegin(sentence) from problem
            log.warning("%s The dry run goes on without.", sentence)  # beside the agent that it is tried out for
            return
        at_the_end.callback(listener.close)


def _others(settings: Settings, clock: Clock, inbox: Inbox, at_the_end: ExitStack) -> Others | None:
    """The other agents, if the settings name any."""
    if settings.peers is None or settings.is_dry_run:
        return None
    from forewarn.agent.peers import Others  # noqa: PLC0415 - an agent without peers need not know how

    others = Others(settings.peers, clock, lambda: inbox.send(Nudge()), inbox.has_approved)
    at_the_end.callback(others.close)
    return others


def _own_state(place: Path, at_the_end: ExitStack) -> str:
    """Make the directory this agent's own; the new token in it."""
    try:
        refuse_foreign_directory(place, own_user())
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        refuse_foreign_directory(place, own_user())
        for name in ("runs", "memory"):
            (place / name).mkdir(exist_ok=True, mode=0o700)
        lock = Lock(place)
        at_the_end.callback(lock.release)
        return _new_token(place / "token")
    except Untrusted as problem:
        raise CannotBegin(f"state_dir is not safe to use. {problem}") from problem
    except OSError as problem:
        advice = (
            "Make room there, or name another state_dir."
            if problem.errno in {errno.ENOSPC, errno.EDQUOT}
            else "Run it as a user who may, or name another state_dir."
        )
        what = f"The agent keeps what it does in {place}, and cannot write there: {problem.strerror or problem}."
        raise CannotBegin(f"{what} {advice}") from problem


def _new_token(path: Path) -> str:
    token = os.urandom(24).hex()
    fresh = path.with_name("token.new")
    fresh.unlink(missing_ok=True)
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, f"{token}\n".encode())
    finally:
        os.close(file)
    fresh.replace(path)
    return token
