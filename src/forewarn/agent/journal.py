"""Where cases are kept: one row each in SQLite, on the disk before anything is done that it tells of.

The one rule: what `save` returned from is there after a crash. One instance per directory holds the lock. What
cannot be read is never taken for nothing: an entry is kept aside, a whole journal set aside, and both are said.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from forewarn.agent.case import Case
from forewarn.agent.case_form import read_case, write_case
from forewarn.agent.journal_upgrade import upgrade_case
from forewarn.agent.policy import NO_POLICY, Policy
from forewarn.agent.policy_form import FindSecret, read_policy, refuse_all, write_policy

_FORM = 2  # of the rows; a later one is not understood. The first had no policies
_KEPT_ASIDE = " kept aside as "  # in the id of an entry that could not be read
_BROKEN = "journal.db.broken-"  # and a number: one that was set aside
_MARK = "journal.begun"  # a file that tells that there has been a journal
_LOST = (
    "The journal is gone or empty, and there was one. What was prepared before is not known any more: look whether"
    " something is to be undone. Events that are there now are held until they are released."
)
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # there is none on Windows
_CORRUPT, _NO_DATABASE = 11, 26  # SQLite's codes, which Python names since 3.11
_SPOILT_IN_WORDS = ("malformed", "file is not a database")  # before that, it does not tell the codes


class JournalProblem(Exception):
    """The journal cannot be kept. The message is a sentence, with what to do."""


class Journal:
    """The cases of one agent. For one thread, the one that opened it."""

    def __init__(self, place: Path | None) -> None:
        """Open it in a directory; None: in memory, for a dry run."""
        self.oddities: list[str] = []  # what was found when it was opened, and has to be said
        self.unreadable: set[str] = set()  # events of which something is known that cannot be read
        self.upgraded: list[Case] = []  # cases that were given a policy as they were loaded, to be saved
        self._numbers: dict[int, tuple[int, Policy]] = {}  # of policies on the disk, by the identity of the value
        self._place = place
        try:
            self._rows = self._open()
        except sqlite3.DatabaseError as problem:
            if place is None or not _is_spoilt(problem):
                raise self._problem("opened", problem) from problem
            self._set_aside(place)
            self._rows = self._open()

    @property
    def is_after_a_loss(self) -> bool:
        """Whether a journal before this one was broken, and nobody has looked since at what is there."""
        return self._rows.execute("SELECT 1 FROM losses").fetchone() is not None

    def forget_loss(self) -> None:
        """What was there when the journal was lost has been looked at, and is written down."""
        try:
            self._rows.execute("DELETE FROM losses")
        except sqlite3.Error as problem:
            raise self._problem("written", problem) from problem

    def load(self, policy: Policy = NO_POLICY, find_secret: FindSecret = refuse_all) -> list[Case]:
        """Return all cases, the oldest first. One of the journal's first form gets the policy that is given."""
        rows, written = self._read()
        policies = self._read_policies(written, policy, find_secret)
        own = {event for _, event, _, _ in rows}
        cases = []
        for number, name, body, kept in rows:
            event, _, is_aside = name.partition(_KEPT_ASIDE)
            if is_aside and event in own:
                continue  # what is known since counts, and says whether it is held
            try:
                cases.append(self._read_case(json.loads(body), policy, policies[kept] if kept else None))
            except Exception as problem:  # noqa: BLE001 - whatever is wrong with it must not cost the others
                self._keep_aside(number, event, problem)
            else:
                if is_aside:
                    self._rename(number, event)
        return cases

    def _read_case(self, said: dict[str, Any], policy: Policy, kept: Policy | None) -> Case:
        if kept is not None:
            return read_case(said, kept)
        case = upgrade_case(said, policy)
        self.upgraded.append(case)
        return case

    def _read_policies(
        self, rows: list[tuple[int, str]], policy: Policy, find_secret: FindSecret
    ) -> dict[int, Policy]:
        """The policies that cases have. One that is as the given is that, so that they share it."""
        written = write_policy(policy)
        policies = {}
        for number, body in rows:
            try:
                each = policy if body == written else read_policy(body, find_secret)
            except Exception as problem:  # noqa: BLE001, PERF203 - cases that have it are kept aside
                self.oddities.append(f"The journal's policy {number} cannot be read: {problem!r}.")
            else:
                policies[number] = each
                self._numbers[id(each)] = number, each
        return policies

    def _read(self) -> tuple[list[tuple[int, str, bytes, int | None]], list[tuple[int, str]]]:
        """What is written, as bytes: one that is no text must not cost the others."""
        query = "SELECT number, CAST(id AS BLOB), CAST(body AS BLOB), policy FROM cases ORDER BY number"
        try:
            rows = self._rows.execute(query).fetchall()
            policies = self._rows.execute("SELECT number, body FROM policies").fetchall()
        except sqlite3.DatabaseError as problem:
            if self._place is None or not _is_spoilt(problem):
                raise self._problem("read", problem) from problem
            self.close()
            self._set_aside(self._place)
            self._rows = self._open()
            return [], []
        named = [(number, name.decode("utf-8", "replace"), body, policy) for number, name, body, policy in rows]
        return named, policies

    def _keep_aside(self, number: int, event: str, problem: Exception) -> None:
        """Let nothing be written over an entry that a later or an earlier agent may be able to read."""
        self.unreadable.add(event)
        self.oddities.append(
            f"The journal's entry of event {event} cannot be read, and is kept aside: {problem!r}. "
            "What was done for it is not undone; should it still be there, it is held until somebody releases it."
        )
        self._rename(number, f"{event}{_KEPT_ASIDE}{number}")

    def _rename(self, number: int, name: str) -> None:
        with suppress(sqlite3.Error):  # it is said again, and held again, by the next agent
            self._rows.execute("UPDATE cases SET id = ? WHERE number = ?", (name, number))

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
            self._numbers.clear()
            with suppress(sqlite3.Error):  # a full disk may have ended it already
                self._rows.execute("ROLLBACK")
            raise

    def _save_rows(self, cases: Sequence[Case]) -> None:
        for case in cases:
            body = json.dumps(write_case(case))
            closed_at = case.closed_at.timestamp() if case.closed_at else None
            self._rows.execute(
                "INSERT INTO cases (id, body, closed_at, policy) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
                " SET body = excluded.body, closed_at = excluded.closed_at, policy = excluded.policy",
                (case.id, body, closed_at, self._number_of(case.policy)),
            )

    def _number_of(self, policy: Policy) -> int | None:
        """The number of a policy, which is on the disk before the first case that has it."""
        if policy is NO_POLICY:
            return None
        known = self._numbers.get(id(policy))
        if known is not None:
            return known[0]
        body = write_policy(policy)
        self._rows.execute("INSERT INTO policies (body) VALUES (?) ON CONFLICT (body) DO NOTHING", (body,))
        number: int = self._rows.execute("SELECT number FROM policies WHERE body = ?", (body,)).fetchone()[0]
        self._numbers[id(policy)] = number, policy
        return number

    def purge(self, before: datetime) -> list[str]:
        """Forget the cases that were closed before then; their events' ids."""
        instant = (before.timestamp(),)
        try:
            rows = self._rows.execute("SELECT id FROM cases WHERE closed_at < ?", instant).fetchall()
            self._rows.execute("DELETE FROM cases WHERE closed_at < ?", instant)
            if rows:
                self._numbers.clear()
                self._rows.execute(
                    "DELETE FROM policies WHERE number NOT IN (SELECT policy FROM cases WHERE policy IS NOT NULL)"
                )
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
            _refuse_spoilt(rows)
            self._make_tables(rows)
        except BaseException:
            rows.close()
            raise
        return rows

    def _make_tables(self, rows: sqlite3.Connection) -> None:
        """Where there was a journal, and this one begins empty, that is lost: broken, emptied or taken away."""
        rows.execute("BEGIN IMMEDIATE")
        is_there = rows.execute("SELECT 1 FROM sqlite_master WHERE name = 'cases'").fetchone() is not None
        rows.execute(
            "CREATE TABLE IF NOT EXISTS cases (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
            " body TEXT NOT NULL, closed_at REAL, policy INTEGER)"
        )
        if "policy" not in {name for _, name, *_ in rows.execute("PRAGMA table_info(cases)")}:
            rows.execute("ALTER TABLE cases ADD COLUMN policy INTEGER")
        rows.execute("CREATE TABLE IF NOT EXISTS policies (number INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE)")
        rows.execute("CREATE TABLE IF NOT EXISTS losses (journal TEXT NOT NULL)")
        if not is_there and (self.oddities or (self._place is not None and (self._place / _MARK).exists())):
            rows.execute("INSERT INTO losses (journal) VALUES ('the one before')")
            if not self.oddities:
                self.oddities.append(_LOST)
        rows.execute(f"PRAGMA user_version = {_FORM}")
        rows.execute("COMMIT")
        if self._place is not None:
            with suppress(OSError):  # the next agent tries again
                os.close(os.open(self._place / _MARK, os.O_WRONLY | os.O_CREAT | _NO_LINKS, 0o600))

    def _set_aside(self, place: Path) -> None:
        """A journal that is broken tells nothing; without one the agent would not live at all."""
        log = place / "journal.db-wal"
        aside = next(
            path
            for number in range(1, 10_000)
            if not (path := place / f"{_BROKEN}{number}").exists()
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
            "look whether something is to be undone. Events that are there now are held until they are released."
        )

    def _problem(self, what: str, problem: Exception) -> JournalProblem:
        where = self._place or "memory"
        return JournalProblem(
            f"The journal in {where} could not be {what}: {problem}. Is the disk full, or read-only?"
        )


