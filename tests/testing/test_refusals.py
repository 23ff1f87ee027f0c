"""What makes no sense is refused with a sentence that says what to do; nothing is changed by it."""

from __future__ import annotations

import re
import socket
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from forewarn.emulator import Emulator
from forewarn.subscribers import Subscribers
from forewarn.testing import Refused, Service, Unmet


def ask_twice(service: Service) -> None:
    service.restart("web_0")
    service.restart("web_0")


def cancel_twice(service: Service) -> None:
    event = service.restart("web_0")
    service.cancel(event)
    service.cancel(event)


def cancel_too_late(service: Service) -> None:
    event = service.restart("web_0")
    service.clock.until(event, "Started")
    service.cancel(event)


NAMES = "Use letters, digits, '_', '-' and '.', at most 80 of them, not beginning with '-' or '.'."
PHASES = "It can be Scheduled, Started, Completed, Cancelled or Failed."
AGAIN = "Use what was returned when it was made, or choose another name."
LEAST = "Ask for 15 min or more, or for no notice in particular to get the least."
LEAD = "What it is: How long Started is visible before a machine is touched (default 5, at least 2)."
MOST = "Give a number of seconds, at most 315360000."
UNITS = "It takes weeks, days, hours, minutes, seconds, milliseconds and microseconds."

SENTENCES = {
    "unknown VM": (lambda s: s.restart("web_9"), "There is no VM web_9.", "Did you mean web_0?"),
    "unlike any VM": (
        lambda s: s.restart("cache"),
        "There is no VM cache.",
        'There are web_0, db. Make it with vm("cache").',
    ),
    "unknown host": (
        lambda s: s.maintain("rack", "Freeze"),
        "There is no host and no VM rack.",
        'There are web_0-host, db-host, web_0, db. Make it with host("rack").',
    ),
    "VM twice": (lambda s: s.vm("web_0"), "There is a VM web_0 already.", AGAIN),
    "VM twice but for its case": (lambda s: s.vm("WEB_0"), "There is a VM WEB_0 already.", AGAIN),
    "unknown key": (
        lambda s: s.vm("x", updat_domain=1),
        "The VM x cannot be made: vms have no key updat_domain. Did you mean update_domain?",
        "",
    ),
    "unknown word": (
        lambda s: s.vm("x", priority="Cheap"),
        "The VM x cannot be made: priority cannot be used: invalid enum value 'Cheap'. It can be Regular or Spot.",
        "",
    ),
    "update domain": (
        lambda s: s.vm("x", availability_set="web", update_domain=7),
        "The VM x cannot be made: update_domain is 7. It can be 0 to 4.",
        "",
    ),
    "a port that is no number": (
        lambda s: s.vm("x", port=True),
        "The VM x cannot be made: port cannot be used: expected `int | null`, got `bool`. Write a whole number.",
        "",
    ),
    "port": (
        lambda s: s.vm("x", port=70000),
        "The VM x cannot be made: port is 70000. It can be 1 to 65535.",
        "",
    ),
    "name": (lambda s: s.vm("-x"), f"The VM -x cannot be made: '-x' cannot be the name of a VM. {NAMES}", ""),
    "unknown kind": (
        lambda s: s.maintain("db", "Freez"),
        "A host cannot be maintained with a Freez.",
        "Did you mean Freeze? It can be Freeze, Reboot or Redeploy.",
    ),
    "kind of another": (
        lambda s: s.maintain("db", "Preempt"),
        "A host cannot be maintained with a Preempt.",
        "It can be Freeze, Reboot or Redeploy.",
    ),
    "unknown way": (
        lambda s: s.maintain("db", "Freeze", by="magic"),
        "Work cannot be done by 'magic'.",
        "It can be pause or live_migration.",
    ),
    "short notice": (
        lambda s: s.maintain("db", "Freeze", notice_seconds=60),
        "A Freeze needs at least 15 min of notice; 60 s was asked for.",
        LEAST,
    ),
    "unknown risk": (
        lambda s: s.degrade("db", risk="some"),
        "'some' is no risk.",
        "It can be low, high or imminent.",
    ),
    "not Spot": (
        lambda s: s.evict("db"),
        "db cannot be evicted: its priority is Regular, and only Spot VMs can be.",
        'Give it priority = "Spot" in the fleet.',
    ),
    "back in time": (
        lambda s: s.clock.advance(minutes=-5),
        "The clock cannot go back by 300 s: what was done would have to be undone.",
        "Use another service for what was before.",
    ),
    "unknown unit": (
        lambda s: s.clock.advance(fortnights=1),
        "The clock knows no unit fortnights.",
        UNITS,
    ),
    "end of time": (
        lambda s: s.clock.advance(days=9 * 10**6),
        "There is no instant 9000000 days, 0:00:00 from 2026-01-05.",
        "Advance by less.",
    ),
    "no number": (
        lambda s: s.clock.advance(seconds=float("nan")),
        "The clock cannot be advanced so: cannot convert float NaN to integer.",
        UNITS,
    ),
    "notice that is no number": (
        lambda s: s.maintain("db", "Freeze", notice_seconds=float("nan")),
        "notice_seconds cannot be nan.",
        MOST,
    ),
    "endless notice": (
        lambda s: s.maintain("db", "Freeze", notice_seconds=1e20),
        "notice_seconds cannot be 1e+20.",
        MOST,
    ),
    "endless notice of a failure": (
        lambda s: s.degrade("db", notice_seconds=float("inf")),
        "notice_seconds cannot be inf.",
        MOST,
    ),
    "duration in words": (
        lambda s: s.maintain("db", "Freeze", duration_seconds="long"),
        "duration_seconds cannot be 'long'.",
        "Give a whole number from 0 to 86400, or -1: unknown.",
    ),
    "description in lines": (
        lambda s: s.maintain("db", "Freeze", description="a\nb"),
        "'a\\nb' cannot be the description of an event.",
        "Write it in one line of at most 1000 characters.",
    ),
    "no VM": (lambda s: s.restart(None), "None is no VM.", "Give what vm() returned, or its name."),
    "no event to cancel": (
        lambda s: s.cancel("x"),
        "'x' is no event.",
        "Give what restart() or another request returned.",
    ),
    "no event to approve": (
        lambda s: s.vm("x").approve(5),
        "5 is no event.",
        "Give what restart() or another request returned, or its id.",
    ),
    "patience that is no number": (
        lambda s: s.restart("db").expect("Started", within_seconds=float("nan")),
        "nan s cannot be waited.",
        "Give 0 or more.",
    ),
    "unknown phase": (
        lambda s: s.clock.until(s.restart("db"), "Begun"),
        "'Begun' is no phase of an event.",
        PHASES,
    ),
    "phase by its verb": (
        lambda s: s.restart("db").expect("Start"),
        "'Start' is no phase of an event.",
        f"Did you mean Started? {PHASES}",
    ),
    "no event": (
        lambda s: s.clock.until("db", "Started"),
        "'db' is no event.",
        "Give what restart() or another request returned.",
    ),
    "negative patience": (
        lambda s: s.restart("db").expect("Started", within_seconds=-1),
        "-1 s cannot be waited.",
        "Give 0 or more.",
    ),
    "busy": (ask_twice, "web_0 cannot be restarted: Reboot of web_0 is scheduled (ID, starts by 09:15:00Z).", ""),
    "cancelled twice": (cancel_twice, "Reboot of web_0 (ID) is Cancelled; it cannot be cancelled.", ""),
    "cancelled too late": (
        cancel_too_late,
        "Reboot of web_0 is Started; only what is Scheduled can be cancelled.",
        "",
    ),
    "environment of nobody": (lambda s: s.environment("web"), "There is no VM web.", "Did you mean web_0?"),
}


