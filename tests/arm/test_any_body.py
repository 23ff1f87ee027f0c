"""Whatever a client writes is taken or refused, and never breaks anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forewarn.core.refusal import Code, Refusal
from forewarn.wire.arm import bodies, keeping
from forewarn.wire.arm.ids import Ids

# The same examples in every run: a test that fails today fails tomorrow.
repeatable = settings(max_examples=100, deadline=None, derandomize=True, database=None)

_NAMES = [
    "location", "zones", "tags", "sku", "capacity", "properties", "priority", "evictionPolicy", "osProfile",
    "computerName", "availabilitySet", "virtualMachineScaleSet", "id", "scheduledEventsProfile", "enable",
    "terminateNotificationProfile", "notBeforeTimeout", "osImageNotificationProfile", "scheduledEventsPolicy",
    "userInitiatedReboot", "automaticallyApprove", "allInstancesDown", "virtualMachineProfile", "adminPassword",
    "platformUpdateDomainCount", "singlePlacementGroup", "instanceView", "unheardOf",
]  # fmt: skip
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("aZ0 /\x00\n\u00e9", max_size=5)
    | st.sampled_from(["Spot", "Regular", "Delete", "PT5M", "PT15M", "PT1H", "/x/availabilitySets/web"])
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=5),
    max_leaves=20,
)
_BODIES = st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=6)


def read_all(body: keeping.Json) -> dict[str, Any]:
    """What each kind of resource makes of a body."""
    return {
        "VM": bodies.read_vm("x", "g", body, Ids("s")),
        "availability set": bodies.read_availability_set("x", "g", body),
        "scale set": bodies.read_scale_set("x", "g", body),
        "group": bodies.read_group(body),
    }


@given(_BODIES)
@repeatable
def test_any_body_is_taken_or_refused_with_a_sentence(body: keeping.Json):
    for found in read_all(body).values():
        if isinstance(found, Refusal):
            assert found.code is Code.BAD_REQUEST
            assert found.message.endswith(".")
            assert "\n" not in found.message


@given(_BODIES)
@repeatable
def test_what_is_kept_is_json_without_secrets_that_is_kept_the_same_again(body: keeping.Json):
    kept = keeping.to_keep(body)

    assert "adminPassword" not in kept
    assert keeping.to_keep(json.loads(kept)) == kept


@given(_BODIES)
@repeatable
def test_a_body_over_itself_is_itself(body: keeping.Json):
    assert keeping.overlay(body, body) == body


@given(_BODIES, _BODIES)
@repeatable
def test_a_put_and_a_patch_leave_what_they_do_not_name(before: keeping.Json, body: keeping.Json):
    left = {name: each for name, each in before.items() if name not in body}

    assert left.items() <= keeping.overlay(before, body).items()
    assert left.items() <= keeping.merge(before, body).items()


@pytest.mark.parametrize(("depth", "is_deep"), [(64, False), (65, True), (400, True)])
def test_bodies_have_a_depth(depth: int, is_deep: Any):
    body: Any = 1
    for _ in range(depth):
        body = {"a": body}

    assert keeping.is_too_deep(body) is is_deep