def _keep_private(place: Path) -> None:
    """Make the journal's files readable by the agent's user alone. SQLite gives new files the journal's mode."""
    for name in ("journal.db", "journal.db-wal", "journal.db-shm"):
        path = place / name
        if path.is_symlink():  # SQLite would follow it
            raise JournalProblem(f"{path} is a symbolic link, and the agent follows none. Remove it.")
        with suppress(OSError):  # if it cannot be written, SQLite says so
            make = os.O_CREAT if name == "journal.db" else 0
            os.close(os.open(path, os.O_RDWR | make | _NO_LINKS, 0o600))
            path.chmod(0o600)


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


def _refuse_spoilt(rows: sqlite3.Connection) -> None:
    """Look at all of it: what is broken further behind would be found when something is to be written."""
    found = rows.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise _Spoilt(found)


class _Spoilt(sqlite3.DatabaseError):
    """The file is a database, and broken."""

    sqlite_errorcode = _CORRUPT


def _is_spoilt(problem: sqlite3.Error) -> bool:
    code: int | None = getattr(problem, "sqlite_errorcode", None)
    if code is None:
        return any(words in str(problem) for words in _SPOILT_IN_WORDS)
    return code & 0xFF in {_CORRUPT, _NO_DATABASE}


class Held(Exception):
    """Somebody else has the lock. The message says who."""


class Lock:
    """A directory's lock, for as long as this process lives."""

    def __init__(self, place: Path) -> None:
        """Take it; `Held` where another has it, `OSError` where there is no writing there."""
        self._path = place / "agent.lock"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o644)
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
