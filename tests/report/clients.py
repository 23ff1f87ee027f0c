"""Clients as people write them, each with one fault of its own; and a stage on which they ask in virtual time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.running import Guest, RunningService


@dataclass
class Client:
    """Asks every few seconds, approves what names it, and goes on asking: the good one."""

    vm: str
    guest: Guest
    every_seconds: int = 5
    approved: set[str] = field(default_factory=set)
    seen: list[str] = field(default_factory=list)

    def asks_at(self, second: int) -> bool:
        return second % self.every_seconds == 0

    def ask(self) -> None:
        for event in self.guest.events():
            self.seen.append(event["EventId"])
            if self.would_approve(event) and event["EventId"] not in self.approved:
                self.approved.add(event["EventId"])
                assert self.guest.approve(event["EventId"]).status == 200

    def would_approve(self, event: dict[str, Any]) -> bool:
        return event["EventStatus"] == "Scheduled" and self.vm in event["Resources"]


@dataclass
class SlowClient(Client):
    """Asks once a minute."""

    every_seconds: int = 60


@dataclass
class SilentClient(Client):
    """Never approves anything."""

    def would_approve(self, event: dict[str, Any]) -> bool:
        return False


@dataclass
class MeddlingClient(Client):
    """Approves whatever it sees, whomever it names."""

    def would_approve(self, event: dict[str, Any]) -> bool:
        return event["EventStatus"] == "Scheduled"


@dataclass
class DeafClient(Client):
    """Asks no more once an event of its own has begun: it has done what it had to do, it thinks."""

    has_seen_start: bool = False

    def asks_at(self, second: int) -> bool:
        return not self.has_seen_start and super().asks_at(second)

    def would_approve(self, event: dict[str, Any]) -> bool:
        self.has_seen_start |= event["EventStatus"] == "Started" and self.vm in event["Resources"]
        return super().would_approve(event)


def play(service: RunningService, clients: list[Client], *, seconds: int, first: int = 0, step: int = 5) -> int:
    """Let time pass, and everybody ask when it is their turn; the second at which it was left."""
    for second in range(first, first + seconds, step):
        for client in clients:
            if client.asks_at(second):
                client.ask()
        service.advance(seconds=step)
    return first + seconds
