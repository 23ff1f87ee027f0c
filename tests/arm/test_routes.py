"""Every route is there and answers as it should; a route without a request here is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from forewarn.operator.app import ARM
from tests.arm.caller import SUBSCRIPTION, Arm, vm
from tests.fleets import SMALL
from tests.running import running

_SUBSCRIPTION = "/subscriptions/{subscription}"
_GROUP = f"{_SUBSCRIPTION}/resourceGroups/{{group}}"
_COMPUTE = "providers/Microsoft.Compute"
_VMS = f"{_GROUP}/{_COMPUTE}/virtualMachines"
_SETS = f"{_GROUP}/{_COMPUTE}/availabilitySets"
_SCALE_SETS = f"{_GROUP}/{_COMPUTE}/virtualMachineScaleSets"
_INSTANCES = f"{_SCALE_SETS}/{{set}}/virtualMachines"
_EVENTS = f"{_GROUP}/{_COMPUTE}/{{type}}/{{name}}/providers/Microsoft.Maintenance/scheduledevents"

_ACTS = ("restart", "redeploy", "reimage", "powerOff", "deallocate", "performMaintenance")


class Example(NamedTuple):
    """A request of a route, and the status that answers it."""

    method: str
    route: str
    status: int
    body: Any = None
    names: dict[str, str] = {}  # noqa: RUF012 - read only

    def __str__(self) -> str:
        return f"{self.method} {self.route.removeprefix(_GROUP).removeprefix(f'/{_COMPUTE}')}"


_WEB = {"set": "web"}
_SPARE = {"set": "spare"}
_SPOT = {"set": "spot"}
EXAMPLES = [
    Example("GET", "/subscriptions", 200),
    Example("GET", _SUBSCRIPTION, 200),
    Example("GET", f"{_SUBSCRIPTION}/resourceGroups", 200),
    Example("GET", f"{_SUBSCRIPTION}/resources", 200),
    Example("GET", f"{_GROUP}/resources", 200),
    Example("GET", _GROUP, 200),
    Example("PUT", _GROUP, 201, {"location": "local"}, {"group": "fresh"}),
    Example("GET", f"{_SUBSCRIPTION}/{_COMPUTE}/virtualMachines", 200),
    Example("GET", f"{_SUBSCRIPTION}/{_COMPUTE}/locations/{{location}}/virtualMachines", 200),
    Example("GET", f"{_SUBSCRIPTION}/{_COMPUTE}/locations/{{location}}/operations/{{operation}}", 200),
    Example("GET", _VMS, 200),
    Example("GET", f"{_VMS}/{{vm}}", 200),
    Example("GET", f"{_VMS}/{{vm}}/instanceView", 200),
    Example("PUT", f"{_VMS}/{{vm}}", 201, {"location": "local"}, {"vm": "fresh"}),
    Example("PATCH", f"{_VMS}/{{vm}}", 200, {"tags": {"a": "b"}}),
    Example("DELETE", f"{_VMS}/{{vm}}", 202),
    *(Example("POST", f"{_VMS}/{{vm}}/{act}", 202) for act in _ACTS),
    Example("POST", f"{_VMS}/{{vm}}/start", 202, names={"vm": "stopped"}),
    Example("POST", f"{_VMS}/{{vm}}/reapply", 200),
    Example("POST", f"{_VMS}/{{vm}}/simulateEviction", 204, names={"vm": "frugal"}),
    Example("GET", f"{_SUBSCRIPTION}/{_COMPUTE}/availabilitySets", 200),
    Example("GET", _SETS, 200),
    Example("GET", f"{_SETS}/{{set}}", 200, names=_WEB),
    Example("PUT", f"{_SETS}/{{set}}", 200, {"location": "local"}, {"set": "fresh"}),
    Example("PATCH", f"{_SETS}/{{set}}", 200, {"tags": {"a": "b"}}, _WEB),
    Example("DELETE", f"{_SETS}/{{set}}", 200, names=_SPARE),
    Example("GET", f"{_SUBSCRIPTION}/{_COMPUTE}/virtualMachineScaleSets", 200),
    Example("GET", _SCALE_SETS, 200),
    Example("GET", f"{_SCALE_SETS}/{{set}}", 200),
    Example("GET", f"{_SCALE_SETS}/{{set}}/instanceView", 200),
    Example("PUT", f"{_SCALE_SETS}/{{set}}", 201, {"sku": {"capacity": 2}}, {"set": "fresh"}),
    Example("PATCH", f"{_SCALE_SETS}/{{set}}", 200, {"sku": {"capacity": 4}}),
    Example("DELETE", f"{_SCALE_SETS}/{{set}}", 202),
    *(
        Example("POST", f"{_SCALE_SETS}/{{set}}/{act}", 202, {"instanceIds": ["0"]})
        for act in (*_ACTS, "reimageAll")
    ),
    Example("POST", f"{_SCALE_SETS}/{{set}}/start", 200, {"instanceIds": ["0"]}),
    Example("POST", f"{_SCALE_SETS}/{{set}}/manualupgrade", 200, {"instanceIds": ["*"]}),
    Example("POST", f"{_SCALE_SETS}/{{set}}/delete", 202, {"instanceIds": ["0", "1"]}),
    Example("GET", _INSTANCES, 200),
    Example("GET", f"{_INSTANCES}/{{instance}}", 200),
    Example("GET", f"{_INSTANCES}/{{instance}}/instanceView", 200),
    Example("DELETE", f"{_INSTANCES}/{{instance}}", 202),
    *(Example("POST", f"{_INSTANCES}/{{instance}}/{act}", 202) for act in (*_ACTS, "reimageAll")),
    Example("POST", f"{_INSTANCES}/{{instance}}/start", 200),
    Example("POST", f"{_INSTANCES}/{{instance}}/simulateEviction", 204, names=_SPOT),
    Example("POST", f"{_EVENTS}/{{event}}/acknowledge", 200),
    Example("POST", _EVENTS, 200, {"value": ["{event}"]}),
    Example("POST", f"{_EVENTS}/acknowledge", 200, {"value": ["{event}"]}),
    Example("POST", f"{_EVENTS}/list/acknowledge", 200, {"value": ["{event}"]}),
]

_FLEET = SMALL | {"availability_sets": [{"name": "web"}, {"name": "spare"}]}


@pytest.fixture
def arm() -> Iterator[Arm]:
    """A service in which there is work to follow, an event to approve, and maintenance to do ahead of time."""
    with running(_FLEET) as service:
        arm = Arm(service)
        arm.make_vm("stopped")
        arm.begin("POST", vm("stopped") + "/powerOff")
        service.advance(minutes=1)
        service.guest("twin").document()
        for host in ("host-0", "host-3"):
            service.post(f"/v1/hosts/{host}/maintain", {"kind": "Freeze"})
        yield arm


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_request_of_the_route_is_answered(arm: Arm, example: Example):
    restart = arm.begin("POST", vm("twin") + "/restart").follow().json["name"]
    (event,) = [each["EventId"] for each in arm.service.guest("twin").events() if each["EventType"] == "Reboot"]
    names = {
        "subscription": SUBSCRIPTION,
        "group": "default",
        "location": "local",
        "vm": "solo",
        "set": "pool",
        "instance": "0",
        "type": "virtualMachines",
        "name": "twin",
        "operation": restart,
        "event": event,
    } | example.names
    body = {"value": [event]} if example.body == {"value": ["{event}"]} else example.body

    reply = arm.ask(example.method, example.route.format(**names), body)

    assert reply.status == example.status, reply
    if reply.status in {202, 204}:
        assert reply.body == b""
    if reply.status == 202:
        assert reply.headers["retry-after"] == "1"
    if reply.body:
        assert reply.headers["content-type"] == "application/json"


def test_every_route_has_a_request_here():
    served = {(each.method, each.path) for each in ARM}
    requested = {(each.method, each.route) for each in EXAMPLES}

    assert requested == served


def test_a_path_that_nobody_knows_is_told_so_in_a_shape_that_azures_clients_read(arm: Arm):
    reply = arm.ask("GET", vm("solo") + "/runCommands")

    assert reply.status == 404
    assert reply.json["error"]["code"] == "NotFound"
    assert "runCommands" in reply.json["error"]["message"]
    assert reply.json["error"]["hint"] == ""  # /openapi.json has no route of ARM's