@pytest.mark.parametrize(("ask", "message", "hint"), SENTENCES.values(), ids=SENTENCES)
def test_a_refusal_says_what_is_in_the_way_and_what_to_do(service: Service, ask, message: str, hint: str):
    service.vm("web_0")
    service.vm("db")

    with pytest.raises(Refused) as refused:
        ask(service)

    assert (_without_ids(refused.value.message), refused.value.hint) == (message, hint)
    assert _without_ids(str(refused.value)) == f"{message} {hint}".strip()


def _without_ids(text: str) -> str:
    return re.sub(r"\b[0-9a-f]{8}\b", "ID", text)


def test_what_was_refused_has_changed_nothing(service: Service):
    vm = service.vm("web_0", availability_set="web")
    before = service.emulator.service.plane.world.number

    for ask in (lambda: service.vm("x", availability_set="new", update_domain=9), lambda: service.vm("y", zone=3)):
        with pytest.raises(Refused):
            ask()

    world = service.emulator.service.plane.world
    assert (world.number, list(world.vms), list(world.sets)) == (before, ["web_0"], ["web"])
    assert service.restart(vm).phase == "Scheduled"


def test_a_port_that_somebody_else_listens_on_is_refused_before_the_vm_is_made(service: Service):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(
            Refused, match=rf"web_0 cannot be heard on port {port}: Address already in use. Give it"
        ):
            service.vm("web_0", port=port)

    assert service.vm("web_0").events() == []


def test_a_vm_whose_port_is_taken_at_the_last_moment_is_refused(service: Service):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        service.emulator.service.board.ways_changed = ways_changed = Subscribers()  # instead of the listener
        ways_changed.subscribe(lambda _: other.listen())  # once the VM is in the fleet, and nobody listens yet

        with pytest.raises(Refused, match=rf"web_0 is in the fleet, and .* on 127.0.0.1:{port}: Address already"):
            service.vm("web_0", port=port)


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        (
            datetime(9999, 12, 31, tzinfo=UTC),
            "A clock cannot begin at 9999-12-31 00:00:00+00:00: there would be no",
        ),
        (datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))), "in UTC there is no such instant"),
        ("2026-01-05", "A clock cannot begin at '2026-01-05': it is no instant"),
    ],
    ids=["at the end of all dates", "after the last", "text"],
)
def test_a_clock_that_would_begin_nowhere_is_refused_before_anything_starts(start: datetime, sentence: str):
    with pytest.raises(Refused) as refused:
        Service(start=start)

    assert sentence in str(refused.value)
    assert str(refused.value).endswith("Write it like datetime(2026, 1, 5, 9, 0, tzinfo=UTC).")


