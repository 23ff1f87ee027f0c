"""What tests of faults share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.edge.wire import GET, Wire
from tests.running import RunningService

Add = Callable[..., str]


@pytest.fixture
def add(service: RunningService) -> Add:
    """Put a fault in; its id."""

    def add(name: str, **said: Any) -> str:
        return service.post("/v1/faults", {"name": name, **said}, expect=201)["id"]

    return add


@pytest.fixture
def struck(service: RunningService) -> Callable[[], dict[str, int]]:
    """How often each rule has struck."""
    return lambda: {each["name"]: each["struck"] for each in service.get("/v1/faults")["faults"]}


@pytest.fixture
def event(service: RunningService) -> str:
    """A reboot of solo that its guest can read."""
    service.guest("solo").document()
    return service.post("/v1/vms/solo/restart")["event"]["id"]


def ask(service: RunningService) -> tuple[int, dict[str, str], bytes]:
    """One poll of solo's, over a connection of its own."""
    with Wire(service) as wire:
        wire.send(GET)
        return wire.receive()
