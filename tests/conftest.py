"""What all tests share."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.fleets import SMALL
from tests.running import RunningService, running


def pytest_configure(config: pytest.Config):
    """Give the programs that tests start what they need from this process."""
    # A shell's background jobs ignore Ctrl-C, and so would every program that they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.geteuid() == 0 and not hasattr(config, "workerinput"):
        _add_postgresql_user()


def _add_postgresql_user():
    """Add the user that runs PostgreSQL for root: once, as workers that add it at the same time fail."""
    try:
        pwd.getpwnam("pgserver")
    except KeyError:
        useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin")
        subprocess.run([useradd or "useradd", "--shell", "/bin/bash", "pgserver"], check=True)


def pytest_collection_modifyitems(items: list[pytest.Item]):
    """What takes minutes comes first: at the end everybody would wait for it."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_sessionfinish():
    """Stop PostgreSQL while there is time: pytest-xdist kills workers that take long to exit."""
    databases = sys.modules.get("tests.store.databases")
    if databases is not None:
        databases.stop_postgresql()


@pytest.fixture
def service() -> Iterator[RunningService]:
    """A fresh service with a fleet of every kind of scope, on a virtual clock."""
    with running(SMALL) as started:
        yield started


@pytest.fixture
def figures(record_property) -> Callable[[str], None]:
    """Figures for whoever reads the run: printed at its end, also when tests run side by side."""
    return lambda text: record_property("figures", text)


def pytest_terminal_summary(terminalreporter):
    """The figures of all tests that gave some."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, text in report.user_properties:
                if name == "figures" and report.when == "call":
                    terminalreporter.write_sep("-", report.nodeid.rpartition("::")[2])
                    terminalreporter.write_line(text)
