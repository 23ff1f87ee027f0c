"""Free ports, bounded waits and the place of the sources, for tests of any part. Nothing of ours is imported."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent


def free_port() -> int:
    """A port that nobody uses, below those that the kernel gives to clients: so it stays free."""
    for port in random.Random().sample(range(10_240, 32_768), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("a hundred ports are all in use")


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Wait for another process or thread; bounded, and the failure says what was waited for."""
    deadline = threading.Event()
    for _ in range(int(seconds * 100)):
        if condition():
            return
        deadline.wait(0.01)
    raise AssertionError(f"waited {seconds} s for {what}")


def as_typed(*command: str) -> list[str]:
    """The command as at a terminal: what is ignored where the tests run, as under nohup, it does not ignore."""
    return ["env", "--default-signal", *command]
