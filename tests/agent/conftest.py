"""What the tests of the agent share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from forewarn.agent.endpoints import Endpoints
from forewarn.agent.metadata import Metadata
from forewarn.agent.settings import Settings
from tests.agent.azure import Azure, azure
from tests.agent.looking import QUICK, STEADY


@pytest.fixture(name="azure")
def plain_azure() -> Iterator[Azure]:
    """An endpoint that imitates Azure's, without anything of ours."""
    with azure() as endpoint:
        yield endpoint


@pytest.fixture
def another_azure() -> Iterator[Azure]:
    """A second endpoint."""
    with azure() as endpoint:
        yield endpoint


@pytest.fixture
def metadata_of() -> Iterator[Callable[..., Metadata]]:
    """Ways to ask endpoints, which let go of their connections at the end."""
    with ExitStack() as at_the_end:

        def make(*urls: str, timer: Callable[[], float] = STEADY, **settings: Any) -> Metadata:
            metadata = Metadata(Endpoints(urls), Settings(endpoints=urls, **(QUICK | settings)), timer)
            at_the_end.callback(metadata.close)
            return metadata

        yield make
