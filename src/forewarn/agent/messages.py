"""What the keeper is told, by other threads: what was seen, what came of attempts, what somebody wants."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Union

from forewarn.agent import orders
from forewarn.agent.approving import Answered
from forewarn.agent.compat import dataclass
from forewarn.agent.events import Sighting
from forewarn.agent.runner import Ended
from forewarn.agent.watching import Trouble

_INQUIRY_SECONDS = 2.0  # less than a peer waits for its answer


@dataclass(frozen=True, slots=True)
class Named:
    """The endpoint was asked for this VM's name. Empty: it did not tell."""

    name: str


@dataclass(frozen=True, slots=True)
class Asked:
    """An operator's word, and where the answer goes."""

    order: orders.Order
    reply: queue.SimpleQueue[str | orders.Refusal]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Whether this agent has approved an event, after all that it made of what was known before."""

    event: str
    reply: queue.SimpleQueue[bool]


@dataclass(frozen=True, slots=True)
class Nudge:
    """Look again: something outside the cases has changed. There is nothing to note."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Come to an end."""


Message = Union[Sighting, Trouble, Ended, Answered, Named, Asked, Inquiry, Nudge, Leave]


class Inbox:
    """Where the keeper's messages are left. Made before the keeper, and before all who send to it."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def send(self, message: Message) -> None:
        """Leave a message. Safe in a signal's handler too: this queue takes no lock."""
        self._messages.put(message)

    def get(self, timeout: float) -> Message:
        """Take the next message; `queue.Empty` if none comes in time."""
        return self._messages.get(timeout=timeout)

    def get_nowait(self) -> Message:
        """Take the next message; `queue.Empty` if there is none."""
        return self._messages.get_nowait()

    def has_approved(self, event: str) -> bool | None:
        """Whether the event was approved, by all that was known up to now; None: the keeper is busy.

        The keeper itself answers, between two rounds: one that went by an older word has made its moves by then.
        """
        reply: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.send(Inquiry(event, reply))
        try:
            return reply.get(timeout=_INQUIRY_SECONDS)
        except queue.Empty:
            return None


def without_repeated(messages: Sequence[Message]) -> Iterator[Message]:
    """Drop sightings that repeat each other, except the first and the last of each run.

    With thousands of events, noting a response takes longer than the endpoint takes to send the next one.
    """
    for message, following in zip_longest(messages, messages[1:]):
        if not _is_repeated(message, following):
            yield message


def _is_repeated(message: Message, following: object) -> bool:
    return (
        isinstance(message, Sighting)
        and isinstance(following, Sighting)
        and message.is_unchanged
        and following.is_unchanged
        and not message.is_anew
        and message.endpoint == following.endpoint
    )
