"""Where cases are kept: one row each in SQLite, on the disk before anything is done that it tells of.

The one rule: what `save` returned from is there after a crash. One instance per directory holds the lock.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from forewarn.agent.case import Case
from forewarn.agent.case_form import read_case, write_case

_FORM = 1  # of the rows; a later one is not understood
_KEPT_ASIDE = " kept aside as "  # in the id of an entry that could not be read
_SPOILT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class JournalProblem(Exception):
    """The journal cannot be kept. The message is a sentence, with what to do."""


class Journal:
    """The cases of one agent. For one thread, the one that opened it."""

    def __init__(self, place: Path | None) -> None:
        """Open it in a directory; None: in memory, for a dry run."""
        self.oddities: list[str] = []  # what was found when it was opened, and has to be said
        self.unreadable: set[str] = set()  # events of which something is known that cannot be read
        self._place = place
        try:
            self._rows = self._open()
        except sqlite3.DatabaseError as problem:
            if place is None or _code_of(problem) not in _SPOILT:
                raise self._problem("opened", problem) from problem
            self._set_aside(place)
            self._rows = self._open()

    def load(self) -> list[Case]:
        """All cases, the oldest first."""
        try:
            rows = self._rows.execute("SELECT number, id, body FROM cases ORDER BY number").fetchall()
        except sqlite3.Error as problem:
            raise self._problem("read", problem) from problem
        cases = []
        for number, event, body in rows:
            if _KEPT_ASIDE in event:
                continue
            try:
                cases.append(read_case(json.loads(body)))
            except (ValueError, KeyError, TypeError) as problem:
                self._keep_aside(number, event, problem)
        return cases

    def _keep_aside(self, number: int, event: str, problem: Exception) -> None:
        """Let nothing be written over an entry that a later or an earlier agent may be able to read."""
        self.unreadable.add(event)
        self.oddities.append(
            f"The journal's entry of event {event} cannot be read, and is kept aside: {problem!r}. "
            "What was done for it is not undone; should it still be there, it is held until somebody releases it."
        )
        aside = (f"{event}{_KEPT_ASIDE}{number}", number)
        with suppress(sqlite3.Error):  # it is said again, and held again, by the next agent
            self._rows.execute("UPDATE cases SET id = ? WHERE number = ?", aside)

    def save(self, *cases: Case) -> None:
        """Keep cases as they are now; when this returns they are on the disk. If it raises, none of them is."""
        try:
            if len(cases) == 1:
                self._save_rows(cases)
            else:
                self._save_together(cases)
        except sqlite3.Error as problem:
            raise self._problem("written", problem) from problem

    def _save_together(self, cases: Sequence[Case]) -> None:
        self._rows.execute("BEGIN IMMEDIATE")
        try:
            self._save_rows(cases)
            self._rows.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk may have ended it already
                self._rows.execute("ROLLBACK")
            raise

    def _save_rows(self, cases: Sequence[Case]) -> None:
        for case in cases:
            body = json.dumps(write_case(case, with_recipes=True), ensure_ascii=False)
            closed_at = case.closed_at.timestamp() if case.closed_at else None
            self._rows.execute(
                "INSERT INTO cases (id, body, closed_at) VALUES (?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET body = excluded.body, closed_at = excluded.closed_at",
                (case.id, body, closed_at),
            )

    def purge(self, before: datetime) -> list[str]:
        """Forget the cases that were closed before then; their events' ids."""
        try:
            rows = self._rows.execute("SELECT id FROM cases WHERE closed_at < ?", (before.timestamp(),)).fetchall()
            self._rows.executemany("DELETE FROM cases WHERE id = ?", rows)
        except sqlite3.Error as problem:
            raise self._problem("written", problem) from problem
        return [event for (event,) in rows]

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self._rows.close()

    def _open(self) -> sqlite3.Connection:
        path = ":memory:" if self._place is None else str(self._place / "journal.db")
        if self._place is not None:
            _keep_private(self._place)
        # Every statement is a transaction of its own, unless one is begun: it is on the disk when it returns.
        rows = sqlite3.connect(path, timeout=5, isolation_level=None)
        try:
            rows.execute("PRAGMA journal_mode = WAL")
            rows.execute("PRAGMA synchronous = FULL")
            _refuse_later_form(rows, path)
            rows.execute(
                "CREATE TABLE IF NOT EXISTS cases (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
                " body TEXT NOT NULL, closed_at REAL)"
            )
            rows.execute(f"PRAGMA user_version = {_FORM}")
        except BaseException:
            rows.close()
            raise
        return rows

    def _set_aside(self, place: Path) -> None:
        """A journal that is broken tells nothing; without one the agent would not live at all."""
        log = place / "journal.db-wal"
        aside = next(
            path
            for number in range(1, 10_000)
            if not (path := place / f"journal.db.broken-{number}").exists()
            and not (log.exists() and _log_of(path).exists())
        )
        try:
            # The log goes first, and is kept: it may hold what can still be read, and must not be taken for that
            # of the next journal, should this be interrupted.
            if log.exists():
                log.rename(_log_of(aside))
            (place / "journal.db").rename(aside)
            (place / "journal.db-shm").unlink(missing_ok=True)
        except OSError as problem:
            raise self._problem("set aside", problem) from problem
        self.oddities.append(
            f"The journal is broken and was set aside as {aside}. What was prepared before is not known any more: "
            "look whether something is to be undone."
        )

    def _problem(self, what: str, problem: Exception) -> JournalProblem:
        where = self._place or "memory"
        return JournalProblem(
            f"The journal in {where} could not be {what}: {problem}. Is the disk full, or read-only?"
        )


