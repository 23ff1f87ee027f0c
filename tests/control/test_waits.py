"""What an operation waits for, in words: what is said is what in truth is waited for."""

from __future__ import annotations

from forewarn.control.commands.fleet import apply_fleet
from forewarn.wire.fleet_file import read_json
from tests.control.bench import WEB, Bench


def put_on_host_0(bench: Bench, name: str) -> None:
    """The VM lands on a host whose work is announced; it gets a notice of its own."""
    vms = [{**each, "host": "host-0"} if each["name"] == name else each for each in WEB["vms"]]
    apply_fleet(bench.plane, read_json({**WEB, "vms": vms}).spec, "operator")
    bench.plane.tick()


def test_where_approval_starts_it_the_notice_of_a_scope_that_is_off_is_not_waited_for():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    freeze = bench.maintain("host-0")  # solo, which is off, has an event of it too

    assert bench.waiting_for(freeze) == ["approval from web-0 (scope web) until 12:15:00Z"]
    bench.approve("web-0", bench.events(freeze)[0])
    assert bench.phases(freeze) == ["Started", "Started"]


def test_a_longer_notice_that_nobody_reads_is_named_and_approval_is_waited_for_as_long_as_it_runs():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    freeze = bench.maintain("host-0")
    bench.advance(minutes=10)
    put_on_host_0(bench, "spot")
    said = "approval from web-0 (scope web) until 12:25:00Z, when the notice of scope spot has ended too"

    at_first = bench.waiting_for(freeze)
    bench.advance(minutes=6)  # the notice of web-0 is over, and it may still approve

    assert (at_first, bench.waiting_for(freeze)) == ([said], [said])
    bench.approve("web-0", bench.events(freeze)[0])
    assert bench.phases(freeze) == ["Started"] * 3


def test_where_no_scope_is_on_every_notice_is_waited_for():
    bench = Bench(WEB)
    freeze = bench.maintain("host-0")

    assert bench.waiting_for(freeze) == [
        "the notice to end at 12:15:00Z (scope web is off, nobody there can approve)",
        "the notice to end at 12:15:00Z (scope solo is off, nobody there can approve)",
    ]


def test_whoever_postponed_an_event_of_a_scope_that_is_off_is_named():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    freeze = bench.maintain("host-0")
    for_web, for_solo = bench.events(freeze)
    bench.postpone(for_solo, hours=2)

    bench.approve("web-0", for_web)

    assert bench.waiting_for(freeze) == ["the notice to end at 14:15:00Z (scope solo is off, postponed by owner)"]
