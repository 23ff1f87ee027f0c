"""What guests do in a test: run a line of the page, run its program, ask and approve."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.system.namespaces import GuestNamespace

PAGE_SAMPLE = Path(__file__).with_name("page_sample.py")


def run_line(guest: GuestNamespace, line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as a reader's shell would; in an empty folder, as a `?` in it might match a file."""
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    return guest.run("bash", "-c", line, cwd=empty)


def run_sample(guest: GuestNamespace, hostname: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the page's program on a machine of that name."""
    sample = (sys.executable, "-I", str(PAGE_SAMPLE), *arguments)
    renamed = ("bash", "-c", 'hostname "$0" && exec "$@"', hostname, *sample)
    return guest.run("unshare", "--uts", *renamed)


def ask(guest: GuestNamespace, *, approving: str | None = None) -> tuple[int, str]:
    """One request in today's version: the status and the body."""
    url = "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"
    body = json.dumps({"StartRequests": [{"EventId": approving}]})
    data = () if approving is None else ("--data", body)
    curl = ("curl", "--silent", "--show-error", "--max-time", "20", "--write-out", "\n%{http_code}")
    done = guest.run(*curl, "--header", "Metadata: true", *data, url)
    assert done.returncode == 0, done
    text, _, status = done.stdout.rpartition("\n")
    return int(status), text


def document_of(guest: GuestNamespace) -> dict[str, Any]:
    status, body = ask(guest)
    assert status == 200, (status, body)
    return json.loads(body)


def seen_by(guest: GuestNamespace) -> list[tuple[str, list[str]]]:
    """The events that a guest sees, and whom they name."""
    return [(event["EventId"], event["Resources"]) for event in document_of(guest)["Events"]]


def turn_on(*guests: GuestNamespace) -> None:
    """A scope is told of restarts once one of its guests has asked."""
    for guest in guests:
        document_of(guest)
