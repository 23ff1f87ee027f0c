"""Outputs that are not as they should be: a pipe that nobody reads, a disk without room."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_FILLING = b"\n" * 4096


class FullPipe:
    """A pipe with no room left, which is read when somebody says so."""

    def __init__(self) -> None:
        self._reading_end, writing_end = os.pipe()
        os.set_blocking(writing_end, False)
        try:
            while os.write(writing_end, _FILLING):
                pass
        except BlockingIOError:
            os.set_blocking(writing_end, True)
        self.stream: TextIO = os.fdopen(writing_end, "w", encoding="utf-8")
        self._read: list[bytes] = []
        self._reader = threading.Thread(target=self._read_all, daemon=True)

    def read_on(self) -> None:
        """Read from now on."""
        self._reader.start()

    @property
    def lines(self) -> list[str]:
        """What was read of all that came after it was full."""
        return b"".join(self._read).decode().lstrip("\n").splitlines()

    def read_to_the_end(self) -> list[str]:
        """Write no more; all lines."""
        self.stream.close()
        self._reader.join(60)
        return self.lines

    def close(self) -> None:
        self.stream.close()
        if self._reader.is_alive():
            self._reader.join(60)
        os.close(self._reading_end)

    def _read_all(self) -> None:
        while some := os.read(self._reading_end, 65536):
            self._read.append(some)


@contextmanager
def full_pipe() -> Iterator[FullPipe]:
    """Such a pipe, for the length of a block."""
    pipe = FullPipe()
    try:
        yield pipe
    finally:
        pipe.close()


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """A limit to all files that this process writes, as of a disk that has no more room: a write is cut short."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
