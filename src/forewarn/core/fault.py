"""Faults: what may be put between the service and its guests, or into the engine, so that clients can be tested.

A rule says which fault, for whom and how often. Whether it hits depends on its seed, on the guest and on how
many requests of that guest it has been asked about; never on the time. So a run repeats exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import cast

Value = bool | int | float | str | tuple[str, ...] | None

_DAY_SECONDS = 86400
_LOT_BYTES = 8


class Fault(StrEnum):
    """What may go wrong, by the name that people give."""

    STATUS = "status"
    DELAY = "delay"
    SLOW_BODY = "slow_body"
    RESET = "reset"
    CLOSED = "closed"
    TRUNCATED = "truncated"
    NULL_EVENTS = "null_events"
    MISSING_MEMBERS = "missing_members"
    PROXY_PAGE = "proxy_page"
    STALE = "stale"
    DUPLICATED = "duplicated"
    LOST = "lost"
    FIRST_CALL = "first_call"
    CLOCK_SKEW = "clock_skew"
    EARLY_START = "early_start"
    SHORTENED_NOTICE = "shortened_notice"


class Target(StrEnum):
    """What a rule is asked about, one by one."""

    REQUEST = "request"  # whatever a guest asks for
    POLL = "poll"  # a GET of the document
    EVENT = "event"  # one that is announced


class About(StrEnum):
    """What a guest's request is about."""

    DOCUMENT = "document"
    APPROVAL = "approval"
    INSTANCE = "instance"


ANY = "any"


@dataclass(frozen=True, slots=True)
class Option:
    """What may be said of a fault beyond its name."""

    kind: type
    default: Value
    words: str
    least: float | None = None
    most: float | None = None
    choices: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """What a fault does, and what may be said of it."""

    words: str
    target: Target = Target.REQUEST
    options: Mapping[str, Option] = field(default_factory=dict)
    marks_events: bool = False  # an event lives against a law, or guests are told of it what is not so
    takes_pace: bool = True  # whether rate, count and every make sense


DOCUMENT_MEMBERS = ("DocumentIncarnation", "Events")
EVENT_MEMBERS = (
    "EventId",
    "EventStatus",
    "EventType",
    "ResourceType",
    "Resources",
    "NotBefore",
    "Description",
    "EventSource",
    "DurationInSeconds",
)

_ON = Option(str, ANY, "of which requests", choices=(ANY, *About))
_CARRIED_OUT = Option(bool, default=False, words="whether what was asked, an approval say, is done all the same")


def _seconds(default: float, words: str, least: float = 0.01, most: float = 600) -> Option:
    return Option(float, default, words, least, most)


FORMS: Mapping[Fault, Form] = MappingProxyType(
    {
        Fault.STATUS: Form(
            "an error is answered, and nothing is done",
            options={
                "code": Option(int, 503, "which", choices=(400, 404, 410, 429, 500, 503)),
                "retry_after": Option(int, None, "seconds that a Retry-After names; without it none", 0, 3600),
                "on": _ON,
            },
        ),
        Fault.DELAY: Form(
            "the request waits, and is then done and answered",
            options={"seconds": _seconds(5, "how long, in real seconds"), "on": _ON},
        ),
        Fault.SLOW_BODY: Form(
            "the headers come at once, the body in twenty drops",
            options={"seconds": _seconds(10, "until the last of it, in real seconds"), "on": _ON},
        ),
        Fault.RESET: Form(
            "the connection is reset in place of an answer", options={"carried_out": _CARRIED_OUT, "on": _ON}
        ),
        Fault.CLOSED: Form(
            "the connection is closed in place of an answer", options={"carried_out": _CARRIED_OUT, "on": _ON}
        ),
        Fault.TRUNCATED: Form(
            "the JSON breaks off",
            Target.POLL,
            {
                "keep": Option(int, None, "bytes that are left of it; without it half", 0, 1_000_000),
                "hangs_up": Option(
                    bool,
                    default=False,
                    words="whether Content-Length speaks of all of it, and the connection ends before",
                ),
            },
        ),
        Fault.NULL_EVENTS: Form("`Events` is null", Target.POLL, marks_events=True),
        Fault.MISSING_MEMBERS: Form(
            "members of the document, or of its events, are not there",
            Target.POLL,
            {
                "members": Option(
                    tuple, ("NotBefore", "Resources"), "which", choices=(*DOCUMENT_MEMBERS, *EVENT_MEMBERS)
                )
            },
            marks_events=True,
        ),
        Fault.PROXY_PAGE: Form(
            "a proxy's page of HTML is answered, and nothing is done",
            options={
                "code": Option(int, 200, "the status that it comes with", choices=(200, 403, 407, 502, 503, 504)),
                "on": _ON,
            },
        ),
        Fault.STALE: Form("the document before the present one is answered", Target.POLL, marks_events=True),
        Fault.DUPLICATED: Form("an event is in the document twice", Target.POLL, marks_events=True),
        Fault.LOST: Form("an event is not in the document", Target.POLL, marks_events=True),
        Fault.FIRST_CALL: Form(
            "the first call of each guest for the document takes long, as the real service's may",
            Target.POLL,
            {"seconds": _seconds(120, "how long, in real seconds")},
            takes_pace=False,
        ),
        Fault.CLOCK_SKEW: Form(
            "`Date` and `NotBefore` are those of a clock that is wrong",
            Target.POLL,
            {"seconds": _seconds(300, "how far ahead it is; below 0: behind", -_DAY_SECONDS, _DAY_SECONDS)},
            marks_events=True,
        ),
        Fault.EARLY_START: Form(
            "an event starts before its NotBefore, though nobody has approved it",
            Target.EVENT,
            {"seconds": _seconds(60, "how long before; more than its notice: at once", 1, 7 * _DAY_SECONDS)},
            marks_events=True,
        ),
        Fault.SHORTENED_NOTICE: Form(
            "an event is announced with less notice than its kind is promised",
            Target.EVENT,
            {"seconds": _seconds(5, "the notice that it gets", 0, 7 * _DAY_SECONDS)},
            marks_events=True,
        ),
    }
)


