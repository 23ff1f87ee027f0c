"""When the store or the service is away, callers are told so; and nobody keeps the guests waiting."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from forewarn.errors import StoreUnavailable
from tests.edge.wire import GET, Wire
from tests.fleets import SMALL
from tests.running import Reply, RunningService, running, wait_until


@pytest.fixture
def without_store(tmp_path: Path) -> Iterator[RunningService]:
    """A service whose store has been broken under its hands."""
    file = tmp_path / "store.db"
    with running(SMALL, store=f"sqlite:///{file}") as service:
        service.guest("solo").document()
        with closing(sqlite3.connect(file)) as vandal:
            for table in ("marks", "events"):
                vandal.execute(f"ALTER TABLE {table} RENAME TO lost_{table}")
        yield service
        with closing(sqlite3.connect(file)) as vandal:
            for table in ("marks", "events"):
                vandal.execute(f"ALTER TABLE lost_{table} RENAME TO {table}")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/vms/solo/restart", None),
        ("POST", "/v1/hosts/host-0/maintain", {"kind": "Freeze"}),
        ("PUT", "/v1/fleet", {"hosts": [{"name": "other"}]}),
        ("GET", "/v1/events", None),
        ("GET", "/v1/history", None),
        ("GET", "/v1/events/F020BA2E", None),
    ],
)
def test_the_store_away_is_503(without_store: RunningService, method: str, path: str, body: Any):
    reply = without_store.operator(method, path, body)

    assert (reply.status, reply.json["error"]["code"]) == (503, "StoreUnavailable")
    assert without_store.guest("solo").call().status == 200  # what is known already is still told


def test_an_approval_that_cannot_be_kept_is_answered_500(without_store: RunningService):
    reply = without_store.guest("solo").approve("F020BA2E-3BC0-4C40-A10B-86575A9EABD5")

    assert reply.status == 500


def test_cancel_is_answered_though_the_store_fails_right_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail() -> None:
        raise StoreUnavailable("The store is gone.", "Bring it back.")

    with running(SMALL, store=f"sqlite:///{tmp_path}/store.db") as service:
        service.guest("solo").document()
        event = service.post("/v1/vms/solo/restart")["event"]["id"]
        plane = service.service.plane
        with monkeypatch.context() as broken:
            unsubscribe = plane.committed.subscribe(lambda _: broken.setattr(plane.store, "transaction", fail))
            reply = service.operator("POST", f"/v1/events/{event}/cancel")
            unsubscribe()

    assert reply.status == 200
    assert [each["phase"] for each in reply.json["cancelled"]] == ["Cancelled"]


def test_what_is_asked_of_a_service_that_stops_is_503(service: RunningService):
    service.service.runner.stop()

    replies = [service.operator("POST", "/v1/vms/solo/restart"), service.operator("GET", "/v1/vms")]

    assert [(reply.status, reply.json["error"]["code"]) for reply in replies] == [(503, "Stopping")] * 2


def test_what_was_asked_and_given_up_does_not_disturb_the_end(tmp_path: Path):
    is_busy, may_go_on = threading.Event(), threading.Event()
    store = f"sqlite:///{tmp_path}/store.db"
    with running(SMALL, store=store) as service:
        service.guest("solo").document()
        service.advance(hours=1)
        service.guest("solo").document()  # written down at the end
        runner = service.service.runner
        runner.submit(lambda: (is_busy.set(), may_go_on.wait(60)))
        assert is_busy.wait(60)
        given_up = runner.submit(list)
        given_up.cancel()
        stopping = threading.Thread(target=runner.stop)
        stopping.start()
        wait_until(lambda: runner._is_stopping, "the end to begin")
        may_go_on.set()
        stopping.join(60)

    with running(SMALL, store=store) as service:
        assert service.get("/v1/scopes/solo")["last_poll"] == "2026-03-02T13:00:00Z"


def test_an_event_and_the_history_are_read_while_a_commit_takes_long(tmp_path: Path):
    is_writing, may_go_on = threading.Event(), threading.Event()
    with running(SMALL, store=f"sqlite:///{tmp_path}/store.db") as service:
        plane = service.service.plane
        service.guest("solo").document()
        event = service.post("/v1/vms/solo/restart")["event"]["id"]
        service.post(f"/v1/events/{event}/cancel")

        def write_long() -> None:
            with plane.store.transaction():
                is_writing.set()
                may_go_on.wait(60)

        written = service.service.runner.submit(write_long)
        assert is_writing.wait(60)
        (row,) = service.get("/v1/history")["history"]
        is_still_writing = not written.done()
        may_go_on.set()
        listed = service.get("/v1/events?phase=Cancelled")["events"]

    assert is_still_writing
    assert row["event"] == event
    assert [each["id"] for each in listed] == [event]


# A large fleet.


def large_fleet(vms: int) -> dict[str, Any]:
    """A fleet in which the very last word is wrong."""
    hosts = [{"name": f"host-{n}"} for n in range(100)]
    made = [
        {"name": f"vm-{n}", "host": f"host-{n % 100}", "addresses": [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}"]}
        for n in range(vms)
    ]
    return {"hosts": hosts, "vms": [*made, {"name": "last", "host": "nowhere"}]}


def test_guests_are_answered_while_a_large_fleet_is_judged(service: RunningService, figures):
    body = json.dumps(large_fleet(30_000)).encode()
    replies: list[Reply] = []
    judging = threading.Thread(target=lambda: replies.append(service.operator("PUT", "/v1/fleet", body)))
    waited = []
    with Wire(service) as wire:
        wire.send(GET)
        wire.receive()
        began = time.perf_counter()
        judging.start()
        while judging.is_alive():
            sent = time.perf_counter()
            wire.send(GET)
            wire.receive()
            waited.append(time.perf_counter() - sent)
        took = time.perf_counter() - began
    figures(f"{len(waited)} polls in {took:.2f} s, the longest {max(waited):.3f} s")

    assert replies[0].status == 400
    assert "There is no host nowhere" in replies[0].json["error"]["message"]
    assert max(waited) < 0.9 * took  # it was all of it when the fleet was judged on the guests' loop


def test_a_fleet_comes_out_as_it_went_in(service: RunningService):
    fleet = {"hosts": [{"name": "host"}], "vms": [{"name": "one", "host": "host", "tags": {"a": 'ü"\\'}}]}
    service.operator("PUT", "/v1/fleet", fleet)

    reply = service.operator("GET", "/v1/fleet")

    assert reply.headers["content-type"] == "application/json"
    assert list(reply.json) == ["hosts", "availability_sets", "scale_sets", "cloud_services", "vms"]
    assert reply.json["vms"][0]["tags"] == {"a": 'ü"\\'}
    assert service.operator("PUT", "/v1/fleet", reply.json).json == {"differences": [], "warnings": []}
