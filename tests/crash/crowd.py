"""Guests and an owner that never give up: they keep fifty operations going whatever happens to the service."""

from __future__ import annotations

import http.client
import json
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.crash.process import ServiceProcess

_TARGET = "/metadata/scheduledevents?api-version=2020-07-01"
_PAUSE_SECONDS = 0.02
_FREEZE = json.dumps({"kind": "Freeze", "duration_seconds": 1})


@dataclass
class Answered:
    """What the service has said yes to; none of it may ever be lost."""

    operations: list[str] = field(default_factory=list)
    approvals: list[tuple[str, str]] = field(default_factory=list)
    polls: set[str] = field(default_factory=set)
    cut_off: list[str] = field(default_factory=list)  # POSTs that a kill left without an answer


class Crowd:
    """One thread per guest, and one owner who asks for restarts."""

    def __init__(self, service: ServiceProcess, guests: dict[str, str], busy: int) -> None:
        self._service = service
        self._guests = guests
        self._busy = busy
        self.answered = Answered()
        self.is_asking = threading.Event()  # set: new operations are wanted
        self.is_asking.set()
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._live, args=(name, address), daemon=True)
            for name, address in guests.items()
        ] + [threading.Thread(target=self._own, daemon=True)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(60)

    def _patiently(self, what: str, act: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes] | None:
        """Do it; None when the service was not there, or died before it answered."""
        try:
            return act()
        except ConnectionRefusedError:
            self._is_over.wait(_PAUSE_SECONDS)
            return None
        except (OSError, http.client.HTTPException):
            if what.startswith("POST"):
                self.answered.cut_off.append(what)
            return None

    # Guests.

    def _live(self, name: str, address: str) -> None:
        dice = random.Random(name)
        while not self._is_over.wait(dice.uniform(0.2, 0.8)):
            answer = self._patiently("GET", lambda: self._as_guest(address, "GET"))
            if answer is None or answer[0] != 200:
                continue
            self.answered.polls.add(name)
            for event in json.loads(answer[1])["Events"]:
                if event["EventStatus"] == "Scheduled" and name in event["Resources"] and dice.random() < 0.4:
                    self._approve(name, address, event["EventId"])

    def poll(self, name: str, address: str) -> None:
        """Somebody who is not in the crowd reads its document."""
        status, _ = self._as_guest(address, "GET")
        assert status == 200, f"{name} was answered {status}"
        self.answered.polls.add(name)

    def _approve(self, name: str, address: str, event: str) -> None:
        body = json.dumps({"StartRequests": [{"EventId": event}]})
        answer = self._patiently("POST approve", lambda: self._as_guest(address, "POST", body))
        if answer is not None and answer[0] == 200:
            self.answered.approvals.append((event, name))

    def _as_guest(self, address: str, method: str, body: str | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._service.metadata_port, timeout=20, source_address=(address, 0)
        )
        try:
            connection.request(method, _TARGET, body, {"Metadata": "true"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    # The owner.

    def _own(self) -> None:
        dice = random.Random("owner")
        while not self._is_over.wait(_PAUSE_SECONDS):
            if not self.is_asking.is_set():
                continue
            opened = self._patiently("GET", lambda: self._as_operator("GET", "/v1/events?limit=1000"))
            if opened is None or opened[0] != 200:
                continue
            open_events = json.loads(opened[1])["events"]
            taken = {vm for event in open_events for vm in event["resources"]}
            free = [vm for vm in self._guests if vm not in taken]
            dice.shuffle(free)
            for vm in free[: max(0, self._busy - len({event["operation"] for event in open_events}))]:
                if dice.random() < 0.1:
                    self._ask(f"/v1/hosts/host-{dice.randrange(14)}/maintain", _FREEZE)
                else:
                    self._ask(f"/v1/vms/{vm}/{dice.choice(['restart', 'redeploy'])}")

    def _ask(self, path: str, body: str | None = None) -> None:
        answer = self._patiently(f"POST {path}", lambda: self._as_operator("POST", path, body))
        if answer is not None and answer[0] == 202:
            self.answered.operations.append(json.loads(answer[1])["operation"]["id"])

    def _as_operator(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._service.operator_port, timeout=20)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()
