"""Documents as they come: dates in any form, one event more than once."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent.case import Consent
from forewarn.agent.events import read_document, read_instant
from tests.agent.azure import Azure, event
from tests.agent.kept import Stage, kept
from tests.agent.little_world import a_profile, a_step

EARLY, LATE = "Mon, 02 Mar 2037 12:05:00 GMT", "Mon, 02 Mar 2037 12:15:00 GMT"


def read(*events: dict[str, Any]) -> Any:
    return read_document(json.dumps({"DocumentIncarnation": 1, "Events": events}).encode())


@pytest.mark.parametrize("is_turned", [False, True])
def test_one_id_twice_is_one_event_of_all_the_vms_as_far_as_either_is(*, is_turned: bool):
    entries = [
        event("E1", Resources=["web-0", "db-1"], NotBefore=LATE),
        event("E1", Resources=["db-1", "db-9"], NotBefore=EARLY),
    ]

    document = read(*reversed(entries) if is_turned else entries)

    [found] = document.events
    assert set(found.resources) == {"web-0", "db-1", "db-9"}
    assert (found.status, found.not_before) == ("Scheduled", read_instant(EARLY))
    assert document.repeated == ("event E1 more than once: it is taken for one of all the VMs that are named",)
    assert document.oddities == (), "all of it could be read"


@pytest.mark.parametrize("is_turned", [False, True])
def test_of_one_id_twice_the_further_status_counts(*, is_turned: bool):
    entries = [event("E1"), event("E1", EventStatus="Started", NotBefore="", Resources=["db-9"])]

    [found] = read(*reversed(entries) if is_turned else entries).events

    assert found.has_started
    assert set(found.resources) == {"web-0", "db-9"}


def test_an_event_that_is_listed_twice_is_this_vms_if_either_names_it_and_that_is_said_once(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, a_profile(a_step())) as agent:
        azure.show(event("E1"), event("E1", Resources=["db-9"]))
        case = agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        azure.wait_for_polls(5)
        approved = list(azure.approved)
        azure.show()
        agent.wait_until_closed()

    assert case.event.resources == ("web-0", "db-9")
    assert (case.consent, approved) == (Consent.NONE, []), "it names another VM, too"
    assert len([each for each in caplog.messages if "more than once" in each]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Mon, 02 Mar 2037 12:05:00 GMT",
        "mon, 2 mar 2037 12:05:00 gmt",
        "02 Mar 2037 12:05:00 GMT",
        "Mon, 02 Mar 2037 13:05:00 +0100",
        "Mon, 02 Mar 2037 07:05:00 -05:00",
        "2037-03-02T12:05:00Z",
        "2037-03-02T12:05:00.000Z",
        "2037-03-02 12:05:00",
        "2037-03-02T13:05:00+01:00",
        " Mon, 02 Mar 2037 12:05:00 GMT ",
        "Mon,_02_Mar_2037_12:05:00_GMT",
    ],
)
def test_a_date_is_read_in_any_form_that_was_seen(text: str):
    assert read_instant(text) == datetime(2037, 3, 2, 12, 5, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "Mon, 02 Foo 2037 12:05:00 GMT",
        "Mon, 31 Feb 2037 12:05:00 GMT",
        "Mon, 02 Mar 2037 25:05:00 GMT",
        "Mon, 02 Mar 2037 12:05:61 GMT",
        "Mon, 02 Mar 2037 12:05:00 +9900",
        "Mon, 02 Mar 0001 00:00:00 GMT",
        "Mon, 02 Mar 2037 12:05:00 GMT and more",
        "Mon, \u0660\u0662 Mar 2037 12:05:00 GMT",
        "9999-12-31T23:59:59Z",
    ],
)
def test_what_is_no_date_is_none(text: str):
    assert read_instant(text) is None
