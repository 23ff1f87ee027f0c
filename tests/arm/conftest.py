"""What tests of the ARM surface share."""

from __future__ import annotations

import pytest

from tests.arm.caller import Arm
from tests.running import RunningService


@pytest.fixture
def arm(service: RunningService) -> Arm:
    """The ARM surface of a fresh service with a fleet of every kind of scope, on a virtual clock."""
    return Arm(service)
