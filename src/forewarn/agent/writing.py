"""Lines on their way out, written by a thread of their own: whoever does not read them holds nobody up.

A line that there is no room for, or that cannot be written, is lost and counted. The number is said in its place,
when somebody takes lines again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TextIO

_MOST_CHARACTERS = 256 * 1024  # that wait to be taken; a line that is longer waits alone
_PAUSE_SECONDS = 0.1  # where a full pipe says so instead of blocking


class Writer:
    """Takes lines from any thread, and puts them into a stream in that order."""

    def __init__(self, stream: TextIO, word_for: Callable[[int], str]) -> None:
        """`word_for` is the line that says how many lines are lost."""
        self._stream = stream  # whose end would close what lies below it
        # Below the stream's own buffer, as that has a lock: a write that hangs in it would end Python by an abort.
        self._raw = getattr(stream.buffer, "raw", stream.buffer)
        self._word_for = word_for
        self._news = threading.Condition()
        self._waiting: list[str] = []
        self._size = 0  # of what waits
        self._left_out = 0  # after what waits, as there was no room
        self._is_writing = False
        self._is_over = False
        self._lost = 0  # not said yet; this and the next are the thread's own
        self._is_cut = False  # the last line was written in part only
        threading.Thread(target=self._run, name="log", daemon=True).start()

    def put(self, line: str) -> None:
        """Have a line written. Returns at once."""
        with self._news:
            if self._left_out or (self._waiting and self._size + len(line) > _MOST_CHARACTERS):
                self._left_out += 1  # and so is all that follows: what is said of it stands where it is missing
            elif not self._is_over:
                self._waiting.append(line)
                self._size += len(line)
                self._news.notify_all()

    def flush(self, seconds: float) -> None:
        """Wait until all is written, but no longer than this."""
        with self._news:
            self._news.wait_for(lambda: self._is_over or not (self._waiting or self._is_writing), seconds)

    def close(self) -> None:
        """Write no more than what waits."""
        with self._news:
            self._is_over = True
            self._news.notify_all()

    def _run(self) -> None:
        while True:
            with self._news:
                self._is_writing = False
                self._news.notify_all()
                self._news.wait_for(lambda: self._waiting or self._is_over)
                if not self._waiting:
                    return
                lines, left_out = self._waiting, self._left_out
                self._waiting, self._size, self._left_out = [], 0, 0
                self._is_writing = True
            for line in lines:
                self._write(line)
            self._lost += left_out
            self._say_what_is_lost()

    def _write(self, line: str) -> None:
        self._say_what_is_lost()
        if self._lost or not self._has_sent(line):
            self._lost += 1

    def _say_what_is_lost(self) -> None:
        if self._lost and self._has_sent(self._word_for(self._lost)):
            self._lost = 0

    def _has_sent(self, line: str) -> bool:
        """Whether the line is written, whole. It stands alone also where the one before was cut short."""
        text = f"{chr(10) if self._is_cut else ''}{line}\n"
        left = memoryview(text.encode(self._stream.encoding, "backslashreplace"))
        size = len(left)
        try:
            while left:
                sent = self._raw.write(left)
                if sent is None:
                    threading.Event().wait(_PAUSE_SECONDS)
                else:
                    left = left[sent:]
        except (OSError, ValueError):  # nobody there, no room; it is closed
            self._is_cut = self._is_cut or len(left) < size
            return False
        self._is_cut = False
        return True
