"""A VM as a test holds it: where its guest asks, and what a guest does there."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from forewarn.core.fleet import Vm as CoreVm
from forewarn.emulator import Emulator, Refused
from forewarn.wire.imds.versions import NEWEST_EVENTS_VERSIONS

if TYPE_CHECKING:
    from forewarn.testing.event import Event

NEWEST = NEWEST_EVENTS_VERSIONS[0]
_PATH = "/metadata/scheduledevents?api-version="
_ANSWER_SECONDS = 30.0
_OK = 200


class Vm:
    """One VM of the fleet, with a port of its own on this machine."""

    def __init__(self, emulator: Emulator, name: str, port: int) -> None:
        self._emulator = emulator
        self.name = name
        self.port = port
        self.url = f"http://127.0.0.1:{port}"  # what http://169.254.169.254 is on Azure

    def __repr__(self) -> str:
        return f"<Vm {self.name} at {self.url}>"

    def __str__(self) -> str:
        return self.name

    # As it is now.

    @property
    def state(self) -> str:
        """What the machine does: running, stopped, deallocated, down or deleted."""
        found = self._find()
        return str(found.state) if found else "deleted"

    @property
    def host(self) -> str:
        """Where the machine is; nowhere once it is deleted."""
        found = self._find()
        return found.host if found else ""

    def _find(self) -> CoreVm | None:
        world = self._emulator.service.plane.world
        return self._emulator.on_plane(lambda: world.vms.get(self.name))

    # What a guest does, over HTTP.

    def document(self, version: str = NEWEST) -> Any:  # noqa: ANN401 - what JSON holds
        """The document as its guest reads it."""
        text = self._call("GET", version)
        try:
            return json.loads(text)
        except ValueError as problem:
            raise Refused(f"{self.name} was answered what is no JSON: {_shown(text)}", f"{problem}.") from None

    def events(self, version: str = NEWEST) -> list[dict[str, Any]]:
        """The events of the document."""
        document = self.document(version)
        found = document.get("Events") if isinstance(document, dict) else None
        if not isinstance(found, list):
            raise Refused(f"{self.name} was answered a document without a list of events: {document}")
        return found

    def approve(self, *events: Event | str, version: str = NEWEST) -> None:
        """Approve events as this VM's guest, by themselves or by id."""
        if odd := [each for each in events if not isinstance(each, str) and not hasattr(each, "others")]:
            raise Refused(
                f"{odd[0]!r} is no event.", "Give what restart() or another request returned, or its id."
            )
        ids = [each if isinstance(each, str) else each.id for each in events]
        if not ids or None in ids:
            silent = next((str(each) for each in events if not isinstance(each, str) and each.id is None), None)
            raise Refused(
                f"{silent} cannot be approved: guests are told nothing of it."
                if silent
                else "No event is given that could be approved.",
                "Give one that was announced, or its EventId.",
            )
        requests = [{"EventId": each} for each in ids]
        self._call("POST", version, json.dumps({"StartRequests": requests}))

    def _call(self, method: str, version: str, body: str | None = None) -> bytes:
        if not isinstance(version, str):
            raise Refused(f"{version!r} is no api-version.", f'Write it like "{NEWEST}".')
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_ANSWER_SECONDS)
        try:
            connection.request(method, _PATH + quote(version), body, {"Metadata": "true"})
            answer = connection.getresponse()
            text = answer.read()
        except OSError as problem:
            standing = self.state if self._emulator.is_up else "gone with its service"
            raise Refused(f"{self.url} does not answer: {problem}.", f"{self.name} is {standing}.") from None
        except http.client.IncompleteRead as problem:
            said = _shown(problem.partial)
            raise Refused(f"{self.name} was answered in part, and no more came: {said}") from None
        except http.client.HTTPException as problem:
            raise Refused(f"{self.name} was answered nothing of sense: {problem}.") from None
        finally:
            connection.close()
        if answer.status != _OK:
            raise Refused(f"{self.name} was answered {answer.status} {answer.reason}: {_shown(text)}")
        return text


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "replace").strip()
