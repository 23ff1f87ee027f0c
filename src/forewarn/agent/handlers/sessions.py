"""The end of a session of processes: SIGTERM, some grace, SIGKILL.

Its number is its leader's, and nobody else gets that number while one process of the session lives, or while its
leader is not collected. Whoever asks for the end has seen to it that the session is the one that is meant.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import NamedTuple

from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.proc import is_session_alive, members, send_signal

_LONGEST_DEATH_SECONDS = 2  # a process that the kernel does not let go of is not waited for
_LOOK_SECONDS = 0.05


class End(NamedTuple):
    """How something was ended."""

    words: str
    is_over: bool = True  # False: something of it may still run


def end_session(session: int, grace_seconds: float) -> End:
    """End every process of the session, whatever group it is in."""
    _send(session, signal.SIGTERM)
    _send(session, signal.SIGCONT)  # one that is stopped would not hear of it
    grace = Deadline(grace_seconds)
    while is_there := is_session_alive(session):
        if not grace.pause(_LOOK_SECONDS):
            break
    if not (is_there and is_session_alive(session)):
        return End("SIGTERM ended it")
    longest = Deadline(_LONGEST_DEATH_SECONDS)
    while not longest.is_over:
        _send(session, signal.SIGKILL)  # at every look: one that was just born has not got it
        longest.pause(_LOOK_SECONDS)
        if not is_session_alive(session):
            return End("it had to be ended by SIGKILL")
    return End("not even SIGKILL has ended it yet", is_over=False)


def _send(session: int, number: int) -> None:
    """To the leader's group at once, so that nobody slips away by a fork; then to the other groups."""
    with suppress(OSError):  # gone already
        os.killpg(session, number)
    for each in members(session):
        if each.group != session:
            with suppress(OSError):
                send_signal(each, number)
