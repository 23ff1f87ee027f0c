"""What is written into the outbox, and when: with the change itself, or not at all."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest

from forewarn.control.commands.events import cancel_operation
from forewarn.control.commands.hosts import maintain_host
from forewarn.control.commit import Accepted
from forewarn.control.push import outbox
from forewarn.core.draft import Draft
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.terms import Cause, Kind
from forewarn.store import webhooks
from forewarn.store.webhooks import Format
from tests.control.bench import WEB, Bench, fleet, vm
from tests.push.samples import bench, hook, outbox_of


def told(made: Bench) -> list[tuple[str, list[str]]]:
    """Phase and machines of all that was written."""
    bodies: list[Any] = [json.loads(each.body)["data"] for each in outbox_of(made)]
    return [(body["phase"], body["resources"]) for body in bodies]


def test_an_event_is_told_when_it_is_scheduled_when_it_starts_and_when_it_is_over():
    made = bench(WEB, hook())
    made.turn_on("web-0")

    made.ask(Cause.RESTART, "web-0")
    made.advance(hours=1)

    assert told(made) == [("Scheduled", ["web-0"]), ("Started", ["web-0"]), ("Completed", ["web-0"])]


def test_a_cancelled_event_is_told_as_such():
    made = bench(WEB, hook())
    accepted = made.maintain("host-0")
    assert isinstance(accepted, Accepted)

    cancel_operation(made.plane, accepted.operation.id, "operator")

    assert [phase for phase, _ in told(made)] == ["Scheduled", "Scheduled", "Cancelled", "Cancelled"]


def test_an_event_that_loses_a_machine_is_told_anew_in_the_same_phase():
    pair = [vm(name, cloud_service="s", update_domain=0) for name in ("a", "b")]
    made = bench(fleet(*pair, cloud_services=[{"name": "s"}]), hook())
    made.maintain("host-0", Kind.REBOOT)

    made.ask(Cause.STOP, "b")
    made.advance(minutes=5)

    assert told(made)[:2] == [("Scheduled", ["a", "b"]), ("Scheduled", ["a"])]


def test_scopes_whose_guests_never_ask_are_told_of_all_the_same():
    made = bench(WEB, hook())

    made.maintain("host-2")

    assert told(made) == [("Scheduled", ["web-2"])]


def test_an_approval_alone_is_not_told_but_the_start_that_follows_tells_of_it():
    made = bench(WEB, hook())
    made.turn_on("web-0")
    accepted = made.ask(Cause.RESTART, "web-0")

    made.approve("web-0", made.event(accepted))

    bodies = [json.loads(each.body)["data"] for each in outbox_of(made)]
    assert [(body["phase"], body["approved_by"]) for body in bodies] == [("Scheduled", None), ("Started", "web-0")]


def test_every_webhook_is_told_the_same_thing_under_the_same_id_in_its_own_form():
    made = bench(WEB, hook("a"), hook("b", form=Format.EVENTGRID))

    made.maintain("host-2")

    first, second = outbox_of(made)
    assert (first.webhook, second.webhook) == ("a", "b")
    assert first.message == second.message == json.loads(first.body)["id"] == json.loads(second.body)[0]["id"]
    assert first.number < second.number


def test_different_things_have_different_ids():
    made = bench(WEB, hook())

    made.maintain("host-0")
    made.advance(hours=1)

    messages = [each.message for each in outbox_of(made)]
    assert len(messages) == len(set(messages)) == 6


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (hook(kinds=("Reboot",)), {"web-2"}),
        (hook(kinds=("Freeze", "Reboot")), {"web-2", "solo"}),
        (hook(scopes=("solo",)), {"solo"}),
        (hook(kinds=("Reboot",), scopes=("solo",)), set()),
    ],
    ids=["kind", "kinds", "scope", "both"],
)
def test_a_webhook_is_told_only_of_what_it_asked_for(chosen, expected: set[str]):
    made = bench(fleet(vm("solo"), vm("web-2", "host-2")), chosen)

    made.maintain("host-0", Kind.FREEZE)
    made.maintain("host-2", Kind.REBOOT)

    assert {name for _, names in told(made) for name in names} == expected


def test_nothing_is_written_where_there_is_no_webhook():
    made = bench(WEB)

    made.maintain("host-0")

    assert outbox_of(made) == []


def test_a_change_that_is_not_kept_is_not_told():
    made = bench(WEB, hook())
    made.maintain("host-0")
    before = outbox_of(made)

    def write_and_fail(transaction: object, draft: Draft) -> None:
        original(transaction, draft)
        raise ZeroDivisionError

    original, made.outbox.write = made.outbox.write, write_and_fail
    with pytest.raises(ZeroDivisionError):
        maintain_host(made.plane, "host-2", Maintenance(Kind.FREEZE), "operator")

    assert outbox_of(made) == before


def test_what_ends_after_its_machine_has_gone_is_told_with_the_machines_own_address():
    single = fleet(vm("brief", terminate_notification="PT5M", resource_group="prod"))
    made = bench(single, hook(form=Format.EVENTGRID))
    made.turn_on("brief")

    made.ask(Cause.DELETE, "brief")
    made.advance(hours=1)

    bodies = [json.loads(each.body)[0] for each in outbox_of(made)]
    assert [body["data"]["resourceInfo"]["properties"]["EventStatus"] for body in bodies] == [
        "Scheduled",
        "Started",
        "Completed",
    ]
    assert "brief" not in made.plane.world.vms
    assert len({body["subject"] for body in bodies}) == 1
    assert "/resourceGroups/prod/providers/Microsoft.Compute/virtualMachines/brief/" in bodies[2]["subject"]


def subject_of_the_end(made: Bench) -> str:
    """What the last message about a machine that is deleted meanwhile says it is about."""
    made.turn_on("brief")
    made.ask(Cause.DELETE, "brief")
    made.advance(hours=1)
    (last,) = json.loads(outbox_of(made)[-1].body)
    assert last["data"]["resourceInfo"]["properties"]["EventStatus"] == "Completed"
    return str(last["subject"])


def test_the_end_of_a_deleted_machine_is_told_without_reading_it_back():
    made = bench(fleet(vm("brief", terminate_notification="PT5M")), hook(form=Format.EVENTGRID))

    with patch.object(webhooks, "find_owner", side_effect=AssertionError("it was read back")):
        subject = subject_of_the_end(made)

    assert "/virtualMachines/brief/" in subject
    assert made.outbox is not None
    assert made.outbox._gone == {}


def test_the_end_of_a_machine_that_was_deleted_before_a_restart_is_told_from_the_store():
    made = bench(fleet(vm("brief", terminate_notification="PT5M")), hook(form=Format.EVENTGRID))

    with patch.object(outbox, "owners_that_go", lambda _: {}):  # as if another service had written that commit
        subject = subject_of_the_end(made)

    assert "/virtualMachines/brief/" in subject


def test_a_restart_leaves_the_outbox_as_it_is_and_goes_on_in_order():
    made = bench(WEB, hook())
    made.maintain("host-2")
    before = outbox_of(made)

    made.start_plane()
    made.advance(hours=1)

    after = outbox_of(made)
    assert after[: len(before)] == before
    assert [json.loads(each.body)["data"]["phase"] for each in after] == ["Scheduled", "Started", "Completed"]
    assert [each.number for each in after] == sorted(each.number for each in after)
