"""Who the program of a sandbox is: a name that cannot be one is a sentence, before anything is made."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from forewarn.config import Settings
from forewarn.errors import ConfigError
from forewarn.sandbox.fleet import emulator_for
from forewarn.service import OpenSockets


@pytest.fixture
def opened() -> Iterator[OpenSockets]:
    with socket.create_server(("127.0.0.1", 0)) as guests, socket.create_server(("127.0.0.1", 0)) as operators:
        yield OpenSockets(guests, operators)


def test_invalid_guest_name_is_refused_with_the_rule(opened: OpenSockets):
    with pytest.raises(ConfigError) as refused:
        emulator_for(Settings(clock="virtual", guest="a b"), opened)

    assert refused.value.message == "--guest is 'a b', and no VM can be called that."
    assert refused.value.hint.startswith("Use letters")


def test_without_a_fleet_the_program_is_the_named_guest(opened: OpenSockets):
    with emulator_for(Settings(clock="virtual", guest="batch-7"), opened) as emulator:
        assert list(emulator.service.plane.world.vms) == ["batch-7"]
