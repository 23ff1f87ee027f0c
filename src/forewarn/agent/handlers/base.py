"""What every kind of handler offers, and what it is given.

A handler acts on the machine or on something beside it. It gets the event and the seconds it has; it returns a
`Result`, in time, and raises nothing for what can go wrong outside. It never approves.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from forewarn.agent.case import Direction
from forewarn.agent.compat import dataclass
from forewarn.agent.events import Event


@dataclass(frozen=True, slots=True)
class Result:
    """How an attempt ended."""

    is_done: bool
    note: str = ""  # one line for the log and the journal; no secrets
    is_uncertain: bool = False  # it may have been done all the same, and nobody can know


class Doubt(str):
    """A sentence about an option that is probably not meant; one that is no `Doubt` refuses it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One attempt at a step."""

    event: Event
    step: str
    options: Mapping[str, Any]
    direction: Direction
    seconds: float  # how long it may take
    try_number: int
    vm: str  # the name by which the event means this machine
    scratch: Path  # a directory of this attempt's own, which survives the agent
    stop: threading.Event = field(default_factory=threading.Event)  # set: give up at once
    seconds_to_not_before: float | None = None  # for handlers that want to know
    memory: Path | None = None  # a directory of the step's effect: the same for its undo, and for every event
    was_done: bool = False  # an undo: whether the step had succeeded, and not only begun
    is_test: bool = False  # for an invented event: whoever is told of it is told so

    @property
    def key(self) -> str:
        """The same for every repeat of the attempt, so that others can tell a repeat."""
        return f"{self.event.id}/{self.step}/{self.direction}"


OPTION_TYPES = {
    "text": "a text",
    "texts": "a list of texts",
    "number": "a whole number",
    "numbers": "a list of whole numbers",
    "seconds": "a number of seconds",
    "flag": "true or false",
    "path": "a path",
    "secret": 'a text, or `{file = "..."}`, or `{env = "..."}`',
    "command": "a list of texts, the program first; or one text for a shell",
    "table": "a table of texts, each of which may be a secret",
    "options": "a table with options of the same kind",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a kind of handler: what the file may say, and the reference page does."""

    name: str
    type: str  # one of OPTION_TYPES
    help: str
    is_required: bool = False
    default: Any = None


class Handler(Protocol):
    """One kind of handler."""

    help: str  # one sentence for the reference page
    options: tuple[Option, ...]
    is_for_all_events: bool
    """Whether it brings about a state of this machine that is the same whatever the event. Then it is done once
    for all of them. What is told of the event, or calls by its name, is done for each."""

    def check(self, options: Mapping[str, Any]) -> list[str]:
        """What is wrong with the options, in sentences, each beginning with an option; nothing is touched.

        Their names and types, and that what is required is there, has been seen to before.
        """

    def undoes(self, options: Mapping[str, Any]) -> bool:
        """Whether a step with these options has something to undo."""

    def run(self, task: Task) -> Result:
        """Do it, or undo it."""

    def take_over(self, task: Task) -> Result | None:
        """What came of an attempt that an earlier agent began, waiting for it if it still runs.

        None: proven not begun, or safe to begin again. What cannot be known is a failure that says so.
        """


def grace_seconds_of(options: Mapping[str, Any]) -> float:
    """How long the options give what is running to end of itself, once its time is up."""
    said = options.get("grace_seconds", 0)
    return float(said) if isinstance(said, (int, float)) else 0.0


def with_defaults(table: Iterable[Option], said: Mapping[str, Any]) -> dict[str, Any]:
    """What the file says, and where it says nothing what the table says."""
    return {option.name: option.default for option in table} | {
        name: value for name, value in said.items() if value is not None
    }
