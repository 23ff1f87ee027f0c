"""The page's lines and its program under `forewarn sandbox`, by root and by an ordinary user."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator

import pytest

from tests.system.guests import PAGE_SAMPLE
from tests.system.page_lines import PAGE_EVENT, RESTART, Edition, editions
from tests.system.sandboxes import VIRTUAL, WHO, Sandboxes, readable_folder

pytestmark = pytest.mark.system

FLEET = """
[[availability_sets]]
name = "web"

[[vms]]
name = "web-0"
availability_set = "web"

[[vms]]
name = "web-1"
availability_set = "web"
"""

# What a reader does: the first line, then maintenance happens to be announced, then the lines again.
READER = """
set -eu
eval "$GET"; echo
restarted=$(forewarn vm restart web-0 --json)
event=$(python -c 'import json, sys; print(json.loads(sys.argv[1])["event"]["id"])' "$restarted")
echo "$event"
eval "$GET"; echo
line=$POST
eval "${line/"$PAGE_EVENT"/"$event"}"; echo
eval "$GET"; echo
"""

# The same with the page's program.
RUNNER = """
set -eu
"$@"
forewarn vm restart web-0 --json >event.json
"$@"
"$@" --approve
"$@"
"""


@pytest.fixture(params=WHO.values(), ids=WHO.keys())
def sandboxes(request: pytest.FixtureRequest) -> Iterator[Sandboxes]:
    with readable_folder() as folder:
        (folder / "fleet.toml").write_text(FLEET)
        shutil.copy(PAGE_SAMPLE, folder)
        yield Sandboxes(request.param, folder)


AS_WEB_0 = ("--fleet", "fleet.toml", "--guest", "web-0", *VIRTUAL)


@editions
def test_the_pages_lines_work_with_only_the_event_id_put_in(sandboxes: Sandboxes, edition: Edition):
    variables = {"GET": edition.get, "POST": edition.post, "PAGE_EVENT": PAGE_EVENT}

    ran = sandboxes.run(*AS_WEB_0, "--", "bash", "-c", READER, **variables)

    assert ran.returncode == 0, ran.stderr
    before, event, after, posted, started = ran.stdout.splitlines()
    assert before == '{"DocumentIncarnation":1,"Events":[]}'
    assert after == (
        '{"DocumentIncarnation":2,"Events":[{'
        f'"EventId":"{event.upper()}","EventStatus":"Scheduled","EventType":"Reboot",'
        f'"ResourceType":"VirtualMachine","Resources":["{edition.resource}"],'
        f'"NotBefore":"Mon, 02 Mar 2026 12:15:00 GMT"{edition.more_members}'
        "}]}"
    )
    assert posted == ""
    (seen,) = json.loads(started)["Events"]
    assert (seen["EventId"], seen["EventStatus"], seen["NotBefore"]) == (event.upper(), "Started", "")


@pytest.mark.parametrize("version", ["2017-08-01", "2019-08-01"])
def test_the_pages_program_reads_every_member_and_starts_the_event(sandboxes: Sandboxes, version: str):
    sample = (sys.executable, "-I", "page_sample.py", version)
    sandboxes.folder.chmod(0o777)  # the event is written down there

    ran = sandboxes.run(*AS_WEB_0, "--", "bash", "-c", RUNNER, "bash", *sample)

    assert ran.returncode == 0, ran.stderr
    event = json.loads((sandboxes.folder / "event.json").read_text())["event"]["id"].upper()
    more = [f"Description: {RESTART}", "EventSource: User"] if version == "2019-08-01" else []
    scheduled = [
        f"EventId: {event}",
        "EventStatus: Scheduled",
        "Resources: web-0",
        "EventType: Reboot",
        "ResourceType: VirtualMachine",
        "NotBefore: Mon,_02_Mar_2026_12:15:00_GMT",
        *more,
        "mine: True",
    ]
    started = [f"EventId: {event}", "EventStatus: Started", *scheduled[2:5], "NotBefore: ", *scheduled[6:]]
    assert ran.stdout.splitlines() == [*scheduled, *scheduled, *started]