@dataclass(frozen=True, slots=True)
class FaultRule:
    """Which fault, for whom, and how often; of rate, count and every at most one is given."""

    name: Fault
    vm: str | None = None  # None: all
    rate: float | None = None  # of each guest's requests, this part
    count: int | None = None  # each guest's first so many
    every: int | None = None  # each guest's every nth
    seed: int = 0
    options: Mapping[str, Value] = field(default_factory=dict)  # all that the form has

    @property
    def form(self) -> Form:
        """What the fault does."""
        return FORMS[self.name]

    @property
    def is_of_engine(self) -> bool:
        """Whether it is the engine that goes wrong, not what guests are told."""
        return self.form.target is Target.EVENT

    @property
    def seconds(self) -> float:
        """How long the fault lasts, or how much it is."""
        return cast("float", self.options["seconds"])

    def concerns(self, vm: str, about: About) -> bool:
        """Whether the rule is asked about such a request of that VM."""
        if self.vm not in {None, vm} or self.is_of_engine:
            return False
        if self.form.target is Target.POLL:
            return about is About.DOCUMENT
        return self.options["on"] in {ANY, about}

    def hits(self, guest: str, number: int) -> bool:
        """Whether it hits the guest's request of this number, which counts from 1 under this rule."""
        if not self.form.takes_pace:
            return number == 1
        if self.count is not None:
            return number <= self.count
        if self.every is not None:
            return number % self.every == 0
        return self.rate is None or self.lot(guest, number) < self.rate

    def lot(self, guest: str, number: int, what: str = "whether") -> float:
        """A number from 0 up to 1 for this request: the same whenever it is drawn."""
        drawn = sha256(f"{self.seed}\0{self.name}\0{guest}\0{number}\0{what}".encode()).digest()
        return int.from_bytes(drawn[:_LOT_BYTES]) / (1 << 8 * _LOT_BYTES)

    def choose(self, among: int, guest: str, number: int) -> int:
        """Which of so many things it hits."""
        return int(self.lot(guest, number, "which") * among)

    @property
    def pace(self) -> str:
        """How often it hits, for a reader."""
        what = self.form.target
        if not self.form.takes_pace:
            return "once per guest"
        if self.count is not None:
            return f"the first {what}" if self.count == 1 else f"the first {self.count} {what}s"
        if self.every is not None:
            return f"every {what}" if self.every == 1 else f"{what} {self.every}, {2 * self.every}, ..."
        return f"every {what}" if self.rate is None else f"{self.rate:g} of all {what}s, seed {self.seed}"

    @property
    def title(self) -> str:
        """The rule for a reader: `status (code 503), web-0, the first 3 requests`."""
        said = [f"{name} {_in_words(value)}" for name, value in self.options.items() if value is not None]
        options = f" ({', '.join(said)})" if said else ""
        return f"{self.name}{options}, {self.vm or 'all VMs'}, {self.pace}"


def _in_words(value: Value) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
