"""The end of a group of processes: SIGTERM, some grace, SIGKILL."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.proc import is_group_alive

_LONGEST_DEATH_SECONDS = 2  # a process that the kernel does not let go of is not waited for
_LOOK_SECONDS = 0.05


def end_group(group: int, grace_seconds: float) -> str:
    """End every process of the group; how, in words."""
    _send(group, signal.SIGTERM)
    _send(group, signal.SIGCONT)  # one that is stopped would not hear of it
    if _is_gone_within(group, grace_seconds):
        return "SIGTERM ended it"
    _send(group, signal.SIGKILL)
    if _is_gone_within(group, _LONGEST_DEATH_SECONDS):
        return "it had to be ended by SIGKILL"
    return "not even SIGKILL has ended it yet"


def _is_gone_within(group: int, seconds: float) -> bool:
    deadline = Deadline(seconds)
    while is_group_alive(group):
        if not deadline.pause(_LOOK_SECONDS):
            return not is_group_alive(group)
    return True


def _send(group: int, number: int) -> None:
    with suppress(OSError):  # gone already
        os.killpg(group, number)