def _keep_private(place: Path) -> None:
    """What is in it is for the agent's user alone. SQLite gives its other files the same mode."""
    with suppress(OSError):  # if it cannot be written, SQLite says so
        os.close(os.open(place / "journal.db", os.O_RDWR | os.O_CREAT, 0o600))
        for name in ("journal.db", "journal.db-wal", "journal.db-shm"):
            if (place / name).exists():
                (place / name).chmod(0o600)


def _log_of(path: Path) -> Path:
    """What SQLite has written and not yet moved into the file."""
    return path.with_name(f"{path.name}-wal")


def _refuse_later_form(rows: sqlite3.Connection, path: str) -> None:
    form = rows.execute("PRAGMA user_version").fetchone()[0]
    if form > _FORM:
        raise JournalProblem(
            f"{path} was written by a later version of the agent (form {form}, this one knows {_FORM}). "
            "Run that version, or name another state_dir."
        )


def _code_of(problem: sqlite3.Error) -> int:
    code: int = getattr(problem, "sqlite_errorcode", 0)
    return code & 0xFF


class Held(Exception):
    """Somebody else has the lock. The message says who."""


class Lock:
    """A directory's lock, for as long as this process lives."""

    def __init__(self, place: Path) -> None:
        """Take it; `Held` where another has it, `OSError` where there is no writing there."""
        self._path = place / "agent.lock"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(self._file)
        except OSError as problem:
            holder = os.read(self._file, 100).decode("utf-8", "replace").strip()
            os.close(self._file)
            raise Held(
                f"Another agent keeps its journal in {place}: {holder or 'it does not say who it is'}. "
                "Stop that one, or name another state_dir."
            ) from problem
        os.ftruncate(self._file, 0)
        os.write(self._file, f"process {os.getpid()}".encode())

    def release(self) -> None:
        """Give it back. The file stays: taking it away would let two hold two files of one name."""
        os.close(self._file)


def _lock(file: int) -> None:
    """Without waiting; `OSError` where another has it. It ends with the process, however that ends."""
    try:
        import fcntl  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        import msvcrt  # noqa: PLC0415 - there is one only on Windows

        os.lseek(file, 1000, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        os.lseek(file, 0, os.SEEK_SET)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
