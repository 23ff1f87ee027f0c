"""What is approved without asking the guests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forewarn.core.policy import is_approved_beforehand, nobody_is_up, policy_of
from forewarn.core.terms import AutoApproval, Cause, VmState
from forewarn.core.world import World
from tests.core.worlds import Part, availability_set, cloud_service, host, restart, row, stopped, vm, world

H1 = host("h1")
REBOOT, REDEPLOY = (AutoApproval.REBOOT,), (AutoApproval.REDEPLOY,)


@pytest.mark.parametrize(
    ("parts", "policy"),
    [
        row("its own", [vm("a", "h1", auto_approve=REBOOT)], REBOOT),
        row(
            "that of its availability set",
            [availability_set("web", auto_approve=REDEPLOY), vm("a", "h1", "web", auto_approve=REBOOT)],
            REDEPLOY,
        ),
        row(
            "its own in a cloud service, which has none",
            [cloud_service("app"), vm("a", "h1", "app", auto_approve=REBOOT)],
            REBOOT,
        ),
    ],
)
def test_a_vm_goes_by(parts: list[Part], policy: tuple[str, ...]):
    found = world(H1, *parts)

    assert policy_of(found, found.vms["a"]) == policy


@pytest.mark.parametrize(
    ("policy", "cause", "approved"),
    [
        row("a restart by the policy for reboots", REBOOT, Cause.RESTART, True),
        row("a redeploy by the policy for redeploys", REDEPLOY, Cause.REDEPLOY, True),
        row("not a redeploy by the policy for reboots", REBOOT, Cause.REDEPLOY, False),
        row("not a restart without a policy", (), Cause.RESTART, False),
        row("not a delete", REBOOT + REDEPLOY, Cause.DELETE, False),
        row("not the platform's work", REBOOT + REDEPLOY, Cause.MAINTAIN, False),
    ],
)
def test_approved_beforehand_is(policy: tuple[str, ...], cause: Cause, *, approved: bool):
    found = world(H1, vm("a", "h1", auto_approve=policy))

    assert is_approved_beforehand(found, found.vms["a"], cause) is approved


@pytest.mark.parametrize(
    ("found", "nobody"),
    [
        row("when all are off", world(H1, stopped("a", "h1"), restart("a")), True),
        row("not when one runs", world(H1, vm("a", "h1"), restart("a")), False),
        row(
            "not when the policy wants an approval",
            world(H1, stopped("a", "h1", auto_approve=REBOOT), restart("a")),
            False,
        ),
    ],
)
def test_nobody_is_up(found: World, *, nobody: bool):
    assert nobody_is_up(found, found.events["restart a in a"]) is nobody


def test_in_a_scope_without_vms_somebody_may_come_up():
    found = world(H1, vm("a", "h1"), restart("a"))
    found.take(replace(found.vms["a"], state=VmState.DELETED))

    assert not nobody_is_up(found, found.events["restart a in a"])
