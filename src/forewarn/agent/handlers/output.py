"""What is kept of a program's output: its beginning and its end, however much there is."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection
from pathlib import Path
from typing import IO

from forewarn.agent.secrecy import MOST_GROWTH, without

FIRST_READS, READ_BYTES = 256, 1024  # the beginning: so many reads of at most so many bytes
LAST_BYTES = 65_536

# The first program writes what it reads at once; the second keeps the end in its memory until there is no more.
# Both read on when nobody listens any more: a command never waits for its output, nor dies of it.
KEEPER = f"trap '' HUP INT TERM; dd bs={READ_BYTES} count={FIRST_READS} 2>/dev/null; exec tail -c {LAST_BYTES}"

_MOST_LINES, _MOST_LETTERS = 3, 300


def last_lines(path: Path, secrets: Collection[str] = ()) -> str:
    """The end of a kept output, as one line."""
    longest = max((MOST_GROWTH * len(each.encode("utf-8", "replace")) for each in secrets), default=0)
    try:
        with path.open("rb") as file:
            begins_at = max(0, path.stat().st_size - 8 * _MOST_LETTERS - longest)
            file.seek(begins_at)
            said = file.read()
    except OSError:
        return ""
    # Half a secret may stand where the reading begins.
    return as_one_line(said, secrets, skipped=longest if begins_at else 0)


def as_one_line(said: bytes, secrets: Collection[str] = (), *, skipped: int = 0) -> str:
    """The last lines of it, side by side, without the secrets. These go first: half of one is not recognized."""
    text = without(secrets, said.decode("utf-8", "replace"))[skipped:]
    lines = [" ".join("".join(c if c.isprintable() else " " for c in line).split()) for line in text.splitlines()]
    joined = " | ".join([line for line in lines if line][-_MOST_LINES:])
    return joined if len(joined) <= _MOST_LETTERS else f"…{joined[-_MOST_LETTERS:]}"


class Reader:
    """Reads a program's output to its end on a thread of its own, and keeps a beginning and an end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._first: list[bytes] = []
        self._last: deque[bytes] = deque(maxlen=LAST_BYTES // READ_BYTES)
        self._thread = threading.Thread(target=self._read, name="output", daemon=True)
        self._thread.start()

    def kept(self, wait_seconds: float) -> bytes:
        """What is kept. A grandchild may hold it open for ever: its end is waited for no longer than that."""
        self._thread.join(wait_seconds)
        return b"".join([*self._first, *tuple(self._last)])

    def _read(self) -> None:
        with self._stream as stream:
            # `read1` gives what there is, and nothing only at the end.
            while piece := stream.read1(READ_BYTES):  # type: ignore[attr-defined]
                if len(self._first) < FIRST_READS:
                    self._first.append(piece)
                else:
                    self._last.append(piece)