def test_the_machines_own_clock_cannot_be_moved():
    with (
        Emulator(clock="system") as emulator,
        pytest.raises(Refused, match="the machine's own clock; it cannot be"),
    ):
        emulator.advance(timedelta(minutes=1))


def test_a_setting_that_is_not_there_or_not_to_be_set_is_refused_before_anything_starts():
    for settings, sentence in (
        ({"leed": 3}, "There is no setting leed. Did you mean lead?"),
        ({"store": "sqlite:///x"}, "store cannot be set: a service in a test decides that by itself."),
        ({"lead": 1}, f"lead cannot be set so: 1 is too small; it can be 2 or more. {LEAD}"),
        ({"lead": "soon"}, f"lead cannot be set so: 'soon' is no number. {LEAD}"),
        (
            {"lead": 10**400},
            f"lead cannot be set so: such a number is too large; it can be 1000000000 at most. {LEAD}",
        ),
        ({"seed": []}, "[] cannot be a seed. Give a whole number, or none."),
    ):
        with pytest.raises(Refused) as refused:
            Service(**settings)
        assert str(refused.value) == sentence


@pytest.mark.parametrize("value", [None, False, ()])
def test_a_setting_may_be_left_as_it_is(value: object):
    with Service(lead=value, watch_guests=value) as service:
        assert service.restart(service.vm("web_0")).phase == "Scheduled"


def test_what_the_service_cannot_use_is_told_without_flags_of_a_command_line(tmp_path: Path):
    nowhere = tmp_path / "nowhere/machines"

    with pytest.raises(Refused) as refused:
        Service(machines=str(nowhere)).open()

    assert (
        refused.value.message == f"The file of machines {nowhere} cannot be opened: unable to open database file."
    )
    assert refused.value.hint == "Name another with machines."


def test_what_is_held_of_a_service_that_was_closed_says_so():
    with Service() as service:
        vm, clock = service.vm("web_0"), service.clock
        event, fault = service.restart(vm), service.fault("status", vm)

    for ask in (
        lambda: event.phase,
        lambda: event.life,
        lambda: event.expect("Started"),
        lambda: vm.state,
        lambda: clock.advance(minutes=1),
        lambda: clock.until(event, "Started"),
        fault.clear,
    ):
        with pytest.raises(Refused) as refused:
            ask()
        assert str(refused.value) == "This service has been closed. Make another one."


def test_a_service_that_is_not_open_says_so():
    service = Service()
    with pytest.raises(Refused, match=r"not been opened. Use it in a with block, or call open\(\)"):
        service.vm("web_0")

    with service:
        vm = service.vm("web_0")
        with pytest.raises(Refused, match="opened already"):
            service.open()

    service.close()  # once more does no harm
    with pytest.raises(Refused, match=r"has been closed. Make another one"):
        service.restart(vm)
    with pytest.raises(Refused, match=rf"{vm.url} does not answer: .* web_0 is gone with its service"):
        vm.document()


def test_what_guests_are_refused_is_told_with_its_status(service: Service):
    vm = service.vm("web_0")

    with pytest.raises(Refused, match="web_0 was answered 400 Bad Request"):
        vm.document(version="1999-01-01")
    with pytest.raises(Refused, match=r"web_0 was answered 400 .*not that of an open event"):
        vm.approve("602D9444-D2CD-49C7-8624-8643E7171297")
    for ask in (vm.document, vm.events, lambda version: vm.approve("ID", version=version)):
        with pytest.raises(Refused, match=r'None is no api-version. Write it like "2020-07-01"'):
            ask(version=None)
    with pytest.raises(Refused, match="No event is given that could be approved"):
        vm.approve()


def test_an_event_that_waits_for_what_never_comes_is_not_waited_for_without_end(service: Service):
    service.availability_set("web", min_available=1)
    one, other = service.vm("web_0", availability_set="web"), service.vm("web_1", availability_set="web")
    service.clock.until(service.stop(other), "Completed")
    held = service.maintain(one, "Reboot")
    began = service.clock.now

    with pytest.raises(Unmet, match="stays Scheduled: nothing is due that could make it Started"):
        service.clock.until(held, "Started")

    assert service.clock.now - began <= timedelta(days=2)  # the scope has gone off meanwhile
    assert "web to have 2 available" in held.life


def test_a_phase_that_time_alone_does_not_bring_is_refused_when_that_is_known(service: Service):
    event = service.restart(service.vm("web_0"))

    with pytest.raises(Unmet, match="is Started; it cannot become Cancelled"):
        service.clock.until(event, "Cancelled")
    service.clock.until(event, "Completed")
    with pytest.raises(Unmet, match="is Completed; it cannot become Started"):
        service.clock.until(event, "Started")
