"""What the tests of the agent share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agent.azure import Azure, azure


@pytest.fixture(name="azure")
def plain_azure() -> Iterator[Azure]:
    """An endpoint that imitates Azure's, without anything of ours."""
    with azure() as endpoint:
        yield endpoint
