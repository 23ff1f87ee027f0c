"""What the tests of the agent share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent.endpoints import Endpoints
from forewarn.agent.journal import Journal
from forewarn.agent.metadata import Metadata
from forewarn.agent.settings import Settings
from tests.agent.azure import Azure, azure
from tests.agent.looking import QUICK, STEADY

# A file for each unit says its state. `stuck.service` never stops, `broken.service` fails to start.
SYSTEMCTL = """#!/bin/sh
cd "$(dirname "$0")/units" || exit 1
echo "$*" >> ../asked
for last; do :; done
case "$1 $last" in
show*) cat "$last" 2>/dev/null || echo inactive ;;
*) [ -e "$last" ] || { echo "Unit $last not loaded." >&2; exit 5; } ;;
esac
case "$1 $last" in
"stop stuck.service") exec sleep 300 ;;
"start broken.service") echo failed > "$last" ;;
stop*) echo inactive > "$last" ;;
start*|restart*) echo active > "$last" ;;
esac
"""


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


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal in the test's own directory."""
    with closing(Journal(tmp_path)) as opened:
        yield opened


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units of a machine, as files; beside them a program in systemctl's place, a process of its own."""
    (tmp_path / "units").mkdir()
    (tmp_path / "systemctl").write_text(SYSTEMCTL)
    (tmp_path / "systemctl").chmod(0o755)
    return tmp_path / "units"
