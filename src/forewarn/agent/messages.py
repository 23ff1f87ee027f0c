"""What the keeper is told, by other threads: what was seen, what came of attempts, what somebody wants."""

from __future__ import annotations

import queue
from typing import Union

from forewarn.agent import orders
from forewarn.agent.approving import Answered
from forewarn.agent.compat import dataclass
from forewarn.agent.events import Sighting
from forewarn.agent.runner import Ended
from forewarn.agent.watching import Trouble


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
