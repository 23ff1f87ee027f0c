"""What a test can do with a service of its own."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta, timezone
from typing import Literal

import pytest

from forewarn.agent import watch
from forewarn.testing import Event, Service


def test_a_vm_may_be_called_as_soon_as_it_is_made(service: Service):
    vm = service.vm("web_0")

    assert vm.url == f"http://127.0.0.1:{vm.port}"
    assert vm.document() == {"DocumentIncarnation": 1, "Events": []}
    assert (vm.state, vm.host) == ("running", "web_0-host")


def test_every_vm_has_a_port_of_its_own_and_reads_its_own_document(service: Service):
    one, other = service.vm("one"), service.vm("other")

    service.restart(one)

    assert one.port != other.port
    assert [event["Resources"] for event in one.events()] == [["one"]]
    assert other.events() == []


def test_vms_of_a_set_share_a_document_and_come_in_its_update_domains_in_order(service: Service):
    vms = [service.vm(f"web_{number}", availability_set="web") for number in range(6)]

    service.restart(vms[1])

    assert [vm.events()[0]["Resources"] for vm in vms] == [["web_1"]] * 6
    world = service.emulator.service.plane.world
    assert [world.vms[vm.name].update_domain for vm in vms] == [0, 1, 2, 3, 4, 0]


def test_a_vm_that_is_added_disturbs_nothing_that_is_under_way(service: Service):
    vm = service.vm("web_0", availability_set="web")
    started = service.restart(vm)
    vm.approve(started)
    announced = service.maintain(service.vm("db", host="big"), "Freeze")
    before = started.state, announced.state, vm.document()

    service.vm("web_1", availability_set="web")
    service.vm("late", host="big")

    assert (started.state, announced.state.phase, vm.document()) == (before[0], before[1].phase, before[2])
    assert announced.not_before == before[1].event.not_before
    service.clock.until(started, "Completed")
    service.clock.until(announced, "Completed")


def test_a_scope_is_on_from_the_beginning_unless_it_is_to_be_off(service: Service):
    told, untold = service.vm("told"), service.vm("untold", enabled=False)

    assert service.restart(told).phase == "Scheduled"
    silent = service.restart(untold)
    assert (silent.id, silent.kind, silent.phase) == (None, None, "Started")
    assert silent.life.splitlines()[0].endswith("restart untold, asked for by test: guests are told nothing")


@pytest.mark.parametrize(
    ("ask", "kind", "notice_seconds"),
    [
        (lambda service, vm: service.restart(vm), "Reboot", 900),
        (lambda service, vm: service.redeploy(vm), "Redeploy", 600),
        (lambda service, vm: service.delete(vm), "Terminate", 300),
        (lambda service, vm: service.maintain(vm, "Freeze"), "Freeze", 900),
        (lambda service, vm: service.maintain("h", "Reboot", notice_seconds=7200), "Reboot", 7200),
        (lambda service, vm: service.degrade(vm), "Redeploy", 7 * 86400),
        (lambda service, vm: service.degrade(vm, risk="imminent"), "Redeploy", 600),
    ],
    ids=["restart", "redeploy", "delete", "maintain", "with notice", "degrade", "imminent"],
)
def test_what_is_asked_for_is_announced_with_its_notice_and_comes_to_its_end(
    service: Service, ask, kind: str, notice_seconds: int
):
    service.host("spare")
    vm = service.vm("web_0", host="h", terminate_notification="PT5M")

    event = ask(service, vm)

    assert (event.phase, event.kind, event.resources) == ("Scheduled", kind, ("web_0",))
    assert event.not_before == service.clock.now + timedelta(seconds=notice_seconds)
    assert vm.events()[0]["EventId"] == event.id
    service.clock.until(event, "Started")
    assert service.clock.now == event.not_before == event.started_at
    service.clock.until(event, "Completed")
    assert event.ended_at == service.clock.now


def test_an_eviction_gives_thirty_seconds_and_takes_the_machine(service: Service):
    vm = service.vm("spot_0", priority="Spot")

    event = service.evict("spot_0")
    service.clock.until(event, "Completed")

    assert vm.state == "deallocated"
    assert event.started_at - event.state.event.created_at == timedelta(seconds=30)


def test_a_failed_host_is_felt_at_once_and_recovers(service: Service):
    vm = service.vm("web_0", host="h")
    service.host("spare")

    event = service.fail(vm)

    event.expect("Started")
    service.clock.until(event, "Completed")
    assert vm.host == "spare"
    service.recover("h")
    assert service.maintain("h", "Freeze").id is None  # nobody is there any more


def test_a_machine_is_stopped_and_started_without_a_word_to_its_guest(service: Service):
    vm = service.vm("web_0")

    stopped = service.stop(vm)
    service.clock.until(stopped, "Completed")

    assert (vm.state, vm.events()) == ("stopped", [])
    service.clock.until(service.start(vm), "Completed")
    assert vm.state == "running"


def test_a_machine_that_is_deleted_is_heard_no_more_and_its_name_is_free(service: Service):
    vm = service.vm("web_0")

    service.clock.until(service.delete(vm), "Completed")

    assert vm.state == "deleted"
    again = service.vm("web_0")
    assert again.events() == []


def test_an_event_of_a_host_with_several_sets_knows_the_others(service: Service):
    for name in ("web", "db"):
        service.vm(f"{name}_0", availability_set=name, host="h")

    first = service.maintain("h", "Freeze")
    by_vm = service.emulator.service.plane.world.events

    assert {first.id, *(each.id for each in first.others)} == set(by_vm)
    assert len(first.others) == 1


def test_the_event_of_a_vm_is_the_one_that_names_it(service: Service):
    for name in ("a", "b", "c"):
        service.vm(name, host="h")

    assert service.maintain("b", "Freeze").resources == ("b",)


def test_a_live_migration_is_a_freeze_of_its_own_words(service: Service):
    service.host("spare")
    vm = service.vm("web_0", host="h")

    event = service.maintain(vm, "Freeze", by="live_migration", duration_seconds=3)

    assert (event.duration_seconds, event.description[:40]) == (3, "Virtual machine is being paused because ")
    service.clock.until(event, "Completed")
    assert vm.host == "spare"


def test_next_goes_from_one_thing_to_the_next(service: Service):
    event = service.restart(service.vm("web_0"))
    service.clock.advance(minutes=15)

    assert service.clock.next() == event.started_at + timedelta(seconds=5)  # the machine is touched
    assert service.clock.next() == event.started_at + timedelta(seconds=65)
    event.expect("Completed")


def test_the_clock_begins_where_it_is_told_to_and_takes_a_length_of_time():
    start = datetime(2030, 5, 6, 7, 8, 9, tzinfo=UTC)

    with Service(start=start) as service:
        assert service.clock.now == start
        assert service.clock.advance(timedelta(hours=1)) == start + timedelta(hours=1)
        assert service.clock.next() == start + timedelta(hours=1)  # nothing is due


def test_a_clock_that_begins_in_another_zone_tells_guests_the_time_in_gmt():
    summer = datetime(2030, 7, 1, 11, 0, 0, tzinfo=timezone(timedelta(hours=2)))

    with Service(start=summer) as service:
        event = service.restart(vm := service.vm("web_0"))

        assert (service.clock.now, service.clock.now.tzinfo) == (summer, UTC)
        assert vm.events()[0]["NotBefore"] == "Mon, 01 Jul 2030 09:15:00 GMT"
        assert "09:00:00Z  restart web_0" in event.life


def test_a_clock_that_begins_without_a_zone_begins_in_utc_as_that_of_a_scenario_does():
    start = datetime(2030, 7, 1, 11, tzinfo=UTC)

    with Service(start=start.replace(tzinfo=None)) as service:
        assert service.clock.now == start


def test_the_same_seed_gives_the_same_ids_and_another_one_others():
    def ids(seed: int | None) -> list[str]:
        with Service(seed=seed) as service:
            vm = service.vm("web_0")
            return [service.restart(vm).id, service.emulator.service.plane.world.vms["web_0"].vm_id]

    assert ids(5) == ids(5)
    assert ids(5) != ids(6)
    assert ids(None) != ids(None)


def test_settings_of_the_service_may_be_given():
    with Service(lead=30, simulated_seconds={"reboot": 5}) as service:
        event = service.restart(service.vm("web_0"))
        service.clock.until(event, "Completed")

        assert event.ended_at - event.started_at == timedelta(seconds=35)


@pytest.mark.parametrize(
    ("by", "announced", "minutes"), [("pause", 9, 10), ("live_migration", 5, 5)], ids=["pause", "live migration"]
)
def test_preset_azure_keeps_a_freeze_started_for_as_long_as_azure_does(
    by: Literal["pause", "live_migration"], announced: int, minutes: int
):
    with Service(simulated_seconds="azure") as service:
        service.host("spare")
        vm = service.vm("web_0")
        event = service.maintain(vm, "Freeze", by=by)
        (told,) = vm.events()
        vm.approve(event.id)
        seen = []
        for _ in range(minutes):
            seen += [each["EventStatus"] for each in vm.events()]
            service.clock.advance(minutes=1)

        assert told["DurationInSeconds"] == announced
        assert seen == ["Started"] * minutes
        assert vm.events() == []


def test_a_program_is_given_real_time_to_approve(service: Service):
    vm = service.vm("web_0")
    event = service.restart(vm)
    guest = threading.Thread(target=lambda: vm.approve(vm.events()[0]["EventId"]))

    guest.start()
    event.expect_approved(by=vm, within_seconds=30)
    guest.join()

    assert (event.phase, event.approved_by) == ("Started", "web_0")


def test_an_agent_of_ours_finds_the_service_by_its_environment(service: Service, monkeypatch: pytest.MonkeyPatch):
    vm = service.vm("web_0")
    service.set_environment(monkeypatch, vm, "MY_METADATA")
    event = service.restart(vm)

    assert os.environ["MY_METADATA"] == os.environ["FOREWARN_ENDPOINT"] == vm.url
    with watch() as changes:
        change = next(iter(changes))
        change.approve()

    assert (change.id, change.what) == (event.id, "scheduled")
    event.expect_approved(by="web_0")


def test_a_command_of_ours_finds_the_service_by_its_environment(service: Service):
    environment = os.environ | service.environment(service.vm("web_0"))

    listed = subprocess.run(
        [sys.executable, "-c", "from forewarn.cli.entry import main; main()", "vm", "list"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "web_0" in listed.stdout, listed.stderr


def test_it_works_inside_a_running_loop_and_leaves_that_alone(service: Service):
    async def guest(vm, event: Event) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", vm.port)
        body = f'{{"StartRequests": [{{"EventId": "{event.id}"}}]}}'.encode()
        head = "POST /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Metadata: true\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        assert b" 200 " in await reader.readline()
        writer.close()
        await writer.wait_closed()

    async def test() -> set[str]:
        vm = service.vm("web_0")
        event = service.restart(vm)
        application = asyncio.create_task(guest(vm, event))
        await asyncio.to_thread(event.expect_approved, by="web_0", within_seconds=30)
        await application
        service.clock.until(event, "Completed")
        return {task.get_name() for task in asyncio.all_tasks()} - {asyncio.current_task().get_name()}

    assert asyncio.run(test()) == set()


def test_many_threads_may_ask_at_once(service: Service):
    made: list[object] = []

    def make(number: int) -> None:
        made.append(service.vm(f"vm_{number}").document()["Events"])

    threads = [threading.Thread(target=make, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == [[]] * 12


def test_a_port_that_is_asked_for_is_used(service: Service):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

        vm = service.vm("web_0", port=port)

        assert (vm.port, vm.events()) == (port, [])
