"""A SQLite file in use: the lock that keeps a second service out, and proof that commits reach the path.

SQLite goes on writing to a file that was deleted, replaced or truncated, and reports success. `verify` compares
what SQLite has written with what a program would find that opens the path now. SQLite documents the layout of the
write-ahead log and of its index at https://www.sqlite.org/walformat.html.

Never close a descriptor of the database or of its index while SQLite has the same file open in this process: the
kernel would drop SQLite's own locks on it.
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path

from forewarn.errors import StoreError, StoreUnavailable

_INDEX_HEADER = struct.Struct("=14xHI4x2I8s8x")  # page size, last frame, checksum of the last frame, salt
_INDEX_COPIES = 2
_HEADER = struct.Struct(">16xH10xI")  # of the database: page size, number of pages
_LARGEST_PAGE = 65536  # which the header calls 1
_LOG_HEADER_BYTES, _LOG_SALT = 32, slice(16, 24)
_FRAME_HEADER_BYTES, _FRAME_SALT, _FRAME_CHECKSUM = 24, slice(8, 16), slice(16, 24)
_SHARED_FIRST, _SHARED_BYTES = 0x40000002, 510  # what SQLite locks for as long as it has the file open
_MOST_READS = 1000  # of an index that another process is writing
_LEAST_FREE_BYTES = 1 << 20

Identity = tuple[int, int]

_locked: set[Identity] = set()  # by this process, whose flocks on two descriptors would be two


class SqliteFile:
    """One SQLite file, its write-ahead log and its index."""

    def __init__(self, path: str) -> None:
        self._shown = f"sqlite:///{path}"
        self._path = os.path.abspath(path)  # noqa: PTH100 - symlinks are to be followed anew each time
        resolved = os.path.realpath(path)  # SQLite names log and index after this
        self._log_path, self._index_path = f"{resolved}-wal", f"{resolved}-shm"
        self._lock: int | None = None
        self._size = 0  # when it was last verified
        self._database: Identity | None = None
        self._log: int | None = None
        self._log_identity: Identity | None = None
        self._indexes: list[int] = []  # the last is in use; none may be closed before SQLite has let go of it
        self._index_identity: Identity | None = None
        self._checked = (b"", 0, 0)  # the salt, number and CRC of the last frame up to which all were seen on disk

    # The lock.

    def lock(self) -> None:
        """Keep every other service out, by whatever name it opens the file; the lock ends with the process."""
        with suppress(OSError):
            if _identity(os.stat(self._path)) in _locked:  # noqa: PTH116 - identity of an open file
                raise in_use(self._shown)
        try:
            self._lock = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise in_use(self._shown) from None
        except OSError as problem:
            self.close()
            raise StoreError(f"The store {self._shown} cannot be opened: {problem.strerror}.") from problem
        self._database = _identity(os.fstat(self._lock))
        _locked.add(self._database)

    def close(self) -> None:
        """Give back the lock; SQLite has closed the file."""
        for descriptor in (self._log, *self._indexes, self._lock):
            if descriptor is not None:
                os.close(descriptor)
        if self._lock is not None and self._database is not None:
            _locked.discard(self._database)
        self._lock, self._log, self._indexes = None, None, []

    # What SQLite has open.

    def attach(self) -> None:
        """Take note of the log and the index that SQLite has just opened."""
        try:
            if self._database is None:
                self._database = _identity(os.stat(self._path))  # noqa: PTH116 - identity of an open file
            if self._log is not None:
                os.close(self._log)
                self._log = None
            self._log = os.open(self._log_path, os.O_RDONLY | os.O_CLOEXEC)
            self._log_identity = _identity(os.fstat(self._log))
            index = _look(self._index_path)
            if self._index_identity is None or index is None or _identity(index) != self._index_identity:
                self._indexes.append(os.open(self._index_path, os.O_RDONLY | os.O_CLOEXEC))
                self._index_identity = _identity(os.fstat(self._indexes[-1]))
        except OSError as problem:
            raise _unreadable(problem) from problem

    def verify_place(self) -> None:
        """Raise unless the path still names the file that SQLite has open."""
        if self._database is None:
            return
        found = _look(self._path)
        if found is None:
            raise self._lost("was deleted", "Put it back")
        if _identity(found) != self._database:
            raise self._lost("was replaced", "Put the original back")
        if self._log is not None and not found.st_size:
            raise self._lost("was truncated", "Put its content back")

    def verify(self) -> None:
        """Raise unless whoever opens the path now finds everything that was committed."""
        self.verify_place()
        if self._log is None:
            return
        log, index = _look(self._log_path), _look(self._index_path)
        if log is None or _identity(log) != self._log_identity:
            raise self._lost("lost its -wal file", "Put that back")
        if index is None or _identity(index) != self._index_identity:
            raise self._lost("lost its -shm file", "Put that back")
        if not self._log_is_whole(self._log, log.st_size):
            self._forbid_checkpoints()
            raise self._lost("has a damaged -wal file", "Put that back")

    def _log_is_whole(self, log: int, size: int) -> bool:
        """Whether the log holds every frame that its index counts.

        Another process may commit or start the log over meanwhile: a mismatch counts only under an index that has
        not changed.
        """
        before = b""
        for _ in range(_MOST_READS):
            index = os.pread(self._indexes[-1], _INDEX_COPIES * _INDEX_HEADER.size, 0)
            if len(index) < _INDEX_COPIES * _INDEX_HEADER.size:
                raise self._lost("has a damaged -shm file", "Restart the service")
            first, second = index[: _INDEX_HEADER.size], index[_INDEX_HEADER.size :]
            if first != second:
                continue
            if self._log_matches(first, log, size):
                return True
            if first == before:
                return False
            before, size = first, os.fstat(log).st_size
        raise StoreUnavailable("The store's index is being written all the time, so it cannot be checked.")

    def _log_matches(self, index: bytes, log: int, size: int) -> bool:
        raw_size, last, *checksum, salt = _INDEX_HEADER.unpack(index)
        if not last:
            return True
        frame_bytes = (raw_size & 0xFE00) + ((raw_size & 1) << 16) + _FRAME_HEADER_BYTES
        if size < _LOG_HEADER_BYTES + last * frame_bytes:
            return False
        if os.pread(log, _LOG_HEADER_BYTES, 0)[_LOG_SALT] != salt:
            return False
        known, first, crc = self._checked
        if known != salt or first > last:
            first = 0
        elif zlib.crc32(os.pread(log, frame_bytes, _LOG_HEADER_BYTES + (first - 1) * frame_bytes)) != crc:
            return False
        for number in range(first + 1, last + 1):
            header = os.pread(log, _FRAME_HEADER_BYTES, _LOG_HEADER_BYTES + (number - 1) * frame_bytes)
            if header[_FRAME_SALT] != salt:
                return False
        if first != last:
            frame = os.pread(log, frame_bytes, _LOG_HEADER_BYTES + (last - 1) * frame_bytes)
            if frame[_FRAME_CHECKSUM] != struct.pack(">2I", *checksum):
                return False
            self._checked = (salt, last, zlib.crc32(frame))
        return True

    def _forbid_checkpoints(self) -> None:
        """Keep SQLite from copying a damaged log into the database when it closes the file.

        Like any other open connection would: SQLite then leaves the log to whoever is last.
        """
        if self._lock is not None:
            region = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, _SHARED_FIRST, _SHARED_BYTES, 0)
            fcntl.fcntl(self._lock, fcntl.F_OFD_SETLK, region)

    def _lost(self, what: str, remedy: str) -> StoreUnavailable:
        return StoreUnavailable(
            f"The store file {self._path} {what} while the service was using it; nothing more is committed.",
            f"{remedy}, and the service goes on. To go on from what is there now, restart the service; after "
            f"replacing the file, remove {self._log_path} and {self._index_path} while it is stopped.",
        )

    def make_private(self) -> None:
        """Let nobody but the owner read the file, its log and its index."""
        for path in (self._path, self._log_path, self._index_path):
            with suppress(FileNotFoundError):
                Path(path).chmod(0o600)

    def verify_size(self) -> None:
        """Raise when the database file has become shorter than its header says.

        SQLite notices only when it reads a missing page. A failed checkpoint leaves a short file too, but it has
        not shrunk: its pages are in the log.
        """
        if self._lock is None:
            return
        for _ in range(_MOST_READS):  # another process may be copying the log into it
            header, size = os.pread(self._lock, _HEADER.size, 0), os.fstat(self._lock).st_size
            raw_page, pages = _HEADER.unpack(header) if len(header) == _HEADER.size else (0, 0)
            if size >= self._size or size >= pages * (raw_page if raw_page > 1 else _LARGEST_PAGE):
                self._size = size
                return
        raise self._lost("was truncated", "Put its content back")

    def verify_space(self) -> None:
        """Raise when the disk is too full for a change that needs more room than the probe."""
        try:
            found = os.statvfs(Path(self._log_path).parent)
        except OSError as problem:
            raise _unreadable(problem) from problem
        free = found.f_bfree if os.geteuid() == 0 else found.f_bavail
        if found.f_blocks and free * found.f_frsize < _LEAST_FREE_BYTES:
            raise StoreUnavailable(
                f"The disk of the store {self._path} is full.", "Free some space; the service then goes on."
            )


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def _look(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - called at every commit
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _unreadable(problem) from problem


def _unreadable(problem: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"The store file {problem.filename} cannot be checked: {problem.strerror}.")


def in_use(shown: str) -> StoreError:
    """The refusal of a store that another service has open."""
    return StoreError(
        f"The store {shown} is in use by another forewarn service.",
        "Stop that one first, or name another store with --store.",
    )
