"""Rollouts over REST: pause, resume and abort, and what they mean for guests."""

from __future__ import annotations

import pytest

from tests.rest.test_rest import refused
from tests.rest.test_rollouts import begun, shown
from tests.running import RunningService


def test_pausing_calls_off_what_is_announced_and_resuming_announces_it_anew(service: RunningService):
    service.guest("web-0").document()
    rollout = begun(service, hosts=["host-0"])
    service.advance(minutes=10)
    (before,) = service.guest("web-0").events()

    paused = service.post(f"/v1/rollouts/{rollout['id']}/pause", {"reason": "lunch"}, expect=200)
    during = service.guest("web-0").events()
    resumed = service.post(f"/v1/rollouts/{rollout['id']}/resume", expect=200)
    service.advance(seconds=1)
    (after,) = service.guest("web-0").events()

    assert (paused["state"], paused["reason"], paused["waiting_for"]) == (
        "Paused",
        "lunch",
        ["somebody to resume it: lunch"],
    )
    assert during == []
    assert (resumed["state"], resumed["reason"]) == ("Running", "")
    assert after["EventId"] != before["EventId"]
    assert after["NotBefore"] == "Mon, 02 Mar 2026 12:25:00 GMT"


@pytest.mark.parametrize("body", [None, {}, {"reason": "enough"}], ids=["nothing", "an empty object", "a reason"])
def test_an_abort_is_final_and_says_who_did_it_or_why(grown: RunningService, body: dict[str, str] | None):
    rollout = begun(grown)

    aborted = grown.post(f"/v1/rollouts/{rollout['id']}/abort", body, expect=200)
    grown.advance(days=3)

    over = shown(grown, rollout)
    assert aborted["state"] == over["state"] == "Aborted"
    assert over["reason"] == ("enough" if body and "reason" in body else "aborted by operator")
    assert (over["hosts_done"], over["waiting_for"], over["hosts_open"]) == (0, [], [])
    assert grown.get("/v1/events?phase=all")["events"] != []
    assert {each["phase"] for each in grown.get("/v1/events?phase=all")["events"]} == {"Cancelled"}


def test_what_had_started_before_an_abort_ends_and_is_counted(grown: RunningService):
    rollout = begun(grown)
    grown.advance(minutes=15, seconds=6)

    aborted = grown.post(f"/v1/rollouts/{rollout['id']}/abort")
    grown.advance(minutes=2)

    assert (aborted["state"], aborted["hosts_open"]) == ("Aborted", ["host-0-0", "host-0-1"])
    assert shown(grown, rollout)["hosts_done"] == 2
    assert shown(grown, rollout)["hosts_open"] == []


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("pause", "pause", "is Paused; it cannot be paused."),
        (None, "resume", "is Running; only a paused one can be resumed."),
        ("abort", "abort", "is Aborted (aborted by operator); it cannot be aborted."),
        ("abort", "pause", "is Aborted (aborted by operator); it cannot be paused."),
        ("abort", "resume", "is Aborted (aborted by operator); it cannot be resumed."),
    ],
    ids=["pause twice", "resume what runs", "abort twice", "pause what is aborted", "resume what is aborted"],
)
def test_what_a_rollout_cannot_do_any_more_is_refused_and_changes_nothing(
    grown: RunningService, first: str | None, second: str, said: str
):
    rollout = begun(grown)
    if first:
        grown.post(f"/v1/rollouts/{rollout['id']}/{first}")
    before = shown(grown, rollout)

    status, error = refused(grown, "POST", f"/v1/rollouts/{rollout['id']}/{second}")

    assert (status, error["code"]) == (409, "IllegalStep")
    assert error["message"].endswith(said), error
    assert f"forewarn rollout show {rollout['id'][:8]}" in error["hint"]
    assert shown(grown, rollout) == before


def test_a_rollout_that_has_ended_cannot_be_stopped(grown: RunningService):
    rollout = begun(grown, hosts=["host-0-0"])
    grown.advance(hours=1)

    status, error = refused(grown, "POST", f"/v1/rollouts/{rollout['id']}/abort")

    assert (status, error["code"]) == (409, "IllegalStep")
    assert error["message"].endswith("is Completed; it cannot be aborted.")
    assert shown(grown, rollout)["state"] == "Completed"
