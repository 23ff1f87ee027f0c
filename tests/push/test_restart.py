"""Deliveries outlive the process: one that is killed goes on where it was, and rather repeats than forgets."""

from __future__ import annotations

from pathlib import Path

from tests.crash.process import ServiceProcess
from tests.fleets import SMALL
from tests.push.receiver import receiving
from tests.running import ROOT, free_port, running, wait_until


def test_what_waited_is_delivered_after_a_restart_in_order_and_once(tmp_path: Path):
    store, port = f"sqlite:///{tmp_path}/store.db", free_port()
    with running(SMALL, store=store) as service:
        made = service.post("/v1/webhooks", {"url": f"http://127.0.0.1:{port}/hook"})
        service.guest("solo").document()
        service.post("/v1/vms/solo/restart")
        service.advance(hours=1)

    with receiving(port) as receiver:
        with running(SMALL, store=store) as service:
            got = receiver.wait_for(3)
        with running(SMALL, store=store) as service:
            listed = service.get("/v1/webhooks")["webhooks"]
            service.post("/v1/vms/solo/restart")
            more = receiver.wait_for(4)[3]

    assert [each.phase for each in got] == ["Scheduled", "Started", "Completed"]
    assert all(each.is_signed_with(made["secret"]) for each in receiver.got)
    assert [each["id"] for each in listed] == [made["id"]]
    assert more.phase == "Scheduled"
    assert len({each.id for each in receiver.got}) == 4


def test_webhooks_of_one_instant_are_listed_in_the_same_order_before_and_after_a_restart(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/store.db"
    with running(SMALL, store=store) as service:
        for number in range(8):
            service.post("/v1/webhooks", {"url": f"http://{number}.example/"})
        before = [each["id"] for each in service.get("/v1/webhooks")["webhooks"]]
        service.advance(seconds=1)
        last = service.post("/v1/webhooks", {"url": "http://last.example/"})["id"]

    with running(SMALL, store=store) as service:
        after = [each["id"] for each in service.get("/v1/webhooks")["webhooks"]]

    assert after == [*before, last]


def test_a_service_that_is_killed_while_it_delivers_delivers_again_under_the_same_id(tmp_path: Path):
    service = ServiceProcess(
        tmp_path,
        f"--store=sqlite:///{tmp_path}/store.db",
        f"--fleet={ROOT / 'examples' / 'web.toml'}",
        "--clock=virtual",
        "--webhook-timeout=3600",
    )
    with receiving() as receiver:
        receiver.answer = lambda got: None if got.phase == "Started" and len(receiver.got) == 2 else 200
        service.start()
        status, made = service.call("POST", "/v1/webhooks", {"url": receiver.url})
        service.call("POST", "/v1/hosts/host-0/maintain", {"kind": "Freeze"})
        service.call("POST", "/v1/clock", {"advance_seconds": 3600})
        before = receiver.wait_for(2)
        service.kill()

        service.start()
        wait_until(lambda: receiver.got[-1].phase == "Completed", "the end to be told")
        ending = service.stop()

    assert status == 201
    assert [each.phase for each in before] == ["Scheduled", "Started"]
    after = receiver.got[2:]
    assert [each.phase for each in after][-2:] == ["Started", "Completed"]
    assert next(each for each in after if each.phase == "Started").body == before[1].body
    assert {each.id for each in after} >= {before[1].id}
    assert all(each.is_signed_with(made["secret"]) for each in receiver.got)
    assert ending == 0
