"""A preview takes its time: nobody else waits for it, and there is one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from unittest.mock import patch

from forewarn.control.commands.rollouts import preview_rollout
from forewarn.control.plane import ControlPlane
from forewarn.core.refusal import Refusal
from forewarn.core.requests.rollouts import Plan, RolloutWish
from forewarn.operator import rollouts as routes
from tests.running import Reply, RunningService, wait_until

Preview = Callable[[], Future[Reply]]


class _Slow:
    """Lets a preview begin, and go on only when it is told to."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_go_on = threading.Event()

    def begin(self, plane: ControlPlane, wish: RolloutWish) -> Callable[[], Plan | Refusal]:
        make_plan = preview_rollout(plane, wish)

        def slowly() -> Plan | Refusal:
            self.begun += 1
            self.may_go_on.wait(60)
            return make_plan()

        return slowly


@contextmanager
def slowly(service: RunningService) -> Iterator[tuple[_Slow, Preview]]:
    """Previews that are asked for on threads of their own."""
    slow = _Slow()
    with ThreadPoolExecutor(20) as callers, patch.object(routes, "preview_rollout", slow.begin):
        try:
            yield (
                slow,
                lambda: callers.submit(service.operator, "POST", "/v1/rollouts/preview", {"kind": "Reboot"}),
            )
        finally:
            slow.may_go_on.set()


def test_the_plane_goes_on_while_a_preview_is_made(grown: RunningService):
    with slowly(grown) as (slow, preview):
        reply = preview()
        wait_until(lambda: slow.begun == 1, "the preview to begin")

        rollout = grown.post("/v1/rollouts", {"kind": "Reboot"}, expect=201)
        grown.advance(minutes=20)
        meanwhile = grown.get(f"/v1/rollouts/{rollout['id']}")["hosts_done"]
        was_done = reply.done()
        slow.may_go_on.set()

    assert (meanwhile, was_done) == (2, False)
    assert reply.result().json["begins_at"] == "2026-03-02T12:00:00Z"  # when it was asked for


def test_a_preview_is_of_the_fleet_as_it_was_when_it_was_asked_for(grown: RunningService):
    with slowly(grown) as (slow, preview):
        reply = preview()
        wait_until(lambda: slow.begun == 1, "the preview to begin")
        grown.post("/v1/hosts/host-0-0/fail")
        slow.may_go_on.set()

    assert reply.result().json["hosts_total"] == 6
    assert grown.post("/v1/rollouts/preview", {"kind": "Reboot"})["hosts_total"] == 5


def test_previews_are_made_one_at_a_time_and_each_is_answered(grown: RunningService):
    with slowly(grown) as (slow, preview):
        replies = [preview() for _ in range(4)]
        wait_until(lambda: slow.begun == 1, "the first to begin")
        grown.get("/v1/rollouts")
        begun = slow.begun
        slow.may_go_on.set()

    assert begun == 1
    assert [reply.result().status for reply in replies] == [200] * 4


def test_a_preview_for_which_too_many_wait_already_is_refused(grown: RunningService):
    with slowly(grown) as (slow, preview):
        replies = [preview() for _ in range(12)]
        wait_until(lambda: sum(reply.done() for reply in replies) == 4, "those to be refused who are too many")
        slow.may_go_on.set()

    statuses = sorted(reply.result().status for reply in replies)
    error = next(reply.result().json["error"] for reply in replies if reply.result().status == 429)
    assert statuses == [200] * 8 + [429] * 4
    assert (error["code"], error["hint"]) == ("TooManyPreviews", "Try again in a minute.")
    assert grown.post("/v1/rollouts/preview", {"kind": "Reboot"})["hosts_total"] == 6
